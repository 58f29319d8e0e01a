//! Recorded conversations in the formats of other programs.

use std::fs;

use accp_recordings::{Conversation, ConvertOptions, Converter, Format, SideFile};
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use super::{Folder, Run};

const SAMPLES: [(&str, &str); 5] = [
    (
        "openai.json",
        include_str!("../../../../memory/recordings/tests/samples/openai.json"),
    ),
    (
        "anthropic.json",
        include_str!("../../../../memory/recordings/tests/samples/anthropic.json"),
    ),
    (
        "responses.json",
        include_str!("../../../../memory/recordings/tests/samples/responses.json"),
    ),
    (
        "session.jsonl",
        include_str!("../../../../memory/recordings/tests/samples/claude_code.jsonl"),
    ),
    (
        "otel.json",
        include_str!("../../../../memory/recordings/tests/samples/otel.json"),
    ),
];

fn fine(run: Run) -> Run {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

/// The columns that do not depend on the wording of a format.
fn figures(row: &Json) -> Json {
    let all = row["bytes"]["wanted"] == row["bytes"]["found"];
    json!({ "policy": row["policy"], "prompts": row["prompts"], "needs": row["needs"], "all": all })
}

#[test]
fn a_conversation_has_the_same_needs_in_each_format() {
    let folder = Folder::with(&SAMPLES);
    let policies = [
        "--policy", "views", "--policy", "last:2", "--format", "json",
    ];
    let measured = |file: &str| {
        let run = fine(folder.run([&["bench", file], &policies[..]].concat(), ""));
        run.json().iter().map(figures).collect::<Vec<_>>()
    };
    let expected = measured("openai.json");
    assert!(expected[0]["needs"].as_u64() > Some(0), "{expected:?}");
    assert_eq!(expected[0]["all"], json!(true));
    for file in ["anthropic.json", "responses.json", "otel.json"] {
        assert_eq!(measured(file), expected, "{file}");
    }
}

/// Makes a conversation of an agent that reads the stock and takes from it what it has read.
fn stock() -> Json {
    let mut messages = vec![
        json!({ "role": "system", "content": "You keep the stock of a bakery." }),
        json!({ "role": "user", "content": "Please order what is missing for order 4711." }),
    ];
    let call = |id: String, tool: &str, arguments: Json| {
        let function = json!({ "name": tool, "arguments": arguments.to_string() });
        json!({ "id": id, "type": "function", "function": function })
    };
    for n in 1..7 {
        let shelf = json!({ "flour": "rye", "shelf": format!("B/{}", n + 10) });
        let rows = (0..60).map(|row| {
            let supplier = (row * 7 + n) % 13;
            format!("row {row}: bag r{n:02}{row:03} of supplier miller_{supplier} holds 13 kilos")
        });
        let rows = rows.collect::<Vec<_>>().join("\n");
        let bag = format!("bag r{n:02}010 of supplier miller_{} holds", (70 + n) % 13);
        messages.extend([
            json!({ "role": "assistant", "content": format!("I look at shelf B/{}.", n + 10),
                "tool_calls": [call(format!("look_{n}"), "stock", shelf)] }),
            json!({ "role": "tool", "tool_call_id": format!("look_{n}"), "content": rows }),
            json!({ "role": "assistant", "content": null, "tool_calls": [
                call(format!("take_{n}"), "take", json!({ "bag": format!("r{n:02}017") })),
                call(format!("note_{n}"), "note", json!({ "text": bag })) ] }),
            json!({ "role": "tool", "tool_call_id": format!("take_{n}"), "content": "taken" }),
            json!({ "role": "tool", "tool_call_id": format!("note_{n}"), "content": "noted" }),
        ]);
    }
    json!({ "id": "stock/1", "messages": messages })
}

/// The figures of a policy that do not depend on the wording of a format.
const FIGURES: [&str; 21] = [
    "policy",
    "needs",
    "hits",
    "seen",
    "lost",
    "net",
    "net_real",
    "task",
    "later",
    "did",
    "decided",
    "misquoted",
    "tokens",
    "p95",
    "peak",
    "cost",
    "cost_total",
    "without_cache",
    "no_minimum",
    "sensitivity",
    "prompts",
];

/// The needs, the net cost, and the content of the prompts are the same in each format.
#[test]
fn a_conversation_has_the_same_net_cost_in_each_format() {
    let folder = Folder::with(&[("openai.jsonl", &format!("{}\n", stock()))]);
    let measured = |file: &str| {
        let policies = [
            "--policy", "memory", "--policy", "views", "--policy", "clip:40",
        ];
        let ask = ["bench", file, "--format", "json"];
        let rows = fine(folder.run([&ask[..], &policies].concat(), "")).json();
        let figures = |row: &Json| {
            let all = FIGURES.iter().map(|key| (*key, row[*key].clone()));
            all.collect::<Vec<_>>()
        };
        rows.iter().map(figures).collect::<Vec<_>>()
    };
    let expected = measured("openai.jsonl");
    let needs = &expected[0][1];
    assert!(
        needs.0 == "needs" && needs.1.as_u64() > Some(10),
        "{expected:?}"
    );
    // In the last two formats a result names its tool, which costs tokens. The needs are the same.
    let whole = FIGURES.len();
    for (format, same) in [
        ("anthropic", whole),
        ("responses", whole),
        ("otel", whole),
        ("gemini", 2),
        ("langchain", 2),
    ] {
        let file = format!("{format}.jsonl");
        let format = Format::named(format).unwrap();
        let written = Conversation::new(stock()).unwrap().written(format).unwrap();
        fs::write(folder.path(&file), written.to_string()).unwrap();
        let found = measured(&file);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found[..same], expected[..same], "{file}");
        }
        assert_eq!(found.len(), expected.len());
    }
}

/// Every command reads a log of calls. An error names the place of the fault.
#[test]
fn every_command_reads_a_log_of_calls() {
    let user = json!({ "role": "user", "content": "Is there rye?" });
    let answer = json!({ "role": "assistant", "content": "Four bags of rye." });
    let call = json!({ "request": { "messages": [user] }, "response": { "choices": [{ "message": answer }] } });
    let refused = json!({ "request": { "model": "x" }, "chosen": [user] });
    let folder = Folder::with(&[
        ("calls.jsonl", &format!("{call}\n{call}\n")),
        ("wrong.jsonl", &format!("{call}\n{refused}\n")),
    ]);
    for command in [&["learn"][..], &["bench", "--policy", "memory"]] {
        fine(folder.run([command, &["calls.jsonl"]].concat(), ""));
        let run = folder.run([command, &["wrong.jsonl"]].concat(), "");
        assert_eq!(run.code, Some(1), "{command:?}");
        let place = "wrong.jsonl:2: expected a conversation";
        assert!(run.stderr.contains(place), "{command:?}: {}", run.stderr);
    }
}

#[test]
fn every_command_reads_a_session_file() {
    let folder = Folder::with(&SAMPLES);
    fine(folder.run(["learn", "session.jsonl"], ""));
    fine(folder.run(["bench", "session.jsonl"], ""));
}

#[test]
fn frames_are_read_as_the_conversation_that_they_tell() {
    let folder = Folder::with(&SAMPLES);
    let recorded: Json = serde_json::from_str(&folder.read("anthropic.json")).unwrap();
    let conversation = Conversation::read(recorded, Format::Anthropic).unwrap();
    let side = fs::File::create(folder.path("out.accp.externals.jsonl")).unwrap();
    let mut side = SideFile::new(side);
    let options = ConvertOptions::default();
    let mut converter = Converter::new(options, Bpe::o200k_base());
    let frames = converter.convert(&conversation, &mut side).unwrap();
    side.finish().unwrap();
    fs::write(folder.path("out.accp"), frames).unwrap();
    let bench = |file: &str| {
        let run = fine(folder.run(["bench", file, "--format", "json"], ""));
        run.json().iter().map(figures).collect::<Vec<_>>()
    };
    assert_eq!(bench("out.accp"), bench("anthropic.json"));
}

#[test]
fn a_format_can_be_forced() {
    let folder = Folder::with(&SAMPLES);
    let prompt = |format: &[&str]| {
        let dump = ["--policy", "views", "--dump", "dump.jsonl"];
        let run = folder.run(
            [&["bench", "anthropic.json"], &dump[..], format].concat(),
            "",
        );
        (run.code, run.stderr, folder.read("dump.jsonl"))
    };
    let (_, _, found_out) = prompt(&[]);
    assert_eq!(prompt(&["--format-in", "anthropic"]).2, found_out);
    assert_ne!(prompt(&["--format-in", "openai"]).2, found_out);
}

#[test]
fn a_member_that_stands_twice_is_refused() {
    let list = "[{\"role\":\"user\",\n\"content\":\"a\",\"content\":\"b\"}]";
    let folder = Folder::with(&[("list.json", list)]);
    let run = folder.run(["bench", "list.json"], "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("stands twice at"), "{}", run.stderr);
}

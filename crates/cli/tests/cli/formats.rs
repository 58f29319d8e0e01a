//! Recorded conversations in the formats of other programs.

use serde_json::{Value as Json, json};

use super::{Folder, Run};

const SAMPLES: [(&str, &str); 5] = [
    (
        "openai.json",
        include_str!("../../../memory/recordings/tests/samples/openai.json"),
    ),
    (
        "anthropic.json",
        include_str!("../../../memory/recordings/tests/samples/anthropic.json"),
    ),
    (
        "responses.json",
        include_str!("../../../memory/recordings/tests/samples/responses.json"),
    ),
    (
        "session.jsonl",
        include_str!("../../../memory/recordings/tests/samples/claude_code.jsonl"),
    ),
    (
        "otel.json",
        include_str!("../../../memory/recordings/tests/samples/otel.json"),
    ),
];

fn fine(run: Run) -> Run {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

/// The columns that do not depend on the words of a format.
fn figures(row: &Json) -> Json {
    let needs = ["arguments", "bound", "identifiers"].map(|key| (key.to_owned(), row[key].clone()));
    let all = row["bytes"]["wanted"] == row["bytes"]["found"];
    let needs: serde_json::Map<_, _> = needs.into_iter().collect();
    json!({ "policy": row["policy"], "prompts": row["prompts"], "needs": needs, "all": all })
}

#[test]
fn a_conversation_has_the_same_needs_in_each_format() {
    let folder = Folder::with(&SAMPLES);
    let policies = [
        "--policy", "views", "--policy", "last:2", "--format", "json",
    ];
    let measured = |file: &str| {
        let run = fine(folder.run(&[&["bench", "context", file], &policies[..]].concat(), ""));
        run.json().iter().map(figures).collect::<Vec<_>>()
    };
    let expected = measured("openai.json");
    assert!(
        expected[0]["needs"]["arguments"]["wanted"].as_u64() > Some(0),
        "{expected:?}"
    );
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

/// The figures of a policy that the words of a format may not change.
const FIGURES: [&str; 24] = [
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
    "arguments",
    "bound",
    "identifiers",
];

/// The needs, the net cost, and what the prompts hold are the same.
#[test]
fn a_conversation_has_the_same_net_cost_in_each_format() {
    let folder = Folder::with(&[("openai.jsonl", &format!("{}\n", stock()))]);
    let measured = |file: &str| {
        let policies = [
            "--policy", "memory", "--policy", "views", "--policy", "clip:40",
        ];
        let ask = ["bench", "context", file, "--format", "json"];
        let rows = fine(folder.run(&[&ask[..], &policies].concat(), "")).json();
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
    // In the last two a result names its tool, which costs tokens: the needs are the same.
    let whole = FIGURES.len();
    for (format, same) in [
        ("anthropic", whole),
        ("responses", whole),
        ("otel", whole),
        ("gemini", 2),
        ("langchain", 2),
    ] {
        let file = format!("{format}.jsonl");
        let to = [
            "convert",
            "openai.jsonl",
            "--format-out",
            format,
            "-o",
            &file,
        ];
        fine(folder.run(&to, ""));
        let found = measured(&file);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found[..same], expected[..same], "{format}");
        }
        assert_eq!(found.len(), expected.len());
    }
}

/// A log of calls is read by every command, and an error names the place of what is wrong.
#[test]
fn every_command_reads_a_log_of_calls() {
    let user = json!({ "role": "user", "content": "Is there rye?" });
    let answer = json!({ "role": "assistant", "content": "Four bags of rye." });
    let call = json!({ "request": { "messages": [user] }, "response": { "choices": [{ "message": answer }] } });
    let refused = json!({ "request": { "model": "x" }, "chosen": [user] });
    let folder = Folder::with(&[
        ("calls.jsonl", &format!("{call}\n{call}\n")),
        ("lines.jsonl", &format!("{user}\n{answer}\n")),
        ("wrong.jsonl", &format!("{call}\n{refused}\n")),
    ]);
    let commands: [&[&str]; 4] = [
        &["convert", "--verify"],
        &["session", "import", "--verify"],
        &["registry", "learn"],
        &["bench", "context", "--policy", "memory"],
    ];
    for command in commands {
        for file in ["calls.jsonl", "lines.jsonl"] {
            fine(folder.run(&[command, &[file]].concat(), ""));
        }
        let run = folder.run(&[command, &["wrong.jsonl"]].concat(), "");
        assert_eq!(run.code, Some(1), "{command:?}");
        let place = "wrong.jsonl:2: expected a conversation";
        let cure = "found an object with `request`, `chosen`; a conversation stands at `/chosen`";
        let both = run.stderr.contains(place) && run.stderr.contains(cure);
        assert!(both, "{command:?}: {}", run.stderr);
    }
}

#[test]
fn every_command_reads_a_session_file() {
    let folder = Folder::with(&SAMPLES);
    let file = "session.jsonl";
    fine(folder.run(&["convert", "--verify", file], ""));
    fine(folder.run(&["convert", file, "-o", "out.accp"], ""));
    let back = fine(folder.run(&["convert", "--restore", "out.accp"], "")).json();
    let lines = folder.read(file);
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap());
    assert_eq!(back, [lines.collect::<Json>()]);
    let import = fine(folder.run(&["session", "import", "--verify", file], ""));
    assert!(import.stdout.contains("100.0 %"), "{}", import.stdout);
    fine(folder.run(&["registry", "learn", file], ""));
    fine(folder.run(&["bench", "context", file], ""));
}

#[test]
fn frames_are_read_as_the_conversation_that_they_tell() {
    let folder = Folder::with(&SAMPLES);
    fine(folder.run(&["convert", "anthropic.json", "-o", "out.accp"], ""));
    let bench = |file: &str| {
        let run = fine(folder.run(&["bench", "context", file, "--format", "json"], ""));
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
            &[&["bench", "context", "anthropic.json"], &dump[..], format].concat(),
            "",
        );
        (run.code, run.stderr, folder.read("dump.jsonl"))
    };
    let (_, _, found_out) = prompt(&[]);
    assert_eq!(prompt(&["--format-in", "anthropic"]).2, found_out);
    assert_ne!(prompt(&["--format-in", "openai"]).2, found_out);
    let run = folder.run(&["convert", "anthropic.json", "--format-in", "gemini"], "");
    insta::assert_snapshot!(run.stderr, @"error: anthropic.json:1: expected an object with `contents` at the top (read as gemini)");
    let run = folder.run(
        &["convert", "anthropic.json", "--format-in", "telegram"],
        "",
    );
    assert_eq!(run.code, Some(2));
}

#[test]
fn conversations_are_written_in_another_format() {
    let folder = Folder::with(&SAMPLES);
    let policies = ["--policy", "plain", "--policy", "views", "--format", "json"];
    let measured = |file: &str| {
        let run = fine(folder.run(&[&["bench", "context", file], &policies[..]].concat(), ""));
        run.json().iter().map(figures).collect::<Vec<_>>()
    };
    let expected = measured("openai.json");
    for format in ["responses", "anthropic", "gemini", "langchain", "otel"] {
        let run = fine(folder.run(&["convert", "--format-out", format, "openai.json"], ""));
        assert_eq!(run.stderr, "");
        let out = format!("{format}.out");
        fine(folder.run(
            &["convert", "--format-out", format, "openai.json", "-o", &out],
            "",
        ));
        assert_eq!(folder.read(&out), run.stdout);
        assert_eq!(measured(&out), expected, "{format}");
        let back = fine(folder.run(&["convert", "--format-out", "openai", &out], ""));
        let words = |json: &Json| json["messages"].clone();
        let original: Json = serde_json::from_str(&folder.read("openai.json")).unwrap();
        let (back, original) = (words(&back.json()[0]), words(&original));
        for (back, original) in back
            .as_array()
            .unwrap()
            .iter()
            .zip(original.as_array().unwrap())
        {
            for key in ["role", "content", "tool_call_id"] {
                assert_eq!(back[key], original[key], "{format}");
            }
        }
    }
    fine(folder.run(&["convert", "openai.json", "-o", "out.accp"], ""));
    let restored = &[
        "convert",
        "--restore",
        "--format-out",
        "anthropic",
        "out.accp",
    ];
    let restored = fine(folder.run(restored, "")).stdout;
    assert_eq!(restored, folder.read("anthropic.out"));
}

#[test]
fn what_a_format_cannot_say_is_refused_by_place() {
    let folder = Folder::with(&SAMPLES);
    let run = folder.run(
        &[
            "convert",
            "--format-out",
            "sharegpt",
            "anthropic.json",
            "-o",
            "out",
        ],
        "",
    );
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stderr, @"error: anthropic.json:1: message 2 says something and calls a tool, which sharegpt cannot say");
    assert!(!folder.names().contains(&"out".to_owned()));
    let run = folder.run(
        &["convert", "--format-out", "langsmith", "anthropic.json"],
        "",
    );
    assert_eq!(run.code, Some(2));
}

const FOREIGN: [(&str, &str, &str); 4] = [
    (
        "codex",
        "rollout.jsonl",
        include_str!("../../../memory/recordings/tests/samples/codex.jsonl"),
    ),
    (
        "ai-sdk",
        "ui.json",
        include_str!("../../../memory/recordings/tests/samples/ai_sdk_v5_ui.json"),
    ),
    (
        "pydantic-ai",
        "history.json",
        include_str!("../../../memory/recordings/tests/samples/pydantic_ai.json"),
    ),
    (
        "aider",
        "chat.md",
        include_str!("../../../memory/recordings/tests/samples/aider.md"),
    ),
];

/// What a person did not say is no turn of the user, and frames of a log give the log again.
#[test]
fn a_log_of_a_framework_is_converted_with_its_roles() {
    let said = [
        ("Is there rye flour?", "user"),
        ("Is there rye?", "user"),
        ("Thanks", "user"),
        ("rye 4", "tool"),
        ("kilo\\\"", "tool"),
        ("Four kilos", "assistant"),
    ];
    for (_, file, sample) in FOREIGN {
        let folder = Folder::with(&[(file, sample)]);
        let chat = fine(folder.run(&["convert", "--format-out", "openai", file], ""));
        let mut found = 0;
        for conversation in chat.json() {
            for message in conversation["messages"].as_array().expect("messages") {
                let text = message["content"].to_string();
                let role = said.iter().find(|(words, _)| text.contains(words));
                if let Some((words, role)) = role {
                    assert_eq!(message["role"], *role, "{file}: {words}");
                    found += 1;
                }
            }
        }
        assert!(found >= 3, "{file}: {}", chat.stdout);
        fine(folder.run(&["convert", "--verify", file], ""));
    }
}

#[test]
fn the_help_and_the_refusals_name_the_formats_of_one_table() {
    let folder = Folder::with(&[("other.json", "[{\"speaker\": \"a\", \"words\": \"Rye?\"}]")]);
    let help = fine(folder.run(&["convert", "--help"], "")).stdout;
    let refused = folder.run(&["convert", "other.json"], "");
    assert_ne!(refused.code, Some(0));
    for (format, ..) in FOREIGN {
        assert!(help.contains(format), "{help}");
        assert!(refused.stderr.contains(format), "{}", refused.stderr);
    }
}

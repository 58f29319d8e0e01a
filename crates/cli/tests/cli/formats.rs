//! Tests that commands read recorded conversations in the formats of other programs.

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
    run.code_is(0);
    run
}

/// Every command reads a log of calls, and an error names the place of the mistake.
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
    for command in ["convert --verify", "session import --verify"] {
        for file in ["calls.jsonl", "lines.jsonl"] {
            fine(folder.run((command, file), ""));
        }
        let run = folder.run((command, "wrong.jsonl"), "");
        run.code_is(1);
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
    fine(folder.run(["convert", "--verify", file], ""));
    fine(folder.run(["convert", file, "-o", "out.accp"], ""));
    let back = fine(folder.run("convert --restore out.accp", "")).json();
    let lines = folder.read(file);
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap());
    assert_eq!(back, [lines.collect::<Json>()]);
    fine(folder.run(["session", "import", "--verify", file], "")).stdout_has("100.0 %");
}

#[test]
fn a_format_can_be_forced() {
    let folder = Folder::with(&SAMPLES);
    let run = folder.run("convert anthropic.json --format-in gemini", "");
    insta::assert_snapshot!(run.stderr, @"error: anthropic.json:1: expected an object with `contents` at the top (read as gemini)");
    folder
        .run("convert anthropic.json --format-in telegram", "")
        .code_is(2);
}

#[test]
fn conversations_are_written_in_another_format() {
    let folder = Folder::with(&SAMPLES);
    for format in ["responses", "anthropic", "gemini", "langchain", "otel"] {
        let convert = format!("convert --format-out {format} openai.json");
        let run = fine(folder.run(&convert, ""));
        assert_eq!(run.stderr, "");
        let out = format!("{format}.out");
        fine(folder.run((convert, "-o", &out), ""));
        assert_eq!(folder.read(&out), run.stdout);
        let back = fine(folder.run(["convert", "--format-out", "openai", &out], ""));
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
    fine(folder.run("convert openai.json -o out.accp", ""));
    let restored = "convert --restore --format-out anthropic out.accp";
    let restored = fine(folder.run(restored, "")).stdout;
    assert_eq!(restored, folder.read("anthropic.out"));
}

#[test]
fn what_a_format_cannot_say_is_refused_by_place() {
    let folder = Folder::with(&SAMPLES);
    let run = folder.run("convert --format-out sharegpt anthropic.json -o out", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stderr, @"error: anthropic.json:1: message 2 says something and calls a tool, which sharegpt cannot say");
    assert!(!folder.names().contains(&"out".to_owned()));
    folder
        .run("convert --format-out langsmith anthropic.json", "")
        .code_is(2);
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

/// A message that no person wrote must not become a message of the user. From the frames of a log, the same log can
/// be restored.
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
        let chat = fine(folder.run(["convert", "--format-out", "openai", file], ""));
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
        fine(folder.run(["convert", "--verify", file], ""));
    }
}

#[test]
fn the_help_and_the_refusals_name_the_formats_of_one_table() {
    let folder = Folder::with(&[("other.json", "[{\"speaker\": \"a\", \"words\": \"Rye?\"}]")]);
    let help = fine(folder.run("convert --help", "")).stdout;
    let refused = folder.run("convert other.json", "");
    assert_ne!(refused.code, Some(0));
    for (format, ..) in FOREIGN {
        assert!(help.contains(format), "{help}");
        refused.stderr_has(format);
    }
}

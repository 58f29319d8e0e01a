//! Tests that the output of `accp convert --format-out` passes `accp context check`, or that the command refuses the
//! conversation and names the place and a cure.

use accp_memory::{Form, MessageList, check};
use serde_json::{Value as Json, json};

use super::{Folder, Run, Words, workspace};

const FORMATS: [&str; 7] = [
    "openai",
    "responses",
    "anthropic",
    "gemini",
    "langchain",
    "otel",
    "sharegpt",
];

fn convert(folder: &Folder, format: &str, more: impl Words, file: &str) -> Run {
    folder.run((("convert --format-out", format), more, [file]), "")
}

/// Returns the faults in each line of an output, by the rules of the provider's form.
fn faults(run: &Run, format: &str) -> Vec<String> {
    let Some(form) = Form::named(format) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for line in run.stdout.lines() {
        match MessageList::read(line, Some(form)) {
            Ok(list) => faults.extend(check(&list).iter().map(ToString::to_string)),
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    faults
}

/// Converts every sample to every format: each line that is written must be valid, and each refusal must name its
/// line.
#[test]
fn every_sample_in_every_format_is_valid_or_refused_with_its_place() {
    let samples = workspace().join("crates/memory/recordings/tests/samples");
    let mut written = 0;
    let mut all = 0;
    for sample in std::fs::read_dir(samples).unwrap() {
        let path = sample.unwrap().path();
        let name = path.display().to_string();
        let folder = Folder::with(&[]);
        for format in FORMATS {
            all += 1;
            let run = convert(&folder, format, "", &name);
            assert_eq!(faults(&run, format), [""; 0], "{name} as {format}");
            if run.code == Some(0) {
                written += 1;
                continue;
            }
            let place = format!("error: {name}:");
            let named = run.stderr.lines().any(|line| line.starts_with(&place));
            assert!(named, "{name} as {format}: {}", run.stderr);
            // `--repair` can mend missing calls and results.
            if run.stderr.contains("`--repair` mends") {
                let run = convert(&folder, format, "--repair", &name);
                assert_eq!(faults(&run, format), [""; 0], "{name} as {format}");
            }
        }
    }
    assert!(2 * written > all, "{written} of {all}");
}

#[test]
fn a_call_without_a_result_is_refused_and_mended_on_demand() {
    let recorded = json!({ "messages": [
        { "role": "user", "content": "Rye?" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "stock", "arguments": "{}" } }] },
        { "role": "user", "content": "Well?" }] });
    let folder = Folder::with(&[("cut.json", &recorded.to_string())]);
    let run = convert(&folder, "anthropic", "", "cut.json");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stderr, @"error: cut.json:1: anthropic would refuse the list: result-missing: message 1: the call `c1` of `stock` has no result before message 3; put its result there, or run `accp context repair`; `--repair` mends calls, results and cut texts");
    let run = convert(&folder, "anthropic", "--repair", "cut.json");
    run.code_is(0);
    assert_eq!(
        run.json()[0]["messages"][2]["content"][0]["tool_use_id"],
        "c1"
    );
    insta::assert_snapshot!(run.stderr, @"cut.json:1: mended calls, results and cut texts: 1");
}

#[test]
fn a_text_cut_in_a_pair_is_read_checked_and_repaired() {
    let session = r#"{"sessionId":"s","type":"user","uuid":"u","message":{"role":"user","content":"cut \ud83d"}}"#;
    let list = r#"[{"role":"user","content":"cut \ud83d\u2026 and \ud83d\udce6"}]"#;
    let folder = Folder::with(&[("s.jsonl", session), ("list.json", list)]);
    let run = folder.run("convert --verify s.jsonl", "");
    run.code_is(0);
    let run = folder.run("convert -o s.accp s.jsonl", "");
    run.code_is(0);
    let run = folder.run("convert --restore s.accp", "");
    // Frames do not keep the order of keys, so the test compares only this part of the text.
    let text = r#""content":"cut \ud83d""#;
    run.stdout_has(text);
    let run = folder.run("context check list.json", "");
    run.code_is(1);
    insta::assert_snapshot!(run.stderr, @"error: list.json: lone-surrogate: message 0: the text at `/content` has half of a surrogate pair, which providers refuse; run `accp context repair`, which puts U+FFFD in its place");
    let run = folder.run("context repair list.json", "");
    run.code_is(0);
    assert_eq!(
        run.stdout,
        "[{\"role\":\"user\",\"content\":\"cut \\ufffd\\u2026 and \\ud83d\\udce6\"}]\n"
    );
    insta::assert_snapshot!(run.stderr, @"message 0: put U+FFFD in the place of half of a surrogate pair at `/content`");
}

/// Every command that reads foreign JSON refuses an object with a repeated key.
#[test]
fn a_member_that_stands_twice_is_refused_everywhere() {
    let folder = Folder::with(&[
        (
            "list.json",
            "[{\"role\":\"user\",\n\"content\":\"a\",\"content\":\"b\"}]",
        ),
        (
            "message.json",
            r#"{"agent":"a","agent":"b","intent":"req","operation":"chat"}"#,
        ),
    ]);
    for args in [
        "convert --verify list.json",
        "context check list.json",
        "context compress --window 4096 list.json",
        "encode message.json",
        r#"context call context_recover {"topic":"a","topic":"b"}"#,
    ] {
        let run = folder.run(args, "");
        assert_ne!(run.code, Some(0), "{args:?}");
        run.stderr_has("stands twice at");
        assert_eq!(run.stdout, "", "{args:?}");
    }
}

#[test]
fn options_may_follow_a_topic() {
    let rows: Vec<_> = (1..=400)
        .map(|row| format!("row {row}: valve_{row} is open"))
        .collect();
    let call = |id: &str| {
        json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": id, "type": "function", "function": { "name": "bash", "arguments": "{}" } }] })
    };
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let result =
        |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": rows.join("\n") });
    let list = Json::from(vec![
        said("user", "Look at the valves."),
        call("c1"),
        result("c1"),
        call("c2"),
        result("c2"),
        said("user", "Thanks."),
        said("assistant", "All open."),
        said("user", "Good."),
    ]);
    let folder = Folder::with(&[("list.json", &list.to_string())]);
    let run = folder.run("context compress --window 4096 list.json", "");
    run.code_is(0);
    let recover = |words: &str| folder.run(("context recover", words), "");
    let before = recover("--limit 1 --exact valve_47");
    before.stdout_has("valve_47");
    for words in [
        "--exact valve_47 --limit 1",
        "valve_47 --exact --limit=1",
        "--exact --limit 1 -- valve_47",
    ] {
        assert_eq!(recover(words).stdout, before.stdout, "{words:?}");
    }
    // After `--`, an option is an ordinary word. Before `--`, an unknown option is refused.
    assert_eq!(recover("--exact -- valve_47 --limit 1").stdout, "");
    recover("valve_47 --limits 1").code_is(2);
    // A limit of zero sections is refused.
    recover("valve_47 --limit 0").code_is(2);
}

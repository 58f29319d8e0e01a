//! Tests of `accp context` with pictures, and with models whose tokenizer is not public.

use serde_json::{Value as Json, json};

use crate::cli::{Folder, Run, Words};

/// The header of a GIF of 1,024 x 768, in base64.
const GIF: &str = "R0lGODlhAAQAAwAAAA";

/// Returns a conversation with `many` large screenshots.
fn messages(many: usize) -> Json {
    let mut all = vec![json!({ "role": "user", "content": "Book the flight." })];
    for at in 0..many {
        let data = format!("{GIF}{}", "A".repeat(200_002 + at * 4));
        let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/gif", "data": data } });
        let id = format!("c{at}");
        all.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "screen", "input": {} }] }));
        all.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": [image] }] }));
    }
    all.into()
}

fn compressed(folder: &Folder, window: &str, more: impl Words) -> Run {
    let args = format!("context compress --session trip --window {window} messages.json");
    let run = folder.run((args, more), "");
    run.code_is(0);
    run
}

#[test]
fn a_list_with_a_picture_that_fits_leaves_as_it_is() {
    let all = messages(1);
    let folder = Folder::with(&[("messages.json", &all.to_string())]);
    folder
        .run("context check --window 4000 messages.json", "")
        .code_is(0);
    let run = compressed(&folder, "128000", "--report report.json");
    assert_eq!(run.json(), [all]);
    let report: Json = serde_json::from_str(&folder.read("report.json")).unwrap();
    // The picture costs 1,024 x 768 / 750 = 1,049 tokens.
    let tokens = report["tokens_after"].as_u64().unwrap();
    assert!((1_060..1_200).contains(&tokens), "{report}");
    assert_eq!(
        (&report["state"], &report["encoding"], &report["substitute"]),
        (&json!("GREEN"), &json!("o200k_base"), &json!(false))
    );
    let status = folder.run("context status --session trip --format json", "");
    assert_eq!(status.json()[0]["tokens"], tokens);
    folder
        .run("context call --session trip context_status", "")
        .stdout_has(format!("{tokens} of 128000 tokens, 1 %, GREEN"));
}

#[test]
fn a_screenshot_that_left_comes_back_whole() {
    let all = messages(20);
    let folder = Folder::with(&[("messages.json", &all.to_string())]);
    let run = compressed(&folder, "26000", "");
    let list = &run.json()[0];
    let line = list[2]["content"][0]["content"][0]["text"]
        .as_str()
        .unwrap();
    assert_eq!(
        line,
        "[image image/gif, 1024 x 768 pixels, 151 KB; left this list; \
         `accp context restore --session trip --message 2` gives it]"
    );
    assert_eq!(list[40], all[40]);
    let restore = "context restore --session trip";
    let one = folder.run((restore, "--message 2"), "");
    assert_eq!(one.json(), [all[2].clone()]);
    assert_eq!(folder.run(restore, "").json(), [all]);
    folder.run((restore, "--message 41"), "").code_is(1);
}

#[test]
fn a_line_names_the_root_that_the_command_needs() {
    let all = messages(20);
    let folder = Folder::with(&[("messages.json", &all.to_string())]);
    let list = &compressed(&folder, "26000", "--root kept/here").json()[0];
    let line = list[2]["content"][0]["content"][0]["text"]
        .as_str()
        .unwrap();
    let command = line
        .split('`')
        .nth(1)
        .unwrap()
        .strip_prefix("accp ")
        .unwrap();
    assert_eq!(
        command,
        "context restore --session trip --root kept/here --message 2"
    );
    assert_eq!(folder.run(command, "").json(), [all[2].clone()]);
}

#[test]
fn a_substitute_is_named_in_the_report_and_in_the_status() {
    let folder = Folder::with(&[("messages.json", &messages(1).to_string())]);
    let run = compressed(
        &folder,
        "64000",
        "--model claude-opus-4-7 --report report.json",
    );
    let said = "counted with o200k_base as a substitute for the tokenizer of claude-opus-4-7, error of about 22 to 64 %";
    run.stderr_has(said);
    let report: Json = serde_json::from_str(&folder.read("report.json")).unwrap();
    assert_eq!(report["substitute"], true);
    assert!(
        report["note"].as_str().unwrap().starts_with(said),
        "{report}"
    );
    let status = folder.run("context status --session trip", "");
    status.stdout_has(said);
    for args in [
        "compress --window 64000 messages.json",
        "status --session trip",
        "check messages.json",
    ] {
        let args = ("context", args, "--model no-such-model");
        let refused = folder.run(args, "");
        assert_eq!((refused.code, &*refused.stdout), (Some(2), ""), "{args:?}");
        let nearest = "the nearest are";
        refused.stderr_has(nearest);
    }
}

#[test]
fn the_folder_that_nobody_named_is_said_once() {
    let folder = Folder::with(&[("messages.json", &messages(1).to_string())]);
    let said =
        "sessions are kept below ./Memory/Shared from now on; `--root DIR` names another folder";
    let named = compressed(&folder, "64000", "--root R");
    assert!(!named.stderr.contains(said), "{}", named.stderr);
    let first = compressed(&folder, "64000", "");
    assert_eq!(first.stderr.matches(said).count(), 1, "{}", first.stderr);
    let second = compressed(&folder, "64000", "");
    assert!(!second.stderr.contains(said), "{}", second.stderr);
}

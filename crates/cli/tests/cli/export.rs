//! Tests of `accp session export`: the export of a recorded conversation's session, in each format.

use std::collections::BTreeMap;
use std::fs;

use accp_recordings::{Conversation, Documents, Restorer, resolve};
use accp_registry::Registry;
use accp_runtime::DynamicFrame;
use accp_session::read_value;
use serde_json::Value as Json;

use crate::cli::{Folder, Words, workspace};

/// Runs a command that must succeed and print nothing on stderr. Returns its stdout as JSON.
fn fine(folder: &Folder, args: impl Words) -> Vec<Json> {
    let run = folder.run(args, "");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(0), ""),
        "{}",
        run.line
    );
    run.json()
}

/// Restores a conversation only from the frames and values of an exported session.
fn restored(entries: &[Json], values: &str) -> Conversation {
    let values = values.lines().map(|line| {
        let json: Json = serde_json::from_str(line).unwrap();
        let text = |name: &str| json[name].as_str().unwrap().to_owned();
        (text("key"), text("text"))
    });
    let values: BTreeMap<String, String> = values.collect();
    let mut restorer = Restorer::default();
    let frames = entries.iter().filter(|entry| entry["kind"] == "frame");
    for (number, entry) in (1..).zip(frames) {
        let text = entry["frame"].as_str().unwrap();
        let message = DynamicFrame::decode(text, Registry::shared()).unwrap();
        assert_eq!(entry["message"], message.to_json(), "{text}");
        let mut message = message.into_owned();
        for (_, value) in message.payload.iter_mut() {
            *value = resolve(value, &mut |key| {
                let text = values.get(key);
                Ok(text.map(|text| read_value(text.as_bytes()).unwrap().into_owned()))
            })
            .unwrap();
        }
        // In the session each member numbers its own frames, but a recording numbers all frames together.
        message.envelope.sequence = Some(number);
        assert_eq!(restorer.frame(message, number).unwrap(), None);
    }
    restorer.end().unwrap().unwrap()
}

#[test]
fn every_sample_comes_back_equal_from_an_export() {
    let folder = Folder::with(&[]);
    let samples = workspace().join("crates/memory/recordings/tests/samples");
    let paths = fs::read_dir(samples).unwrap();
    let files: Vec<_> = paths.map(|file| file.unwrap().path()).collect();
    let paths: Vec<_> = files.iter().map(|file| file.to_str().unwrap()).collect();
    folder
        .run(("session import -o chats.db", paths), "")
        .code_is(0);

    let (mut back, mut parts) = (Vec::new(), 0);
    let list = "session list chats.db --format json";
    for session in fine(&folder, list) {
        let name = session["session"].as_str().unwrap();
        let export = ["session", "export", "chats.db", name, "--values", "values"];
        let entries = fine(&folder, export);
        for entry in &entries {
            let is_part = entry["kind"] == "part";
            assert_eq!(entry["message"].is_null(), is_part, "{name}: {entry}");
            parts += usize::from(is_part);
        }
        back.push(restored(&entries, &folder.read("values")));
    }
    assert!(parts > 0, "no sample has a frame in parts");

    for file in &files {
        let bytes = fs::read(file).unwrap();
        for document in Documents::new(bytes.as_slice()) {
            let recorded = document.unwrap().conversation(None).unwrap();
            let at = back.iter().position(|back| *back == recorded);
            back.remove(at.unwrap_or_else(|| panic!("{}: not equal", file.display())));
        }
    }
    assert_eq!(back, []);
}

/// A part is not a message of its own. Export and search show the whole frame once, and not its
/// parts.
#[test]
fn what_came_in_parts_is_told_and_found_once() {
    let sample = workspace().join("crates/memory/recordings/tests/samples/odd_claude_code.jsonl");
    let folder = Folder::with(&[]);
    let import = "session import -o chats.db";
    let import = (import, [sample.to_str().unwrap()]);
    folder.run(import, "").code_is(0);
    let found = |words: &str| {
        let ask = ["session", "search", "chats.db", "s1", words];
        let ask = (ask, "--format json");
        let found = fine(&folder, ask);
        let positions = found.iter().map(|found| found["position"].as_u64());
        positions.collect::<Vec<_>>()
    };
    // Positions 14 and 15 hold the parts of the frame.
    assert_eq!(found("thinking"), [Some(16)]);
    let ask = "session replay chats.db --from 15 --to 15";
    insta::assert_snapshot!(folder.run(ask, "").stdout, @r#"
    2026-01-01
        15  00:00:02  (a part) as it was written: "@assistant>req:tool{parts:[{_recorded:{signature:s},text:Look.,type:thinking}]|schema:TC}[mid:102000001003,seq:3,ts:1767225602,cid:toolu_1,pt:2/2,of:102000001002]"
    "#);
}

//! Prompts of other programs.

use serde_json::{Value as Json, json};

use super::{files, shared, without_times};

/// The dump of every policy, read back, gives every figure of the policy, but for its time and name.
#[test]
fn a_dump_measured_again_gives_the_same_figures() {
    let folder = files();
    let files = ["booking.jsonl", "shared.jsonl", "--format", "json"];
    let measure = |more: &[&str]| {
        let run = folder.run(&[&["bench", "context"], &files[..], more].concat(), "");
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        without_times(&run)
    };
    let measured = measure(&["--dump", "dump.jsonl"]);
    let dump = folder.read("dump.jsonl");
    let first: Json = serde_json::from_str(dump.lines().next().unwrap()).unwrap();
    assert_eq!(
        first["segments"][0],
        json!({
            "kind": "system", "text": "{\"role\":\"system\",\"content\":\"You book slots.\"}\n",
            "message": 0,
        })
    );
    let again = measure(&["--policy", "json", "--policy", "file:dump.jsonl"]);
    let policies = measured.len() / 2;
    for (row, mut measured) in measured.into_iter().enumerate() {
        let (corpus, row) = (row / policies, row % policies);
        let mut again = again[corpus * (policies + 1) + 1 + row].clone();
        let name = measured["policy"].as_str().unwrap();
        assert_eq!(again["policy"], json!(format!("file:{name}")));
        for key in ["policy", "doc", "default"] {
            again[key] = Json::Null;
            measured[key] = Json::Null;
        }
        // The second table has one policy more, so that places differ.
        for row in [&mut again, &mut measured] {
            let settings = row["sensitivity"].as_object_mut().unwrap();
            settings
                .values_mut()
                .for_each(|at| at["place"] = Json::Null);
        }
        assert_eq!(again, measured);
    }
    // The other program has only one of the two corpora: shares are of the base over the same
    // conversations.
    let part = dump.lines().filter(|line| line.contains("\"booking\""));
    let part = part.filter(|line| line.contains("\"plain\""));
    std::fs::write(
        folder.path("part.jsonl"),
        part.collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    let rows = measure(&["--policy", "plain", "--policy", "file:part.jsonl"]);
    assert_eq!(rows[1]["net"], rows[2]["net"]);
    assert_eq!(
        (&rows[5]["conversations"], &rows[5]["cost"]),
        (&json!(0), &Json::Null)
    );
}

#[test]
fn what_a_rival_brings_back_is_compared() {
    let folder = files();
    let first = &shared()["messages"][0];
    let said = first["content"].as_str().unwrap().len();
    let message = first.to_string();
    let line = |turn: usize| {
        json!({ "corpus": "shared", "conversation": "7", "turn": turn, "policy": "other",
            "milliseconds": 1.5, "segments": [{ "kind": "facts", "text": "src/lib.rs", "records": [[["file", "src/lib.rs"]]] }] })
    };
    let original = |index: usize| json!({ "corpus": "shared", "conversation": "7", "policy": "other", "message": index, "original": message });
    let rival = format!(
        "{}\n{}\n{}\n{}\n{}\n",
        line(1),
        line(2),
        line(3),
        original(0),
        original(1)
    );
    std::fs::write(folder.path("rival.jsonl"), rival).unwrap();
    let run = folder.run(
        &[
            "bench",
            "context",
            "shared.jsonl",
            "--policy",
            "json",
            "--policy",
            "file:rival.jsonl",
            "--format",
            "json",
        ],
        "",
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let row = &run.json()[1];
    assert_eq!(row["bytes"]["found"], json!(said));
    assert_eq!(row["milliseconds"], json!(4.5));
    assert_eq!(row["identifiers"]["found"], json!(2));
}

//! Prompts of other programs.

use serde_json::{Value as Json, json};

use super::{files, shared, without_times};

/// Dumped prompts that are read back as those of another program measure the same.
#[test]
fn a_dump_measured_again_gives_the_same_figures() {
    let folder = files();
    let files = [
        "bench",
        "context",
        "booking.jsonl",
        "shared.jsonl",
        "--format",
        "json",
    ];
    let run = folder.run(
        &[&files[..], &["--policy", "last:3", "--dump", "dump.jsonl"]].concat(),
        "",
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let dump = folder.read("dump.jsonl");
    let first: Json = serde_json::from_str(dump.lines().next().unwrap()).unwrap();
    assert_eq!(
        first["segments"][0],
        json!({
            "kind": "system", "text": "{\"role\":\"system\",\"content\":\"You book slots.\"}\n",
            "message": 0,
        })
    );
    // The rival has only one of the two corpora: shares are of the base over the same
    // conversations.
    let rival = dump
        .lines()
        .filter(|line| line.contains("\"last:3\"") && line.contains("\"booking\""))
        .map(|line| line.replace("last:3", "other"))
        .collect::<Vec<_>>()
        .join("\n");
    std::fs::write(folder.path("rival.jsonl"), rival).unwrap();
    let run = folder.run(
        &[
            &files[..],
            &["--policy", "last:3", "--rival", "rival.jsonl"],
        ]
        .concat(),
        "",
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let rows = without_times(&run);
    for field in [
        "tokens",
        "cost",
        "net",
        "lost",
        "did",
        "arguments",
        "bound",
        "identifiers",
        "results",
        "shown_results",
        "kinds",
    ] {
        assert_eq!(rows[1][field], rows[2][field], "{field}");
    }
    assert_eq!(
        (&rows[2]["policy"], &rows[2]["bytes"]["found"]),
        (&json!("other"), &json!(0))
    );
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
            "--rival",
            "rival.jsonl",
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

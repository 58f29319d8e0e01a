//! `accp aacp lint` and `accp aacp bench`.

use std::fs;

use serde_json::json;

use super::{HEAD, aacp, codes};
use crate::workspace;

#[test]
fn aacp_56_accepts_packets_without_lists_and_pointers() {
    let run = aacp(&["lint", "--format", "json"], format!("{HEAD}|res:a\n"));
    assert_eq!(run.code, Some(0));
    assert_eq!(run.json(), [json!({ "line": 1, "warnings": [] })]);
}

#[test]
fn aacp_56_refuses_to_pass_over_their_tokens() {
    let text = format!("{HEAD}|fields:email,dept,grp|data_ptr:s3://bucket/2024/08.csv\n");
    let run = aacp(&["lint", "--format", "json"], text);
    assert_eq!(run.code, Some(0));
    let warnings = run.json()[0]["warnings"].clone();
    assert_eq!(codes(&warnings), ["field-list", "pointer"]);
    for warning in warnings.as_array().unwrap() {
        assert!(warning["tokens"].as_u64().unwrap() > 3, "{warning}");
    }
}

#[test]
fn aacp_68_accepts_ids_in_place_of_personal_data() {
    let run = aacp(
        &["lint"],
        format!("{HEAD}|to:fin_director|filter:usr=j.smith\n"),
    );
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
}

#[test]
fn aacp_68_refuses_to_pass_over_personal_data_and_shows_none() {
    let text =
        format!("{HEAD}|to:ann@example.com|issue:4111 1111 1111 1111|src:sk-abcdefghijklmnop\n");
    let run = aacp(&["lint", "--format", "json"], &text);
    let warnings = run.json()[0]["warnings"].clone();
    assert_eq!(
        codes(&warnings),
        ["email-address", "card-number", "key-like"]
    );
    for secret in ["ann", "4111", "abcdef"] {
        assert!(!run.stdout.contains(secret), "{}", run.stdout);
    }
    let told = aacp(&["lint"], &text);
    assert_eq!((told.code, told.stdout.lines().count()), (Some(0), 3));
}

/// The counts that anyone can repeat: the first hop of the draft's table is 12.7 % less.
#[test]
fn bench_counts_as_the_draft_does() {
    let english = "Please retrieve the employee salary records for the period ending 31 August 2024. I need all \
        active employees, their departments, cost centres, base salary, any changes made this month, and pension \
        contribution rates. Return as JSON array.";
    let packet = format!("{HEAD}|res:emp_salary|period:2024-08|filter:status=active|fmt:json");
    let pair = json!({ "id": "fetch", "english": english, "packet": packet });
    let run = aacp(&["bench", "-", "--format", "json"], format!("{pair}\n"));
    assert_eq!(run.code, Some(0));
    let expected = json!({
        "encoding": "o200k_base", "substitute": false, "overhead": 7,
        "pairs": [{ "id": "fetch", "english": 48, "packet": 41, "json": 47 }],
        "total": { "english": 48, "packet": 41, "json": 47 },
        "saving": { "bare": 0.146, "chat": 0.127 },
    });
    assert_eq!(run.json(), [expected]);
}

#[test]
fn bench_refuses_pairs_that_it_cannot_count() {
    for (input, says) in [
        ("", "there are no pairs"),
        ("x\n", "write an object"),
        ("{\"id\":1,\"english\":\"x\"}\n", "`packet`"),
        (
            "{\"id\":1,\"english\":\"x\",\"packet\":\"a\"}\n",
            "in `packet`: dom-missing",
        ),
    ] {
        let run = aacp(&["bench", "-"], input);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{input}");
        assert!(run.stderr.contains(says), "{}", run.stderr);
    }
}

/// The table of docs/aacp.md is what the command prints for the pairs of the repository.
#[test]
fn the_table_in_the_documents_is_counted() {
    let pairs = workspace().join("examples/aacp-pairs.jsonl");
    let run = aacp(&["bench", pairs.to_str().unwrap()], "");
    let page = fs::read_to_string(workspace().join("docs/aacp.md")).unwrap();
    assert!(
        page.contains(&run.stdout),
        "docs/aacp.md lacks this table:\n{}",
        run.stdout
    );
}

//! Tests of `accp aacp lint` and `accp aacp bench`.

use std::fmt::Write as _;
use std::fs;

use serde_json::json;

use super::{HEAD, aacp, codes};
use crate::cli::workspace;

#[test]
fn aacp_56_accepts_packets_without_lists_and_pointers() {
    let run = aacp("lint --format json", format!("{HEAD}|res:a\n"));
    run.code_is(0);
    assert_eq!(run.json(), [json!({ "line": 1, "warnings": [] })]);
}

#[test]
fn aacp_56_refuses_to_pass_over_their_tokens() {
    let text = format!("{HEAD}|fields:email,dept,grp|data_ptr:s3://bucket/2024/08.csv\n");
    let run = aacp("lint --format json", text);
    run.code_is(0);
    let warnings = run.json()[0]["warnings"].clone();
    assert_eq!(codes(&warnings), ["field-list", "pointer"]);
    for warning in warnings.as_array().unwrap() {
        assert!(warning["tokens"].as_u64().unwrap() > 3, "{warning}");
    }
}

#[test]
fn aacp_68_accepts_ids_in_place_of_personal_data() {
    let run = aacp(
        "lint",
        format!("{HEAD}|to:fin_director|filter:usr=j.smith\n"),
    );
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
}

#[test]
fn aacp_68_refuses_to_pass_over_personal_data_and_shows_none() {
    let text =
        format!("{HEAD}|to:ann@example.com|issue:4111 1111 1111 1111|src:sk-abcdefghijklmnop\n");
    let run = aacp("lint --format json", &text);
    let warnings = run.json()[0]["warnings"].clone();
    assert_eq!(
        codes(&warnings),
        ["email-address", "card-number", "key-like"]
    );
    for secret in ["ann", "4111", "abcdef"] {
        assert!(!run.stdout.contains(secret), "{}", run.stdout);
    }
    let told = aacp("lint", &text);
    assert_eq!((told.code, told.stdout.lines().count()), (Some(0), 3));
}

/// The hops in the token table of the draft: the English text, the packet, the tokens of each, and the saving. The
/// authors counted the English texts (`benchmark/tokenisation_test.py` in the repository of the package aacp). The
/// packets are those of version 1.1. The saving is from the GPT-4o column of the table, in permille of the English
/// tokens. For the fourth hop the authors counted another English text: the text here has 45 tokens, but the table is
/// based on 50.
const HOPS: [(&str, &str, usize, usize, Option<u16>); 4] = [
    (
        "Please retrieve the employee salary records for the period ending 31 August 2024. I need all \
         active employees, their departments, cost centres, base salary, any changes made this month, \
         and pension contribution rates. Return as JSON array.",
        "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08|filter:status=active|fmt:json",
        48,
        41,
        Some(127),
    ),
    (
        "I now have the payroll data from HRMS. I need you to provide the budget allocations by cost \
         centre so I can verify that payroll costs fall within approved budgets before we proceed. \
         Please include year-to-date spend.",
        "FETCH|FIN|return:HR-Agent|p:1|aacp:1.1|res:budget_cc|period:2024-08|fmt:json",
        43,
        35,
        Some(160),
    ),
    (
        "I have both employee salary data and budget allocations. Please merge these datasets, apply \
         pension contribution rates, calculate net pay for all employees, apply PAYE deductions, \
         validate totals against approved budgets, and flag any anomalies. Use payroll rules version 2.",
        "MERGE|HR|return:HR-Agent|p:1|aacp:1.1|rules:payroll_v2|validate:budget_cc",
        50,
        32,
        Some(316),
    ),
    (
        "Payroll calculation is complete. Please generate the monthly payroll report using the standard \
         payroll monthly template. Include a summary page, department breakdown, anomaly flags, and \
         produce it in both PDF and Excel format. Include comparison to last month.",
        "REPORT|HR|return:HR-Agent|p:2|aacp:1.1|fmt:pdf,xlsx|highlight:REVIEW_REQ",
        45,
        31,
        None,
    ),
];

/// Our counts agree exactly with the first three rows of the GPT-4o column, which everybody can count again. The
/// tokenizer for the Claude column is not public, so that column is not tested.
#[test]
fn aacp_57_accepts_the_column_that_can_be_counted_again() {
    let mut pairs = String::new();
    for (at, (english, packet, ..)) in HOPS.iter().enumerate() {
        let pair = json!({ "id": at, "english": english, "packet": packet });
        writeln!(pairs, "{pair}").unwrap();
    }
    let run = aacp("bench - --format json", &pairs);
    run.code_is(0);
    let report = run.json()[0].clone();
    assert_eq!(
        (&report["encoding"], &report["overhead"]),
        (&json!("o200k_base"), &json!(7))
    );
    for (at, (_, _, english, packet, permille)) in HOPS.iter().enumerate() {
        let row = &report["pairs"][at];
        assert_eq!(
            (&row["english"], &row["packet"]),
            (&json!(english), &json!(packet))
        );
        if let Some(permille) = permille {
            let saved = 1.0 - (packet + 7) as f64 / (english + 7) as f64;
            assert_eq!(
                format!("{:.0}", saved * 1000.0),
                permille.to_string(),
                "hop {at}"
            );
        }
    }
    // The table claims a total of 23.7 %. This total is right if the fourth hop has 50 tokens in
    // English.
    let [english, packets] = [48 + 43 + 50 + 50 + 28, 41 + 35 + 32 + 31 + 28_u16];
    let saved = 1.0 - f64::from(packets) / f64::from(english);
    assert_eq!(format!("{:.0}", saved * 1000.0), "237");
}

/// If the counter is a substitute for the tokenizer of the model, the output says so. Figures that are not counted
/// but only claimed are marked.
#[test]
fn aacp_57_refuses_to_pass_a_substitute_off_as_a_count() {
    let (english, packet, ..) = HOPS[0];
    let pair = json!({ "id": 0, "english": english, "packet": packet });
    let run = aacp(
        "bench - --format json --model claude-sonnet-4-5",
        format!("{pair}\n"),
    );
    assert_eq!(run.json()[0]["substitute"], true);
    let docs = fs::read_to_string(workspace().join("docs/aacp.md")).unwrap();
    assert!(docs.contains("| claimed for Claude |"));
}

#[test]
fn aacp_58_accepts_a_price_for_tokens() {
    let (english, packet, ..) = HOPS[0];
    let pair = json!({ "id": 0, "english": english, "packet": packet });
    let run = aacp("bench - --format json --price 2000", format!("{pair}\n"));
    let report = run.json()[0].clone();
    let [english, packet, saved] =
        ["english", "packet", "saved"].map(|name| report["cost"][name].as_f64().unwrap());
    assert_eq!((english, packet), (0.11, 0.096));
    assert!((saved - 0.014).abs() < 1e-9);
    aacp("bench - --price 2000", format!("{pair}\n"))
        .stdout_ends("cost: 0.110000 in English, 0.096000 as packets, 0.014000 saved\n");
}

/// Without --price, the output has only tokens and no costs, because the command has no built-in prices.
#[test]
fn aacp_58_refuses_to_know_a_price() {
    let (english, packet, ..) = HOPS[0];
    let pair = json!({ "id": 0, "english": english, "packet": packet });
    let run = aacp("bench - --format json", format!("{pair}\n"));
    assert_eq!(run.json()[0].get("cost"), None);
    aacp("bench - --overhead 18446744073709551615", "").code_is(2);
    for price in ["-1", "NaN", "inf", "two"] {
        aacp(["bench", "-", &format!("--price={price}")], "").code_is(2);
    }
}

/// Each column counts the text that it is named after.
#[test]
fn bench_counts_frames_and_views() {
    let (english, packet, ..) = HOPS[0];
    let pair = json!({ "id": "fetch", "english": english, "packet": packet });
    let run = aacp("bench - --format json", format!("{pair}\n"));
    let row = run.json()[0]["pairs"][0].clone();
    let frame = aacp("bridge --to frame", format!("{packet}\n")).stdout;
    let counted = crate::cli::accp("tokens --format json", frame);
    assert_eq!(row["frame"], counted.json()[0]["total"]);
    assert_eq!(row["json"], 47);
    assert!(
        row["view"].as_u64().unwrap() < row["frame"].as_u64().unwrap(),
        "{row}"
    );
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
        let run = aacp("bench -", input);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{input}");
        run.stderr_has(says);
    }
}

/// The table in docs/aacp.md must be what the command prints for the pairs of the repository.
#[test]
fn the_table_in_the_documents_is_counted() {
    let pairs = workspace().join("examples/aacp-pairs.jsonl");
    let run = aacp(["bench", pairs.to_str().unwrap()], "");
    let page = fs::read_to_string(workspace().join("docs/aacp.md")).unwrap();
    assert!(
        page.contains(&run.stdout),
        "docs/aacp.md lacks this table:\n{}",
        run.stdout
    );
}

/// The command reports every pointer, even in a field that usually has one.
#[test]
fn lint_counts_the_tokens_of_every_pointer() {
    let text = "FETCH|HR|return:https://hooks.example.org/hr|aacp:1.1|att:x://y/z\n";
    let run = aacp("lint --format json", text);
    let warnings = run.json()[0]["warnings"].clone();
    assert_eq!(codes(&warnings), ["pointer", "pointer"]);
    for warning in warnings.as_array().unwrap() {
        assert!(warning["tokens"].as_u64().unwrap() > 3, "{warning}");
    }
}

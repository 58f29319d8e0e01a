//! Tests of `accp aacp bridge` and `accp aacp profile`.

use std::fs;

use serde_json::json;

use super::{HEAD, PRINTED, aacp, codes};
use crate::cli::accp;

/// Unusual packets: with unknown tasks and keys, with fields in other orders, and with fields without a key, which
/// version 1.0 allows.
const ODD: &str = "ROLL-BACK|OPS|acme_cost:1:2|aacp:1.1|return:a|order:x\n\
                   fetch|HR|return:a|aacp:1.0||badge\n\
                   SEND|HR|return:a|aacp:1.1|subj:Pay slips, caf\u{e9} 100%|to:|fields:a,,b\n";

#[test]
fn packets_become_frames_that_check_accepts_and_come_back() {
    let joined = aacp(
        "decode --format json",
        PRINTED.replace("|\n   ", "|").replace("   ", ""),
    );
    let joined: Vec<String> = joined
        .json()
        .iter()
        .map(|row| row["packet"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(joined.len(), 6);
    let long = format!("{HEAD}|subj:{}\n", "long words ".repeat(40).trim());
    let packets = format!("{}\n{ODD}{long}", joined.join("\n"));
    let frames = aacp("bridge --to frame --from planner", &packets);
    frames.code_is(0);
    frames.stdout_starts("@planner>qry:fetch{dom:HR|return:HR-Agent|p:1|res:");
    accp("check", &frames.stdout).code_is(0);
    let back = aacp("bridge --to packet", &frames.stdout);
    assert_eq!((back.code, back.stdout), (Some(0), packets));
}

/// Every packet of the draft's workflows becomes a frame, and the frame becomes the same packet again.
#[test]
fn workflows_come_back() {
    for (workflow, values) in [
        ("payroll", "--set period=2024-08"),
        ("it", "--set username=j.smith --set email=j@example.com"),
        (
            "invoice",
            "--set 'supplier=ABC Ltd' --set amount=4200.50 --set currency=gbp \
             --set purchase_order=PO-441 --set invoice_ref=INV-1",
        ),
        (
            "contract",
            "--set contract_type=nda --set 'party=Acme Ltd' --set clause_ref=s7 \
             --set 'issue=IP rights' --set risk=high --set recommendation=negotiate",
        ),
    ] {
        let packets = aacp(("encode --workflow", workflow, values), "");
        packets.code_is(0);
        let frames = aacp("bridge --to frame", &packets.stdout);
        let back = aacp("bridge --to packet", &frames.stdout);
        assert_eq!((back.code, back.stdout), (Some(0), packets.stdout));
    }
}

#[test]
fn spaces_that_do_not_count_are_gone_and_said() {
    let run = aacp(
        "bridge --to frame --format json",
        "LOG | HR|return: a|aacp:1.1\n",
    );
    let row = run.json()[0].clone();
    assert_eq!(row["frame"], "@agent>req:log{dom:HR|return:a|schema:AP}");
    assert_eq!(codes(&row["warnings"]), ["space-trimmed", "p-missing"]);
    aacp("bridge --to frame", "LOG | HR|return: a|aacp:1.1\n").stderr_has("warning[space-trimmed]");
}

#[test]
fn what_is_no_packet_is_reported_and_left_out() {
    let packets = format!("FETCH|HR\n\n{HEAD}\n");
    let run = aacp("bridge --to frame --format json", packets);
    run.code_is(1);
    let rows = run.json();
    assert_eq!(
        codes(&rows[0]["errors"]),
        ["return-missing", "aacp-missing"]
    );
    assert_eq!(codes(&rows[1]["errors"]), ["packet-empty"]);
    assert_eq!(rows[2]["line"], 3);

    let frames = "@a>req:schedule{asgn:b|task:c|schema:TA}\n@a>req:log{return:b|dom:HR|res:\"a%7Cb|schema:AP}\n@a>req:log{return:b\n";
    let run = aacp("bridge --to packet --format json", frames);
    run.code_is(1);
    let rows = run.json();
    let found: Vec<_> = rows.iter().map(|row| row["errors"][0].clone()).collect();
    let places: Vec<_> = found
        .iter()
        .map(|error| json!([error["code"], error["field"]]))
        .collect();
    assert_eq!(
        places,
        [
            json!(["E1003", null]),
            json!(["E1004", "res"]),
            json!(["E1001", null])
        ]
    );
    assert!(
        found[0]["message"]
            .as_str()
            .unwrap()
            .starts_with("byte 37: "),
        "{}",
        found[0]
    );
    let text = aacp("bridge --to packet", frames);
    assert_eq!((text.code, text.stdout.as_str()), (Some(1), ""));
    text.stderr_has("`res`: `|` separates fields");
}

#[test]
fn misuse_is_said() {
    for (args, says) in [
        ("--to packet --from a", "--from is the sender of frames"),
        ("--to frame --from 'a b'", "--from: "),
    ] {
        aacp(("bridge", args), "").code_is(2).stderr_has(says);
    }
}

/// The profile is a normal registry file: the other commands can lint it, generate code from it, and check frames
/// with it.
#[test]
fn the_profile_is_a_registry() {
    let profile = aacp("profile", "");
    profile.code_is(0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ap.json");
    fs::write(&file, &profile.stdout).unwrap();
    let file = file.to_str().unwrap();
    for args in [
        vec!["registry", "lint", file],
        vec!["generate", file],
        vec!["check", "--registry", file],
    ] {
        let frame = "@a>req:ack{dom:HR|return:b|schema:AP}\n";
        accp(&args, frame).code_is(0);
    }
}

/// A packet may have more items than a frame can hold. Then the command reports this packet, and converts the others.
#[test]
fn a_packet_that_makes_no_frame_does_not_stop_the_others() {
    let packets = format!("{HEAD}|fields:{}\n{HEAD}\n", ",".repeat(5_000));
    let run = aacp("bridge --to frame --format json", &packets);
    let rows = run.json();
    assert_eq!((run.code, rows.len()), (Some(1), 2));
    let error = &rows[0]["errors"][0];
    assert_eq!(
        (&rows[0]["line"], &error["code"]),
        (&json!(1), &json!("E1001"))
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .ends_with("point to the data with data_ptr")
    );
    assert!(rows[1]["frame"].is_string());

    let run = aacp("bridge --to frame", &packets);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(1), 1));
    run.stderr_starts("error: stdin:1: the frame has ");
}

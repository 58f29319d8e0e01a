//! Tests of `accp check`.

use serde_json::json;

use crate::cli::{Folder, GOOD, accp};

#[test]
fn good_frames_pass_and_blank_lines_do_not_count() {
    let run = accp("check", format!("{GOOD}\n\n@a>ping:link{{}}\r\n"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(run.stderr, "2 lines: all fine\n");
}

#[test]
fn a_fault_is_shown_with_place_caret_and_cure() {
    let text = format!("{GOOD}\n@planner>req:schedule{{who:@dev_team|when:sprint_14}}\n");
    let folder = Folder::with(&[("frames.accp", &text)]);
    let run = folder.run("check frames.accp", "");
    run.code_is(1);
    insta::assert_snapshot!(run.stdout, @r"
    error[E1001]: expected a value after `who:`, found '@'
     --> frames.accp:2:27
      |
    2 | @planner>req:schedule{who:@dev_team|when:sprint_14}
      |                           ^
      |
      = help: '@' starts an agent id and must be escaped as '\@' inside a value; `accp fix` repairs this line
    ");
    assert_eq!(run.stderr, "2 lines: 1 fine, 1 at fault\n");
}

/// A key that stands twice is told alike in a plain map, and in the pairs of a map.
#[test]
fn a_fault_in_the_pairs_of_a_map_has_its_own_place() {
    let registry = r#"{ "schemas": { "point": { "code": "PT", "fields": ["x", "of"],
        "types": { "x": "integer", "of": "{PT}" }, "frames": [{ "intent": "req", "operation": "go" }] } } }"#;
    let folder = Folder::with(&[("ours.json", registry)]);
    let frames =
        "@a>req:go{of:{k:{x:1,x:2}}|schema:PT}\n@a>req:go{of:{_:[[k,{x:1,x:2}]]}|schema:PT}\n";
    let run = folder.run("check --registry ours.json --format json", frames);
    run.code_is(1);
    let found = run.json();
    assert_eq!(found.len(), 2);
    for (found, at) in found.iter().zip([20, 24]) {
        assert_eq!(
            (&found["code"], &found["at"]),
            (&json!("E1001"), &json!(at))
        );
        let message = found["message"].as_str().unwrap();
        let expected = "in of.k: expected every key once in a map";
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_fault_of_meaning_is_shown_likewise() {
    let run = accp(
        "check",
        "@planner>req:schedule{asgn:dev|task:x|prog:soon|schema:TA}\n",
    );
    run.code_is(1);
    insta::assert_snapshot!(run.stdout, @r"
    error[E1004]: in progress: expected a value of type integer
     --> stdin:1:44
      |
    1 | @planner>req:schedule{asgn:dev|task:x|prog:soon|schema:TA}
      |                                            ^
      |
      = help: `accp registry show` lists the fields of a schema and their types
    ");
}

#[test]
fn json_is_an_object_a_line() {
    let lines = [
        GOOD,
        "@planner:plan{}",
        "",
        "@planner>reqs:plan{}",
        "@planner>req:plan{schema:XX}",
        "@planner>req:schedule{asgn:dev|schema:TA}",
    ];
    let run = accp("check --format json", lines.join("\n"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let found = run.json();
    assert_eq!(found[0], json!({ "line": 1, "ok": true }));
    assert_eq!(
        found[1],
        json!({
            "line": 2, "ok": false, "code": "E1001", "at": 8,
            "message": "expected '>' after the agent id, found ':'; the header and the body are \
                        written @agent>intent:operation{}",
        })
    );
    let verdicts: Vec<_> = found[2..]
        .iter()
        .map(|found| {
            (
                found["line"].as_u64(),
                found["code"].as_str(),
                found["at"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        verdicts,
        [
            (Some(4), Some("E1002"), Some(9)),
            (Some(5), Some("E1003"), Some(25)),
            (Some(6), Some("E1004"), Some(40)),
        ]
    );
    for fault in &found[1..] {
        let keys: Vec<_> = fault
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(keys, ["line", "ok", "code", "at", "message"]);
    }
}

#[test]
fn garbage_is_reported_and_does_not_stop_the_rest() {
    let mut input = b"\xff\xfe\n\x1b[31mred\n@a>req:plan{d:[[[[[[1]]]]]]}\n".to_vec();
    input.extend(
        b"@a>req:plan{d:"
            .iter()
            .chain(&vec![b'x'; 200_000])
            .chain(b"}\n"),
    );
    input.extend(b"@a>req:plan{task:x\n@a>req:plan{t:\xc3\xa9}\n@a>req:plan{}");
    let run = accp("check --format json", &input);
    run.code_is(1);
    let places: Vec<_> = run
        .json()
        .iter()
        .map(|found| found["at"].as_u64())
        .collect();
    let expected = [
        Some(0),
        Some(0),
        Some(19),
        Some(65_536),
        Some(18),
        Some(14),
        None,
    ];
    assert_eq!(places, expected);

    let run = accp("check", &input);
    assert_eq!(run.stderr, "7 lines: 1 fine, 6 at fault\n");
    assert!(
        !run.stdout.contains('\x1b'),
        "a frame does not reach the terminal raw"
    );
    assert!(
        run.stdout.lines().all(|line| line.len() < 200),
        "a long line is cut"
    );
}

#[test]
fn every_fault_has_a_cure() {
    for line in [
        "",
        "garbage",
        "@a>req:plan{d:[[[[[[1]]]]]]}",
        "@a>zap:plan{}",
        "@a>req:plan{a:1",
    ] {
        let run = accp("check", format!("{line}\n"));
        assert_eq!(
            run.stdout.contains("= help: "),
            !line.is_empty(),
            "{line}: {}",
            run.stdout
        );
    }
}

#[test]
fn fix_is_named_where_it_helps_and_only_there() {
    for (line, helps) in [
        ("@a>req:plan{f:[k:v, l:w]}", true),
        ("@a>req:plan{who:@dev|pri: high}", true),
        ("@a>req:plan{f:[k:v, l:w}", false),
        ("@a>req: plan{}", false),
    ] {
        let run = accp("check", line);
        assert_eq!(
            run.stdout.contains("`accp fix` repairs this line"),
            helps,
            "{}",
            run.stdout
        );
    }
}

#[test]
fn syntax_only_asks_no_registry() {
    let frames = "@planner>reqs:plan{schema:XX}\n";
    accp("check", frames).code_is(1);
    accp("check --syntax-only", frames).code_is(0);
}

#[test]
fn a_registry_adds_to_the_standard_profiles() {
    let registry = r#"{ "schemas": { "sales_report": {
        "code": "SR", "version": 1, "fields": ["period", "revenue"],
        "types": { "revenue": "decimal" } } } }"#;
    let folder = Folder::with(&[("ours.json", registry)]);
    let frames = format!("{GOOD}\n@a>done:analyze{{period:q3|revenue:1.5|schema:SR}}\n");
    folder.run("check", &frames).code_is(1);
    folder.run("check --registry ours.json", &frames).code_is(0);
    let wrong = frames.replace("1.5", "much");
    folder.run("check --registry ours.json", &wrong).code_is(1);
}

#[test]
fn what_the_draft_recommends_against_is_a_warning() {
    let pay = |currency: &str| {
        format!("@a>req:transaction{{txn:t1|amt:1.5|currency:{currency}|schema:TX}}\n")
    };
    let frames: String = ["EUR", "XXX", "euros", "usd", "QQQ"].map(pay).concat();
    let run = accp("check", frames);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stderr, @r"
    warning: stdin:3: currency: `euros` is not a code of ISO 4217 (draft section 10.3)
    warning: stdin:4: currency: `usd` is not a code of ISO 4217 (draft section 10.3); did you mean USD?
    warning: stdin:5: currency: `QQQ` is not a code of ISO 4217 (draft section 10.3)
    5 lines: all fine
    ");
}

/// A sender may add fields, so only a field that is nearly one of the schema is a warning. JSON has the warnings too.
#[test]
fn a_field_that_is_nearly_one_of_the_schema_is_a_warning() {
    let frames = "@a>req:schedule{asgn:dev|task:x|prioritiy:high|schema:TA}\n\
                  @a>req:schedule{asgn:dev|task:x|room:b4|schema:TA}\n\
                  @a>req:plan{prioritiy:high}\n";
    let run = accp("check", frames);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stderr, @r"
    warning: stdin:1: schema TA has no field `prioritiy`; did you mean `priority`?
    3 lines: all fine
    ");
    let run = accp("check --format json", frames);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let warning = "schema TA has no field `prioritiy`; did you mean `priority`?";
    assert_eq!(
        run.json(),
        [
            json!({ "line": 1, "ok": true, "warnings": [warning] }),
            json!({ "line": 2, "ok": true }),
            json!({ "line": 3, "ok": true }),
        ]
    );
}

/// Every command that reads a schema's code names the code where somebody wrote the name of the schema.
#[test]
fn the_name_of_a_schema_in_the_place_of_its_code() {
    let frame = "@a>req:schedule{asgn:dev|task:x|schema:task_assignment}";
    let run = accp("check", frame);
    run.code_is(1);
    insta::assert_snapshot!(run.stdout, @r"
    error[E1003]: expected a schema of the registry: AP, CH, ER, ST, TA, TC, TX
     --> stdin:1:40
      |
    1 | @a>req:schedule{asgn:dev|task:x|schema:task_assignment}
      |                                        ^
      |
      = help: write TA, the code of the schema task_assignment
    ");
    let cure = "write TA, the code of the schema task_assignment";
    for command in ["decode", "explain", "fix"] {
        accp(command, frame).code_is(1).stderr_has(cure);
    }
    let small = frame.replace("task_assignment", "ta");
    accp("check", &small).code_is(1).stdout_has(cure);
    let message = json!({ "agent": "a", "intent": "req", "operation": "schedule", "schema": "task_assignment" });
    accp("encode", message.to_string())
        .code_is(1)
        .stderr_has(cure);
    let registry = include_str!("../../../../registry/profiles/TA.json");
    let folder = Folder::with(&[("ours.json", registry)]);
    for args in [
        "registry show ours.json task_assignment",
        "primer --registry ours.json --schema task_assignment",
    ] {
        folder
            .run(args, "")
            .code_is(2)
            .stderr_has("did you mean TA?");
    }
}

/// The registry has the union, so the cure is not to name another registry.
#[test]
fn a_union_in_the_place_of_the_schema_of_a_frame() {
    let registry = r#"{ "schemas": { "payment": {
        "code": "PM", "fields": ["kind", "iban"], "types": { "iban": "string" },
        "union": "kind", "variants": [{ "name": "cash" }, { "name": "bank", "required": ["iban"] }] } } }"#;
    let folder = Folder::with(&[("ours.json", registry)]);
    let cure = "PM is a union, which stands only in the fields of other schemas";
    folder
        .run(
            "check --registry ours.json",
            "@a>req:pay{kind:cash|schema:PM}\n",
        )
        .code_is(1)
        .stdout_has(format!("= help: {cure}\n"));
    let message =
        r#"{ "agent": "a", "intent": "req", "operation": "pay", "schema": "PM", "payload": {} }"#;
    folder
        .run("encode --registry ours.json", message)
        .code_is(1)
        .stderr_has(format!("; {cure}\n"));
}

#[test]
fn a_registry_that_replaces_a_standard_profile_says_so() {
    let registry = r#"{ "schemas": { "payment": {
        "code": "TX", "version": 1, "fields": ["amount"] } } }"#;
    let folder = Folder::with(&[("ours.json", &format!("\u{feff}{registry}"))]);
    let run = folder.run("check --registry ours.json", GOOD);
    run.code_is(0);
    insta::assert_snapshot!(run.stderr, @"
    note: schema TX (payment) replaces the standard profile TX (transaction): a frame with schema:TX has its fields
    1 line: all fine
    ");
}

#[test]
fn several_files_are_checked_each_under_its_name() {
    let files = [("a.accp", GOOD), ("b.accp", "\u{feff}@a>fly:plan{}\r\n")];
    let folder = Folder::with(&files);
    let run = folder.run("check a.accp b.accp", "");
    run.code_is(1);
    run.stdout_has("--> b.accp:1:");
    assert_eq!(run.stderr, "2 lines: 1 fine, 1 at fault\n");
    let run = folder.run("check --format json a.accp b.accp", "");
    let lines: Vec<serde_json::Value> = run
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let found: Vec<_> = lines
        .iter()
        .map(|line| (&line["file"], &line["ok"]))
        .collect();
    assert_eq!(
        found,
        [
            (&json!("a.accp"), &json!(true)),
            (&json!("b.accp"), &json!(false))
        ]
    );
}

/// A session whose frames break one rule after another.
const SESSION: &str = "\
@a>req:plan{}[mid:m1,seq:1,ts:100]
@b>done:plan{}[mid:m2,seq:2,cid:m1,ts:101]
@b>done:plan{}[mid:m2,seq:3,cid:m1,ts:102]
@b>done:plan{}[mid:m4,seq:4,cid:zz,ts:103]
@a>req:plan{}[mid:m5,seq:5,ts:50,ttl:10]
@a>cancel:task{}[mid:m6,seq:6]
@a>cancel:task{}[mid:m7,seq:7,cid:m1]
@a>req:plan{}[mid:m8,seq:8,aid:m2]
@a>sync:state{v:1|delta:{a:1}}[mid:m9,seq:9]
@a>sync:state{v:3|delta:{a:1}}[mid:m10,seq:10]
@a>ack:frame{}[mid:m11,seq:3]
@a>req:plan{}[seq:11]
@a>req:plan{}[mid:m12]
@a>req:plan{}[mid:m13,seq:14]
";

#[test]
fn a_session_is_checked_over_its_frames() {
    let run = accp("check --session", SESSION);
    run.code_is(1);
    insta::assert_snapshot!(run.stdout + &run.stderr, @"
    error[E3002]: expected a mid of its own, found that of line 2
     --> stdin:3:16
      |
    3 | @b>done:plan{}[mid:m2,seq:3,cid:m1,ts:102]
      |                ^
      |
      = help: a host takes each message id once; leave out what was sent again

    error[E2001]: expected the cid of a frame above, found cid:zz
     --> stdin:4:29
      |
    4 | @b>done:plan{}[mid:m4,seq:4,cid:zz,ts:103]
      |                             ^
      |
      = help: an answer names the mid of its request, or the cid of that

    error[E3001]: expected a frame before its time is over, found one of ts:50 behind ts:103 of line 4
     --> stdin:5:34
      |
    5 | @a>req:plan{}[mid:m5,seq:5,ts:50,ttl:10]
      |                                  ^
      |
      = help: a host drops it in silence; send it with a longer ttl

    error[E1004]: expected the cid of the chain to cancel
     --> stdin:6:31
      |
    6 | @a>cancel:task{}[mid:m6,seq:6]
      |                               ^
      |
      = help: the chain is the cid of its frames, or the mid of the first

    error[E5001]: expected no frame of a chain that line 7 has cancelled
     --> stdin:8:28
      |
    8 | @a>req:plan{}[mid:m8,seq:8,aid:m2]
      |                            ^
      |
      = help: a host drops it in silence; begin another chain

    error[E2001]: version 3 does not follow version 1, which is held
      --> stdin:10:15
       |
    10 | @a>sync:state{v:3|delta:{a:1}}[mid:m10,seq:10]
       |               ^
       |
       = help: make the change again on that

    error[E1001]: expected a mid in the metadata
      --> stdin:12:22
       |
    12 | @a>req:plan{}[seq:11]
       |                      ^
       |
       = help: a session sets mid, seq and ts: send frames through one

    error[E1001]: expected a seq in the metadata
      --> stdin:13:23
       |
    13 | @a>req:plan{}[mid:m12]
       |                       ^
       |
       = help: a session sets mid, seq and ts: send frames through one

    error[E3003]: expected seq:11, found seq:14
      --> stdin:14:23
       |
    14 | @a>req:plan{}[mid:m13,seq:14]
       |                       ^
       |
       = help: `--session=sender` if each sender counts its own frames

    14 lines: 5 fine, 9 at fault
    ");
}

/// Frames that follow the rules of a session pass the check, with both numberings, and even if the file begins in the
/// middle of the session.
#[test]
fn the_frames_of_a_session_pass() {
    let one = |agent: &str, mid: u64, seq: u64, more: &str| {
        format!("@{agent}>{more}[mid:{mid},seq:{seq},ts:1714000000]\n")
    };
    let request = "req:plan{a:1}";
    let state = |version: u64| format!("sync:state{{v:{version}|delta:{{k:{version}}}}}");
    let shared: Vec<String> = (1..=6)
        .map(|n| match n % 3 {
            0 => one("a", 101_000_001_000 + n, n, &state(n / 3)),
            1 => one("a", 101_000_001_000 + n, n, request),
            _ => one("b", 102_000_001_000 + n, n, request),
        })
        .collect();
    let sender: Vec<String> = (1..=6)
        .flat_map(|n| {
            ["a", "b"].map(|who| {
                one(
                    who,
                    101_000_001_000 + 1_000_000_000 * u64::from(who == "b") + n,
                    n,
                    request,
                )
            })
        })
        .collect();
    for (option, lines, other) in [
        ("--session", &shared, "--session=sender"),
        ("--session=sender", &sender, "--session=shared"),
    ] {
        for from in 0..3 {
            let text = lines[from..].concat();
            accp(["check", option, "--envelope"], &text).code_is(0);
            accp(["check", other], &text).code_is(1);
        }
    }
}

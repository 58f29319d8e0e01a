//! Tests of `accp encode` and `accp decode`.

use serde_json::{Value as Json, json};

use crate::cli::{Folder, GOOD, accp};

fn long_message() -> Json {
    json!({
        "agent": "a", "intent": "req", "operation": "plan",
        "payload": { "note": "x".repeat(51), "list": ["y".repeat(51), "short"] },
    })
}

#[test]
fn a_frame_is_json_under_full_names() {
    let run = accp(
        "decode",
        format!("{GOOD}[mid:49679033e07c,seq:3,ts:1714000000]\n"),
    );
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let expected = json!({
        "agent": "planner", "intent": "req", "operation": "schedule", "schema": "TA",
        "payload": {
            "assignee": "dev", "task": "impl_auth", "priority": "medium",
            "deadline": "sprint_14", "deps": [],
        },
        "metadata": { "msg_id": "49679033e07c", "sequence": 3, "timestamp": 1_714_000_000 },
    });
    assert_eq!(run.json(), [expected]);
}

#[test]
fn what_is_decoded_is_encoded_again() {
    let frames = format!(
        "{GOOD}[mid:49679033e07c,seq:3,cid:x]\n\
         @analyst>qry:lookup{{fmt:summary|q:revenue|src:$ctx.sales_db}}\n\
         @user>req:chat{{role:user|content:What_are_Q3_findings?|schema:CH}}\n"
    );
    for decode in ["decode", "decode --pretty"] {
        let json = accp(decode, &frames);
        let run = accp("encode", &json.stdout);
        run.code_is(0);
        assert_eq!(run.stdout, frames.as_str());
    }
}

#[test]
fn long_values_need_somewhere_to_go() {
    let message = long_message().to_string();
    let run = accp("encode", &message);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stderr, @r#"
    error: stdin:1:59: note: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx..: the value has more than 50 characters; give --externals FILE to keep it in a side file, or --inline to send it in the frame
    error: stdin:1:128: list: "yyyyyyyyyyyyyyyyyyyyyyyyyyyyy..: the value has more than 50 characters; give --externals FILE to keep it in a side file, or --inline to send it in the frame
    "#);
    let run = accp("encode --inline", &message);
    run.code_is(0);
    assert_eq!(accp("decode", &run.stdout).json()[0], long_message());
}

/// The error shows the keys of the value that is nested too deep, and no reference that the message does not have.
#[test]
fn a_value_that_is_nested_too_deep_is_shown_by_its_keys() {
    let message = json!({
        "agent": "a", "intent": "req", "operation": "plan",
        "payload": { "of": { "a b": { "c d": { "e f": 1 }, "g": 2 } } },
    });
    let run = accp("encode", message.to_string());
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stderr, @r#"error: stdin:1:65: of: {"c d":..,"g":..}: the value is nested too deep for a frame; give --externals FILE to keep it in a side file"#);
}

#[test]
fn strict_takes_no_exception() {
    let message = json!({
        "agent": "a", "intent": "req", "operation": "chat", "schema": "CH",
        "payload": { "content": "x".repeat(51) },
    });
    accp("encode", message.to_string()).code_is(0);
    accp("encode --strict", message.to_string()).code_is(1);
}

#[test]
fn the_side_file_holds_what_left_the_frames() {
    let folder = Folder::with(&[("in.jsonl", &format!("{0}\n{0}\n", long_message()))]);
    let encode = "encode in.jsonl --externals side.jsonl -o frames";
    let run = folder.run(encode, "");
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "", "")
    );
    insta::assert_snapshot!(folder.read("frames"), @r"
    @a>req:plan{list:[$cold.1507144ceaac,short]|note:$cold.9e8b2648669b}
    @a>req:plan{list:[$cold.1507144ceaac,short]|note:$cold.9e8b2648669b}
    ");
    insta::assert_snapshot!(folder.read("side.jsonl"), @r#"
    {"key":"cold.1507144ceaac","sha256":"1507144ceaac5af28f9b8ceab35c137b34f6e9f6a2e5e27436e407959f6c525c","reason":"characters","value":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}
    {"key":"cold.9e8b2648669b","sha256":"9e8b2648669bdbe597b49d2bec2a88dc148046eaa048f2e2712d5dbdea01c237","reason":"characters","value":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}
    "#);

    let run = folder.run("decode frames --externals side.jsonl", "");
    assert_eq!(run.json(), [long_message(), long_message()]);
    let run = folder.run("decode frames", "");
    let list = &run.json()[0]["payload"]["list"];
    assert_eq!(list[0]["$ref"], "cold.1507144ceaac", "{list}");
    assert_eq!(folder.names(), ["frames", "in.jsonl", "side.jsonl"]);
}

#[test]
fn what_is_deep_or_large_leaves_the_frame_too() {
    let mut deep = json!("bottom");
    for level in 0..40 {
        deep = if level % 2 == 0 {
            json!([deep])
        } else {
            json!({ "in-side": deep })
        };
    }
    let wide: Vec<_> = (0..9_000).collect();
    let message = json!({
        "agent": "a", "intent": "req", "operation": "plan",
        "payload": { "deep": deep, "wide": wide, "huge": "z".repeat(100_000) },
    });
    let folder = Folder::with(&[]);
    for options in ["", "--inline"] {
        let args = ("encode --externals side -o frames", options);
        let run = folder.run(args, message.to_string());
        run.code_is(0);
        folder.run("check frames", "").code_is(0);
        let run = folder.run("decode frames --externals side", "");
        assert_eq!(run.json().as_slice(), std::slice::from_ref(&message));
    }
}

#[test]
fn a_message_that_fits_no_frame_is_reported_with_its_line() {
    let input = r#"{"agent":"a","intent":"req","operation":"plan"}

{"agent":"dev team","intent":"req","operation":"plan"}
{"agent":"a","intent":"ask","operation":"plan"}
{
  "agent": "a",
  "intent": "req",
  "operation": "plan",
  "schema": "XX"
}
{"agent":"a","intent":"req","operation":"plan","paylod":{}}
[]
{"agent":"a","intent":"req","operation":"schedule","schema":"TA","payload":{"task":7}}
"#;
    let run = accp("encode", input);
    run.code_is(1);
    assert_eq!(run.stdout, "@a>req:plan{}\n");
    insta::assert_snapshot!(run.stderr, @r"
    error: stdin:3:2: `dev team` is not an agent id: letters, digits, '-' and '_' only
    error: stdin:4:14: `ask` is not an intent: req, done, fail, wait, esc, comp, sync, qry, ack, cancel, stream, end, ping, pong
    error: stdin:9:3: no schema XX in the registry; it has AP, CH, ER, ST, TA, TC, TX; name the registry that holds it with --registry
    error: stdin:11:48: unknown key `paylod`; did you mean `payload`?
    error: stdin:12:1: a message is an object with the keys agent, intent, operation, schema, payload, metadata; write one message a line, as `jq -c '.[]'` does
    error: stdin:13:66: assignee: missing; schema TA requires it
    error: stdin:13:77: task: the registry declares string, this is an integer
    ");
}

#[test]
fn each_mistake_of_a_message_is_reported_with_its_place() {
    let input = r#"{"agent":"a","intent":"req","operation":"plan"}
 {"agent":"dev team","intent":"ask","operation":"a plan","paylod":{},"metadata":{"ttl":"soon","seq":-1},"é":1}
{
  "agent": "a", "intent": "req", "operation": "schedule", "schema": "TA",
  "payload": {
    "asgn": 7, "pri": {"high": true},
    "deps": ["one", 2, "three", [4]],
    "note": "LONG", "list": ["short", "LONG", {"in": "LONG"}]
  }
}
{"agent":"a","intent":"done","operation":"tool","schema":"TC","payload":{"args":{"q":"x"},"stat":1}}
{"intent":"req","schema":"XX","payload":{"note":"LONG"}}
"#
    .replace("LONG", &"x".repeat(51));
    let run = accp("encode", &input);
    run.code_is(1);
    assert_eq!(run.stdout, "@a>req:plan{}\n");
    insta::assert_snapshot!(run.stderr, @r#"
    error: stdin:2:3: `dev team` is not an agent id: letters, digits, '-' and '_' only
    error: stdin:2:22: `ask` is not an intent: req, done, fail, wait, esc, comp, sync, qry, ack, cancel, stream, end, ping, pong
    error: stdin:2:37: `a plan` is not an operation: letters, digits and '_' only
    error: stdin:2:58: unknown key `paylod`; did you mean `payload`?
    error: stdin:2:82: metadata.ttl: not a 64-bit integer
    error: stdin:2:95: metadata.seq: negative
    error: stdin:2:105: unknown key `é`; params stand under `payload`
    error: stdin:5:3: task: missing; schema TA requires it
    error: stdin:6:5: assignee: the registry declares agent, this is an integer
    error: stdin:6:16: priority: the registry declares string, this is a map
    error: stdin:7:21: deps[1]: the registry declares string, this is an integer
    error: stdin:7:33: deps[3]: the registry declares string, this is an array
    error: stdin:8:5: note: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx..: the value has more than 50 characters; give --externals FILE to keep it in a side file, or --inline to send it in the frame
    error: stdin:8:86: list: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx..: the value has more than 50 characters; give --externals FILE to keep it in a side file, or --inline to send it in the frame
    error: stdin:8:142: list: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx..: the value has more than 50 characters; give --externals FILE to keep it in a side file, or --inline to send it in the frame
    error: stdin:11:63: tool_name: missing; schema TC requires it
    error: stdin:11:91: status: the registry declares string, this is an integer
    error: stdin:12:1: `agent` is missing or is not a string
    error: stdin:12:1: `operation` is missing or is not a string
    error: stdin:12:42: note: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx..: the value has more than 50 characters; give --externals FILE to keep it in a side file, or --inline to send it in the frame
    "#);
    // With --externals, a long value is not a mistake.
    let folder = Folder::with(&[]);
    let run = folder.run("encode --externals side -o frames", input);
    run.code_is(1);
    assert!(!run.stderr.contains("50 characters"), "{}", run.stderr);
    assert!(folder.names().is_empty());
}

#[test]
fn json_that_is_cut_in_half_is_reported_and_nothing_is_written() {
    let good = long_message().to_string();
    let folder = Folder::with(&[("in.jsonl", &format!("{good}\n{}", &good[..60]))]);
    let encode = "encode in.jsonl --externals side.jsonl -o frames";
    let run = folder.run(encode, "");
    run.code_is(1);
    insta::assert_snapshot!(run.stderr, @"error: in.jsonl:2:60: EOF while parsing a string; the input ends within a message; is the file complete?");
    assert_eq!(folder.names(), ["in.jsonl"]);
}

#[test]
fn other_input_is_no_json() {
    let run = accp("encode", "\n  this is a sentence\n");
    run.code_is(1);
    insta::assert_snapshot!(run.stderr, @"error: stdin:2:4: expected ident; this is not JSON; write messages as `accp decode` gives them");
    let nested = "[".repeat(100_000) + &"]".repeat(100_000);
    let run = accp("encode", &nested);
    run.code_is(1);
    insta::assert_snapshot!(run.stderr, @"error: stdin:1:128: recursion limit exceeded; JSON is read to a depth of 127");
}

#[test]
fn a_fault_leaves_files_as_they_were() {
    let folder = Folder::with(&[("frames", "old"), ("side", "old")]);
    let input = format!("{}\n{{}}\n", long_message());
    folder
        .run("encode --externals side -o frames", input)
        .code_is(1)
        .stderr_ends("frames was not written: 1 at fault\n");
    assert_eq!(
        (folder.read("frames"), folder.read("side")),
        ("old".into(), "old".into())
    );
}

#[test]
fn lines_that_are_no_frames_are_reported_and_left_out() {
    let run = accp("decode", format!("{GOOD}\n@a>req:plan{{x:1\n{GOOD}\n"));
    assert_eq!((run.code, run.stdout.lines().count()), (Some(1), 2));
    insta::assert_snapshot!(run.stderr, @r"
    error[E1001]: expected '|' or '}' after the value of `x`, found the end
     --> stdin:2:16
      |
    2 | @a>req:plan{x:1
      |                ^
      |
      = help: the frame is cut short
    ");
}

#[test]
fn a_reference_that_leads_nowhere_is_reported() {
    let folder = Folder::with(&[("side", "")]);
    let run = folder.run("decode --externals side", "@a>req:plan{x:[$cold.abc]}\n");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stderr, @r"
    error[E2001]: expected a key of side, found `cold.abc`
     --> stdin:1:16
      |
    1 | @a>req:plan{x:[$cold.abc]}
      |                ^
      |
      = help: give the side file that was written together with these frames
    ");
}

#[test]
fn a_damaged_side_file_is_refused() {
    let folder = Folder::with(&[]);
    let encode = "encode --externals side -o frames";
    folder.run(encode, long_message().to_string()).code_is(0);
    let side = folder.read("side");
    std::fs::write(folder.path("side"), side.replacen("yy", "yz", 1)).unwrap();
    let run = folder.run("decode frames --externals side", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    run.stderr_starts("error: side:1: the value of `cold.");

    std::fs::write(folder.path("side"), &side[..side.len() - 20]).unwrap();
    folder
        .run("decode frames --externals side", "")
        .code_is(1)
        .stderr_has("write the side file anew");
}

/// The tag of a union cannot be a reference, and it decides which fields a record has. So to find each mistake of a
/// record, the command keeps the tag.
#[test]
fn each_mistake_of_a_record_of_a_union_has_its_own_place() {
    let registry = r#"{ "schemas": {
        "shape": { "code": "SH", "fields": ["kind", "r", "w", "h"], "types": { "r": "integer", "w": "integer", "h": "integer" },
            "union": "kind", "variants": [{ "name": "circle", "required": ["r"] }, { "name": "box", "fields": ["w"], "required": ["h"] }] },
        "drawing": { "code": "DR", "fields": ["shape", "more"], "types": { "shape": "SH", "more": "[SH]" },
            "frames": [{ "intent": "req", "operation": "draw" }] } } }"#;
    let folder = Folder::with(&[("registry.json", registry)]);
    let encode = |payload: Json| {
        let message = json!({ "agent": "a", "intent": "req", "operation": "draw", "schema": "DR", "payload": payload });
        folder
            .run("encode --registry registry.json", message.to_string())
            .stderr
    };
    assert_eq!(encode(json!({ "shape": { "kind": "circle", "r": 1 } })), "");
    let found = [
        json!({ "kind": "circle", "r": 1, "w": 2 }),
        json!({ "kind": "circle", "r": 1, "q": "x" }),
        json!({ "kind": "circle", "r": "wide" }),
        json!({ "kind": "circle" }),
        json!({ "kind": "ring", "r": 1 }),
        json!({ "r": 1 }),
        json!({ "kind": "box", "w": "wide", "r": 1 }),
    ];
    let found: Vec<String> = found.map(|shape| encode(json!({ "shape": shape }))).into();
    insta::assert_snapshot!(found.join("--\n"), @"
    error: stdin:1:104: shape.w: the variant `circle` has no such field
    --
    --
    error: stdin:1:98: shape.r: the registry declares integer, this is a string
    --
    error: stdin:1:73: shape.r: missing; schema SH requires it
    --
    error: stdin:1:82: shape.kind: this is not the name of a variant of SH
    --
    error: stdin:1:73: shape.kind: missing; schema SH requires it
    --
    error: stdin:1:73: shape.h: missing; schema SH requires it
    error: stdin:1:95: shape.w: the registry declares integer, this is a string
    error: stdin:1:106: shape.r: the variant `box` has no such field
    ");
    insta::assert_snapshot!(encode(json!({ "more": [{ "kind": "circle", "r": 1 }, { "kind": "box", "h": [], "r": 1 }] })), @"
    error: stdin:1:119: more[1].h: the registry declares integer, this is an array
    error: stdin:1:126: more[1].r: the variant `box` has no such field
    ");
}

/// A decimal in JSON may have any spelling of a number. Only a seventh place does not fit.
#[test]
fn each_spelling_of_a_decimal_is_a_decimal() {
    let registry = r#"{ "schemas": { "bill": { "code": "BI", "fields": ["sum"], "types": { "sum": "decimal" },
        "frames": [{ "intent": "req", "operation": "pay" }] } } }"#;
    let folder = Folder::with(&[("registry.json", registry)]);
    let encode = |sum: &str| {
        let head = r#"{"agent":"a","intent":"req","operation":"pay","schema":"BI""#;
        let message = format!(r#"{head},"payload":{{"sum":{sum}}}}}"#);
        folder.run("encode --registry registry.json", message)
    };
    for (sum, written) in [
        ("-0.0", "0.0"),
        ("-0", "0.0"),
        ("-0e5", "0.0"),
        ("0", "0.0"),
        ("1e-6", "0.000001"),
        ("1e2", "100.0"),
        ("-7", "-7.0"),
    ] {
        let expected = format!("@a>req:pay{{sum:{written}|schema:BI}}\n");
        assert_eq!(encode(sum).stdout, expected, "{sum}");
    }
    encode("1e-7")
        .code_is(1)
        .stderr_has("a decimal has at most 6 places");
}

/// The side file would take the place of the messages, or of the frames.
#[test]
fn a_side_file_has_a_name_of_its_own() {
    let message = format!("{}\n", long_message());
    let folder = Folder::with(&[("in.jsonl", &message)]);
    std::fs::create_dir(folder.path("sub")).unwrap();
    for args in [
        "encode in.jsonl --externals in.jsonl",
        "encode in.jsonl --externals sub/../in.jsonl -o frames",
        "encode in.jsonl --externals side -o side",
    ] {
        let run = folder.run(args, "");
        run.code_is(2).stderr_has("is named twice");
    }
    assert_eq!(folder.read("in.jsonl"), message);
    folder
        .run("encode in.jsonl --externals -", "")
        .code_is(2)
        .stderr_has("name a file");
    folder
        .run("encode in.jsonl --externals side -o frames", "")
        .code_is(0);
    let side = folder.read("side");
    folder
        .run("decode frames --externals side -o side", "")
        .code_is(2)
        .stderr_has("is named twice");
    assert_eq!(folder.read("side"), side);
    // An output that takes the place of its input is whole.
    folder.run("decode frames -o frames", "").code_is(0);
    let names = ["frames", "in.jsonl", "side", "sub"];
    assert_eq!(folder.names(), names);
}

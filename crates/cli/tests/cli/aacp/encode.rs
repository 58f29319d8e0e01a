//! Tests of `accp aacp encode` and `accp aacp workflows`.

use serde_json::json;

use super::{HEAD, aacp};
use crate::cli::{Folder, accp};

#[test]
fn what_decode_writes_encode_reads_to_the_byte() {
    let text = format!("{HEAD}|zz:1|fields:a,b|att:x://y:z\nFETCH|OPS|return:é|aacp:1.0||x\n");
    let decoded = aacp("decode --format json", &text);
    let run = aacp("encode", &decoded.stdout);
    assert_eq!((run.code, run.stdout), (Some(0), text));
}

#[test]
fn encode_adds_the_version_and_nothing_else() {
    let objects = [
        json!({ "task": "LOG", "dom": "HR", "fields": [["return", "a"], ["p", "2"], ["res", "b"]] }),
        json!({ "task": "LOG", "dom": "HR", "fields": { "res": "b", "return": "a", "amt": 7 } }),
    ];
    let input = objects.map(|object| object.to_string()).join("\n");
    let run = aacp("encode", input);
    let expected = "LOG|HR|return:a|p:2|aacp:1.1|res:b\nLOG|HR|res:b|return:a|amt:7|aacp:1.1\n";
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), expected));
}

#[test]
fn encode_refuses_what_makes_no_packet_and_goes_on() {
    let objects = [
        r#"{"task":"LOG","dom":"HR","fields":{"return":"a|return:b"}}"#,
        r#"{"task":"LOG","dom":"HR","fields":{"return":"a","return":"b"}}"#,
        r#"{"task":"LOG","dom":"HR","fields":{"res":"a"}}"#,
        r#"{"task":"LOG","dom":"HR","fields":{"return":"a","amt":1.50}}"#,
        r#"{"task":"LOG","dom":"HR"}"#,
        r#"{"task":"LOG","dom":"HR","fields":{"return":"a"},"ret":"b"}"#,
        r#"{"task":"LOG","task":"SEND","dom":"HR","fields":{"return":"a"}}"#,
        "not json",
        r#"{"task":20240831,"dom":"HR","fields":{"return":"a"}}"#,
        r#"{"task":"LOG","dom":"HR","fields":"a secret, expected here at line 1"}"#,
        r#"{"task":"LOG","dom":"HR","fields":[["a secret"]]}"#,
        r#""a secret""#,
        r#"{"task":"LOG","dom":"HR","fields":{"return":"a","amt":18446744073709551616}}"#,
        r#"{"line":2,"errors":[]}"#,
        "[]",
        r#"{"task":"LOG","dom":"HR","fields":{"return":"a"}}"#,
    ];
    let run = aacp("encode", objects.join("\n"));
    run.code_is(1);
    assert_eq!(run.stdout, "LOG|HR|return:a|aacp:1.1\n");
    insta::assert_snapshot!(run.stderr, @"
    error: stdin:1: `return`: `|` separates fields and cannot stand in a value; take another character, or point to the text with data_ptr
    error: stdin:2: `return`: a key stands twice; keep one of the two fields; a list is one value with commas
    error: stdin:3: no field says who gets the result; add return:AGENT
    error: stdin:4: character 59: a value is a string or an integer of at most 64 bits; write a list as one string with commas, and any other number as a string
    error: stdin:5: character 25: there is no `fields`; add it
    error: stdin:6: character 54: an unknown key; the keys are task, dom and fields
    error: stdin:7: character 27: `task` stands twice; keep one of the two
    error: stdin:8: character 2: expected ident; write an object as `accp aacp decode` gives it, on one line
    error: stdin:9: character 16: expected a string; write an object as `accp aacp decode` gives it, on one line
    error: stdin:10: character 69: expected an array of pairs, or an object; write an object as `accp aacp decode` gives it, on one line
    error: stdin:11: character 47: expected a tuple of size 2; write an object as `accp aacp decode` gives it, on one line
    error: stdin:12: character 10: expected an object with `task`, `dom` and `fields`; write an object as `accp aacp decode` gives it, on one line
    error: stdin:13: character 75: a value is a string or an integer of at most 64 bits; write a list as one string with commas, and any other number as a string
    error: stdin:14: character 18: the line has the errors of a packet in place of the packet; run `accp aacp validate` on the packets, and mend this one
    error: stdin:15: character 1: expected an object with `task`, `dom` and `fields`; write an object as `accp aacp decode` gives it, on one line
    ");
    let run = aacp("encode --format json", objects[0]);
    let error = &run.json()[0]["errors"][0];
    assert_eq!(
        (&error["code"], &error["field"]),
        (&json!("value-invalid"), &json!("return"))
    );
}

#[test]
fn encode_makes_the_packets_of_a_workflow() {
    let run = aacp(
        "encode --workflow payroll --set period=2024-08 --format json",
        "",
    );
    run.code_is(0);
    let found = run.json();
    assert_eq!(found.len(), 6);
    assert_eq!(
        found[0],
        json!({
            "workflow": "payroll", "hop": "fetch_employees",
            "packet": "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08|filter:status=active|fmt:json",
        })
    );
    let one = "encode --workflow payroll --hop log_run --set chain=A,B --set return=X";
    let run = aacp(one, "");
    let expected = "LOG|HR|return:X|p:2|aacp:1.1|status:review_required|actor:HR-Agent|chain:A,B\n";
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), expected));
}

#[test]
fn encode_refuses_names_that_a_workflow_does_not_have() {
    for (args, code, says) in [
        ("--workflow payrol", 2, "did you mean `payroll`?"),
        (
            "--workflow payroll --hop send",
            2,
            "the hops are fetch_employees",
        ),
        (
            "--workflow payroll --set perod=1",
            2,
            "the parameters are period",
        ),
        ("--workflow payroll --set period", 2, "NAME=VALUE"),
        ("--workflow payroll", 2, "no value for `period`"),
        (
            "--workflow payroll --set period=a|b",
            1,
            "`period`: `|` separates fields",
        ),
        (
            "--workflow payroll --hop log_run --set p=9",
            1,
            "`p`: the value is not a priority; the priorities are 1, 2, 3",
        ),
        (
            "--workflow payroll --hop log_run --set p=",
            1,
            "`p`: the value is not a priority",
        ),
        (
            "--english x --dom HR --return A --registry r --p 9",
            2,
            "possible values: 1, 2, 3",
        ),
        ("--workflow no/such.json", 2, "no/such.json"),
        ("--set period=1", 2, "--workflow"),
    ] {
        let run = aacp(("encode", args), "");
        run.code_is(code);
        assert_eq!(run.stdout, "");
        run.stderr_has(says);
        // With `--format json`, the command prints the same error as an object.
        let run = aacp(("encode --format json", args), "");
        run.code_is(code);
        if args.contains("--workflow") {
            let error = &run.json()[0]["errors"][0];
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(says), "{args:?}: {error}");
            assert!(error["code"].is_string(), "{args:?}: {error}");
        }
    }
    let args = "encode --workflow payroll --format json";
    let run = aacp((args, "--set period=a|b"), "");
    let error = &run.json()[0]["errors"][0];
    let found = (&error["code"], &error["field"]);
    assert_eq!(found, (&json!("value-invalid"), &json!("period")));
}

#[test]
fn workflows_shows_parameters_and_defaults() {
    let run = aacp("workflows --format json", "");
    let found = run.json();
    let names: Vec<_> = found
        .iter()
        .map(|found| found["workflow"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["payroll", "it", "invoice", "contract"]);
    let merge = &found[0]["hops"][2];
    assert_eq!(merge["hop"], "merge_and_calculate");
    assert_eq!(
        merge["parameters"][0],
        json!({ "name": "rules", "kind": "code", "default": "payroll_v2", "rewrite": [] })
    );
    let text = aacp("workflows invoice", "");
    text.code_is(0);
    insta::assert_snapshot!(text.stdout, @"
    invoice: Check and pay the invoice of a supplier
      process_invoice(supplier, amount, currency, purchase_order, terms [net30])
          Check the invoice against its purchase order; PROC|FIN, return=FIN-Agent, p=2
      schedule_payment(supplier, amount, currency, terms [net30])
          Schedule the payment; PROC|FIN, return=FIN-Agent, p=2
      log_invoice(invoice_ref, supplier, amount, currency, status [ok], actor [FIN-Agent])
          Write the audit record of the invoice; LOG|FIN, return=AUD-Agent, p=3
    every hop takes return and p as well; a value in brackets is the default
    ");
}

#[test]
fn files_with_a_mistake_are_told_with_the_place() {
    let folder = Folder::with(&[
        ("v.json", "{ \"domains\": [\"O P\"] }"),
        ("w.json", "{ \"name\": \"w\",\n \"meaning\": \"\" }"),
        (
            "own.json",
            "{ \"domains\": [\"OPS\"], \"keys\": [\"org_cost\"] }",
        ),
        ("p.aacp", "FETCH|OPS|return:a|p:1|aacp:1.1|org_cost:1\n"),
    ]);
    let run = folder.run("aacp validate --vocabulary v.json p.aacp", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    run.stderr_has("v.json:1:15 at /domains/0: ");
    let run = folder.run("aacp workflows w.json", "");
    run.code_is(1);
    run.stderr_has("w.json:1:1: the workflow has no `hops`");
    let own = "aacp validate --vocabulary own.json --format json p.aacp";
    assert_eq!(folder.run(own, "").json()[0]["warnings"], json!([]));
    folder
        .run("aacp validate --vocabulary no.json", "")
        .code_is(2);
}

/// A vocabulary may have very many keys. Comparing every key with all others would take longer than a test may run.
#[test]
fn a_large_vocabulary_is_read() {
    let keys: Vec<String> = (0..100_000).map(|key| format!("org_{key}")).collect();
    let folder = Folder::with(&[("own.json", &json!({ "keys": keys }).to_string())]);
    let args = "aacp validate --vocabulary own.json";
    let run = folder.run(args, format!("{HEAD}|org_99999:1\n"));
    assert_eq!((run.code, &run.stdout[..]), (Some(0), ""));
}

/// A command refuses an input that does not end, although it cannot know the size of a device or a pipe in advance.
#[test]
fn a_file_without_an_end_is_refused() {
    for args in [
        "validate --vocabulary /dev/zero",
        "workflows /dev/zero",
        "registry import /dev/zero --registry r.aacp",
    ] {
        aacp(args, "")
            .code_is(1)
            .stderr_starts("error: /dev/zero: the file is longer than ")
            .stderr_ends(" bytes; split it\n");
    }
    accp("generate --aacp /dev/zero", "").code_is(1);
}

/// The command imports an export that is longer than the other files that it may read.
#[test]
fn a_long_export_is_imported() {
    let long = format!("{{\"version\":1,\"entries\":[]{}}}", " ".repeat(17 << 20));
    let folder = Folder::with(&[("e.json", &long)]);
    let args = "aacp registry import e.json --registry r.aacp";
    let run = folder.run(args, "");
    run.code_is(0);
    assert_eq!(run.stderr, "0 added, 0 there already\n");
}

#[test]
fn an_object_without_measure_is_refused() {
    let huge = "x".repeat(10 << 20);
    let objects = format!(
        "{{\"task\":\"{huge}\"}}\n{{\"task\":\"LOG\",\"dom\":\"HR\",\"fields\":{{\"return\":\"a\"}}}}\n"
    );
    let run = aacp("encode --format json", objects);
    run.code_is(1);
    let found = run.json();
    assert_eq!(found[0]["errors"][0]["code"], "too-long");
    assert_eq!(found[1]["packet"], "LOG|HR|return:a|aacp:1.1");
}

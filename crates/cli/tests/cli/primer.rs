//! Tests of `accp primer`.

use accp_tokens::{Bpe, TokenCounter as _};
use serde_json::Value as Json;

use crate::cli::{Folder, Run, Words, accp};

const REGISTRY: &str = r#"{ "schemas": {
    "flight": { "code": "FL", "fields": ["number", "to", "seats"], "required": ["number"],
        "types": { "number": "string", "to": "enum(OSL,BGO)", "seats": "[SE]" },
        "frames": [{ "intent": "req", "operation": "book", "required": ["to"] },
            { "intent": "done", "operation": "book" }] },
    "seat": { "code": "SE", "fields": ["row"], "types": { "row": "integer" } }
} }"#;

fn primer(args: impl Words) -> Run {
    let folder = Folder::with(&[("ours.json", REGISTRY)]);
    folder.run(("primer", args), "")
}

#[test]
fn two_standard_schemas() {
    let run = primer("--schema TA --schema TC");
    run.code_is(0);
    insta::assert_snapshot!(run.stdout, @r#"
    @=X(a,b) defines X(1,2) and X[rows]; $cold.p7 is message 7
    You are @me: write so, no spaces after commas, empty is default or none, ~ null, texts like 12, true, -x or with ,()[]{}|"\ JSON strings. Under a schema its frames, a? optional, a=b default, a:type else text.
    @me: text
    @me>done:execute TA(,task)
    @me>req:op{a:"12",b:|}
    Long text with
    \@ for leading @
    @=TA(assignee,task,priority,deadline,deps,status,progress)
    req:schedule,execute need assignee,task; done:schedule,execute need task; assignee:agent priority=medium deps:[string]=[] progress:integer
    @=TC(tool_name,arguments,result,status,error_code)
    req:tool,done:tool; arguments?:{any} result?:any status=ok error_code?
    "#);
    insta::assert_snapshot!(run.stderr, @"215 tokens of o200k_base: reading 27, writing 101, TA 53, TC 34");
}

#[test]
fn a_reader_is_told_the_definitions_that_it_asks_for() {
    let run = primer("--read --registry ours.json --schema FL");
    run.code_is(0);
    insta::assert_snapshot!(run.stdout, @r"
    @=X(a,b) defines X(1,2) and X[rows]; $cold.p7 is message 7
    @=FL(number,to,seats)
    @=SE(row)
    ");
    insta::assert_snapshot!(run.stderr, @"40 tokens of o200k_base: reading 27, FL 8, SE 5");
    let bare = primer("--read --registry ours.json");
    assert_eq!(
        bare.stdout,
        run.stdout.split_inclusive('\n').next().unwrap()
    );
}

#[test]
fn the_schemas_are_those_of_the_registries_that_are_named() {
    let begin = |run: Run| -> Vec<String> {
        let lines = run
            .stdout
            .lines()
            .skip(1)
            .filter(|line| line.starts_with("@="));
        let codes = lines.map(|line| line[2..4].to_owned());
        codes.collect()
    };
    assert_eq!(begin(primer("")), ["CH", "ER", "ST", "TA", "TC", "TX"]);
    assert_eq!(begin(primer("--registry ours.json")), ["FL", "SE"]);
    let args = "--registry ours.json --schema TX --schema FL";
    assert_eq!(begin(primer(args)), ["TX", "FL", "SE"]);
}

#[test]
fn the_figures_are_those_of_the_encoding() {
    for (name, bpe) in [
        ("o200k_base", Bpe::o200k_base()),
        ("cl100k_base", Bpe::cl100k_base()),
    ] {
        let text = primer(["--encoding", name, "--registry", "ours.json"]);
        let json = primer([
            "--encoding",
            name,
            "--registry",
            "ours.json",
            "--format",
            "json",
        ]);
        assert_eq!((json.code, json.stderr.as_str()), (Some(0), ""));
        let [json] = &json.json()[..] else {
            panic!("one object: {}", json.stdout)
        };
        assert_eq!(json["text"], *text.stdout);
        assert_eq!(
            (&json["encoding"], &json["substitute"]),
            (&Json::from(name), &false.into())
        );
        let tokens = &json["tokens"];
        assert_eq!(tokens["total"], bpe.count(&text.stdout));
        let lines: Vec<&str> = text.stdout.split_inclusive('\n').collect();
        let [reading, writing @ .., flights, notes, seats, more] = &lines[..] else {
            panic!("too few lines: {}", text.stdout)
        };
        assert_eq!(tokens["reading"], bpe.count(reading));
        assert_eq!(tokens["writing"], bpe.count(&writing.concat()));
        assert_eq!(
            tokens["schemas"]["FL"],
            bpe.count(&format!("{flights}{notes}"))
        );
        assert_eq!(
            tokens["schemas"]["SE"],
            bpe.count(&format!("{seats}{more}"))
        );
        text.stderr_starts(format!("{} tokens of {name}: ", tokens["total"]));
    }
    let run = primer("--model claude-opus-4-5 --format json");
    assert_eq!(run.json()[0]["substitute"], true);
}

#[test]
fn a_schema_that_there_is_not() {
    let refused = |args: &str| {
        let run = primer(args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
        run.stderr
    };
    insta::assert_snapshot!(refused("--schema TA --schema FL"), @"error: there is no schema FL among CH, ER, ST, TA, TC, TX");
    insta::assert_snapshot!(refused("--registry ours.json --schema Fl --read"), @"error: there is no schema Fl among CH, ER, FL, SE, ST, TA, TC, TX; did you mean FL?");
    accp("primer --registry no-such.json", "").code_is(2);
    accp("primer --encoding p50k_base", "").code_is(2);
}

//! Tests of `accp registry`.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::cli::{Folder, accp};

const OLD: &str = r#"{
  "version": 1,
  "schemas": {
    "sales_report": {
      "code": "SR",
      "version": 1,
      "fields": ["period", "revenue"],
      "types": { "revenue": "decimal" },
      "defaults": { "period": "quarterly" }
    }
  }
}
"#;

fn faulty() -> String {
    OLD.replace("\"decimal\"", "\"decimals\"")
        .replace("\"revenue\"]", "\"period\"]")
}

#[test]
fn lint_shows_every_mistake_with_place_and_cure() {
    let folder = Folder::with(&[("good.json", OLD), ("bad.json", &faulty())]);
    let run = folder.run("registry lint good.json", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(run.stderr, "no mistakes\n");

    let run = folder.run("registry lint bad.json", "");
    run.code_is(1);
    insta::assert_snapshot!(run.stdout, @r"
    bad.json:7:28 at /schemas/sales_report/fields/1: the field `period` stands twice
        remove one of the two
    bad.json:8:18 at /schemas/sales_report/types/revenue: there is no field `revenue`
        the fields are period
    ");
}

#[test]
fn registries_that_do_not_fit_together_are_told_with_the_place() {
    let folder = Folder::with(&[
        (
            "a.json",
            r#"{ "schemas": { "a": { "code": "A", "fields": [] } } }"#,
        ),
        (
            "b.json",
            "{ \"schemas\": {\n  \"b\": { \"code\": \"A\", \"fields\": [] } } }",
        ),
    ]);
    let run = folder.run("registry lint a.json b.json", "");
    run.code_is(1);
    insta::assert_snapshot!(run.stdout, @r"
    b.json:2:10 at /schemas/b/code: the code `A` already stands for the schema `a`
        give one of the two another code
    ");
    let run = folder.run("check --registry a.json --registry b.json", "@a>req:x{}\n");
    run.code_is(1);
    insta::assert_snapshot!(run.stderr, @r"
    error: b.json does not fit the registries before it
    b.json:2:10 at /schemas/b/code: the code `A` already stands for the schema `a`
        give one of the two another code
    ");
}

/// For a registry that is not UTF-8, every command that reads a registry names the byte and the cure.
#[test]
fn many_mistakes_in_one_line_are_told_in_time() {
    let keys = vec!["\"schemas\":{}"; 120_000].join(",");
    let folder = Folder::with(&[("many.json", &format!("{{{keys}}}"))]);
    let since = Instant::now();
    let run = folder.run("registry lint many.json", "");
    run.code_is(1);
    let (took, most) = (since.elapsed(), Duration::from_secs(20));
    assert!(took < most, "{took:?}");
    assert!(run.stdout.starts_with("many.json:1:1559989 at /schemas: "));
}

#[test]
fn a_registry_that_is_not_utf_8() {
    let folder = Folder::with(&[]);
    let text = b"{ \"schemas\": {\n  \"a\": { \"code\": \"A\", \"doc\": \"caf\xe9\", \"fields\": [\"x\"] } } }";
    std::fs::write(folder.path("latin.json"), text).unwrap();
    for command in [
        "registry lint latin.json",
        "registry hash latin.json",
        "generate latin.json",
        "check --registry latin.json",
        "primer --registry latin.json",
        "grammar export --format lark --registry latin.json",
    ] {
        let run = folder.run(command, "@a>req:a{x:1}\n");
        run.code_is(1);
        let said = run.stdout + &run.stderr;
        assert!(
            said.contains("latin.json:2:34: byte 48 is not UTF-8\n    save the file as UTF-8"),
            "{command:?}: {said}"
        );
    }
}

#[test]
fn lint_as_json() {
    let folder = Folder::with(&[("bad.json", &OLD.replace("\"decimal\"", "\"decimals\""))]);
    let run = folder.run("registry lint --format json bad.json", "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let found = &run.json()[0];
    let keys: Vec<_> = found
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        ["file", "line", "column", "pointer", "message", "cure"]
    );
    assert_eq!(
        (&found["file"], &found["line"]),
        (&json!("bad.json"), &json!(8))
    );
}

#[test]
fn registries_that_clash_are_mistakes() {
    let other = OLD.replace("quarterly", "monthly");
    let folder = Folder::with(&[("one.json", OLD), ("two.json", &other)]);
    folder
        .run("registry lint one.json two.json", "")
        .code_is(1)
        .stdout_starts("two.json");
}

#[test]
fn a_registry_with_mistakes_stops_every_command() {
    let folder = Folder::with(&[("bad.json", &faulty()), ("cut.json", &OLD[..80])]);
    for command in ["check", "encode", "decode", "explain"] {
        for registry in ["bad.json", "cut.json"] {
            let run = folder.run([command, "--registry", registry], "@a>req:plan{}\n");
            assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{command}");
            run.stderr_has(format!("{registry}:"));
        }
    }
}

#[test]
fn hash_has_as_many_digits_as_asked_for() {
    let spaced = OLD.replace(": ", " :  ");
    let folder = Folder::with(&[("a.json", OLD), ("b.json", &spaced)]);
    let hash = |args: &str| {
        let run = folder.run(("registry hash", args), "");
        run.code_is(0);
        run.stdout.trim_end().to_owned()
    };
    let full = hash("a.json --full");
    assert_eq!(full.len(), 64);
    assert_eq!(hash("b.json --full"), full);
    assert_eq!(hash("a.json"), full[..6]);
    assert_eq!(hash("a.json --digits 20"), full[..20]);
    assert_ne!(hash("a.json --full --alone"), full);
    folder.run("registry hash a.json --digits 5", "").code_is(2);
}

#[test]
fn diff_tells_what_breaks_a_peer() {
    let added = OLD.replace("\"revenue\"]", "\"revenue\", \"notes\"]");
    let broken = added.replace("quarterly", "monthly");
    let folder = Folder::with(&[
        ("old.json", OLD),
        ("added.json", &added),
        ("new.json", &broken),
    ]);
    let run = folder.run("registry diff old.json new.json", "");
    run.code_is(0);
    insta::assert_snapshot!(run.stdout, @r"
    /schemas/sales_report/defaults/period: the default of `period` changed from `quarterly` to `monthly`
        breaks either reader: a field left out means another value
    /schemas/sales_report/fields: the field `notes` was added
    ");
    assert_eq!(run.stderr, "2 changes, 1 breaking\n");

    let breaking = "registry diff --breaking --format json old.json";
    let run = folder.run((breaking, "new.json"), "");
    run.code_is(1);
    assert_eq!(
        run.json(),
        [json!({
            "pointer": "/schemas/sales_report/defaults/period",
            "description": "the default of `period` changed from `quarterly` to `monthly`",
            "breaking": "a field left out means another value",
            "reader": "both",
        })]
    );
    let run = folder.run((breaking, "added.json"), "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
}

/// In CI, a breaking change is reported at its place, and the command fails.
#[test]
fn lint_against_an_older_registry() {
    let renamed = OLD.replace("\"revenue\"", "\"income\"").replace(
        "\"version\": 1,\n      \"fields\"",
        "\"aliases\": { \"income\": [\"revenue\"] },\n      \"fields\"",
    );
    let gone = OLD
        .replace("sales_report", "sales")
        .replace("\"SR\"", "\"SA\"");
    let folder = Folder::with(&[
        ("old.json", OLD),
        ("new.json", &renamed),
        ("gone.json", &gone),
        ("bad.json", &faulty()),
    ]);
    let run = folder.run("registry lint --against old.json new.json", "");
    run.code_is(1);
    insta::assert_snapshot!(run.stdout, @r"
    new.json:7:7 at /schemas/sales_report/fields: the field `revenue` was renamed to `income`
        breaks the old reader: it does not know the key, so it drops the value
    ");
    assert_eq!(run.stderr, "1 breaking change\n");
    let run = folder.run(
        "registry lint --against old.json --readers new new.json",
        "",
    );
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(run.stderr, "no mistakes, and nothing that breaks\n");
    let run = folder.run(
        "registry lint --against old.json --format json gone.json",
        "",
    );
    run.code_is(1);
    let found = &run.json()[0];
    assert_eq!(
        (&found["file"], &found["line"]),
        (&json!("old.json"), &json!(4))
    );
    // A registry with mistakes is not compared.
    let run = folder.run("registry lint --against old.json bad.json", "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), "2 mistakes\n"));
    folder
        .run("registry lint --readers new new.json", "")
        .code_is(2);
    folder
        .run("registry lint --against bad.json new.json", "")
        .code_is(1);
}

#[test]
fn show_is_a_table_of_fields_and_frames() {
    let run = accp("registry show TC", "");
    run.code_is(0);
    insta::assert_snapshot!(run.stdout, @r#"
    TC  tool_call, version 1
        A tool call and its result (draft section 10.2).

        field       key   type    default
        tool_name   tool  string                   The name of the tool.
        arguments   args  {any}            inline  What the tool is called with, by name.
        result      res   any                      What the tool returned.
        status      stat  string  "ok"             How the call went.
        error_code  code  string                   The tool's own code for what went wrong.

        frame      fields                requires   envelope
        req:tool   tool_name, arguments  tool_name            Calls a tool.
        done:tool  all                   tool_name  cid       Returns the result; cid names the call.
    "#);
}

/// A cure of `accp check` names this table where a record does not fit its variant.
#[test]
fn show_says_which_fields_a_variant_and_a_frame_have() {
    let registry = r#"{ "schemas": {
        "pay": { "code": "PM", "fields": ["kind", "amount", "iban"],
            "types": { "amount": "decimal", "iban": "string" }, "union": "kind",
            "variants": [
                { "name": "card", "fields": ["amount"], "doc": "By card." },
                { "name": "bank", "fields": ["amount"], "required": ["iban"] },
                { "name": "cash" } ] },
        "sale": { "code": "SA", "fields": ["id", "pay", "till"],
            "types": { "id": "string", "pay": "PM", "till": "agent" }, "required": ["id"], "frames": [
                { "intent": "req", "operation": "sell", "required": ["pay"], "to": "till" },
                { "intent": "done", "operation": "sell", "fields": ["id"], "envelope": ["cid"] },
                { "intent": "cancel", "operation": "sell", "fields": [] } ] } } }"#;
    let folder = Folder::with(&[("ours.json", registry)]);
    let run = folder.run("registry show ours.json", "");
    run.code_is(0);
    insta::assert_snapshot!(run.stdout, @r"
    PM  pay, version 1

        field   key     type                  default
        kind    kind    enum(card,bank,cash)           required
        amount  amount  decimal
        iban    iban    string

        variant  fields        requires
        card     amount                  By card.
        bank     amount, iban  iban
        cash

    SA  sale, version 1

        field  key   type    default
        id     id    string           required
        pay    pay   PM
        till   till  agent

        frame        fields  requires  envelope
        req:sell     all     pay                 For the agent in till.
        done:sell    id                cid
        cancel:sell  none
    ");
}

#[test]
fn show_takes_a_registry_a_code_or_both() {
    let folder = Folder::with(&[("ours.json", OLD)]);
    let codes = |args: &str| {
        let run = folder.run(("registry show --format json", args), "");
        let codes = run
            .json()
            .into_iter()
            .map(|schema| schema["code"].as_str().unwrap().to_owned());
        (run.code, codes.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(codes(""), (Some(0), "CH ER ST TA TC TX".to_owned()));
    assert_eq!(codes("ER"), (Some(0), "ER".to_owned()));
    assert_eq!(codes("ours.json"), (Some(0), "SR".to_owned()));
    assert_eq!(codes("ours.json SR"), (Some(0), "SR".to_owned()));
    assert_eq!(codes("ours.json TA"), (Some(2), String::new()));
    assert_eq!(codes("nothing"), (Some(2), String::new()));
    for meant in ["ta", "task_assignment"] {
        let run = folder.run(("registry show", meant), "");
        run.code_is(2).stderr_has("; did you mean TA?\n");
    }
}

#[test]
fn a_command_that_went_to_the_lab_says_where_it_is() {
    for (before, now) in [
        ("bench context chats.jsonl --all", "accp-lab bench"),
        ("bench --help", "accp-lab bench"),
        ("registry learn -", "accp-lab learn"),
        ("registry tune r.json", "accp-lab tune"),
    ] {
        let run = accp(before, "");
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{before:?}");
        let said = format!("run `{now}`");
        let is_said = run.stderr.contains(&said) && !run.stderr.contains("similar");
        assert!(is_said, "{before:?}: {}", run.stderr);
    }
}

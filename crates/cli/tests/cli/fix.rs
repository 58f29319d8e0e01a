//! Tests of `accp fix`.

use serde_json::json;

use crate::cli::{Folder, GOOD, accp};

const DRAFT: &str = "@research>done:analyze{f:[rev:-12%QoQ, churn:+3.2%]|nx:@strategy:plan}";

const NO: &str = r#"{ "schemas": { "no": { "code": "NO", "version": 1, "fields": ["n"] } } }"#;

#[test]
fn frames_go_to_stdout_and_repairs_to_stderr() {
    let run = accp("fix", format!("{GOOD}\n{DRAFT}\n"));
    run.code_is(0);
    let fixed = r"@research>done:analyze{f:{churn:+3.2%,rev:-12%QoQ}|nx:\@strategy\:plan}";
    assert_eq!(run.stdout, format!("{GOOD}\n{fixed}\n"));
    insta::assert_snapshot!(run.stderr, @r"
    stdin:2:26: an array of pairs is a map: `[rev:-12%QoQ, churn:+3.2%]` is `{churn:+3.2%,rev:-12%QoQ}`
    stdin:2:38: no spaces after a separator: `, ` is `,`
    stdin:2:56: an agent in the place of a value is escaped: `@strategy:plan` is `\@strategy\:plan`
    ");
    accp("check", &run.stdout).code_is(0);
}

#[test]
fn json_holds_the_frame_and_its_repairs() {
    let run = accp(
        "fix --format json",
        format!("{GOOD}\n@a>req:plan{{who:@dev}}\nx\n"),
    );
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let expected = [
        json!({ "line": 1, "frame": GOOD, "repairs": [] }),
        json!({ "line": 2, "frame": r"@a>req:plan{who:\@dev}", "repairs": [{
            "at": 16,
            "what": "an agent in the place of a value is escaped",
            "from": "@dev",
            "to": r"\@dev",
        }] }),
        json!({ "line": 3, "code": "E1001", "at": 0, "message":
            "expected '@' at the start of the frame, found 'x'; a frame begins with its sender: \
             @agent>intent:operation{}" }),
    ];
    assert_eq!(run.json(), expected);
}

#[test]
fn what_is_beyond_repair_is_reported_in_its_place() {
    let run = accp("fix", format!("{GOOD}\n@a>req:plan{{who:@dev\n{GOOD}\n"));
    run.code_is(1);
    assert_eq!(run.stdout, format!("{GOOD}\n{GOOD}\n"));
    insta::assert_snapshot!(run.stderr, @r"
    error[E1001]: expected '|' or '}' after a value, found the end
     --> stdin:2:21
      |
    2 | @a>req:plan{who:@dev
      |                     ^
      |
      = help: `accp grammar --abnf` shows how a frame is written
    ");
}

#[test]
fn a_file_is_written_when_nothing_is_at_fault() {
    let folder = Folder::with(&[("good", DRAFT), ("bad", "garbage\n")]);
    let run = folder.run("fix bad -o out", "");
    run.code_is(1);
    run.stderr_ends("out was not written: 1 at fault\n");
    assert_eq!(folder.names(), ["bad", "good"]);

    // The faults are told in JSON too, although the file that would hold them is not written.
    let run = folder.run("fix --format json bad -o out", "");
    run.code_is(1)
        .stderr_starts(r#"{"line":1,"code":"E1001","at":0,"message":"expected '@' at the start"#)
        .stderr_ends("out was not written: 1 at fault\n");

    folder.run("fix good -o out", "").code_is(0);
    assert_eq!(folder.read("out").lines().count(), 1);
}

#[test]
fn what_check_refuses_is_left_out() {
    let lines = [
        "@a>req:schedule{task: impl|schema:TA}",
        "@a>req:plan{who:@dev|target:qa}",
        "@a>req:plan{n: 1|schema:NO}",
        GOOD,
    ];
    let run = accp("fix", lines.join("\n"));
    assert_eq!((run.code, run.stdout), (Some(1), format!("{GOOD}\n")));
    insta::assert_snapshot!(run.stderr, @r"
    error[E1004]: expected the field `assignee`, which schema TA requires
     --> stdin:1:36
      |
    1 | @a>req:schedule{task:impl|schema:TA}
      |                                    ^
      |
      = help: `accp registry show` lists the fields of a schema and their types
    error[E1001]: in target: expected every key once, under its full or its short name
     --> stdin:2:30
      |
    2 | @a>req:plan{who:\@dev|target:qa}
      |                              ^
      |
      = help: `accp grammar --abnf` shows how a frame is written
    error[E1003]: expected a schema of the registry: AP, CH, ER, ST, TA, TC, TX
     --> stdin:3:24
      |
    3 | @a>req:plan{n:1|schema:NO}
      |                        ^
      |
      = help: name the registry that holds it with --registry; `accp registry show` lists the standard ones
    ");

    let run = accp("fix --format json", lines[0]);
    let found = &run.json()[0];
    assert_eq!(
        (&found["at"], &found["code"]),
        (&json!(35), &json!("E1004"))
    );
    assert_eq!(found["frame"], "@a>req:schedule{task:impl|schema:TA}");

    // `check` accepts everything that `fix` prints with the same options.
    let by_grammar = accp("fix --syntax-only", lines.join("\n"));
    by_grammar.code_is(0);
    let check = accp("check --syntax-only", &by_grammar.stdout);
    check.code_is(0);
    let folder = Folder::with(&[("no.json", NO)]);
    let options = "--registry no.json";
    let own = folder.run(("fix", options), lines[2]);
    assert_eq!(own.stdout, "@a>req:plan{n:1|schema:NO}\n");
    folder.run(("check", options), &own.stdout).code_is(0);
}

//! `accp fix`.

use serde_json::json;

use crate::{Folder, GOOD, accp};

const DRAFT: &str = "@research>done:analyze{f:[rev:-12%QoQ, churn:+3.2%]|nx:@strategy:plan}";

#[test]
fn frames_go_to_stdout_and_repairs_to_stderr() {
    let run = accp(&["fix"], format!("{GOOD}\n{DRAFT}\n"));
    assert_eq!(run.code, Some(0));
    let fixed = r"@research>done:analyze{f:{churn:+3.2%,rev:-12%QoQ}|nx:\@strategy\:plan}";
    assert_eq!(run.stdout, format!("{GOOD}\n{fixed}\n"));
    insta::assert_snapshot!(run.stderr, @r"
    stdin:2:26: an array of pairs is a map: `[rev:-12%QoQ, churn:+3.2%]` is `{churn:+3.2%,rev:-12%QoQ}`
    stdin:2:38: no spaces after a separator: `, ` is `,`
    stdin:2:56: an agent in the place of a value is escaped: `@strategy:plan` is `\@strategy\:plan`
    ");
    assert_eq!(accp(&["check"], &run.stdout).code, Some(0));
}

#[test]
fn json_holds_the_frame_and_its_repairs() {
    let run = accp(
        &["fix", "--format", "json"],
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
    let run = accp(&["fix"], format!("{GOOD}\n@a>req:plan{{who:@dev\n{GOOD}\n"));
    assert_eq!(run.code, Some(1));
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
    let run = folder.run(&["fix", "bad", "-o", "out"], "");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.ends_with("out was not written: 1 at fault\n"),
        "{}",
        run.stderr
    );
    assert_eq!(folder.names(), ["bad", "good"]);

    assert_eq!(folder.run(&["fix", "good", "-o", "out"], "").code, Some(0));
    assert_eq!(folder.read("out").lines().count(), 1);
}

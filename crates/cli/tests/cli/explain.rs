//! Tests of `accp explain`.

use accp_runtime::{DynamicFrame, ErrorCode, Registry};
use serde_json::json;

use crate::cli::{Folder, GOOD, accp};

#[test]
fn a_frame_in_plain_words() {
    let frame = "@planner>req:schedule{asgn:dev|task:impl_auth|dead:$warm.plan|x_1:[1,2]|schema:TA}\
                 [mid:49679033e07c,seq:3,ts:1714000000,ttl:60,of:m1]";
    let run = accp(["explain", frame], "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @r#"
    From       planner
    Intent     req, Request: Request another agent to perform an action
    Operation  schedule, a core operation
    Schema     TA, task_assignment version 2: A task, given to an agent and reported on (draft sections 6.2 and 10.5).
    Meaning    Gives the task to an agent.

      field     key   type      value
      assignee  asgn  agent     "dev"                   Who is to do it.
      task      task  string    "impl_auth"             What is to be done.
      priority  pri   string    "medium"     (default)  How urgent it is.
      deadline  dead  string    $warm.plan              When it is to be done.
      deps      deps  [string]  []           (default)  The tasks that come before it.
      x_1       x_1   any       [1,2]

      envelope   key  value
      msg_id     mid  "49679033e07c"  Unique message identifier (hex, 12 chars)
      sequence   seq  3               Monotonically increasing per session
      timestamp  ts   1714000000      2024-04-24 23:06:40 UTC
      ttl        ttl  60              Expires 60 s after the timestamp
      of         of   "m1"
    "#);
}

#[test]
fn a_frame_without_a_schema() {
    let run = accp("explain", "@a>qry:find_out{q:revenue}\n");
    insta::assert_snapshot!(run.stdout, @r#"
    From       a
    Intent     qry, Query: Request information lookup
    Operation  find_out
    Schema     none: the fields are free

      field  key  type  value
      query  q    any   "revenue"
    "#);
}

#[test]
fn an_error_code_in_plain_words() {
    for code in ErrorCode::ALL {
        let run = accp(["explain", &code.to_string()], "");
        let name = code.name().unwrap();
        run.stdout_starts(format!("{code}  {name}: "));
    }
    let codes = ["E3003", "E5001", "E9998"].map(|code| accp(["explain", code], "").stdout);
    insta::assert_snapshot!(codes.concat(), @r"
    E3003  SEQUENCE_GAP: The sequence number is not the next one. Sending again may help.
    E5001  POLICY_DENIED: A policy forbids it. Sending again does not help.
    E9998  This is not a code of the draft.
    ");
    let codes =
        ["E3003", "E9998"].map(|code| accp(["explain", "--format", "json", code], "").stdout);
    insta::assert_snapshot!(codes.concat(), @r#"
    {"code":"E3003","name":"SEQUENCE_GAP","meaning":"The sequence number is not the next one","retry":true}
    {"code":"E9998","name":null,"meaning":null,"retry":null}
    "#);
}

/// A code may be in small letters. A text that is nearly a code is not told as a file that is not there.
#[test]
fn what_is_nearly_an_error_code() {
    assert_eq!(
        accp("explain e3003", "").stdout,
        accp("explain E3003", "").stdout
    );
    let refused = |input: &str| {
        let run = accp(["explain", input], "");
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
        run.stderr
    };
    insta::assert_snapshot!(refused("3003"), @"error: 3003 is neither a file nor an error code: an error code is E and four digits, as in E1001");
    insta::assert_snapshot!(refused("E12"), @"error: E12 is neither a file nor an error code: an error code is E and four digits, as in E1001");
    let folder = Folder::with(&[("3003", GOOD), ("e3003", GOOD)]);
    for file in ["3003", "e3003"] {
        folder
            .run(["explain", file], "")
            .code_is(0)
            .stdout_starts("From ");
    }
}

/// A shell reads `>` of a frame without quotes as the start of a redirection, so the command gets the sender alone.
#[test]
fn a_frame_without_quotes_is_cut_by_the_shell() {
    let run = accp(["explain", "@planner"], "");
    run.code_is(1);
    insta::assert_snapshot!(run.stderr, @r"
    error[E1001]: expected '>' after the agent id, found the end
     --> frame:1:9
      |
    1 | @planner
      |         ^
      |
      = help: put the frame into quotes: a shell takes `>` for itself
    ");
    accp("explain", "@planner")
        .code_is(1)
        .stderr_has("= help: the frame is cut short");
}

/// A name of a file need not be UTF-8, and a frame that is not UTF-8 has its place.
#[cfg(target_os = "linux")]
#[test]
fn an_argument_that_is_not_utf_8_is_a_file_or_a_faulty_frame() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(OsStr::from_bytes(b"caf\xe9.accp"));
    std::fs::write(&file, GOOD).unwrap();
    let shown = accp([OsStr::new("explain"), file.as_os_str()], "");
    shown.code_is(0);
    assert_eq!(shown.stdout, accp(["explain", GOOD], "").stdout);
    let frame = OsStr::from_bytes(b"@a>req:plan{goal:\xe9}");
    accp([OsStr::new("explain"), frame], "")
        .code_is(1)
        .stderr_has("frame:1:18");
}

#[test]
fn the_tokens_of_a_frame() {
    let run = accp(
        ["explain", GOOD, "--tokens", "--model", "claude-opus-4-5"],
        "",
    );
    let last = run.stdout.lines().last().unwrap();
    insta::assert_snapshot!(last, @"Tokens     27: header 4, body 23, metadata 0, in o200k_base (substitute) (+ is over the soft limit, ! over the hard one)");
}

#[test]
fn json_has_the_same_in_parts() {
    let frame = "@planner>done:schedule{task:impl_auth|schema:TA}[mid:49679033e07c,seq:9]";
    let run = accp(["explain", "--format", "json", "--tokens", frame], "");
    run.code_is(0);
    let expected = json!({
        "line": 1,
        "agent": "planner",
        "intent": {
            "code": "done", "meaning": "Complete",
            "description": "Report task completion with results",
        },
        "operation": { "name": "schedule", "core": true },
        "schema": {
            "code": "TA", "name": "task_assignment", "version": 2,
            "doc": "A task, given to an agent and reported on (draft sections 6.2 and 10.5).",
            "frame": "Reports on the task.",
        },
        "fields": [{
            "name": "task", "key": "task", "type": "string", "value": "impl_auth",
            "default": false, "doc": "What is to be done.",
        }],
        "envelope": [
            { "name": "msg_id", "key": "mid", "value": "49679033e07c",
              "words": "Unique message identifier (hex, 12 chars)" },
            { "name": "sequence", "key": "seq", "value": 9,
              "words": "Monotonically increasing per session" },
        ],
        "tokens": {
            "header": 4, "body": 12, "metadata": 13, "total": 29,
            "over_soft": ["metadata"], "over_hard": [], "encoding": "o200k_base",
        },
    });
    assert_eq!(run.json(), [expected]);
}

#[test]
fn frames_of_a_file_stand_apart_and_faults_do_not_stop_them() {
    let folder = Folder::with(&[("frames", &format!("{GOOD}\ngarbage\n{GOOD}\n"))]);
    let run = folder.run("explain frames", "");
    run.code_is(1);
    assert_eq!(run.stdout.matches("From       planner\n").count(), 2);
    run.stdout_has("\n\nFrom");
    run.stderr_has("--> frames:2:1");

    let run = folder.run("explain frames --format json", "");
    let lines: Vec<_> = run
        .json()
        .iter()
        .map(|found| found["code"].clone())
        .collect();
    assert_eq!(lines, [json!(null), json!("E1001"), json!(null)]);
}

/// A control frame of a session names no schema. The command explains it with the registry of control frames.
#[test]
fn a_frame_of_the_session_is_told_from_its_registry() {
    let frame = "@hub>sync:join{agents:[dev]|n:101|x:1}[mid:100000000003,seq:1]";
    let run = accp("explain", frame);
    insta::assert_snapshot!(run.stdout, @r#"
    From       hub
    Intent     sync, Synchronize: Share or request state synchronization
    Operation  join
    Schema     none: a frame of the session itself
    Meaning    Lets a member in.

      field   key     type      value
      member  n       integer   101        The number of the member, 100 to 899 or 9000 to 9999.
      agents  agents  [string]  ["dev"]    The agents that it speaks for.
      x       x       any       1

      envelope  key  value
      msg_id    mid  "100000000003"  Unique message identifier (hex, 12 chars)
      sequence  seq  1               Monotonically increasing per session
    "#);
    let json = accp("explain --format json", frame).json().remove(0);
    assert_eq!(json["session"], "Lets a member in.");
    assert_eq!(json["schema"], json!(null));
}

/// No name and no value of a frame can control the terminal that shows it.
#[test]
fn an_explanation_does_not_act_on_a_terminal() {
    let message = DynamicFrame::new("a", "req", "plan").unwrap();
    let message = message.with("x\u{1b}[2J\ny", "u\u{9b}\u{202e}v");
    let frame = &message.encode(Registry::shared()).unwrap();
    let run = accp("explain", frame);
    run.code_is(0);
    let shown = run.stdout;
    assert!(
        !shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']),
        "{shown:?}"
    );
    assert!(shown.contains(r"u\u009b\u202ev"), "{shown}");
}

#[test]
fn an_error_code_has_its_name_and_whether_sending_again_helps() {
    let of = |code: &str| {
        let frame = format!("@a>fail:error{{code:{code}|msg:x|retry:false|schema:ER}}");
        let run = accp(["explain", &frame], "");
        let row = run.stdout.lines().find(|line| line.contains("code   code"));
        row.unwrap().trim().to_owned()
    };
    let all: Vec<_> = ErrorCode::ALL
        .iter()
        .map(|code| of(&code.to_string()))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    code   code   string   "E1001"    PARSE_ERROR: The frame breaks the grammar. Sending again does not help.
    code   code   string   "E1002"    INVALID_INTENT: The intent is not one of the registered ones. Sending again does not help.
    code   code   string   "E1003"    UNKNOWN_SCHEMA: The schema code is not in the registry. Sending again does not help.
    code   code   string   "E1004"    INVALID_TYPE: A value has not the type that its schema declares. Sending again does not help.
    code   code   string   "E2001"    REF_NOT_FOUND: A reference names nothing that the state store holds. Sending again does not help.
    code   code   string   "E2002"    REF_EXPIRED: A reference names something that the state store held. Sending again does not help.
    code   code   string   "E2003"    BUDGET_EXCEEDED: A token budget cannot be met. Sending again does not help.
    code   code   string   "E3001"    TIMEOUT: No answer came in time. Sending again may help.
    code   code   string   "E3002"    DUPLICATE: The message id was seen before in this session. Sending again does not help.
    code   code   string   "E3003"    SEQUENCE_GAP: The sequence number is not the next one. Sending again may help.
    code   code   string   "E4001"    TOOL_NOT_FOUND: There is no tool of this name. Sending again does not help.
    code   code   string   "E4002"    TOOL_EXEC_FAILED: The tool was called and failed. Sending again may help.
    code   code   string   "E4003"    TOOL_SCHEMA_MISMATCH: The arguments do not fit the tool. Sending again does not help.
    code   code   string   "E5001"    POLICY_DENIED: A policy forbids it. Sending again does not help.
    code   code   string   "E5002"    UNAUTHORIZED_REF: A reference leads to a session that granted no access. Sending again does not help.
    code   code   string   "E9999"    INTERNAL_ERROR: Something else failed. Sending again may help.
    "#);
    insta::assert_snapshot!(of("E4711"), @r#"code   code   string   "E4711"    This is not a code of the draft."#);
}

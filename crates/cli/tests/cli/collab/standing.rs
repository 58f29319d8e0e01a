//! Tests of the commands of `accp collab` that report on a folder, wait for a turn, repair a folder, or declare
//! files.

use std::fs;

use serde_json::json;

use super::{DOC, INIT, Round, codes, take};
use crate::cli::Words as _;

#[test]
fn validate_has_an_exit_code_for_each_verdict() {
    let round = Round::new();
    let whole =
        json!({ "ok": true, "errors": [], "warnings": [], "phase": "drafting", "events": 1 });
    assert_eq!(round.json("validate", 0), whole);
    let run = round.run("validate");
    run.code_is(0);
    assert_eq!(run.stdout, "validation passed\n");

    let decisions = round.read("decisions.md").replace("- Rationale:", "-");
    fs::write(round.path("decisions.md"), &decisions).unwrap();
    let warned = round.json("validate", 1);
    let warning = json!([{
        "code": "decision-rationale", "id": "D1", "file": "decisions.md", "line": 7,
        "message": "accepted decision D1 has no rationale; add a line `- Rationale: ` with the reason",
    }]);
    assert_eq!(
        (&warned["ok"], &warned["warnings"]),
        (&json!(true), &warning)
    );
    let run = round.run("validate");
    run.stdout_starts("WARNING: decisions.md:7: accepted decision D1 has no rationale;");
    run.stdout_ends("[decision-rationale]\nvalidation passed with warnings: 1\n");
    assert_eq!((run.code, &run.stderr[..]), (Some(1), ""));

    fs::remove_file(round.path("proposal.md")).unwrap();
    let failed = round.json("validate", 2);
    assert_eq!(
        (&failed["ok"], codes(&failed)),
        (&json!(false), vec!["file-required"])
    );
    assert_eq!(failed["warnings"], warning);
    round
        .run("validate")
        .stdout_starts("ERROR: proposal.md: the file is missing;")
        .stdout_ends("validation failed: 1 at fault\n")
        .code_is(2);
}

#[test]
fn the_exit_code_says_the_verdict_also_to_one_who_reads_nothing() {
    let round = Round::new();
    fs::remove_file(round.path("proposal.md")).unwrap();
    let who = "next --participant eve --format json";
    for args in ["validate", "validate --format json", who] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = crate::cli::command();
        command.arg("collab").args(args.words()).arg("--folder");
        command.arg(round.path("")).stdout(writer);
        assert_eq!(command.status().unwrap().code(), Some(2), "{args:?}");
    }
}

#[test]
fn next_says_what_to_do_and_whom_it_waits_for() {
    let round = Round::new();
    let mut object = round.json("next --participant ada", 0);
    let text = take(&mut object, "text");
    let expected = json!({
        "ok": true, "action": "draft", "phase": "drafting", "proposal_owner": "ada",
        "waiting_for": ["ada"], "your_turn": true,
        "last": { "seq": 1, "event": "initialized", "from": "ada" },
    });
    assert_eq!(object, expected);
    let command = "accp collab append --folder round --participant ada --event deliverable_drafted \
        --reply-to 1 --role primary --doc papers/adr.md --summary \"..\"";
    assert_eq!(
        text,
        format!("next action: draft the primary deliverable papers/adr.md.\n{command}")
    );
    // The command that `next` suggests must work.
    let typed = command
        .replacen("accp collab ", "", 1)
        .replace("--folder round ", "");
    assert_eq!(round.json(typed, 0)["seq"], 2);
    assert_eq!(round.json("next --participant ada", 0)["action"], "submit");

    let object = round.json("next --participant bob", 0);
    assert_eq!(
        (&object["action"], &object["your_turn"]),
        (&json!("wait-owner"), &json!(false))
    );
    let run = round.run("next --participant bob");
    let said = "phase: drafting\nproposal owner: ada\nwaiting for: ada\n\
        last event: seq 2 deliverable_drafted from ada\n\
        next action: wait for the proposal owner.\n\
        accp collab wait --folder round --participant bob\n";
    assert_eq!((run.code, &run.stdout[..]), (Some(0), said));
    let refused = round.json("next --participant eve", 2);
    assert_eq!(codes(&refused), ["participant-unknown"]);
}

/// The commands that `next` suggests work for each name that a participant may have.
#[test]
fn next_suggests_commands_for_a_name_that_looks_like_an_option() {
    let round = Round::before();
    let init = INIT.replace("--participant ada", "--participant=-a");
    round.run(init).code_is(0);
    for who in ["-a", "bob"] {
        let next = round.json(("next", [format!("--participant={who}")]), 0);
        let text = next["text"].as_str().unwrap();
        let (_, command) = text.split_once("accp collab ").unwrap();
        let typed = command.replace("--folder round ", "");
        let typed = typed
            .replace('"', "'")
            .replace("wait ", "wait --timeout 0.01 ");
        let code = i32::from(who == "bob" && next["your_turn"] == false);
        round.run(typed).code_is(code);
    }
    assert_eq!(round.json("status", 0)["events"], 2);
}

#[test]
fn wait_says_why_it_returns_and_when_it_gives_up() {
    let round = Round::new();
    let wait = |who: &str, more: &str, code| round.json(("wait --participant", who, more), code);
    let next = round.json("next --participant ada", 0);
    let ready = json!({ "ready": true, "reason": "turn", "phase": "drafting", "next": next });
    assert_eq!(wait("ada", "", 0), ready);
    let late = json!({ "ready": false, "reason": "timeout", "waiting_for": ["ada"] });
    assert_eq!(wait("bob", "--timeout 0.01 --interval 1", 1), late);
    // The progress is printed on stderr, not on stdout.
    let run = round.run("wait --participant bob --timeout 0.01");
    assert_eq!((run.code, &run.stdout[..]), (Some(1), ""));
    assert_eq!(run.stderr, "waiting for ada\ntimeout: waiting for ada\n");
    let run = round.run("wait --participant ada");
    run.stdout_starts("ready: ada is listed in waitingFor\nphase: drafting\n");

    round.append("bob", "blocked", "--reply-to 1");
    let over = wait("bob", "--timeout 0", 0);
    assert_eq!(
        (&over["reason"], &over["next"]["action"]),
        (&json!("blocked"), &json!("stop-blocked"))
    );
    let run = round.run("wait --participant ada");
    run.stdout_starts("ready: phase is blocked\n");
    assert_eq!(codes(&wait("eve", "", 2)), ["participant-unknown"]);
    // By default, the command waits half an hour.
    let help = round.0.run("collab wait --help", "").stdout;
    assert!(
        help.contains("[default: 1800]") && help.contains("[default: 2]"),
        "{help}"
    );
    for timeout in ["-1", "NaN", "soon"] {
        round
            .run(format!("wait --participant ada --timeout={timeout}"))
            .code_is(2);
    }
}

#[test]
fn status_and_table_show_where_it_stands_and_what_is_possible() {
    let round = Round::new();
    let status = json!({
        "ok": true, "objective": "Choose a store", "participants": ["ada", "bob"], "primary": DOC,
        "phase": "drafting", "proposal_owner": "ada", "waiting_for": ["ada"], "frozen": [],
        "events": 1, "last": { "seq": 1, "event": "initialized", "from": "ada" },
    });
    assert_eq!(round.json("status", 0), status);
    let run = round.run("status");
    run.stdout_starts("objective: Choose a store\nparticipants: ada, bob\n");

    let table = |format| round.0.run(["collab", "table", "--format", format], "");
    let rows = table("json").json().remove(0);
    let first = json!({
        "phase": "new", "event": "initialized", "by": "any", "needs": [], "to": "drafting",
        "asks": "owner", "mark": "nothing",
    });
    assert_eq!(rows["rows"][0], first);
    let blocks = rows["rows"].as_array().unwrap().iter();
    assert_eq!(blocks.filter(|row| row["event"] == "blocked").count(), 5);
    assert!(table("text").stdout.starts_with("| "));
    assert!(
        table("mermaid")
            .stdout
            .starts_with("stateDiagram-v2\n    [*] --> drafting: initialized\n")
    );
    table("yaml").code_is(2);
}

#[test]
fn repair_mends_what_a_crash_has_left() {
    let round = Round::new();
    let behind = round.read("protocol.json");
    round.submit();
    fs::write(round.path("protocol.json"), behind).unwrap();
    let log = round.read("events.jsonl");
    fs::write(round.path("events.jsonl"), format!("{log}{{\"seq\":4")).unwrap();
    let failed = round.json("validate", 2);
    assert_eq!(codes(&failed), ["state-differs"]);
    assert_eq!(failed["warnings"][0]["code"], "log-torn");
    let repaired = json!({
        "ok": true, "repaired": ["events.jsonl", "protocol.json"], "phase": "reviewing",
        "proposal_owner": "ada", "waiting_for": ["bob"],
    });
    assert_eq!(round.json("repair", 0), repaired);
    assert_eq!(round.read("events.jsonl"), log);
    assert_eq!(round.json("validate", 0)["events"], 3);
    assert_eq!(round.run("repair").stdout, "nothing was to be mended\n");
}

#[test]
fn declare_adds_deliverables_and_attachments() {
    let round = Round::new();
    let args = "declare --supporting tests.md --type test-plan";
    let declared = json!({ "ok": true, "declared": "papers/tests.md" });
    assert_eq!(round.json(args, 0), declared);
    fs::write(round.path("papers/load.png"), [0xff]).unwrap();
    let run = round.run("declare --attachment load.png");
    run.code_is(0);
    assert_eq!(run.stdout, "declared papers/load.png\n");
    assert_eq!(round.json("validate", 0)["ok"], true);
    round.json((args, "--frozen"), 0);
    assert_eq!(codes(&round.json("validate", 2))[0], "freeze-missing");
    for (args, code) in [
        (
            "declare --supporting adr.md --type adr",
            "supporting-primary",
        ),
        ("declare --supporting a.md --type memo", "supporting-type"),
        ("declare --attachment none.png", "attachment-missing"),
    ] {
        assert_eq!(codes(&round.json(args, 2)), [code]);
    }
    for args in ["declare", "declare --supporting a.md"] {
        round.run(args).code_is(2);
    }
}

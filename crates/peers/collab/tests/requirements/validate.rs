//! What the validator finds, and what its findings say: COL-63 to COL-65.

use std::fs;

use accp_collab::{Action, Code, Finding, LOG_FILE, PROTOCOL_FILE, READINESS_FILE};
use serde_json::json;

use crate::requirements::round::{Round, codes};

/// A way to break a completed folder, and the code that the validator reports for it.
type Mistake = (&'static str, fn(&Round), Code);

/// One mistake for each check of the validator.
const MISTAKES: [Mistake; 13] = [
    (
        "files",
        |round| round.remove("proposal.md"),
        Code::FileRequired,
    ),
    (
        "schema",
        |round| round.edit_protocol(|json| json["schemaVersion"] = json!(3)),
        Code::SchemaVersion,
    ),
    (
        "declarations",
        |round| round.edit_protocol(|json| json["deliverables"]["primary"]["type"] = json!("memo")),
        Code::PrimaryType,
    ),
    (
        "paths",
        |round| round.edit_protocol(|json| json["deliverables"]["dir"] = json!("../up")),
        Code::Dir,
    ),
    (
        "events",
        |round| round.replace(LOG_FILE, "\"summary\":\"Done\"", "\"text\":\"Done\""),
        Code::FieldMissing,
    ),
    (
        "roles",
        |round| round.replace(LOG_FILE, "\"role\":\"primary\"", "\"role\":\"supporting\""),
        Code::DocNotSupporting,
    ),
    (
        "hashes",
        |round| round.replace(LOG_FILE, "\"sha256\":\"", "\"sha256\":\"0"),
        Code::Sha256Missing,
    ),
    (
        "transitions",
        |round| round.replace(LOG_FILE, "\"proposal_revised\"", "\"readiness_passed\""),
        Code::Phase,
    ),
    (
        "headings",
        |round| round.replace("review.md", " - seq 4", " - seq 1"),
        Code::ReviewHeadingEvent,
    ),
    (
        "decisions",
        |round| round.replace("decisions.md", "### D1.", "### D2."),
        Code::DecisionOrder,
    ),
    (
        "readiness",
        |round| round.replace(READINESS_FILE, "- [x] It is fast", "- [ ] It is fast"),
        Code::GatesUnchecked,
    ),
    (
        "frozen content",
        |round| round.replace("deliverables/adr.md", "Something", "Anything"),
        Code::Sha256Differs,
    ),
    (
        "conclusion",
        |round| round.replace("conclusion.md", "## Rationale", "## Reason"),
        Code::ConclusionSections,
    ),
];

/// Swaps the last two events, so that `completed` comes before the `readiness_passed` that it needs.
fn swap_the_last_two(round: &Round) {
    let text = round.read(LOG_FILE);
    let text = text
        .replace("\"readiness_passed\"", "\"1\"")
        .replace("\"completed\"", "\"2\"");
    let text = text
        .replace("\"2\"", "\"readiness_passed\"")
        .replace("\"1\"", "\"completed\"");
    round.write(LOG_FILE, text);
}

#[test]
fn col_63_accepts_a_folder_in_order_at_each_step() {
    let round = Round::new();
    for _ in 0..15 {
        assert_eq!(round.findings(), []);
        let actions = ["ada", "bob", "cy"].map(|who| (who, round.action(who)));
        if let Some((who, action)) = actions.iter().find(|(_, action)| !action.is_waiting())
            && *action != Action::Stop
        {
            round.act(who, *action);
        }
    }
    assert_eq!(round.action("bob"), Action::Stop);
    assert_eq!(round.findings(), []);
}

#[test]
fn col_63_refuses_a_mistake_in_anything_that_it_looks_at() {
    let round = Round::completed();
    let whole = round.files();
    for (what, break_it, code) in MISTAKES {
        break_it(&round);
        let errors = round.errors();
        assert!(errors.contains(&code), "{what}: {errors:?}");
        for (path, bytes) in &whole {
            fs::write(path, bytes).unwrap();
        }
        assert_eq!(round.findings(), [], "{what}");
    }
    swap_the_last_two(&round);
    let errors = round.errors();
    assert!(
        errors.contains(&Code::NotReady),
        "order of completion: {errors:?}"
    );
}

#[test]
fn col_64_accepts_a_folder_without_errors_and_tells_warnings_apart() {
    let round = Round::at(Action::Accept);
    assert_eq!((round.errors(), round.warnings()), (vec![], vec![]));
    round.replace(READINESS_FILE, "- [resolved]", "- [deferred_nonblocking]");
    round.replace("decisions.md", "- Rationale:", "-");
    let whole = round.read(LOG_FILE);
    round.write(LOG_FILE, whole + "{\"seq\":9");
    let warnings = [Code::LogTorn, Code::DecisionRationale, Code::ReasonMissing];
    assert_eq!(
        (round.errors(), round.warnings()),
        (vec![], warnings.to_vec())
    );
}

#[test]
fn col_64_refuses_what_cannot_be_read_with_an_error_and_nothing_else() {
    let bytes: [&[u8]; 7] = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b"\0\0\n"];
    for name in [PROTOCOL_FILE, LOG_FILE, "review.md", "deliverables/adr.md"] {
        for bytes in bytes {
            // The other files may be empty or have odd characters. Only invalid UTF-8 is an error in them.
            if ![PROTOCOL_FILE, LOG_FILE].contains(&name) && bytes != b"\xff\xfe" {
                continue;
            }
            let round = Round::new();
            round.write(name, bytes);
            let errors = round.errors();
            assert!(!errors.is_empty(), "{name}: {bytes:?}");
        }
        // A folder is in the place of the file.
        let round = Round::new();
        round.remove(name);
        fs::create_dir(round.path(name)).unwrap();
        let errors = round.errors();
        assert_eq!(errors[0], Code::Unreadable, "{name}");
    }
    // Deeply nested JSON does not end the process.
    let round = Round::new();
    round.write(PROTOCOL_FILE, "[".repeat(200_000));
    assert_eq!(round.errors()[0], Code::Unreadable);
    let round = Round::before();
    assert_eq!(round.errors(), [Code::FileRequired; 7]);
}

/// Checks that a finding says what is wrong, what helps, and where.
fn speaks(finding: &Finding) {
    let Finding {
        code,
        message,
        file,
        ..
    } = finding;
    assert!(!code.as_str().is_empty() && file.is_some(), "{finding:?}");
    assert!(
        message.contains(';') || message.contains(','),
        "no cure in {finding:?}"
    );
    let words = [
        "write", "restore", "add", "name", "move", "remove", "mend", "begin", "append", "repair",
        "takes",
    ];
    assert!(
        words.iter().any(|word| message.contains(word)),
        "no cure in {finding:?}"
    );
}

#[test]
fn col_65_accepts_each_finding_with_a_code_a_cure_and_a_place() {
    let round = Round::completed();
    let whole = round.files();
    for (_, break_it, _) in MISTAKES {
        break_it(&round);
        round.findings().iter().for_each(speaks);
        for (path, bytes) in &whole {
            fs::write(path, bytes).unwrap();
        }
    }
    let line = round.read(LOG_FILE).lines().nth(5).unwrap().to_owned();
    round.replace(LOG_FILE, &line, "{}");
    let findings = round.findings();
    assert!(
        findings
            .iter()
            .any(|one| one.line == Some(6) && one.file.as_deref() == Some(LOG_FILE))
    );
    findings.iter().for_each(speaks);
}

#[test]
fn col_65_refuses_events_with_all_reasons_and_not_the_first() {
    let round = Round::new();
    let mut draft = round.draft("eve", "proposal_submitted");
    draft.summary = " ".to_owned();
    draft.reply_to = Some(7);
    draft.doc = Some("../out.md".to_owned());
    let wrong = round.refuse_draft(&draft);
    let all = [
        Code::SummaryBlank,
        Code::ReplyUnknown,
        Code::PathEscape,
        Code::ParticipantUnknown,
        Code::Turn,
        Code::NotDrafted,
    ];
    assert_eq!(codes(&wrong), all);
    assert!(wrong.iter().all(|one| one.seq == Some(2)));
}

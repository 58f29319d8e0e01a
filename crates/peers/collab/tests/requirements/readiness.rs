//! Open questions and gates: COL-51 to COL-54.

use accp_collab::{Action, Code, PROPOSAL_FILE, READINESS_FILE};

use crate::requirements::round::{Round, codes};

/// The question of the template, after it was classified.
const SETTLED: &str = "- [resolved] The primary deliverable has not been reviewed.";

/// Returns a folder whose readiness.md has this question in place of the question of the template.
fn with(action: Action, question: &str) -> Round {
    let round = Round::at(action);
    round.replace(READINESS_FILE, SETTLED, question);
    round
}

#[test]
fn col_51_accepts_the_three_marks() {
    for question in [
        "- [resolved] It is fast enough.",
        "- [deferred_nonblocking] The name. Reason: it can wait.",
        "  -  [resolved]\n\n  It stands in the next line.",
    ] {
        let round = with(Action::Accept, question);
        round.append("bob", "decision_accepted");
        assert_eq!(round.errors(), [], "{question}");
    }
    // Before the first acceptance, a question may be open.
    let round = with(Action::Accept, "- [blocking] Is it fast?");
    assert_eq!(round.errors(), []);
    round.append("ada", "question_classified");
}

#[test]
fn col_51_refuses_a_question_that_is_open() {
    for (question, code) in [
        ("- [unresolved] Is it fast?", Code::Unresolved),
        ("- [resolved] TBD", Code::Unresolved),
        (
            "- [deferred_nonblocking] TBD. Reason: none.",
            Code::Unresolved,
        ),
        ("- [blocking] Is it fast?", Code::Blocking),
    ] {
        let round = with(Action::Accept, question);
        let wrong = round.refuse_draft(&round.draft("bob", "decision_accepted"));
        assert_eq!(codes(&wrong), [code], "{question}");
        assert_eq!(
            (wrong[0].file.as_deref(), wrong[0].line),
            (Some(READINESS_FILE), Some(5))
        );
        let round = with(Action::Freeze, question);
        assert_eq!(round.errors(), [code], "{question}");
    }
}

#[test]
fn col_52_accepts_a_deferred_question_with_its_reason() {
    for question in [
        "- [deferred_nonblocking] The name. Reason: it can wait.",
        "- [deferred_nonblocking] reason: it can wait.",
    ] {
        let round = with(Action::Accept, question);
        round.walk(Action::Stop);
        assert_eq!(
            (round.errors(), round.warnings()),
            (vec![], vec![]),
            "{question}"
        );
    }
}

#[test]
fn col_52_refuses_a_deferred_question_without_a_reason() {
    let question = "- [deferred_nonblocking] The name.";
    // Before the first acceptance, a missing reason is a warning.
    let round = with(Action::Accept, question);
    assert_eq!(
        (round.errors(), round.warnings()),
        (vec![], vec![Code::ReasonMissing])
    );
    round.refuses("bob", "decision_accepted", &[Code::ReasonMissing]);
    let round = with(Action::Freeze, question);
    assert_eq!(
        (round.errors(), round.warnings()),
        (vec![Code::ReasonMissing], vec![])
    );
}

#[test]
fn col_53_accepts_the_three_events_when_all_is_settled() {
    let round = Round::completed();
    let events = round.log();
    for name in ["decision_accepted", "readiness_passed", "completed"] {
        assert!(events.iter().any(|event| event["event"] == name), "{name}");
    }
    assert_eq!(round.errors(), []);
}

#[test]
fn col_53_refuses_the_three_events_while_a_question_is_open() {
    for (question, code) in [
        ("- [blocking] Is it fast?", Code::Blocking),
        ("- [unresolved] Is it fast?", Code::Unresolved),
        ("- [deferred_nonblocking] The name.", Code::ReasonMissing),
    ] {
        for (action, event) in [
            (Action::Accept, "decision_accepted"),
            (Action::PassReadiness, "readiness_passed"),
            (Action::Complete, "completed"),
        ] {
            let round = with(action, question);
            assert_eq!(round.refuse("ada", event), [code], "{event}, {question}");
        }
        // For each fault, `next` names the action that mends it.
        assert_eq!(
            with(Action::Accept, question).action("ada"),
            Action::Classify
        );
        assert_eq!(
            with(Action::Accept, question).action("bob"),
            Action::WaitOwner
        );
        assert_eq!(
            with(Action::Complete, question).action("ada"),
            Action::ClearReadiness
        );
    }
}

#[test]
fn col_54_accepts_the_readiness_when_all_is_checked() {
    let round = Round::at(Action::PassReadiness);
    // `[x]` and `[X]` both count as checked.
    round.replace(READINESS_FILE, "- [x] It is fast", "- [X] It is fast");
    let text = round.read(READINESS_FILE);
    assert!(
        text.contains(&format!("- SHA-256: {}\n", round.sha256())),
        "{text}"
    );
    let appended = round.append("ada", "readiness_passed");
    assert_eq!(appended.event.seq, 12);
    assert_eq!(round.errors(), []);
}

#[test]
fn col_54_refuses_the_readiness_while_something_is_missing() {
    let sha256 = Round::at(Action::PassReadiness).sha256();
    for (from, to, code) in [
        ("- [x] It is fast", "- [ ] It is fast", Code::GatesUnchecked),
        (
            "- [x] It is fast",
            "- [x] It is faster",
            Code::GatesUnchecked,
        ),
        (
            "- [x] Every accepted decision has",
            "- Every accepted decision has",
            Code::GatesUnchecked,
        ),
        (
            "- [x] Ready to implement",
            "- [ ] Ready to implement",
            Code::ReadyUnchecked,
        ),
        (&sha256, "0000", Code::SnapshotMissing),
    ] {
        let round = Round::at(Action::PassReadiness);
        round.replace(READINESS_FILE, from, to);
        assert_eq!(round.refuse("ada", "readiness_passed"), [code], "{to}");
        assert_eq!(round.action("ada"), Action::CheckGates, "{to}");
    }
    // Readiness cannot pass while the folder has another fault.
    let round = Round::at(Action::PassReadiness);
    round.write("state.log", "");
    round.refuses("ada", "readiness_passed", &[Code::FileForbidden]);
    round.remove("state.log");
    round.remove(PROPOSAL_FILE);
    round.refuses("ada", "readiness_passed", &[Code::FileRequired]);
}

//! Tests of the requirements for drift: CTX-36 to CTX-44.

use accp_memory::disk::Compressed;
use accp_memory::{DriftEvent, Indicator, Severity, Summarizer, SummaryRequest, Tier};
use serde_json::json;

use crate::requirements::session::{TestSession, raws, tiers};
use crate::requirements::talk::Talk;

const CONSTRAINT: &str = "The timber must never touch the ground.";

/// Returns a conversation about a shed, summed up.
fn shed(session: &TestSession) -> Compressed {
    summed_up(session, &())
}

fn summed_up(session: &TestSession, summarizer: &dyn Summarizer) -> Compressed {
    let list = Talk::begun()
        .user("My customer number is K-118. The height of the shed is 2.4 metres.")
        .agent(CONSTRAINT)
        .user("Go on.")
        .assistant("I'll use larch for the walls because it lasts longer.")
        .up_to(7_600, &session.window)
        .list();
    let done = session.summed_up(&list, summarizer);
    assert_eq!(tiers(&done), [Tier::Three]);
    assert_eq!(done.drift, []);
    done
}

/// Returns the signs in the messages that `say` adds after the summary.
fn signs(say: impl Fn(Talk) -> Talk) -> Vec<DriftEvent> {
    let session = TestSession::of(10_000);
    let done = shed(&session);
    session.compress(&say(Talk::after(&done.list)).list()).drift
}

/// Returns the signs in a text of the assistant right after the summary.
fn says(text: &str) -> Vec<(Indicator, Severity)> {
    let signs = signs(|talk| talk.assistant(text));
    signs
        .into_iter()
        .map(|sign| (sign.indicator, sign.severity))
        .collect()
}

#[test]
fn ctx_36_accepts_an_action_that_serves_the_intent() {
    let found = signs(|talk| {
        talk.used(
            "search",
            json!({ "q": "larch prices for a garden shed" }),
            "12",
        )
    });
    assert_eq!(found, []);
    assert_eq!(says("Let me measure the walls of the shed."), []);
}

#[test]
fn ctx_36_refuses_to_pass_over_an_action_that_the_user_would_not_know() {
    let found = signs(|talk| talk.used("search", json!({ "q": "pop song charts" }), "12"));
    assert_eq!((found.len(), found[0].indicator), (1, Indicator::Unrelated));
}

#[test]
fn ctx_37_accepts_one_step_after_another_towards_the_goal() {
    let found = signs(|talk| {
        talk.assistant("Let me draw the walls of the shed.")
            .wrote("shed/plan.md", "# Plan of the shed", "File written")
            .assistant("Next I draw the roof of the shed.")
    });
    assert_eq!(found, []);
}

#[test]
fn ctx_37_refuses_to_pass_over_an_unrelated_subtask_among_the_steps() {
    let found = signs(|talk| {
        talk.assistant("Let me draw the walls of the shed.")
            .assistant("Let me compose a pop song.")
    });
    assert_eq!((found.len(), found[0].indicator), (1, Indicator::Unrelated));
}

/// A summarizer that drops a constraint from the summary. It cannot drop a constraint of the user.
struct Forgetful;

impl Summarizer for Forgetful {
    fn summarize(&self, wanted: &SummaryRequest<'_>) -> Option<String> {
        let lines = wanted.rules.lines();
        let kept: Vec<_> = lines.filter(|line| !line.contains(CONSTRAINT)).collect();
        Some(kept.join("\n"))
    }
}

#[test]
fn ctx_38_accepts_a_warning_for_each_of_the_three_red_flags() {
    let question = says("What is your customer number?");
    assert_eq!(question[0].0, Indicator::Clarification);
    assert_eq!(says("The task is complete.")[0].0, Indicator::Done);
    let session = TestSession::of(10_000);
    let done = summed_up(&session, &Forgetful);
    let said = Talk::after(&done.list).assistant("Let me measure the walls of the shed.");
    let found = session.compress(&said.list()).drift;
    assert_eq!(found[0].indicator, Indicator::Constraint);
}

#[test]
fn ctx_38_refuses_to_warn_of_what_is_in_order() {
    for text in [
        "What is your postal code?",
        "Your customer number is K-118.",
        "The first part of the plan is complete.",
        "Would you like a door for the shed?",
    ] {
        assert_eq!(says(text), [], "{text}");
    }
}

#[test]
fn ctx_39_accepts_the_words_of_the_archive_in_the_list_and_tells_the_caller() {
    let session = TestSession::of(10_000);
    let done = shed(&session);
    let said = Talk::after(&done.list).assistant("What is your customer number?");
    let given = said.list();
    let done = session.compress(&said.list());
    let sign = &done.drift[0];
    assert!(sign.recovered && sign.severity == Severity::High);
    assert_eq!(
        sign.message + 1,
        session.open().begun().unwrap().originals().len()
    );
    assert!(
        sign.evidence.contains("customer number"),
        "{}",
        sign.evidence
    );
    let (before, after) = (raws(&given), raws(&done.list));
    assert_eq!(after[..before.len()], before);
    assert_eq!(after.len(), before.len() + 1);
    let put_back = after.last().unwrap();
    assert!(put_back.contains("## Recovered Context") && put_back.contains("K-118"));
    // The log of the session has the same signs.
    assert_eq!(session.open().begun().unwrap().drift(), done.drift);
}

#[test]
fn ctx_39_refuses_to_put_back_more_than_there_is_room_for() {
    // The message that is put back has to fit, and a call in flight stays last.
    let session = TestSession::of(10_000);
    let done = shed(&session);
    let asked = Talk::after(&done.list)
        .assistant("What is your customer number?")
        .calls(&[("c9", "search", json!({ "q": "larch for the shed" }))]);
    let given = asked.list();
    let done = session.compress(&given);
    assert!(done.drift[0].recovered);
    assert_eq!(raws(&done.list).last(), raws(&given).last());
    // A message of more than a tenth of the window is named, but not put back.
    let full = TestSession::of(10_000);
    let long = format!("My customer number is K-118. {}", "shed ".repeat(1_000));
    let list = Talk::begun().user(&long).up_to(7_600, &full.window).list();
    let done = full.compress(&list);
    let given = Talk::after(&done.list)
        .assistant("What is your customer number?")
        .list();
    let done = full.compress(&given);
    assert!(
        done.drift.iter().all(|sign| !sign.recovered),
        "{:?}",
        done.drift
    );
    assert_eq!(raws(&done.list), raws(&given));
}

#[test]
fn ctx_40_accepts_a_question_that_the_archive_answers_as_high() {
    let expected = [(Indicator::Clarification, Severity::High)];
    assert_eq!(says("What is your customer number?"), expected);
    assert_eq!(says("Please provide your customer number."), expected);
}

#[test]
fn ctx_40_refuses_a_question_that_nothing_answers_as_a_sign() {
    assert_eq!(says("What is your postal code?"), []);
}

#[test]
fn ctx_41_accepts_an_end_without_the_deliverable_as_critical() {
    let expected = [(Indicator::Done, Severity::Critical)];
    assert_eq!(says("The task is complete."), expected);
    // The call that should write the file failed.
    let found = signs(|talk| {
        talk.wrote("shed/plan.md", "# Plan of the shed", "Error: disk full")
            .assistant("The task is complete.")
    });
    assert_eq!(found.last().unwrap().indicator, Indicator::Done);
}

#[test]
fn ctx_41_refuses_an_end_with_the_deliverable_as_a_sign() {
    let found = signs(|talk| {
        talk.wrote("shed/plan.md", "# Plan of the shed", "File written")
            .assistant("The task is complete.")
    });
    assert_eq!(found, []);
}

#[test]
fn ctx_42_accepts_an_unrelated_action_as_high_and_puts_the_request_back() {
    assert_eq!(
        says("Let me compose a pop song."),
        [(Indicator::Unrelated, Severity::High)]
    );
    let session = TestSession::of(10_000);
    let done = shed(&session);
    let done = session.compress(
        &Talk::after(&done.list)
            .assistant("Let me compose a pop song.")
            .list(),
    );
    assert!(done.drift[0].recovered);
    assert!(
        raws(&done.list)
            .last()
            .unwrap()
            .contains(crate::requirements::talk::INTENT)
    );
}

#[test]
fn ctx_42_refuses_an_action_with_words_of_the_task_as_a_sign() {
    assert_eq!(
        says("Let me look for larch and the height of the shed."),
        []
    );
}

#[test]
fn ctx_43_accepts_another_choice_than_the_decided_one_as_medium() {
    let session = TestSession::of(10_000);
    let done = shed(&session);
    let said = Talk::after(&done.list).assistant("I'll use spruce for the walls.");
    let done = session.compress(&said.list());
    let sign = &done.drift[0];
    assert_eq!(
        (sign.indicator, sign.severity),
        (Indicator::Contradiction, Severity::Medium)
    );
    assert!(sign.recovered);
    assert!(
        raws(&done.list)
            .last()
            .unwrap()
            .contains("because it lasts longer")
    );
}

#[test]
fn ctx_43_refuses_the_decided_choice_and_a_change_by_the_user_as_signs() {
    assert_eq!(says("I'll use larch for the walls."), []);
    let found = signs(|talk| {
        talk.user("Please use spruce for the walls.")
            .assistant("I'll use spruce for the walls.")
    });
    assert_eq!(found, []);
}

#[test]
fn ctx_44_accepts_a_missing_constraint_as_high_and_takes_it_from_the_archive() {
    let session = TestSession::of(10_000);
    let done = summed_up(&session, &Forgetful);
    assert!(!done.list.to_string().contains(CONSTRAINT));
    let said = Talk::after(&done.list).assistant("Let me measure the walls of the shed.");
    let done = session.compress(&said.list());
    let sign = &done.drift[0];
    assert_eq!(
        (sign.indicator, sign.severity),
        (Indicator::Constraint, Severity::High)
    );
    assert!(sign.recovered && sign.evidence.contains(CONSTRAINT));
    assert!(raws(&done.list).last().unwrap().contains(CONSTRAINT));
}

#[test]
fn ctx_44_refuses_a_constraint_that_stands_in_the_list_as_a_sign() {
    let session = TestSession::of(10_000);
    let done = shed(&session);
    assert!(done.list.to_string().contains(CONSTRAINT));
    assert_eq!(says("Let me measure the walls of the shed."), []);
    // A constraint that was put back is not missing at the next message.
    let forgot = TestSession::of(10_000);
    let done = summed_up(&forgot, &Forgetful);
    let said = |done: &Compressed| {
        Talk::after(&done.list)
            .assistant("Let me measure the walls of the shed.")
            .list()
    };
    let done = forgot.compress(&said(&done));
    assert_eq!(done.drift.len(), 1);
    assert_eq!(forgot.compress(&said(&done)).drift, []);
}

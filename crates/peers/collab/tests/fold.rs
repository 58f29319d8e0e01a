//! Events as lines, and a collaboration from its first event to its last. The walks of `walks/` compare the
//! state machine with a second fold.

use accp_collab::table::Phase;
use accp_collab::{Event, EventName, Role, State};
use proptest::prelude::*;

proptest! {
    #[test]
    fn an_event_comes_back_from_its_line(
        numbers in (1..u64::MAX, proptest::option::of(1..u64::MAX)),
        texts in proptest::collection::vec("\\PC{0,9}[\u{85}\u{2028}\u{2029}\u{0}\"\\\\]?", 4),
        event in prop::sample::select(EventName::ALL),
        role in proptest::option::of(prop::sample::select(Role::ALL)),
    ) {
        let event = Event {
            seq: numbers.0,
            from: texts[0].clone(),
            event,
            at: "2026-01-01T00:00:00Z".to_owned(),
            summary: texts[1].clone(),
            doc: Some(texts[2].clone()),
            reply_to: numbers.1,
            role,
            sha256: Some(texts[3].clone()),
        };
        let line = event.to_line();
        let lines = line.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        prop_assert_eq!(lines.collect::<Vec<_>>(), [line.trim_end(), ""]);
        prop_assert_eq!(Event::from_line(&line), Ok(event));
    }

    #[test]
    fn any_line_is_an_event_or_has_a_finding(line in "\\PC{0,60}|\\{(\"(seq|from|event|at)\":(1|\"a\"|null|1e400),?){0,4}\\}") {
        if let Err(findings) = Event::from_line(&line) {
            prop_assert!(!findings.is_empty());
        }
    }
}

#[test]
fn a_collaboration_goes_through_all_phases() {
    use EventName as E;
    let mut state = State::new(["ada".to_owned(), "bob".to_owned()]);
    let steps = [
        ("ada", E::Initialized, Phase::Drafting),
        ("ada", E::DeliverableDrafted, Phase::Drafting),
        ("ada", E::ProposalSubmitted, Phase::Reviewing),
        ("bob", E::ReviewSubmitted, Phase::Revising),
        ("ada", E::DeliverableRevised, Phase::Revising),
        ("ada", E::ProposalRevised, Phase::DecisionReview),
        ("ada", E::QuestionClassified, Phase::DecisionReview),
        ("bob", E::DecisionAccepted, Phase::DecisionReview),
        ("ada", E::DecisionAccepted, Phase::ReadinessCheck),
        ("ada", E::DeliverableFrozen, Phase::ReadinessCheck),
        ("ada", E::ReadinessPassed, Phase::ReadinessCheck),
        ("ada", E::Completed, Phase::Completed),
    ];
    for (seq, (from, name, phase)) in (1..).zip(steps) {
        let is_of_deliverable = name.is_of_deliverable();
        let event = Event {
            seq,
            from: from.to_owned(),
            event: name,
            at: "2026-01-01T00:00:00Z".to_owned(),
            summary: "Something".to_owned(),
            doc: is_of_deliverable.then(|| "deliverables/adr.md".to_owned()),
            reply_to: (seq > 1).then_some(1),
            role: is_of_deliverable.then_some(Role::Primary),
            sha256: (name == E::DeliverableFrozen).then(|| "0".repeat(64)),
        };
        let before = state.clone();
        let early = Event {
            seq: seq + 1,
            ..event.clone()
        };
        state.apply(&early).expect_err("a number that is not due");
        assert_eq!(state, before);
        state.apply(&event).expect("an event that is due");
        assert_eq!(state.phase(), phase);
    }
}

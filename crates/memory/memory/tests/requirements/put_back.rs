//! A constraint that a summary has lost comes back (CTX-39, CTX-44).

use accp_memory::{Indicator, Severity, Summarizer, SummaryRequest, Tier, check};
use serde_json::json;

use crate::requirements::session::{TestSession, raws, tiers};
use crate::requirements::talk::Talk;

const GROUND: &str = "The timber must never touch the ground.";
const NAILS: &str = "Do not use more than 40 nails.";

/// A summarizer that drops both constraints from the summary.
struct Forgetful;

impl Summarizer for Forgetful {
    fn summarize(&self, wanted: &SummaryRequest<'_>) -> Option<String> {
        let lines = wanted.rules.lines();
        let kept = lines.filter(|line| !line.contains(GROUND) && !line.contains(NAILS));
        Some(kept.collect::<Vec<_>>().join("\n"))
    }
}

/// Returns a conversation in which another agent says a text, and whose summary has lost the constraints.
fn forgot(session: &TestSession, said: &str) -> Talk {
    let list = Talk::begun()
        .agent(said)
        .user("Go on.")
        .up_to(7_600, &session.window)
        .list();
    let done = session.summed_up(&list, &Forgetful);
    assert_eq!((tiers(&done), done.drift), (vec![Tier::Three], Vec::new()));
    let shown = done.list.to_string();
    assert!(!shown.contains(GROUND) && !shown.contains(NAILS));
    Talk::after(&done.list)
}

#[test]
fn a_lost_constraint_stands_in_the_next_list_between_whole_pairs() {
    let session = TestSession::of(10_000);
    let said = forgot(&session, GROUND)
        .used(
            "search",
            json!({ "q": "timber for a shed" }),
            "larch, 2.4 metres",
        )
        .calls(&[("c8", "search", json!({ "q": "larch for the shed" }))]);
    let given = said.list();
    let done = session.compress(&given);
    // The constraint is missing at both messages, and is put back once.
    let signs: Vec<_> = done
        .drift
        .iter()
        .map(|sign| (sign.indicator, sign.severity, sign.recovered))
        .collect();
    assert_eq!(signs, [(Indicator::Constraint, Severity::High, true); 2]);
    let (before, after) = (raws(&given), raws(&done.list));
    assert_eq!(after.len(), before.len() + 1);
    // The message is put back before the call in flight, which stays last.
    let put_back = &after[after.len() - 2];
    assert!(
        put_back.contains("## Recovered Context") && put_back.contains(&format!("> {GROUND}")),
        "{put_back}"
    );
    assert_eq!(after.last(), before.last());
    assert_eq!(
        (check(&done.list), done.after <= session.window.room()),
        (vec![], true)
    );
    // The log has the signs with their severity, in its JSON too.
    let log = session.open().begun().unwrap().drift().to_vec();
    assert_eq!(log, done.drift);
    let log = serde_json::to_value(&log[0]).unwrap();
    assert_eq!(
        (&log["indicator"], &log["severity"]),
        (&json!("constraint"), &json!("HIGH"))
    );
    // A constraint that was put back is not missing when the result arrives and the assistant continues.
    let next = Talk::after(&done.list)
        .result("c8", "larch")
        .assistant("Let me measure the shed.");
    assert_eq!(session.compress(&next.list()).drift, []);
}

#[test]
fn of_a_message_that_has_no_room_the_constraints_come_back() {
    let session = TestSession::of(10_000);
    let long = format!("{GROUND} {NAILS}\n\n{}", "We saw a shed. ".repeat(400));
    let done = session.compress(
        &forgot(&session, &long)
            .assistant("Let me measure the shed.")
            .list(),
    );
    assert_eq!(done.drift.len(), 2);
    assert!(
        done.drift.iter().all(|sign| sign.recovered),
        "{:?}",
        done.drift
    );
    let put_back = raws(&done.list).pop().unwrap();
    for constraint in [GROUND, NAILS] {
        assert!(put_back.contains(&format!("> {constraint}")), "{put_back}");
    }
    assert!(!put_back.contains("We saw a shed."));
}

#[test]
fn a_message_that_answers_several_signs_comes_back_once() {
    let session = TestSession::of(10_000);
    let both = format!("{GROUND} {NAILS}");
    let done = session.compress(
        &forgot(&session, &both)
            .assistant("Let me measure the shed.")
            .list(),
    );
    assert_eq!(done.drift.iter().filter(|sign| sign.recovered).count(), 2);
    let put_back = raws(&done.list).pop().unwrap();
    assert_eq!(put_back.matches("> ").count(), 1, "{put_back}");
    assert_eq!(put_back.matches("**Reason:**").count(), 2);
}

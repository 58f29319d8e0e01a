//! Tests of the requirements for the log: CTX-50 and CTX-51.

use accp_memory::{Event, Intent, Tier};
use serde_json::json;

use crate::requirements::session::{TestSession, tiers};
use crate::requirements::talk::{INTENT, Talk, rows};

/// Returns the log of a session in which all tiers have acted.
fn log() -> Vec<Event> {
    let session = TestSession::of(10_000).stress();
    let list = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(1_100))
        .wrote("a.md", &rows(1_100), "File written")
        .up_to(5_600, &session.window)
        .list();
    let done = session.compress(&list);
    assert_eq!(tiers(&done), [Tier::One, Tier::Two, Tier::Three]);
    let context = session.open();
    let events = context.begun().unwrap().events().to_vec();
    assert_eq!(events, done.events);
    for path in events.iter().flat_map(|event| &event.files) {
        assert!(session.files().contains_key(path), "{path}");
    }
    events
}

#[test]
fn ctx_50_accepts_an_entry_for_each_compression_with_all_its_members() {
    let log = log();
    for event in &log {
        assert_eq!(event.at, "2026-01-29T14:25:30+02:00");
        assert_eq!(event.saved, event.before - event.after);
        assert!(
            event.saved > 0 && event.trigger.contains("of 10000 tokens"),
            "{event:?}"
        );
    }
    assert_eq!(log[0].files, ["cache/offloaded/20260129_142530_stock.md"]);
    assert_eq!(log[1].files, [""; 0]);
    let made = [
        "cache/conversations/trip_full.md",
        "cache/checkpoints/trip_1.json",
    ];
    assert_eq!(log[2].files, made);
    let event = Event {
        before: 12_345,
        after: 2_345,
        saved: 10_000,
        ..log[2].clone()
    };
    let expected = format!(
        "## Compression Event Log\n**Timestamp:** 2026-01-29T14:25:30+02:00\n**Event Type:** TIER_3\n\
         **Trigger:** {}\n**Tokens Before:** 12,345\n**Tokens After:** 2,345\n**Tokens Saved:** 10,000\n\
         **Files Created:** {}\n**Intent Preserved:** YES\n",
        event.trigger,
        made.join(", ")
    );
    assert_eq!(event.to_markdown(), expected);
    assert_eq!(json!(log[0])["type"], "TIER_1");
}

#[test]
fn ctx_50_refuses_an_entry_for_a_tier_that_did_not_act() {
    let session = TestSession::of(10_000);
    session.compress(&Talk::begun().up_to(7_400, &session.window).list());
    assert_eq!(session.open().begun().unwrap().events(), []);
}

#[test]
fn ctx_51_accepts_yes_where_the_intent_stands_in_the_list() {
    assert!(log().iter().all(|event| event.intent == Intent::Verbatim));
    assert_eq!(Intent::Verbatim.as_str(), "YES");
    let session = TestSession::of(10_000);
    let done = session.compress(&Talk::begun().up_to(7_600, &session.window).list());
    assert_eq!(done.events[0].intent, Intent::Verbatim);
    assert!(done.list.to_string().contains(INTENT));
}

#[test]
fn ctx_51_refuses_yes_where_the_intent_was_shortened() {
    let session = TestSession::of(10_000);
    let long = format!("Plan a shed. {}", "more words ".repeat(2_200));
    let list = Talk::default()
        .user(&long)
        .up_to(7_600, &session.window)
        .list();
    let done = session.compress(&list);
    assert_eq!(done.events[0].intent, Intent::Referenced);
    assert_eq!(Intent::Referenced.as_str(), "VERIFICATION_NEEDED");
    assert!(
        done.events[0]
            .to_markdown()
            .ends_with("**Intent Preserved:** VERIFICATION_NEEDED\n")
    );
    assert!(!done.list.to_string().contains(&long));
}

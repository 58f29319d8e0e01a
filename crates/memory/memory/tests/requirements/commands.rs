//! Tests of the functions behind the quick commands: CTX-57 to CTX-61.

use accp_memory::Tier;
use accp_memory::disk::ContextError;
use accp_memory::disk::index::Filter;
use serde_json::json;

use crate::requirements::session::{TestSession, raws, tiers};
use crate::requirements::talk::{INTENT, Talk, rows};

/// Returns a conversation with a result and an input that could leave, far below half of the window.
fn small() -> Talk {
    Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(1_200))
        .wrote("a.md", &rows(1_200), "File written")
        .user("Thank you.")
        .assistant("You are welcome.")
}

#[test]
fn ctx_57_accepts_an_evaluation_at_once_when_it_is_forced() {
    let mut session = TestSession::of(20_000);
    let list = small().list();
    session.compress(&list);
    session.force = true;
    // The list has no new message and is far below its limit, so the session acts only because it
    // is forced.
    let done = session.compress(&list);
    assert_eq!(tiers(&done), [Tier::One, Tier::Two]);
    assert!(
        done.events
            .iter()
            .all(|event| event.trigger.ends_with(", forced"))
    );
    assert!(done.after < done.before / 2);
}

#[test]
fn ctx_57_refuses_to_change_a_small_list_that_is_not_forced() {
    let session = TestSession::of(20_000);
    let list = small().list();
    let done = session.compress(&list);
    assert_eq!((tiers(&done), raws(&done.list)), (vec![], raws(&list)));
}

#[test]
fn ctx_58_accepts_a_report_of_use_that_outlives_the_process() {
    let session = TestSession::of(20_000);
    let done = session.compress(&small().list());
    let context = session.open();
    let session = context.begun().unwrap();
    let used = session.usage().unwrap();
    assert_eq!(
        (used.tokens, used.room, used.window),
        (done.after, 20_000, 20_000)
    );
    assert_eq!(session.originals().len(), 7);
    assert_eq!((session.events().len(), session.checkpoints()), (0, 0));
}

#[test]
fn ctx_58_refuses_a_report_of_a_session_that_has_not_begun() {
    let session = TestSession::of(20_000);
    let context = session.open();
    let refused = context.begun().unwrap_err();
    assert!(matches!(&refused, ContextError::NoSession { id, .. } if id == "trip"));
    assert!(
        refused
            .to_string()
            .contains("accp context compress --session trip")
    );
}

#[test]
fn ctx_59_accepts_a_topic_and_finds_what_left() {
    let session = TestSession::of(10_000);
    let talk = Talk::begun().used("get_flight", json!({}), "flight number HAT170, gate 12");
    session.compress(&talk.up_to(7_600, &session.window).list());
    let hits = session.search("flight number", &Filter::default());
    assert!(hits[0].text.contains("HAT170"), "{hits:?}");
    assert_eq!((hits[0].rank, hits[0].message), (1, Some(2)));
}

#[test]
fn ctx_59_refuses_to_find_a_topic_of_which_nobody_spoke() {
    let session = TestSession::of(10_000);
    session.compress(&Talk::begun().up_to(7_600, &session.window).list());
    assert_eq!(
        session.search("submarine periscope", &Filter::default()),
        []
    );
}

#[test]
fn ctx_60_accepts_the_intent_verbatim_before_and_after_summaries() {
    let session = TestSession::of(10_000);
    session.compress(&Talk::begun().list());
    assert_eq!(session.open().begun().unwrap().intent(), [INTENT]);
    let talk = Talk::begun().user("New task: draw the roof.");
    session.compress(&talk.up_to(7_600, &session.window).list());
    let expected = [INTENT, "New task: draw the roof."];
    assert_eq!(session.open().begun().unwrap().intent(), expected);
}

#[test]
fn ctx_60_refuses_later_requests_as_the_intent() {
    let session = TestSession::of(10_000);
    let talk = Talk::default().system("You plan.").user(INTENT);
    let talk = talk.assistant("Plan a barn.").user("And a door, please.");
    session.compress(&talk.list());
    assert_eq!(session.open().begun().unwrap().intent(), [INTENT]);
}

#[test]
fn ctx_61_accepts_the_last_events_in_their_order() {
    let session = TestSession::of(10_000);
    let mut list = Talk::begun().up_to(7_600, &session.window).list();
    let mut expected = Vec::new();
    for _ in 0..3 {
        let done = session.compress(&list);
        assert_eq!(tiers(&done), [Tier::Three]);
        expected.extend(done.events);
        list = Talk::after(&done.list).up_to(7_600, &session.window).list();
    }
    assert_eq!(session.open().begun().unwrap().events(), expected);
}

#[test]
fn ctx_61_refuses_events_of_other_sessions() {
    let session = TestSession::of(10_000);
    session.compress(&Talk::begun().up_to(7_600, &session.window).list());
    let id = accp_memory::SessionId::new("other").unwrap();
    let mut other = accp_memory::disk::Context::open(session.root(), id).unwrap();
    assert!(other.session().is_none());
    let list = Talk::default().user("Bake bread.").list();
    session
        .with(&(), |options| other.compress(&list, options, &mut ()))
        .unwrap();
    assert_eq!(other.begun().unwrap().events(), []);
    drop(other);
    assert_eq!(session.open().begun().unwrap().events().len(), 1);
}

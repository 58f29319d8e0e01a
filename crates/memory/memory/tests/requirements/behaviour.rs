//! Tests of the mandatory behaviour: CTX-52 to CTX-56.

use accp_memory::{Event, Hooks, Indicator, Intent, State, Tier, Verdict};
use serde_json::{Value as Json, json};

use crate::requirements::session::{TestSession, raws, summary, text, tiers};
use crate::requirements::talk::{INTENT, Talk, rows};

/// Returns a conversation with results of these sizes.
fn results(sizes: &[usize]) -> Talk {
    sizes.iter().fold(Talk::begun(), |talk, size| {
        talk.used("stock", json!({ "size": size }), &rows(*size))
    })
}

#[test]
fn ctx_52_accepts_each_large_result_by_itself() {
    let session = TestSession::of(200_000);
    let done = session.compress(&results(&[15_100, 100, 16_000]).list());
    assert_eq!(tiers(&done), [Tier::One, Tier::One]);
    assert!(done.events[0].trigger.contains("tokens, over 15000"));
    let moved = [2, 4, 6].map(|at| text(&done.list, at).starts_with("## Offloaded"));
    assert_eq!(moved, [true, false, true]);
    // In a small window, a result of more than a quarter of the window is large.
    let small = TestSession::of(8_000);
    let done = small.compress(&results(&[2_100]).list());
    assert_eq!(tiers(&done), [Tier::One]);
}

#[test]
fn ctx_52_refuses_to_move_results_that_are_not_large() {
    let session = TestSession::of(200_000);
    let list = results(&[14_000, 14_900]).list();
    let done = session.compress(&list);
    assert_eq!((tiers(&done), raws(&done.list)), (vec![], raws(&list)));
}

/// Returns a conversation with an old write, and with this many tokens in all.
fn written(session: &TestSession, tokens: u64) -> Talk {
    let talk = Talk::begun().wrote("a.md", &rows(2_000), "File written");
    talk.up_to(tokens, &session.window)
}

#[test]
fn ctx_53_accepts_tier_2_at_half_with_an_entry_in_the_log() {
    let session = TestSession::of(10_000);
    let done = session.compress(&written(&session, 5_000).list());
    assert_eq!(tiers(&done), [Tier::Two]);
    assert!(done.after < 5_000);
    assert_eq!(session.open().begun().unwrap().events(), done.events);
}

/// Hooks that defer every tier.
struct Never;

impl Hooks for Never {
    fn before(&mut self, _: &Event) -> Verdict {
        Verdict::Defer
    }
}

#[test]
fn ctx_53_refuses_to_log_a_tier_that_was_put_off_as_one_that_acted() {
    let session = TestSession::of(10_000);
    let list = written(&session, 5_000).list();
    let done = session.compress_with(&list, &mut Never);
    assert_eq!(raws(&done.list), raws(&list));
    let log = session.open().begun().unwrap().events().to_vec();
    assert_eq!(log.len(), 1);
    assert!(log[0].deferred && log[0].saved == 0 && log[0].before == log[0].after);
    // The tier was deferred only once, so the session compresses at the next message.
    let done = session.compress(&Talk::after(&done.list).user("Go on.").list());
    assert_eq!(tiers(&done), [Tier::Two]);
}

/// Returns a conversation with a customer number, and with this many tokens in all.
pub(crate) fn with_a_number(session: &TestSession, tokens: u64) -> Talk {
    let talk = Talk::begun().user("My customer number is K-118.");
    talk.up_to(tokens, &session.window)
}

#[test]
fn ctx_54_accepts_a_summary_a_checkpoint_and_a_look_for_drift() {
    let session = TestSession::of(10_000);
    let done = session.compress(&with_a_number(&session, 7_500).list());
    assert_eq!(tiers(&done), [Tier::Three]);
    let path = "cache/checkpoints/trip_1.json".to_owned();
    assert!(done.events[0].files.contains(&path));
    let checkpoint: Json = serde_json::from_str(&session.read(&path)).unwrap();
    let list: Vec<_> = done
        .list
        .messages()
        .iter()
        .map(|message| message.json().clone())
        .collect();
    assert_eq!(checkpoint["list"], Json::from(list));
    let said = Talk::after(&done.list).assistant("What is your customer number?");
    assert_eq!(session.compress(&said.list()).drift.len(), 1);
}

#[test]
fn ctx_54_refuses_a_checkpoint_without_a_summary_under_three_quarters() {
    let session = TestSession::of(10_000);
    let done = session.compress(&with_a_number(&session, 7_499).list());
    assert_eq!(tiers(&done), []);
    assert_eq!(session.files().len(), 0);
    assert_eq!(session.open().begun().unwrap().checkpoints(), 0);
}

/// Returns a conversation whose newest message fills the window.
fn full(session: &TestSession) -> Talk {
    let talk = Talk::begun().assistant("Tell me what you have.");
    let words = usize::try_from(session.window.size() * 86 / 100).unwrap();
    talk.user(&"rye ".repeat(words))
}

#[test]
fn ctx_55_accepts_a_last_checkpoint_with_the_complete_state() {
    let session = TestSession::of(10_000);
    let given = full(&session).list();
    let done = session.compress(&given);
    assert_eq!(done.state, State::Critical);
    assert!(done.advice.is_some());
    let number = session.open().begun().unwrap().checkpoints();
    let text = session.read(&format!("cache/checkpoints/trip_{number}.json"));
    let checkpoint: Json = serde_json::from_str(&text).unwrap();
    let list: Vec<_> = done
        .list
        .messages()
        .iter()
        .map(|message| message.json().clone())
        .collect();
    assert_eq!(checkpoint["list"], Json::from(list));
    let restored = session.open().begun().unwrap().restored().unwrap();
    assert_eq!(raws(&restored), raws(&given));
    assert!(
        session
            .read("cache/conversations/trip_full.md")
            .contains(INTENT)
    );
}

#[test]
fn ctx_55_refuses_another_checkpoint_while_nothing_was_said() {
    let session = TestSession::of(10_000);
    let done = session.compress(&full(&session).list());
    let (files, number) = (
        session.files(),
        session.open().begun().unwrap().checkpoints(),
    );
    let again = session.compress(&done.list);
    assert_eq!(again.advice, done.advice);
    assert_eq!(session.files(), files);
    assert_eq!(session.open().begun().unwrap().checkpoints(), number);
}

#[test]
fn ctx_56_accepts_a_look_for_the_intent_after_each_tier_and_for_signs_after_each_message() {
    let session = TestSession::of(10_000).stress();
    let list = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(1_100))
        .wrote("a.md", &rows(1_100), "File written")
        .user("My customer number is K-118.")
        .up_to(5_600, &session.window)
        .list();
    let done = session.compress(&list);
    assert_eq!(tiers(&done), [Tier::One, Tier::Two, Tier::Three]);
    assert!(
        done.events
            .iter()
            .all(|event| event.intent == Intent::Verbatim)
    );
    assert!(summary(&done.list).contains(INTENT));
    let mut list = done.list;
    for number in 1..=6 {
        let said = match number {
            6 => "What is your customer number?",
            _ => "Let me draw a wall of the garden shed.",
        };
        let done = session.compress(&Talk::after(&list).assistant(said).list());
        let found: Vec<_> = done.drift.iter().map(|sign| sign.indicator).collect();
        let expected = [Indicator::Clarification];
        assert_eq!(
            found,
            if number == 6 { &expected[..] } else { &[] },
            "{number}"
        );
        list = done.list;
    }
}

#[test]
fn ctx_56_refuses_to_judge_more_than_six_messages_after_a_summary() {
    let session = TestSession::of(10_000);
    let mut list = session
        .compress(&with_a_number(&session, 7_600).list())
        .list;
    for _ in 0..6 {
        let said = Talk::after(&list).assistant("Let me draw a wall of the garden shed.");
        list = session.compress(&said.list()).list;
    }
    let said = Talk::after(&list).assistant("What is your customer number?");
    assert_eq!(session.compress(&said.list()).drift, []);
}

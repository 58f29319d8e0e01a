//! Mandatory behaviour: CTX-52 to CTX-56.

use accp_memory::{Event, Hooks, Indicator, Intent, State, Tier, Verdict};
use serde_json::{Value as Json, json};

use crate::requirements::desk::{Desk, raws, summary, text, tiers};
use crate::requirements::talk::{INTENT, Talk, rows};

/// Returns a conversation with results of these sizes.
fn results(sizes: &[usize]) -> Talk {
    sizes.iter().fold(Talk::begun(), |talk, size| {
        talk.used("stock", json!({ "size": size }), &rows(*size))
    })
}

#[test]
fn ctx_52_accepts_each_large_result_by_itself() {
    let desk = Desk::of(200_000);
    let done = desk.compress(&results(&[15_100, 100, 16_000]).list());
    assert_eq!(tiers(&done), [Tier::One, Tier::One]);
    assert!(done.events[0].trigger.contains("tokens, over 15000"));
    let moved = [2, 4, 6].map(|at| text(&done.list, at).starts_with("## Offloaded"));
    assert_eq!(moved, [true, false, true]);
    // In a smaller window a quarter of it is large.
    let small = Desk::of(8_000);
    let done = small.compress(&results(&[2_100]).list());
    assert_eq!(tiers(&done), [Tier::One]);
}

#[test]
fn ctx_52_refuses_to_move_results_that_are_not_large() {
    let desk = Desk::of(200_000);
    let list = results(&[14_000, 14_900]).list();
    let done = desk.compress(&list);
    assert_eq!((tiers(&done), raws(&done.list)), (vec![], raws(&list)));
}

/// Returns a conversation with an old write, and so many tokens.
fn written(desk: &Desk, tokens: u64) -> Talk {
    let talk = Talk::begun().wrote("a.md", &rows(2_000), "File written");
    talk.up_to(tokens, &desk.window)
}

#[test]
fn ctx_53_accepts_tier_2_at_half_with_an_entry_in_the_log() {
    let desk = Desk::of(10_000);
    let done = desk.compress(&written(&desk, 5_000).list());
    assert_eq!(tiers(&done), [Tier::Two]);
    assert!(done.after < 5_000);
    assert_eq!(desk.open().begun().unwrap().events(), done.events);
}

/// Puts every tier off.
struct Never;

impl Hooks for Never {
    fn before(&mut self, _: &Event) -> Verdict {
        Verdict::Defer
    }
}

#[test]
fn ctx_53_refuses_to_log_a_tier_that_was_put_off_as_one_that_acted() {
    let desk = Desk::of(10_000);
    let list = written(&desk, 5_000).list();
    let done = desk.compress_with(&list, &mut Never);
    assert_eq!(raws(&done.list), raws(&list));
    let log = desk.open().begun().unwrap().events().to_vec();
    assert_eq!(log.len(), 1);
    assert!(log[0].deferred && log[0].saved == 0 && log[0].before == log[0].after);
    // It acts at the next message.
    let done = desk.compress(&Talk::after(&done.list).user("Go on.").list());
    assert_eq!(tiers(&done), [Tier::Two]);
}

/// Returns a conversation that tells a number, of so many tokens.
fn told(desk: &Desk, tokens: u64) -> Talk {
    let talk = Talk::begun().user("My customer number is K-118.");
    talk.up_to(tokens, &desk.window)
}

#[test]
fn ctx_54_accepts_a_summary_a_checkpoint_and_a_look_for_drift() {
    let desk = Desk::of(10_000);
    let done = desk.compress(&told(&desk, 7_500).list());
    assert_eq!(tiers(&done), [Tier::Three]);
    let path = "cache/checkpoints/trip_1.json".to_owned();
    assert!(done.events[0].files.contains(&path));
    let checkpoint: Json = serde_json::from_str(&desk.read(&path)).unwrap();
    let list: Vec<_> = done
        .list
        .messages()
        .iter()
        .map(|message| message.json().clone())
        .collect();
    assert_eq!(checkpoint["list"], Json::from(list));
    let said = Talk::after(&done.list).assistant("What is your customer number?");
    assert_eq!(desk.compress(&said.list()).drift.len(), 1);
}

#[test]
fn ctx_54_refuses_a_checkpoint_without_a_summary_under_three_quarters() {
    let desk = Desk::of(10_000);
    let done = desk.compress(&told(&desk, 7_499).list());
    assert_eq!(tiers(&done), []);
    assert_eq!(desk.files().len(), 0);
    assert_eq!(desk.open().begun().unwrap().checkpoints(), 0);
}

/// Returns a conversation whose newest message fills the window.
fn full(desk: &Desk) -> Talk {
    let talk = Talk::begun().assistant("Tell me what you have.");
    let words = usize::try_from(desk.window.size() * 86 / 100).unwrap();
    talk.user(&"rye ".repeat(words))
}

#[test]
fn ctx_55_accepts_a_last_checkpoint_with_the_complete_state() {
    let desk = Desk::of(10_000);
    let given = full(&desk).list();
    let done = desk.compress(&given);
    assert_eq!(done.state, State::Critical);
    assert!(done.advice.is_some());
    let number = desk.open().begun().unwrap().checkpoints();
    let text = desk.read(&format!("cache/checkpoints/trip_{number}.json"));
    let checkpoint: Json = serde_json::from_str(&text).unwrap();
    let list: Vec<_> = done
        .list
        .messages()
        .iter()
        .map(|message| message.json().clone())
        .collect();
    assert_eq!(checkpoint["list"], Json::from(list));
    let restored = desk.open().begun().unwrap().restored().unwrap();
    assert_eq!(raws(&restored), raws(&given));
    assert!(
        desk.read("cache/conversations/trip_full.md")
            .contains(INTENT)
    );
}

#[test]
fn ctx_55_refuses_another_checkpoint_while_nothing_was_said() {
    let desk = Desk::of(10_000);
    let done = desk.compress(&full(&desk).list());
    let (files, number) = (desk.files(), desk.open().begun().unwrap().checkpoints());
    let again = desk.compress(&done.list);
    assert_eq!(again.advice, done.advice);
    assert_eq!(desk.files(), files);
    assert_eq!(desk.open().begun().unwrap().checkpoints(), number);
}

#[test]
fn ctx_56_accepts_a_look_for_the_intent_after_each_tier_and_for_signs_after_each_message() {
    let desk = Desk::of(10_000).stress();
    let list = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(1_100))
        .wrote("a.md", &rows(1_100), "File written")
        .user("My customer number is K-118.")
        .up_to(5_600, &desk.window)
        .list();
    let done = desk.compress(&list);
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
        let done = desk.compress(&Talk::after(&list).assistant(said).list());
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
    let desk = Desk::of(10_000);
    let mut list = desk.compress(&told(&desk, 7_600).list()).list;
    for _ in 0..6 {
        let said = Talk::after(&list).assistant("Let me draw a wall of the garden shed.");
        list = desk.compress(&said.list()).list;
    }
    let said = Talk::after(&list).assistant("What is your customer number?");
    assert_eq!(desk.compress(&said.list()).drift, []);
}

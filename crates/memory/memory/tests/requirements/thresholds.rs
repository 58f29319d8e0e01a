//! Tests of the requirements for thresholds: CTX-05 to CTX-11.

use accp_frame::TokenCounter as _;
use accp_memory::{Form, Limits, MessageList, State, Tier, Window, WindowError};
use accp_tokens::Bpe;
use serde_json::json;

use crate::requirements::session::{TestSession, raws, tiers};
use crate::requirements::talk::{Talk, rows};

const BODY: &str = r#"{ "model": "m", "tools": [ {"type": "function", "function": {"name": "stock"}} ],
    "messages": [ {"role": "user",  "content": "How much rye?"} ] }"#;

#[test]
fn ctx_05_accepts_the_exact_tokens_of_the_list_as_it_is_sent() {
    let counter = Bpe::o200k_base();
    let window = Window::of(1_000).unwrap();
    let list = MessageList::read(BODY, Some(Form::OpenAi)).unwrap();
    let lines = "{\"role\":\"user\",\"content\":\"How much rye?\"}\n\
        [{\"type\":\"function\",\"function\":{\"name\":\"stock\"}}]\n";
    assert_eq!(window.count(&list, &counter), counter.count(lines) as u64);
    assert_eq!(counter.name(), "o200k_base");
    let alone = MessageList::of(Form::OpenAi, [list.messages()[0].raw()]).unwrap();
    assert!(window.count(&alone, &counter) < window.count(&list, &counter));
}

#[test]
fn ctx_05_refuses_to_count_what_is_kept_for_the_answer_as_room() {
    let window = Window::of(10_000).unwrap();
    assert_eq!(
        (window.share(5_000), window.state(5_000)),
        (0.5, State::Orange)
    );
    let less = window.clone().with_reserve(2_000).unwrap();
    assert_eq!((less.share(6_000), less.state(6_000)), (0.75, State::Red));
    assert!(matches!(
        window.with_reserve(10_000),
        Err(WindowError::NoRoom { .. })
    ));
}

/// Returns a conversation with a result and an input that could leave, and with this many tokens in all.
fn talk(session: &TestSession, tokens: u64) -> Talk {
    Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(1_200))
        .wrote("a.md", &rows(1_200), "File written")
        .up_to(tokens, &session.window)
}

/// Checks that a list with this many tokens is not changed, and returns its state.
fn untouched(size: u64, tokens: u64) -> State {
    let session = TestSession::of(size);
    let list = talk(&session, tokens).list();
    let done = session.compress(&list);
    assert_eq!(raws(&done.list), raws(&list));
    assert_eq!(
        (done.events, done.drift, done.advice),
        (vec![], vec![], None)
    );
    assert_eq!(session.files().len(), 0);
    done.state
}

#[test]
fn ctx_06_accepts_a_list_under_a_quarter_as_green() {
    let window = Window::of(20_000).unwrap();
    assert_eq!(
        (window.state(0), window.state(4_999)),
        (State::Green, State::Green)
    );
    assert_ne!(window.state(5_000), State::Green);
}

#[test]
fn ctx_06_refuses_to_change_anything_under_a_quarter() {
    assert_eq!(untouched(20_000, 4_999), State::Green);
}

#[test]
fn ctx_07_accepts_a_list_from_a_quarter_on_as_yellow_and_reports_its_use() {
    let session = TestSession::of(20_000);
    let done = session.compress(&talk(&session, 5_000).list());
    assert_eq!(done.state, State::Yellow);
    let used = session.open().begun().unwrap().usage().unwrap();
    assert_eq!(
        (used.tokens, used.room, used.window),
        (5_000, 20_000, 20_000)
    );
}

#[test]
fn ctx_07_refuses_to_change_anything_under_half() {
    assert_eq!(untouched(20_000, 9_999), State::Yellow);
}

#[test]
fn ctx_08_accepts_tiers_1_and_2_from_half_on() {
    let session = TestSession::of(10_000);
    let mut talk = talk(&session, 7_000);
    for number in 0..3 {
        let path = format!("b{number}.md");
        talk = talk.wrote(&path, &rows(1_100), "File written");
    }
    let done = session.compress(&talk.up_to(11_000, &session.window).list());
    assert_eq!(tiers(&done)[..2], [Tier::One, Tier::Two]);
    let exact = TestSession::of(20_000);
    let done = exact.compress(&self::talk(&exact, 10_000).list());
    assert_eq!(
        (tiers(&done), done.events[0].before),
        (vec![Tier::One], 10_000)
    );
    let without = TestSession::of(20_000);
    let list = Talk::begun()
        .wrote("a.md", &rows(2_400), "File written")
        .up_to(10_000, &without.window);
    assert_eq!(tiers(&without.compress(&list.list())), [Tier::Two]);
}

#[test]
fn ctx_08_refuses_tier_3_under_three_quarters() {
    let session = TestSession::of(20_000);
    let list = Talk::begun().up_to(14_999, &session.window).list();
    let done = session.compress(&list);
    assert_eq!((tiers(&done), done.state), (vec![], State::Orange));
    assert_eq!(raws(&done.list), raws(&list));
}

#[test]
fn ctx_09_accepts_tier_3_from_three_quarters_on() {
    let session = TestSession::of(20_000);
    let list = Talk::begun().up_to(15_000, &session.window).list();
    let done = session.compress(&list);
    assert_eq!(tiers(&done), [Tier::Three]);
    assert!(done.after < 15_000 && done.state < State::Red);
    assert_eq!(session.window.state(15_000), State::Red);
}

#[test]
fn ctx_09_refuses_tier_3_where_tiers_1_and_2_are_enough() {
    let session = TestSession::of(10_000);
    let list = talk(&session, 7_700);
    let done = session.compress(&list.list());
    assert!(!tiers(&done).contains(&Tier::Three), "{:?}", done.events);
    assert!(done.after < 7_500);
}

/// Returns a conversation whose newest message alone has most of its tokens.
fn heavy(session: &TestSession, tokens: u64) -> Talk {
    let talk = Talk::begun().assistant("Tell me what you have.");
    let left = tokens - talk.tokens(&session.window);
    let empty = talk.clone().user("").tokens(&session.window) - talk.tokens(&session.window);
    talk.user(&"rye ".repeat(usize::try_from(left - empty).unwrap()))
}

#[test]
fn ctx_10_accepts_a_checkpoint_and_advice_from_85_percent_on() {
    let session = TestSession::of(10_000);
    let done = session.compress(&heavy(&session, 8_500).list());
    assert_eq!(done.state, State::Critical);
    let advice = done.advice.unwrap();
    assert!(advice.contains("begin a fresh session") && advice.contains("--checkpoint 1"));
    assert!(
        session
            .files()
            .contains_key("cache/checkpoints/trip_1.json")
    );
    assert!(
        session
            .files()
            .contains_key("cache/conversations/trip_full.md")
    );
}

#[test]
fn ctx_10_refuses_advice_under_85_percent() {
    let session = TestSession::of(10_000);
    let done = session.compress(&heavy(&session, 8_499).list());
    assert_eq!((done.state, done.advice), (State::Red, None));
    // If a summary has shortened the list, no fresh session is advised.
    let summed = TestSession::of(10_000);
    let done = summed.compress(&Talk::begun().up_to(9_000, &summed.window).list());
    assert_eq!((tiers(&done), done.advice), (vec![Tier::Three], None));
}

#[test]
fn ctx_11_accepts_other_limits_in_ascending_order() {
    let limits = Limits {
        watch: 10,
        act: 20,
        summarise: 30,
        fresh: 40,
        large_result: 100,
    };
    let mut session = TestSession::of(20_000);
    session.window = session.window.with_limits(limits).unwrap();
    assert_eq!(session.window.limits(), &limits);
    let states = [1_999, 2_000, 4_000, 6_000, 8_000].map(|tokens| session.window.state(tokens));
    let expected = [
        State::Green,
        State::Yellow,
        State::Orange,
        State::Red,
        State::Critical,
    ];
    assert_eq!(states, expected);
    assert_eq!(session.window.large_result(), 100);
    let done = session.compress(&Talk::begun().up_to(6_000, &session.window).list());
    assert_eq!(tiers(&done), [Tier::Three]);
    assert_eq!(Limits::default().large_result, 15_000);
}

#[test]
fn ctx_11_refuses_limits_that_do_not_ascend() {
    let window = Window::of(20_000).unwrap();
    let of = |watch, act, summarise, fresh| Limits {
        watch,
        act,
        summarise,
        fresh,
        ..Limits::default()
    };
    for limits in [
        of(50, 25, 75, 85),
        of(25, 80, 75, 85),
        of(25, 50, 90, 85),
        of(0, 50, 75, 85),
        of(25, 50, 75, 101),
    ] {
        let refused = window.clone().with_limits(limits).unwrap_err();
        assert!(matches!(refused, WindowError::Limits(..)), "{limits:?}");
    }
    let none = Limits {
        large_result: 0,
        ..Limits::default()
    };
    assert_eq!(window.with_limits(none), Err(WindowError::LargeResult));
}

//! Conformance of budgets, BUD (draft sections 7.1 and 8.3), and of the parts of API that need a
//! session (7.1 and 7.2). `docs/conformance.md` lists the tests of each requirement.

use accp_context::render_context;
use accp_runtime::context::{ContextLimits, Trigger};
use accp_runtime::session::{MemberId, Outbound, Reference, Rules, SendError, StateUpdate};
use accp_runtime::{DynamicFrame, ErrorCode, TokenLimit, Value};
use accp_session::Codec;
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{
    self, NOW, Node, STANDARD, counting, dynamic, frame, frame_tokens, numbers, open_host, options,
    tokens,
};

fn plan(goal: impl Into<Value<'static>>) -> DynamicFrame<'static> {
    let message = DynamicFrame::new("dev", "req", "plan").unwrap();
    message.with("goal", goal)
}

// ---- BUD-01 ------------------------------------------------------------------------

#[test]
fn bud_01_accepts_the_question_for_the_budget_on_both_sides() {
    let mut room = Room::counting(&["dev"]);
    for n in 0..40 {
        let intent = if n % 9 == 8 { "done" } else { "wait" };
        let message = dynamic("dev", intent, "plan")
            .with("step", n)
            .with("goal", format!("to get {n} of them done"));
        room.say(0, &Outbound::message(&message));
        let budget = Codec::new(room.host.session_mut()).budget();
        let state = room.host.state();
        let count = |lines: Vec<String>| {
            lines
                .iter()
                .map(|line| tokens(&format!("{line}\n")))
                .sum::<usize>()
        };
        let hot = count(
            state
                .hot()
                .lines()
                .map(std::borrow::Cow::into_owned)
                .collect(),
        );
        let warm = count(
            state
                .warm()
                .digests()
                .iter()
                .map(accp_runtime::context::Digest::line)
                .collect(),
        );
        assert_eq!(
            (budget.hot.used as usize, budget.warm.used as usize),
            (hot, warm)
        );
        assert_eq!(budget.total.used as usize, hot + warm);
        assert_eq!(
            (
                budget.hot.allowed,
                budget.warm.allowed,
                budget.total.allowed
            ),
            (500, 2000, 2500)
        );
        // The context has as many lines as the budget counts.
        assert_eq!(
            render_context(state.warm(), state.hot()).lines().count(),
            state.hot().lines().count() + state.warm().digests().len()
        );
        assert_eq!(room.members[0].session().budget(), budget);
    }
    assert!(room.host.state().warm().tokens() > 0);
}

#[test]
fn bud_01_refuses_to_guess_where_nothing_is_counted() {
    let mut room = Room::new(&["dev"]);
    room.enter(counting("qa"));
    room.say(0, &Outbound::message(&plan(1)));
    for budget in [
        room.host.session().budget(),
        room.members[1].session().budget(),
    ] {
        assert_eq!(
            budget.to_string(),
            "hot 0/500, warm 0/2000, total 0/2500 tokens"
        );
    }
    assert_eq!(room.host.session().context(), "");
    assert_eq!(
        (room.host.session().level(), room.host.state().tokenizer()),
        (1, None)
    );
}

// ---- BUD-02 ------------------------------------------------------------------------

#[test]
fn bud_02_accepts_budgets_that_can_be_met_and_loses_nothing() {
    let mut options = counting("hub");
    options.context = ContextLimits {
        hot: 60,
        trigger: 40,
        checkpoint: 60,
        summary: 20,
        warm: 100,
    };
    let mut room = Room::with(options, Rules::default(), &["dev"]);
    let mut said = Vec::new();
    for n in 0..30_usize {
        let message = plan(numbers(n * 3));
        room.say(0, &Outbound::message(&message));
        said.push(message.payload);
        let budget = room.host.session().budget();
        assert!(budget.hot.used <= 60 && budget.warm.used <= 100, "{budget}");
    }
    let frames = room.host.frames();
    for (entry, payload) in frames.iter().zip(said) {
        let key = format!("cold.p{}", entry.position);
        assert!(
            room.host
                .state()
                .locate(&Reference::parse(&key).unwrap())
                .is_ok()
        );
        assert_eq!(room.host.payload(&entry.text), payload);
    }
    room.check_replicas();
}

#[test]
fn bud_02_refuses_what_no_budget_holds_with_e2003_and_changes_nothing() {
    // The limits are so low that a frame exceeds them even with a reference.
    let mut narrow = counting("dev");
    narrow.frame_tokens.body = TokenLimit { soft: 4, hard: 8 };
    let mut room = Room::open(counting("hub"), Rules::default());
    room.enter(narrow);
    let before = room.host.state().clone();
    let error = room.members[0]
        .session_mut()
        .send(&Outbound::message(&plan(numbers(60))), NOW)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::BUDGET_EXCEEDED);
    assert!(matches!(error, SendError::Encode(_)));
    room.settle();
    assert_eq!(room.members[0].session().outbox_len(), 0);
    assert!(room.members[0].cold("k101_1").is_none());
    assert_eq!(room.host.state(), &before);
    room.check_replicas();

    // The member sends more frames than may wait. The frames that wait already stay, and are sent.
    let mut small = options("dev");
    small.outbox = 3;
    let mut room = Room::open(options("hub"), Rules::default());
    room.enter(small);
    let dev = room.members[0].session_mut();
    for n in 0..3 {
        dev.send(&Outbound::message(&plan(n)), NOW).unwrap();
    }
    let error = dev.send(&Outbound::message(&plan(3)), NOW).unwrap_err();
    assert_eq!(
        (&error, error.code()),
        (&SendError::Full(3), ErrorCode::BUDGET_EXCEEDED)
    );
    room.settle();
    assert_eq!(room.host.frames().len(), 3);
    room.say(0, &Outbound::message(&plan(3)));
    room.check_replicas();

    // The last change would make the shared state too large. No single key is longer than a frame
    // may hold.
    let mut host = open_host(options("hub"), Rules::default());
    let state = |n: u32| {
        let changes = [(format!("key_{n}"), Value::from("x".repeat(30_000)))]
            .into_iter()
            .collect();
        let update = StateUpdate::Delta {
            version: n.into(),
            changes,
        };
        let options = accp_runtime::EncodeOptions {
            inline: true,
            ..Default::default()
        };
        let text = update
            .to_message("dev")
            .unwrap()
            .encode_with(&STANDARD, options)
            .unwrap();
        frame(&text, n, n.into(), "")
    };
    host.takes(101, &state(1));
    host.takes(101, &state(2));
    assert_eq!(
        host.refuses(101, &state(3)).code,
        ErrorCode::BUDGET_EXCEEDED
    );
    assert_eq!(host.state().shared().version(), 2);
}

// ---- API-01 and API-02 -------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// `Encode` returns the frames that `send` sends, and uses no number or id.
    #[test]
    fn api_01_accepts_encode_as_a_preview_of_what_is_sent(
        texts in prop::collection::vec("\\PC{0,70}", 1..4), lists in prop::collection::vec(0..100_usize, 0..4), from_host: bool,
    ) {
        let mut room = Room::pair();
        let agent = if from_host { "hub" } else { "dev" };
        let mut message = DynamicFrame::new(agent, "req", "plan").unwrap();
        for (n, text) in texts.iter().enumerate() {
            message = message.with(format!("text_{n}"), text.as_str());
        }
        for (n, length) in lists.iter().enumerate() {
            message = message.with(format!("list_{n}"), numbers(*length));
        }
        let outbound = Outbound::message(&message).in_chain("c1");
        let encoded = if from_host {
            let encoded = Codec::new(room.host.session_mut()).encode(&outbound, NOW).unwrap();
            room.host_says(&outbound);
            encoded
        } else {
            let encoded = Codec::new(room.members[0].session_mut()).encode(&outbound, NOW).unwrap();
            room.say(0, &outbound);
            encoded
        };
        let of_it = |text: &&str| text.contains(">req:plan{") || text.contains(">sync:put{");
        let went: Vec<String> = if from_host {
            let log = room.host.log().into_iter().filter(|entry| entry.sender == MemberId::HOST);
            log.map(|entry| entry.text.to_string()).filter(|text| of_it(&text.as_str())).collect()
        } else {
            let back = room.passed(101, 100).filter(of_it);
            back.map(str::to_owned).collect()
        };
        prop_assert_eq!(&encoded.frames, &went);
        for value in &encoded.values {
            prop_assert_eq!(&room.host.cold(&value.key).unwrap(), value);
        }
        // `Codec::decode` gives back the message that was encoded.
        if let [only] = &encoded.frames[..] {
            let decoded = Codec::new(room.host.session_mut()).decode(only).unwrap();
            prop_assert_eq!(decoded.payload, message.payload.clone());
        }
    }
}

#[test]
fn api_01_accepts_checkpoint_and_budget() {
    let mut host = open_host(counting("hub"), Rules::default());
    host.takes(101, &frame("@dev>wait:plan{goal:x}", 1, 1, ""));
    let before = Codec::new(host.session_mut()).budget();
    assert!(before.hot.used > 0 && before.warm.used == 0);
    let checkpoint = Codec::new(host.session_mut()).checkpoint(NOW).unwrap();
    let checkpoint = checkpoint.unwrap();
    host.carries_out(NOW);
    assert_eq!(
        (checkpoint.id(), checkpoint.triggers()),
        (1, &[Trigger::Phase][..])
    );
    let after = Codec::new(host.session_mut()).budget();
    assert!(after.hot.used == 0 && after.warm.used > 0);
    assert_eq!(after.warm.used, checkpoint.digest().unwrap().tokens());
}

#[test]
fn api_01_refuses_to_encode_and_to_checkpoint_without_a_trace() {
    let mut host = open_host(options("hub"), Rules::default());
    let (before, position) = (host.state().clone(), host.session().position());
    let bad = dynamic("hub", "req", "schedule").under("TA");
    let mut codec = Codec::new(host.session_mut());
    assert_eq!(
        codec
            .encode(&Outbound::message(&bad), NOW)
            .unwrap_err()
            .code(),
        ErrorCode::INVALID_TYPE
    );
    assert_eq!(codec.checkpoint(NOW), Ok(None));
    assert_eq!(host.carries_out(NOW), []);
    assert_eq!(
        (host.state(), host.session().position()),
        (&before, position)
    );
}

/// Steps 5 to 7: the message is counted, brought within the limits by parts or references, and the
/// values behind its references are sent first.
#[test]
fn api_02_accepts_a_message_and_takes_it_through_counting_and_splitting() {
    let mut room = Room::pair();
    let message = dynamic("dev", "req", "plan")
        .with("note", "so ".repeat(20))
        .with("a", numbers(60))
        .with("b", numbers(60))
        .with("c", numbers(60));
    let codec = Codec::new(room.members[0].session_mut());
    let frames = codec
        .encode(&Outbound::message(&message), NOW)
        .unwrap()
        .frames;
    assert!(
        frames[0].starts_with("@dev>sync:put{keys:[[k101_1,"),
        "{}",
        frames[0]
    );
    assert!(
        frames.last().unwrap().contains("note:$cold.k101_1"),
        "{frames:?}"
    );
    assert!(frames.len() >= 3);
    for (n, text) in frames[1..].iter().enumerate() {
        let envelope = sides::envelope(text).unwrap();
        let place = format!("{}/{}", n + 1, frames.len() - 1);
        assert_eq!(envelope.extra.get("pt"), Some(&Value::from(place)));
        assert_eq!(sides::of(text), sides::mid_of(&frames[1]));
        assert_eq!(envelope.sequence, Some(n as u64 + 2));
        assert!(frame_tokens(text).body <= 200 && frame_tokens(text).total <= 240);
    }
    // A value that is too large for any frame is sent separately.
    let message = plan(numbers(300)).with("short", 1);
    let codec = Codec::new(room.members[0].session_mut());
    let frames = codec
        .encode(&Outbound::message(&message), NOW)
        .unwrap()
        .frames;
    let [_, only] = &frames[..] else {
        panic!("{frames:?}")
    };
    assert!(
        only.starts_with("@dev>req:plan{goal:$cold.k101_1|short:1}["),
        "{only}"
    );
}

#[test]
fn api_02_refuses_at_the_first_step_that_fails() {
    let mut narrow = counting("dev");
    narrow.frame_tokens.body = TokenLimit { soft: 4, hard: 8 };
    let mut room = Room::open(counting("hub"), Rules::default());
    room.enter(narrow);
    let encode = |room: &mut Room, message: &DynamicFrame<'_>| {
        let codec = Codec::new(room.members[0].session_mut());
        codec
            .encode(&Outbound::message(message), NOW)
            .unwrap_err()
            .code()
    };
    let large = plan(numbers(60));
    assert_eq!(
        encode(&mut room, &large.clone().under("XX")),
        ErrorCode::UNKNOWN_SCHEMA
    );
    assert_eq!(
        encode(&mut room, &large.clone().under("TA")),
        ErrorCode::INVALID_TYPE
    );
    assert_eq!(encode(&mut room, &large), ErrorCode::BUDGET_EXCEEDED);
    assert!(room.members[0].cold("k101_1").is_none());
}

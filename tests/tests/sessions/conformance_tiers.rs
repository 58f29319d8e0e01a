//! Conformance of the three tiers of state, ST (draft section 5.1).
//! `docs/conformance.md` lists the tests of each requirement.

use accp_runtime::context::ContextLimits;
use accp_runtime::session::{Options, Outbound, Reference, Rules};
use accp_runtime::{DynamicFrame, ErrorCode, Value};
use accp_session::{Located, read_value};
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, Side, counting, frame, open_host, tokens};

fn host(options: Options) -> Side {
    open_host(options, Rules::default())
}

fn plan<'a>(agent: &'a str, goal: impl Into<Value<'a>>) -> DynamicFrame<'a> {
    let message = DynamicFrame::new(agent, "req", "plan").unwrap();
    message.with("goal", goal)
}

// ---- ST-01 -------------------------------------------------------------------------

/// Returns turns of a conversation: the intent and the number of words.
fn turns() -> impl Strategy<Value = Vec<(&'static str, usize)>> {
    let intent = prop::sample::select(vec!["req", "qry", "sync", "done", "esc"]);
    let words = prop_oneof![4 => 0..30_usize, 2 => 30..150_usize, 1 => 150..900_usize];
    prop::collection::vec((intent, words), 1..16)
}

/// Makes a handwritten frame of a peer. The frame is not split, so the context has to hold the whole frame.
fn said(intent: &str, words: usize, n: u32) -> String {
    let words: Vec<String> = (0..words).map(|word| format!("word{}", word * 7)).collect();
    let cid = if intent == "done" {
        format!(",cid:101000001{:03}", n - 1)
    } else {
        String::new()
    };
    frame(
        &format!("@dev>{intent}:plan{{n:{n}|notes:[{}]}}", words.join(",")),
        n,
        n.into(),
        &cid,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn st_01_accepts_any_conversation_within_500_tokens(turns in turns()) {
        let mut host = host(counting("hub"));
        let mut asked = false;
        for ((intent, words), n) in turns.into_iter().zip(1..) {
            let heard = host.takes(101, &said(intent, words, n));
            let (state, budget) = (host.state(), host.session().budget());
            // The test counts each line again, as the context shows it.
            let counted: usize = state.hot().lines().map(|line| tokens(&format!("{line}\n"))).sum();
            prop_assert_eq!(budget.hot.used as usize, counted);
            prop_assert_eq!(budget.hot.allowed, 500);
            prop_assert!(counted <= 500);
            // The current frame is in the context, and an answer's request is too.
            prop_assert!(state.hot().frame(heard.entries[0].position).is_some());
            let context = host.session().context();
            let shows = |n: u32| context.contains(&format!("n:{n},")) || context.contains(&format!("n:{n}}}"));
            prop_assert!(shows(n), "{}", context);
            prop_assert!(!asked || intent != "done" || shows(n - 1), "{}", context);
            asked = matches!(intent, "req" | "qry");
        }
    }
}

/// The parent of a frame is the frame that its `aid` names, even if the two frames are in different chains.
#[test]
fn st_01_accepts_the_parent_that_aid_names() {
    for (aid, stays) in [(",aid:101000001003", true), ("", false)] {
        let mut host = host(counting("hub"));
        let all = [
            ("@dev>req:plan{n:1}", ",cid:lunch"),
            ("@dev>sync:note{n:2}", ",cid:lunch"),
            ("@dev>sync:note{n:3}", ",cid:lunch"),
            ("@dev>sync:note{n:4}", ",cid:lunch"),
            ("@dev>done:plan{n:5}", aid),
        ];
        for ((head, more), n) in all.into_iter().zip(1..) {
            host.takes(101, &frame(head, n, n.into(), more));
        }
        // The answer has caused a checkpoint. The request of the chain stays, because it still
        // waits for its own answer.
        assert_eq!(host.state().warm().last(), 1);
        let hot_state: String = host.state().hot().lines().collect();
        let shown = (1..=5).filter(|n| hot_state.contains(&format!("{{n:{n}}}")));
        let expected: &[u32] = if stays { &[1, 3, 5] } else { &[1, 5] };
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{hot_state}");
    }
}

#[test]
fn st_01_refuses_to_hold_a_frame_that_is_too_large_whole() {
    let mut host = host(counting("hub"));
    let large = said("req", 900, 1);
    let (payload, _) = large.split_once("}[").unwrap();
    assert!(tokens(payload) > 2_000);
    let heard = host.takes(101, &large);
    let position = heard.entries[0].position;
    // The context has a short beginning of the frame, with a reference to the rest.
    let context = host.session().context();
    assert!(
        context.contains(&format!("@dev>req:plan{{n:1,ref:$cold.p{position}}}")),
        "{context}"
    );
    assert!(tokens(&context) <= 100);
    // The whole frame is still available: the log has its text as it was sent.
    assert_eq!(&*heard.entries[0].text, large);
    let key = format!("cold.p{position}");
    let located = host.state().locate(&Reference::parse(&key).unwrap());
    assert_eq!(located, Ok(Located::Log(position)));
}

// ---- ST-02 -------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// However long the frames are, a checkpoint takes at most 200 tokens, 100 of them for its
    /// summary. All of warm state stays within its own budget.
    #[test]
    fn st_02_accepts_checkpoints_within_200_tokens(turns in prop::collection::vec(turns(), 1..4)) {
        let mut options = counting("hub");
        options.context = ContextLimits { warm: 900, ..ContextLimits::DRAFT };
        let mut host = host(options);
        for ((intent, words), n) in turns.concat().into_iter().zip(1..) {
            let task = format!("@dev>req:schedule{{asgn:dev|task:T{n}|dead:2026-05-{:02}|schema:TA}}", n % 28 + 1);
            host.takes(101, &frame(&task, 2 * n - 1, (2 * n - 1).into(), ""));
            host.takes(101, &said(intent, words, 2 * n));
            let mut total = 0;
            for digest in host.state().warm().digests() {
                let counted = tokens(&format!("{}\n", digest.line()));
                prop_assert_eq!(digest.tokens() as usize, counted);
                prop_assert!(counted <= 200);
                prop_assert!(tokens(&Value::from(digest.summary().to_owned()).to_string()) <= 100);
                total += counted;
            }
            let budget = host.session().budget();
            prop_assert_eq!((budget.warm.used as usize, budget.warm.allowed), (total, 900));
            prop_assert!(total <= 900);
        }
    }
}

#[test]
fn st_02_accepts_references_into_a_checkpoint() {
    let mut host = host(counting("hub"));
    let request = "@dev>req:schedule{asgn:dev|task:T1|pri:high|schema:TA}";
    host.takes(101, &frame(request, 1, 1, ""));
    let done = "@dev>done:schedule{task:T1|stat:complete|schema:TA}";
    host.takes(101, &frame(done, 2, 2, ",cid:101000001001"));
    // The first checkpoint kept both frames: the current frame, and the request that it answers.
    let checkpoint = host.phase(NOW).unwrap();
    host.carries_out(NOW);
    assert_eq!(checkpoint.id(), 2);
    let resolve = |key: &str| host.session().resolve(key);
    assert_eq!(resolve("warm.ckpt_2.priority"), Some("high".into()));
    assert_eq!(resolve("warm.ckpt_2.T1.status"), Some("complete".into()));
    assert!(resolve("warm.ckpt_2.summary").is_some() && resolve("warm.ckpt_2").is_some());
    for absent in [
        "warm.ckpt_3",
        "warm.ckpt_2.deadline",
        "warm.ckpt_0",
        "warm.ckpt_2.T2.priority",
    ] {
        assert_eq!(resolve(absent), None, "{absent}");
    }
}

#[test]
fn st_02_refuses_a_reference_to_a_checkpoint_that_is_not_there() {
    let mut host = host(counting("hub"));
    host.takes(101, &frame("@dev>req:plan{goal:x}", 1, 1, ""));
    let text = "@dev>qry:lookup{of:$warm.ckpt_1.goal}";
    assert_eq!(
        host.refuses(101, &frame(text, 2, 2, "")).code,
        ErrorCode::REF_NOT_FOUND
    );
    host.phase(NOW).unwrap();
    host.carries_out(NOW);
    host.takes(101, &frame(text, 3, 2, ""));
    let next = frame("@dev>qry:lookup{of:$warm.ckpt_2}", 4, 3, "");
    assert_eq!(host.refuses(101, &next).code, ErrorCode::REF_NOT_FOUND);
}

// ---- ST-03 -------------------------------------------------------------------------

#[test]
fn st_03_accepts_any_amount_of_cold_state_at_no_tokens() {
    let mut room = Room::counting(&["dev"]);
    let mut sent = Vec::new();
    for n in 0..40 {
        let value = format!("{n} ").repeat(500);
        room.say(0, &Outbound::message(&plan("dev", value.as_str())));
        sent.push(value);
    }
    let total: usize = sent.iter().map(|value| tokens(value)).sum();
    assert!(total > 20_000);
    let budget = room.host.session().budget();
    assert!(budget.total.used <= 2_500);
    assert_eq!(budget.total.used, budget.hot.used + budget.warm.used);
    for (value, n) in sent.iter().zip(1..) {
        let key = format!("k101_{n}");
        let kept = room.host.cold_text(&key).unwrap();
        assert_eq!(
            read_value(kept.as_bytes()).unwrap(),
            Value::from(value.as_str())
        );
    }
    // Every frame of the log, hot or not, is in cold state too.
    for entry in room.host.frames() {
        let key = format!("cold.p{}", entry.position);
        let reference = Reference::parse(&key).unwrap();
        let located = room.host.state().locate(&reference);
        assert_eq!(located, Ok(Located::Log(entry.position)));
    }
    room.check_replicas();
}

#[test]
fn st_03_refuses_keys_that_were_never_given() {
    let mut host = host(counting("hub"));
    host.takes(101, &frame("@dev>req:plan{goal:x}", 1, 1, ""));
    for key in [
        "k101_1",
        "k999_1",
        "p99",
        "p0",
        "notes",
        "p01",
        "k101_1.rows.0",
    ] {
        let text = format!("@dev>qry:lookup{{of:$cold.{key}}}[mid:10100000100b,seq:2]");
        let refused = host.refuses(101, &text);
        assert_eq!(refused.code, ErrorCode::REF_NOT_FOUND, "{key}");
    }
}

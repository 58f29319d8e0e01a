//! The context that a model gets from a session.

use std::sync::Arc;

use accp_runtime::context::CachePrices;
use accp_runtime::context::{ContextLimits, Paying};
use accp_runtime::session::{Event, Input, Options, Outbound, Rules, Scope};
use accp_runtime::view::{PRIMER, View};
use accp_runtime::{DynamicFrame, Registry, Value};
use proptest::prelude::*;

use crate::sessions::lineage::{copy, decide, restore};
use crate::sessions::room::Room;
use crate::sessions::sides::{
    Node, Side, counting, dynamic, frame, numbers, open_host, plan, rules,
};

/// Returns tasks, chat texts and frames without a schema.
fn said() -> impl Strategy<Value = Vec<String>> {
    let message = |intent, operation| DynamicFrame::new("dev", intent, operation).unwrap();
    let task = move |intent| {
        "[a-z_]{1,12}".prop_map(move |task| {
            let message = message(intent, "schedule").under("TA").with("task", task);
            message.with("assignee", "qa")
        })
    };
    let chat = r"[a-z@ |:\n\\]{0,200}".prop_map(move |text| {
        let message = message("qry", "chat").under("CH").with("content", text);
        message.with("role", "user")
    });
    let note = prop::collection::vec("[a-z]{1,9}", 0..60).prop_map(move |words| {
        let words = words.into_iter().map(Value::from).collect();
        message("sync", "note").with("words", Value::Array(words))
    });
    let any = prop_oneof![task("req"), task("done"), chat, note];
    let text = any.prop_map(|message| message.encode(&Registry::standard()).unwrap());
    prop::collection::vec(text, 1..16)
}

fn host(options: Options) -> Side {
    open_host(options, Rules::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_context_says_what_its_frames_say_and_grows_at_its_end(said in said()) {
        let mut host = host(counting("hub"));
        let registry = Arc::new(Registry::standard());
        let (mut before, mut checkpoint) = (String::new(), 0);
        for (text, n) in said.iter().zip(1_u32..) {
            host.takes(101, &frame(text, n, n.into(), ""));
            let (context, state) = (host.session().context(), host.state());
            prop_assert!(context.starts_with(PRIMER));
            let read = View::new(Arc::clone(&registry)).read(&context);
            let read = read.map_err(|error| TestCaseError::fail(format!("{error}: {context}")))?;
            prop_assert_eq!(read.len(), state.hot().lines().count());
            for (message, line) in read.iter().zip(state.hot().lines()) {
                if line.contains("ref:$cold.p") {
                    let reference = message.payload.get("ref").map(ToString::to_string);
                    let reference = format!("ref:{}", reference.unwrap_or_default());
                    prop_assert!(line.contains(&reference), "{}", context);
                } else {
                    let decoded = DynamicFrame::decode(&line, &registry);
                    prop_assert_eq!(Ok(message), decoded.as_ref());
                }
            }
            let plain = View::new(Arc::new(Registry::empty()));
            for digest in state.warm().digests() {
                let (_, rest) = context.split_once(&format!("@facts ckpt_{}", digest.checkpoints().0)).unwrap();
                let facts = &rest[..rest.find("\n@").unwrap_or(rest.len())];
                for fact in digest.facts() {
                    let fact = format!("{}:{}", fact.relationship(), plain.value(&fact.value()).text);
                    prop_assert!(facts.contains(&fact), "{}", context);
                }
            }
            let is_new = state.warm().last() > checkpoint;
            prop_assert!(is_new || context.starts_with(&before), "{}", context);
            (before, checkpoint) = (context, state.warm().last());
        }
    }
}

/// Opens a host with room for 2,000 tokens, and with hooks that know the prices of the cache.
fn paying(prices: CachePrices) -> Side {
    let mut options = counting("hub");
    options.context = ContextLimits {
        hot: 2_000,
        trigger: 1_500,
        ..ContextLimits::DRAFT
    };
    let mut host = host(options);
    host.hooks(Paying::new(prices));
    host
}

/// Returns the frame that caused the first checkpoint, and the number of postponed checkpoints.
fn first_checkpoint(prices: CachePrices) -> (u32, usize) {
    let mut host = paying(prices);
    let mut deferred = 0;
    for n in 1..40 {
        let text = format!("@dev>done:plan{{goal:the_{n}th_step_of_a_plan_with_many_of_them}}");
        let heard = host.takes(101, &frame(&text, n, n.into(), ""));
        let is_deferred = |event: &&Event| matches!(event, Event::CheckpointDeferred(_));
        deferred += heard.events.iter().filter(is_deferred).count();
        if host.state().warm().last() > 0 {
            return (n, deferred);
        }
    }
    (0, deferred)
}

#[test]
fn checkpoints_wait_until_they_pay() {
    let prices = |cached| CachePrices {
        cached,
        fresh: 1.25,
    };
    // At the first trigger no frame would leave. If reading again costs the full price, the next trigger
    // leads to a checkpoint. If reading again is free, only the budget leads to a checkpoint, and 39 frames
    // do not fill the budget.
    assert_eq!(first_checkpoint(prices(1.25)), (2, 1));
    assert_eq!(first_checkpoint(prices(0.1)), (6, 5));
    assert_eq!(first_checkpoint(prices(0.0)), (0, 39));
}

/// A host takes back a frame that it has lost. The checkpoint after the frame stays lost. The
/// checkpoint that the host makes again leaves the request of the frame in hot state.
#[test]
fn the_request_of_a_frame_that_is_taken_back() {
    let mut room = Room::with(counting("hub"), rules(Scope::Sender), &[]);
    room.enter(counting("dev"));
    room.say(0, &Outbound::message(&plan("dev", 0)).in_chain("c"));
    room.on_the_way(|passed| {
        let is_checkpoint = passed.text.contains(">sync:checkpoint{");
        Vec::from_iter((!is_checkpoint).then(|| passed.text.clone()))
    });
    for n in 1..20 {
        if room.host.state().hot().tokens() < 250 {
            let note = DynamicFrame::new("dev", "sync", "note").unwrap();
            room.say(0, &Outbound::message(&note.with("a", numbers(n))));
        }
    }
    let backup = copy(&room);
    let done = dynamic("dev", "done", "plan").with("a", numbers(90));
    room.say(0, &Outbound::message(&done).in_chain("c"));
    let has_request = |room: &Room| {
        let hot = room.host.state().hot();
        hot.lines()
            .any(|line| line.starts_with("@dev>req:plan{n:0}"))
    };
    assert!(room.host.state().warm().last() > 0 && has_request(&room));
    restore(&mut room, backup);
    decide(&mut room, Input::Recover).unwrap();
    assert!(room.host.state().warm().last() > 0);
    assert!(has_request(&room));
}

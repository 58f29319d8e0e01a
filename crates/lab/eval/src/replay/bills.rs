//! Bills of small lists, computed by hand: each word here is one token, and each message costs four more.

use std::borrow::Cow;
use std::sync::Arc;

use accp_context::view::View;
use accp_memory::policy::{Agent, Kind, Message, Policy, Segment};
use accp_recordings::Conversation;
use accp_registry::Registry;
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use super::{Instrument, Measure};
use crate::net::{Matching, Prices, Tier};
use crate::policies::{BASE, plan};
use crate::transcript::Transcript;

/// A conversation with two prompts: one of 6 + 7 tokens, and one of 11 tokens more, 24.
fn two_turns() -> Json {
    json!({ "messages": [
        { "role": "system", "content": "one two" },
        { "role": "user", "content": "one two three" },
        { "role": "assistant", "content": "one" },
        { "role": "user", "content": "one two" },
        { "role": "assistant", "content": "three" },
    ] })
}

fn measured(json: &Json, policy: &mut dyn Policy, prices: Prices) -> Measure {
    let conversation = Conversation::new(json.clone()).unwrap();
    let transcript = Transcript::of(&conversation, "here", None).unwrap();
    let view = View::new(Arc::new(Registry::standard()));
    let mut instrument = Instrument::new(&transcript, view, Bpe::default(), prices, false);
    instrument.replay(policy).measure
}

/// Sends the segments that a function makes of the messages, as a list or as one text.
struct Sends(Vec<Message>, fn(&[Message]) -> Vec<Segment>, bool);

impl Policy for Sends {
    fn push(&mut self, message: &Message) {
        self.0.push(message.clone());
    }

    fn prompt(&mut self, _: &Agent) -> Vec<Segment> {
        (self.1)(&self.0)
    }

    fn recover(&self, _: usize) -> Option<Cow<'_, str>> {
        None
    }

    fn is_list(&self) -> bool {
        self.2
    }
}

fn sends(json: &Json, send: fn(&[Message]) -> Vec<Segment>, prices: Prices) -> Measure {
    measured(json, &mut Sends(Vec::new(), send, true), prices)
}

fn whole(json: &Json, prices: Prices) -> Measure {
    sends(json, |all| all.iter().map(Segment::of).collect(), prices)
}

fn cost(measure: &Measure) -> f64 {
    measure.net.costs.usual.prompts
}

fn marks(minimum: u64) -> Prices {
    Prices {
        uncached: 1.0,
        minimum,
        matching: Matching::Marks(20),
        ..Prices::default()
    }
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

#[test]
fn a_list_is_billed_by_its_texts_and_four_tokens_a_message() {
    let measure = whole(&two_turns(), marks(10));
    assert_eq!(measure.net.prompts, [13, 24]);
    // The provider writes the first prompt to its cache. For the second prompt, it reads these 13 tokens and
    // writes the other 11.
    assert_near(cost(&measure), 13.0 * 1.25 + 13.0 * 0.1 + 11.0 * 1.25);
    assert_eq!(measure.changes.found, 0);
    assert_eq!((measure.refused.found, measure.refused.wanted), (0, 2));
}

#[test]
fn names_and_arguments_are_billed_and_escapes_are_not() {
    let counted = |message: Json| {
        let said = json!({ "role": "assistant", "content": "one" });
        whole(&json!({ "messages": [message, said] }), marks(0))
            .net
            .prompts[0]
    };
    // `one`, a line feed and `two`: three tokens in the list, five as JSON, with an escape.
    let lines = counted(json!({ "role": "user", "content": "one\ntwo" }));
    assert_eq!(lines, 3 + 4);
    let call = json!({ "role": "user", "content": "one", "tool_calls": [
        { "id": "a long id", "name": "two", "arguments": { "n": 1 } }] });
    let arguments = accp_tokens::TokenCounter::count(&Bpe::default(), "one\ntwo\n{\"n\":1}");
    assert_eq!(counted(call), arguments as u64 + 4);
}

#[test]
fn a_prompt_below_the_minimum_is_neither_written_nor_read() {
    let measure = whole(&two_turns(), marks(20));
    assert_near(cost(&measure), 13.0 + 24.0 * 1.25);
}

#[test]
fn a_beginning_is_found_in_whole_steps() {
    let matching = Matching::Prefix(8);
    let measure = whole(
        &two_turns(),
        Prices {
            matching,
            ..marks(8)
        },
    );
    assert_near(cost(&measure), 13.0 * 1.25 + 8.0 * 0.1 + 16.0 * 1.25);
}

#[test]
fn what_nobody_reads_in_time_is_written_again() {
    let mut json = two_turns();
    json["messages"][1]["timestamp"] = json!("2026-11-29T10:00:00Z");
    json["messages"][3]["timestamp"] = json!("2026-11-29T10:20:00Z");
    let at = |seconds| {
        let seconds = Some(seconds);
        cost(&whole(
            &json,
            Prices {
                seconds,
                ..marks(10)
            },
        ))
    };
    assert_near(at(300), 13.0 * 1.25 + 24.0 * 1.25);
    assert_near(at(1200), 13.0 * 1.25 + 13.0 * 0.1 + 11.0 * 1.25);
}

#[test]
fn a_long_prompt_costs_more_as_a_whole() {
    let tier = Some(Tier {
        above: 20,
        input: 2.0,
        output: 1.5,
    });
    let measure = whole(&two_turns(), Prices { tier, ..marks(10) });
    let second = 13.0 * 0.1 + 11.0 * 1.25;
    assert_near(cost(&measure), 13.0 * 1.25 + 2.0 * second);
}

/// A policy that changes what it sent pays again for everything after the change. With marks, it pays from the last
/// mark before the change on.
#[test]
fn a_change_is_a_step_and_costs_what_stands_behind_it() {
    let forgets = |all: &[Message]| -> Vec<Segment> {
        let kept = all
            .iter()
            .filter(|message| all.len() < 4 || message.index != 1);
        kept.map(Segment::of).collect()
    };
    let measure = sends(&two_turns(), forgets, marks(6));
    assert_eq!(measure.net.prompts, [13, 17]);
    assert_eq!((measure.changes.found, measure.refused.found), (1, 0));
    // The system prompt has a mark of its own.
    assert_near(cost(&measure), 13.0 * 1.25 + 6.0 * 0.1 + 11.0 * 1.25);
    // A cache that compares tokens finds a longer beginning. The message that now comes second begins with the same
    // tokens as the message that is gone: those around a message, and `one`.
    let prefix = Prices {
        matching: Matching::Prefix(1),
        ..marks(6)
    };
    let measure = sends(&two_turns(), forgets, prefix);
    assert_near(cost(&measure), 13.0 * 1.25 + 11.0 * 0.1 + 6.0 * 1.25);
}

#[test]
fn a_list_without_a_result_is_refused_and_so_is_a_change_before_a_bound_thought() {
    let thought = json!({ "role": "assistant", "content": [
        { "type": "thinking", "thinking": "three", "signature": "s" }, { "type": "text", "text": "one" }] });
    let json = json!({ "messages": [
        { "role": "user", "content": "one two three" },
        thought,
        { "role": "user", "content": "one" },
        { "role": "assistant", "content": "two" },
        { "role": "user", "content": "three" },
        { "role": "assistant", "content": "two" },
    ] });
    let whole = whole(&json, marks(0));
    assert_eq!((whole.changes.found, whole.refused.found), (0, 0));
    let forgets = |all: &[Message]| -> Vec<Segment> {
        let kept = all
            .iter()
            .filter(|message| all.len() < 5 || message.index != 0);
        kept.map(Segment::of).collect()
    };
    let measure = sends(&json, forgets, marks(0));
    assert_eq!((measure.changes.found, measure.refused.found), (1, 1));

    let json = json!({ "messages": [
        { "role": "user", "content": "one" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "name": "two", "arguments": {} }] },
        { "role": "tool", "tool_call_id": "c", "content": "three" },
        { "role": "assistant", "content": "two" },
    ] });
    let half = |all: &[Message]| -> Vec<Segment> {
        let kept = all.iter().filter(|message| message.kind != Kind::Call);
        kept.map(Segment::of).collect()
    };
    let measure = sends(&json, half, marks(0));
    assert_eq!((measure.refused.found, measure.refused.wanted), (1, 2));
}

/// Policies that remember nothing cost more than the list, at each of the shown profiles. The net cost of the list
/// is the cost of its prompts.
#[test]
fn whoever_remembers_nothing_is_dearer_than_the_list() {
    let words = "the harbour of Holm closes its northern quay on Sunday the fourth of June";
    let said = format!("Note that {words}");
    let long = format!(
        "{words}\n{}",
        "and the ferry sails all the same.\n".repeat(200)
    );
    let json = json!({ "messages": [
        { "role": "system", "content": "You answer." },
        { "role": "user", "content": "When does the quay close, please?" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "name": "look", "arguments": { "quay": "northern" } }] },
        { "role": "tool", "tool_call_id": "c", "content": long },
        { "role": "assistant", "content": said },
        { "role": "user", "content": "Thank you very much." },
        { "role": "assistant", "content": "You are welcome." },
        { "role": "user", "content": "Say it again." },
        { "role": "assistant", "content": said },
        { "role": "user", "content": "Thank you very much, too." },
        { "role": "assistant", "content": "You are welcome, too." },
        { "role": "user", "content": "And once more." },
        { "role": "assistant", "content": said },
    ] });
    let conversation = Conversation::new(json.clone()).unwrap();
    let transcript = Transcript::of(&conversation, "here", None).unwrap();
    let view = View::new(Arc::new(Registry::standard()));
    let prices = Prices::default();
    let mut instrument = Instrument::new(&transcript, view, Bpe::default(), prices, false);
    let mut of = |name: &str| {
        let mut policy = plan(name).unwrap().start(instrument.opening());
        instrument.replay(&mut *policy).measure
    };
    let [list, text, bag] = [BASE, "json", "bag"].map(&mut of);
    assert_eq!(list.net.costs.usual.net, list.net.costs.usual.prompts);
    assert_eq!((list.changes.found, list.net.lost.found), (0, 0));
    let nothing = sends(&json, |_| Vec::new(), prices);
    let blind = sends(
        &json,
        |all| {
            let shown = all.iter().filter(|message| message.kind != Kind::Result);
            shown.map(Segment::of).collect()
        },
        prices,
    );
    for (name, poor) in [("nothing", &nothing), ("bag", &bag), ("blind", &blind)] {
        let nets = |measure: &Measure| {
            let costs = measure.net.costs;
            let profiles = costs.profiles.map(|cost| cost.net);
            [&[costs.usual.net][..], &profiles].concat()
        };
        for (at, (poor, list)) in nets(poor).into_iter().zip(nets(&list)).enumerate() {
            assert!(poor > list, "{name} at {at}: {poor}, {list}");
        }
    }
    // Keys, ids and escapes of JSON cost tokens.
    assert!(text.net.costs.usual.net > list.net.costs.usual.net);
    // The call has lost its result. While it is the newest message, its result may still come.
    assert_eq!((blind.refused.found, blind.refused.wanted), (4, 6));
}

//! Tests of the measure. Policies that remember nothing have to cost more than the list.

use std::borrow::Cow;
use std::sync::Arc;

use accp_context::view::View;
use accp_memory::policy::{Agent, Kind, Message, NamedPolicy, Policy, Segment};
use accp_registry::Registry;
use accp_tokens::{Bpe, TokenCounter as _};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{Net, Prices};
use crate::policies::plan;
use crate::replay::Instrument;
use crate::transcript::Transcripts;

/// Shows the segments that `show` makes of the messages so far.
#[derive(Debug)]
struct Shows {
    messages: Vec<Message>,
    show: fn(&[Message]) -> Vec<Segment>,
}

impl Policy for Shows {
    fn push(&mut self, message: &Message) {
        self.messages.push(message.clone());
    }

    fn prompt(&mut self, _: &Agent) -> Vec<Segment> {
        (self.show)(&self.messages)
    }

    fn recover(&self, _: usize) -> Option<Cow<'_, str>> {
        None
    }
}

fn shows(show: fn(&[Message]) -> Vec<Segment>) -> NamedPolicy {
    NamedPolicy::new("shows", "a test", move |_| Shows {
        messages: Vec::new(),
        show,
    })
}

/// Returns the figures of a policy, and its needs as `class text <- source: fate`.
fn net(conversation: &Json, plan: &NamedPolicy, prices: Prices) -> (Net, Vec<String>) {
    let mut transcripts = Transcripts::default();
    transcripts.add(conversation.clone(), None, None).unwrap();
    let transcript = &transcripts.as_slice()[0];
    let view = View::new(Arc::new(Registry::standard()));
    let counter = Bpe::default();
    let mut instrument = Instrument::new(transcript, view, counter, prices, true);
    let mut policy = plan.start(instrument.opening());
    let replay = instrument.replay(&mut *policy);
    let kept = replay.kept.unwrap();
    let needs = kept.outcomes.iter().map(|outcome| {
        let real = if outcome.is_real { "" } else { ", not real" };
        let text = outcome
            .needle
            .map_or("", |needle| instrument.analysis.matcher.text(needle));
        format!(
            "{} {} {text} <- {}: {}{real}",
            outcome.turn, outcome.class, outcome.source, outcome.fate
        )
    });
    (replay.measure.net, needs.collect())
}

fn named(conversation: &Json, name: &str) -> (Net, Vec<String>) {
    net(conversation, &plan(name).unwrap(), Prices::default())
}

fn named_at(conversation: &Json, name: &str, prices: Prices) -> Net {
    net(conversation, &plan(name).unwrap(), prices).0
}

fn call(name: &str, arguments: &Json) -> Json {
    json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c", "function": { "name": name, "arguments": arguments.to_string() } }] })
}

/// A conversation with records that later calls need. The first call needs the first record, which by then is no
/// longer among the newest messages. No text begins in alphabetical order, so no sorted bag of words has the
/// beginning of a text.
fn conversations() -> impl Strategy<Value = Json> {
    let words = "[m-z][a-z]{4,8} [b-l][a-z]{3,8}( [a-z]{4,9}){5,39}";
    let task = "[A-Z][a-z]{5,9} [m-z][a-z]{3,8} [b-l][a-z]{3,8}( [a-z]{4,9}){3,18}\\.";
    let records = proptest::collection::vec((1000..9999_u32, words), 3..9);
    let uses = proptest::collection::vec(0..100_usize, 1..7);
    (records, uses, task).prop_map(|(records, uses, task)| {
        let mut messages = vec![
            json!({ "role": "system", "content": "Sell what there is." }),
            json!({ "role": "user", "content": task }),
        ];
        for (id, text) in &records {
            messages.push(call("read", &json!({ "page": format!("page {id}") })));
            let lines = format!(
                "K{id} is here\n{}\nwith \"quotes\" and \\ at {id}",
                text.replace(" a", "\na")
            );
            messages.push(json!({ "role": "tool", "name": "read", "content": lines }));
        }
        for at in std::iter::once(0).chain(uses) {
            let (id, text) = &records[at % records.len()];
            messages.push(call(
                "buy",
                &json!({ "code": format!("K{id}"), "why": text }),
            ));
            messages.push(json!({ "role": "tool", "name": "buy", "content": "done" }));
        }
        json!({ "id": "c", "messages": messages })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn costs_at_other_prices_are_those_of_a_replay_at_these_prices(conversation in conversations()) {
        let (at, usual) = (|prices| named_at(&conversation, "cut:0", prices), Prices::default());
        let costs = at(usual).costs;
        prop_assert!(costs.usual.net > costs.usual.prompts);
        for (cost, window) in costs.windows.into_iter().zip([400, 1600]) {
            prop_assert_eq!(cost, at(Prices { window, ..usual }).costs.usual);
        }
        for (cost, output) in costs.outputs.into_iter().zip([2.0, 10.0]) {
            prop_assert_eq!(cost, at(Prices { output, ..usual }).costs.usual);
        }
        prop_assert_eq!(costs.no_minimum, at(usual.without_minimum()).costs.usual);
    }

    #[test]
    fn whoever_remembers_less_pays_more(json in conversations()) {
        // These conversations are shorter than the minimum that a provider caches, so the prices
        // have no minimum here.
        let prices = Prices::default().without_minimum();
        let named = |name| net(&json, &plan(name).unwrap(), prices).0;
        let whole = named("json");
        let plain = named("plain");
        for net in [&whole, &plain] {
            let costs = net.costs;
            prop_assert_eq!(costs.usual.net, costs.usual.prompts);
            prop_assert_eq!(costs.no_minimum.net_real, costs.no_minimum.prompts);
            prop_assert!(net.hits.wanted > 0 && net.lost.found == 0);
            prop_assert_eq!(net.seen.found, net.seen.wanted);
            let remembered = net.remembered;
            for share in [remembered.task, remembered.did] {
                prop_assert_eq!(share.share(), Some(1.0));
            }
        }
        let nothing = net(&json, &shows(|_| Vec::new()), prices).0;
        prop_assert_eq!(nothing.costs.usual.prompts, 0.0);
        prop_assert_eq!(nothing.lost.found, nothing.hits.wanted - nothing.hits.found);
        let constant = net(&json, &shows(|_| vec![Segment::new(Kind::Facts, "p0-999: Remember!\n")]), prices).0;
        // `blind` never shows a result, and all that it shows stays in the cache.
        let blind = net(&json, &shows(|messages| {
            let spoken = messages.iter().filter(|message| message.kind != Kind::Result);
            spoken.map(Segment::of).collect()
        }), prices).0;
        let hidden = named("cut:0");
        for (name, poor) in [("nothing", &nothing), ("constant", &constant), ("blind", &blind)] {
            prop_assert!(poor.costs.usual.net > whole.costs.usual.net, "{name}");
            prop_assert!(poor.costs.usual.net > poor.costs.usual.prompts, "{name}");
            prop_assert!(poor.seen.found < poor.seen.wanted, "{name}");
        }
        prop_assert!(hidden.costs.usual.net > plain.costs.usual.net);
        prop_assert!(hidden.seen.found < hidden.seen.wanted);
        let bag = named("bag");
        prop_assert!(bag.hits.found < bag.hits.wanted);
        prop_assert!(bag.costs.usual.net > plain.costs.usual.net);
        // `bag` sorts the words. Some words are in alphabetical order by chance (24 of 45 in one of
        // many thousand conversations), so the share may be above zero.
        let remembered = bag.remembered;
        for share in [remembered.task, remembered.did] {
            prop_assert!(share.share().unwrap() < 0.75, "{:?}", share);
        }
    }

    #[test]
    fn every_price_counts(json in conversations()) {
        let cost = |prices: Prices| net(&json, &plan("cut:0").unwrap(), prices).0.costs.usual.net;
        let usual = Prices::default();
        let before = cost(usual);
        let dearer = [Prices { output: 10.0, ..usual }, Prices { input: 2.5, ..usual }];
        for prices in dearer {
            prop_assert!(cost(prices) > before, "{prices:?}");
        }
        let free = cost(Prices { minimum: 0, ..usual });
        prop_assert!(free < before);
        prop_assert!(cost(usual.without_cache()) >= before);
    }
}

/// Each class of need, with its source and its fate.
#[test]
fn needs_are_what_was_said_before() {
    let conversation = json!({ "id": "c", "messages": [
        { "role": "system", "content": "Always ask before you book SYS001, politely and at length." },
        { "role": "user", "content": "My number is AB-12; I want a  quiet room with a view of the sea, please." },
        call("rooms", &json!({ "guest": "AB-12", "code": "SYS001", "no": true, "n": 1 })),
        { "role": "tool", "name": "rooms", "content": "[{\"room\": \"R 117\", \"price\": 118}]" },
        { "role": "assistant", "content": "I book a quiet room with a view of the sea, R 117." },
        call("book", &json!({ "room": "R 117", "price": 118, "note": "a quiet room with a\nview of the sea" })),
    ] });
    let (_, shown) = named(&conversation, "json");
    let shown: Vec<_> = shown
        .iter()
        .filter(|line| !line.contains("sight"))
        .collect();
    insta::assert_debug_snapshot!(shown, @r#"
    [
        "2 argument AB-12 <- 1: shown",
        "4 quote a quiet room with a view of the sea, <- 1: shown",
        "5 quote a quiet room with a view of the sea <- 4: shown",
        "5 argument R 117 <- 4: shown",
        "5 argument 118 <- 3: shown",
    ]
    "#);
    let (_, last) = named(&conversation, "last:2");
    let last: Vec<_> = last.iter().filter(|line| line.ends_with("lost")).collect();
    insta::assert_debug_snapshot!(last, @r#"
    [
        "4 quote a quiet room with a view of the sea, <- 1: lost",
        "5 argument 118 <- 3: lost",
    ]
    "#);
}

/// Agents that act in text: identifiers, the agent's own words, and observations.
#[test]
fn what_nobody_had_to_remember_is_not_real() {
    let conversation = json!({ "id": "c", "messages": [
        { "role": "user", "content": "Read src/io.py and tell me what it does." },
        { "role": "agent", "name": "a", "content": "Let me look at the whole file first.\n```\ncat src/io.py | head -n 100\n```" },
        { "role": "agent", "name": "b", "content": "def read(path): return path.open().read()" },
        { "role": "agent", "name": "a", "content":
            "Let me look at the whole file first.\n```\ncat src/io.py | head -n 100\n```\nObservation: def read(path): return path.open().read()" },
    ] });
    let (_, needs) = named(&conversation, "json");
    let needs: Vec<_> = needs
        .iter()
        .filter(|line| !line.contains("sight"))
        .collect();
    insta::assert_debug_snapshot!(needs, @r#"
    [
        "1 identifier src/io.py <- 0: shown",
        "3 quote Let me look at the whole file first. ``` cat src/io.py | head -n 100 ``` <- 1: shown, not real",
        "3 quote def read(path): return path.open().read() <- 2: shown, not real",
        "3 identifier src/io.py <- 1: shown",
        "3 identifier 100 <- 1: shown",
    ]
    "#);
}

/// A miss costs another reading of the prompt, the output that asks, and the fetched window, each once. Later
/// turns carry the window.
#[test]
fn a_recovery_is_priced_by_the_rules() {
    let conversation = json!({ "id": "c", "messages": [
        { "role": "user", "content": "Go." },
        { "role": "tool", "name": "t", "content": "the invoice of May has the number 4711" },
        { "role": "assistant", "content": "So the invoice of May has the number 4711" },
        { "role": "assistant", "content": "Now the invoice of May has the number 4711" },
    ] });
    let handle = shows(|messages| {
        let text = if messages.len() == 2 { "Go. " } else { "" };
        vec![
            Segment::new(Kind::User, format!("{text}\n")),
            Segment::new(Kind::Facts, "p1: an invoice\n"),
        ]
    });
    let count = |text: &str| Bpe::default().count(text) as f64;
    let (net, needs) = net(&conversation, &handle, Prices::default());
    insta::assert_debug_snapshot!(needs, @r#"
    [
        "2 sight  <- 0: shown",
        "2 sight  <- 1: miss",
        "2 quote the invoice of May has the number 4711 <- 1: miss",
        "2 identifier 4711 <- 1: miss",
        "3 quote the invoice of May has the number 4711 <- 2: fetched, not real",
        "3 identifier 4711 <- 2: fetched, not real",
    ]
    "#);
    let first = count("Go. \np1: an invoice\n");
    let second = count("\np1: an invoice\n");
    let window = count("the invoice of May has the number 4711");
    let reading = |context: f64| context * 1.25;
    // Each prompt is one message, with four tokens around its text.
    let (first, second) = (first + 4.0, second + 4.0);
    let expected = first * 1.25 + second * 1.25
        // In the first turn the prompt lacks the new result, so the agent fetches it. That costs
        // another reading of the prompt, the output that asks, and the fetched text.
        + reading(first) + 40.0 * 5.0 + window * 1.25
        // In the second turn the fetched text is read from the cache.
        + window * 0.1;
    assert!(
        (net.costs.usual.net - expected).abs() < 1e-9,
        "{} {expected}",
        net.costs.usual.net
    );
    assert_eq!((net.seen.found, net.seen.wanted), (1, 2));
}

/// A prompt shows a message even if the lines have another form, or are elsewhere in the prompt, but not if
/// their order differs.
#[test]
fn first_sight_is_order_and_not_a_pool() {
    let lines: Vec<String> = (0..30)
        .map(|n| format!("{n}: let value_{n} = {};", n * 37))
        .collect();
    let conversation = json!({ "id": "c", "messages": [
        { "role": "user", "content": "Go." },
        { "role": "tool", "name": "t", "content": lines.join("\n") },
        { "role": "assistant", "content": "Done." },
    ] });
    let seen = |show| {
        let (net, _) = net(&conversation, &shows(show), Prices::default());
        (net.seen.found, net.seen.wanted)
    };
    assert_eq!(
        seen(|messages| messages.iter().map(Segment::of).collect()),
        (2, 2)
    );
    let without_numbers = |messages: &[Message]| {
        let text = messages[1].recorded().texts().concat();
        let lines = text.lines().map(|line| line.split_once(": ").unwrap().1);
        let text = lines.collect::<Vec<_>>().join("\n");
        vec![Segment::new(Kind::Facts, format!("Go.\n{text}\n"))]
    };
    assert_eq!(seen(without_numbers), (2, 2));
    let apart = |messages: &[Message]| {
        let text = messages[1].recorded().texts().concat();
        let (head, tail) = text.split_at(text.find("15: ").unwrap());
        vec![
            Segment {
                message: Some(0),
                ..Segment::new(Kind::Facts, format!("Go.\n{tail}\n"))
            },
            Segment {
                message: Some(1),
                ..Segment::new(Kind::Result, format!("{head}[15 lines as in p0]\n"))
            },
        ]
    };
    assert_eq!(seen(apart), (2, 2));
    let pool = |messages: &[Message]| {
        let text = messages[1].recorded().texts().concat();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_by_key(|line| {
            line.split('_')
                .nth(1)
                .map(|rest| rest.chars().rev().collect::<String>())
        });
        vec![Segment::new(
            Kind::Facts,
            format!("Go.\n{}\n", lines.join("\n")),
        )]
    };
    assert_eq!(seen(pool), (1, 2));
}

/// Returns the segments of the messages. The first segment shows the text `keys`, and then the values of its records.
fn records(messages: &[Message], keys: &str) -> Vec<Segment> {
    let mut segments: Vec<Segment> = messages.iter().map(Segment::of).collect();
    let text = messages[0].recorded().texts().concat();
    let bare = text.replace("\"flight\":", "").replace("\"seats\":", "");
    let bare = bare
        .replace("\"status\":", "")
        .replace(['{', '}', '"', '[', ']'], " ");
    segments[0] = Segment {
        message: Some(0),
        ..Segment::new(Kind::Result, format!("{keys}{bare}\n"))
    };
    segments
}

#[test]
fn first_sight_is_what_a_model_can_read() {
    let rows: Vec<Json> = (0..20)
        .map(|n| json!({ "flight": format!("HAT{n:03}"), "seats": n * 7, "status": "available" }))
        .collect();
    let listing: Vec<String> = (0..30)
        .map(|n| format!("let value_{n} = {};", n * 37))
        .collect();
    let conversation = json!({ "id": "c", "messages": [
        { "role": "tool", "name": "t", "content": Json::from(rows).to_string() },
        { "role": "tool", "name": "t", "content": listing.join("\n") },
        { "role": "assistant", "content": "Done." },
        { "role": "tool", "name": "t", "content": listing.join("\n") },
        { "role": "assistant", "content": "Done again." },
    ] });
    let seen = |show| {
        let (net, _) = net(&conversation, &shows(show), Prices::default());
        (net.seen.found, net.seen.wanted)
    };
    assert_eq!(
        seen(|messages| messages.iter().map(Segment::of).collect()),
        (3, 3)
    );
    // The policy shows the values of records by position. A model cannot read them without the line that names
    // their keys.
    assert_eq!(seen(|messages| records(messages, "")), (2, 3));
    assert_eq!(
        seen(|messages| records(messages, "@=R(flight,seats,status)\n")),
        (3, 3)
    );
}

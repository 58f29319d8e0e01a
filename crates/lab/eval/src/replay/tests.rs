use std::sync::Arc;

use accp_context::view::View;
use accp_memory::policy::{Agent, Kind, Message};
use accp_recordings::Conversation;
use accp_registry::Registry;
use accp_tokens::{Bpe, TokenCounter as _};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::policies::plan;

const NAMES: [&str; 12] = [
    "ada", "bo", "cleo", "dan", "eve", "fay", "gus", "hal", "ida", "jon", "kim", "lou",
];

/// Makes conversations with a lookup of records, then calls that use values of these records,
/// each under its own key.
fn conversations() -> impl Strategy<Value = Json> {
    let record = (100..999_u32, 0..NAMES.len(), 1000..9999_u32);
    let records = proptest::collection::btree_map(100..999_u32, record, 4..12);
    let uses = proptest::collection::vec((0..100_usize, 0..3_usize), 1..6);
    (records, uses, any::<bool>()).prop_map(|(records, uses, pretty)| {
        let records: Vec<Json> = records
            .into_iter()
            .map(|(id, (price, name, stock))| {
                let name = format!("{} {id}", NAMES[name]);
                json!({ "code": format!("K{id}"), "price": price, "owner": name, "stock": stock })
            })
            .collect();
        let text = if pretty {
            serde_json::to_string_pretty(&records).unwrap()
        } else {
            json!({ "found": records }).to_string()
        };
        let mut messages = vec![
            json!({ "role": "system", "content": "Sell." }),
            json!({ "role": "user", "content": "What is there?" }),
            json!({ "role": "tool", "name": "list", "content": text }),
        ];
        for (record, key) in uses {
            let record = &records[record % records.len()];
            let key = ["code", "price", "owner"][key];
            let call =
                json!({ "id": "c", "name": "buy", "arguments": { "of": { key: record[key] } } });
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
            messages.push(json!({ "role": "tool", "name": "buy", "content": "done" }));
        }
        json!({ "id": "c", "messages": messages })
    })
}

fn replay(json: &Json, policy: &mut dyn Policy) -> Measure {
    let transcript = transcript(json);
    Instrument::new(&transcript, view(), Bpe::default(), prices(), false)
        .replay(policy)
        .measure
}

/// Returns prices without a minimum, because these conversations are too short for a provider to keep.
fn prices() -> Prices {
    Prices::default().without_minimum()
}

fn view() -> View {
    View::new(Arc::new(Registry::standard()))
}

fn transcript(json: &Json) -> Transcript {
    let conversation = Conversation::new(json.clone()).unwrap();
    Transcript::of(&conversation, "here", None).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_whole_history_forgets_nothing_and_its_cost_is_that_of_a_recount(json in conversations()) {
        let transcript = transcript(&json);
        for name in ["json", "plain"] {
            let plan = plan(name).unwrap();
            let mut instrument = Instrument::new(&transcript, view(), Bpe::default(), prices(), true);
            let mut policy = plan.start(instrument.opening());
            let Replay { measure, kept, .. } = instrument.replay(&mut *policy);
            let tokenizer = tiktoken_rs::o200k_base_singleton();
            let (mut tokens, mut cached, mut previous) = (0, 0, Vec::new());
            for prompt in kept.unwrap().prompts {
                let text: String = prompt.segments.iter().map(|segment| &*segment.text).collect();
                let now = tokenizer.encode_ordinary(&text);
                prop_assert_eq!(now.len(), Bpe::default().count(&text));
                // A text is one message, with four tokens around it.
                tokens += now.len() as u64 + 4;
                let shared = now.iter().zip(&previous).take_while(|(one, other)| one == other).count() as u64;
                cached += if shared > 0 { shared + 4 } else { 0 };
                previous = now;
            }
            prop_assert_eq!(measure.spent.total(), tokens);
            prop_assert_eq!(measure.spent.cached.iter().sum::<u64>(), cached);
            if name == "json" {
                let Measure { bytes, .. } = measure;
                prop_assert_eq!(bytes.found, bytes.wanted);
                let costs = measure.net.costs;
                prop_assert_eq!(costs.usual.net, costs.usual.prompts);
                prop_assert_eq!(costs.uncached.net_real, costs.uncached.prompts);
                prop_assert_eq!(measure.net.lost.found, 0);
                prop_assert_eq!(measure.net.seen.found, measure.net.seen.wanted);
            }
        }
    }
}

/// Shows the results with an even index, and the result of index 8 one prompt late.
#[derive(Debug, Default)]
struct Terse(Vec<Message>);

impl Policy for Terse {
    fn push(&mut self, message: &Message) {
        self.0.push(message.clone());
    }

    fn prompt(&mut self, _: &Agent) -> Vec<Segment> {
        let late = |message: &Message| message.index == 8 && self.0.len() == 9;
        let results = self.0.iter().filter(|message| {
            message.kind == Kind::Result && message.index.is_multiple_of(2) && !late(message)
        });
        let lines = results.flat_map(|message| {
            ["of:\n", "it\n"].map(|line| Segment {
                message: Some(message.index),
                ..Segment::new(Kind::Result, line)
            })
        });
        lines.collect()
    }

    fn recover(&self, _: usize) -> Option<std::borrow::Cow<'_, str>> {
        None
    }
}

#[test]
fn results_count_once_and_in_the_first_prompt_after_them() {
    let result = |n: usize| json!({ "role": "tool", "name": "t", "content": format!("found {n}") });
    let said = json!({ "role": "assistant", "content": "yes" });
    let messages = json!([
        result(0),
        result(1),
        said,
        result(3),
        said,
        result(5),
        result(6),
        said,
        result(8),
        said,
        said,
        result(11),
    ]);
    let measure = replay(&json!({ "messages": messages }), &mut Terse::default());
    let count = |text: &str| Bpe::default().count(text) as u64;
    // The tokens of a result in a list: its tool's name, its text, and four tokens around them.
    let base = [0, 6].map(|n| count(&format!("t\nfound {n}")) + 4);
    assert_eq!(measure.results.shown, 2);
    assert_eq!(measure.results.tokens, 2 * (count("of:\n") + count("it\n")));
    assert_eq!(measure.results.base, base.iter().sum::<u64>());
}

//! Repeated ids of calls, written in formats in which each call needs its own id.

use std::collections::BTreeSet;

use accp_recordings::{Conversation, Format};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value as Json, json};

/// The calls that an assistant asks for in one message, each an id and a number, and whether the results follow.
type Turn = (Vec<(u8, u8)>, bool);

/// Makes a conversation in which many calls share few ids. The results of a message are in the order of its calls.
fn conversation(turns: &[Turn]) -> Conversation {
    let mut messages = vec![json!({ "role": "user", "content": "Rye?" })];
    for (calls, answered) in turns {
        // The second id looks like one that a writer would make from the first.
        let id = |id: u8| ["c", "c_2", "d"][usize::from(id % 3)];
        let call = |(name, number): &(u8, u8)| {
            let arguments = json!({ "number": number }).to_string();
            json!({ "id": id(*name), "type": "function", "function": { "name": "stock", "arguments": arguments } })
        };
        let all: Vec<Json> = calls.iter().map(call).collect();
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": all }));
        for (name, number) in calls.iter().filter(|_| *answered) {
            let text = format!("result {number}");
            messages.push(json!({ "role": "tool", "tool_call_id": id(*name), "content": text }));
        }
        messages.push(json!({ "role": "user", "content": "And then?" }));
    }
    Conversation::new(json!({ "id": 7, "messages": messages })).unwrap()
}

/// Returns the ids of calls and results, in order.
fn ids(conversation: &Conversation) -> Vec<String> {
    let mut ids = Vec::new();
    for message in conversation.messages() {
        ids.extend(
            message
                .calls()
                .filter_map(accp_context::Call::id)
                .map(str::to_owned),
        );
        ids.extend(message.call_id().map(str::to_owned));
    }
    ids
}

/// Returns for each result its own number, and the number of the call with the same id.
fn pairs(conversation: &Conversation) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let asked = |id: &str| {
        let calls = conversation
            .messages()
            .flat_map(|message| message.calls().collect::<Vec<_>>());
        let call = calls.filter(|call| call.id() == Some(id)).last();
        call.and_then(|call| Some(call.arguments()?["number"].to_string()))
            .unwrap()
    };
    for message in conversation.messages() {
        if let Some(id) = message.call_id() {
            let said = message.texts().concat();
            pairs.push((asked(id), said.trim_start_matches("result ").to_owned()));
        }
    }
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        rng_seed: RngSeed::Fixed(11),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn each_call_has_its_own_id_and_the_recorded_ones_come_back(
        turns in prop::collection::vec((prop::collection::vec((any::<u8>(), any::<u8>()), 1..4), any::<bool>()), 1..6),
    ) {
        let recorded = conversation(&turns);
        for format in [Format::Anthropic, Format::Responses] {
            let document = recorded.written(format).unwrap();
            let read = Conversation::read(document.clone(), format).unwrap();
            let calls: Vec<_> = read.messages().flat_map(|m| m.calls().map(|c| c.id().unwrap().to_owned()).collect::<Vec<_>>()).collect();
            prop_assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len(), "{}", &document);
            for (asked, given) in pairs(&read) {
                prop_assert_eq!(asked, given, "{}", &document);
            }
            let back = read.clone().with_recorded_ids();
            prop_assert_eq!(ids(&back), ids(&recorded));
            prop_assert!(back.get(Conversation::RECORDED_IDS).is_none());
            prop_assert_eq!(back.id(), recorded.id());
            // If the ids are unique, the writer keeps them and adds no map.
            let map = document.get(Conversation::RECORDED_IDS).and_then(Json::as_object);
            prop_assert_eq!(map.is_some(), ids(&read) != ids(&recorded));
        }
    }
}

#[test]
fn formats_that_take_an_id_again_keep_it() {
    let recorded = conversation(&[(vec![(0, 1)], true), (vec![(0, 2)], true)]);
    let document = recorded.written(Format::LangChain).unwrap();
    assert_eq!(document.get(Conversation::RECORDED_IDS), None);
    let read = Conversation::read(document, Format::LangChain).unwrap();
    assert_eq!(ids(&read), ["c", "c", "c", "c"]);
}

//! A second implementation of the rules, compared with the first on valid, broken and shuffled lists.
//!
//! The second implementation answers each question by a search through the whole list, and shares no code with the
//! first one. It knows only the rules for pairs and turns. `tests/ctx/faults.py` tests the other rules with planted
//! faults.

mod anthropic;
mod chat;
mod responses;

use accp_memory::{Code, Form, check, repair};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value as Json;

use crate::common::junk::{self, edited};
use crate::common::lists::{any_messages, list};
use crate::common::plant;

/// Returns code and message of each fault, sorted.
fn second(form: Form, messages: &[Json]) -> Vec<(&'static str, usize)> {
    let mut found = match form {
        Form::OpenAi => chat::faults(messages),
        Form::Anthropic => anthropic::faults(messages),
        Form::Responses => responses::faults(messages),
    };
    found.sort_unstable();
    found
}

fn first(form: Form, messages: &[Json]) -> Vec<(&'static str, usize)> {
    let found = check(&list(form, messages)).into_iter();
    let is_known = |code: Code| {
        let empty = code == Code::ContentEmpty && form == Form::Anthropic;
        code != Code::ListEmpty && (empty || !code.is_warning())
    };
    let mut found: Vec<_> = found
        .filter(|finding| is_known(finding.code))
        .map(|finding| {
            (
                finding.code.as_str(),
                finding.message.expect("each fault has a place"),
            )
        })
        .collect();
    found.sort_unstable();
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_find_the_planted_faults((form, messages) in any_messages()) {
        prop_assert_eq!(second(form, &messages), []);
        for planted in plant::all(form, &messages) {
            let expected = second(form, &planted.messages);
            prop_assert_eq!(first(form, &planted.messages), expected, "{:?}", planted);
        }
    }

    #[test]
    fn both_find_the_same_in_shuffled_lists(
        (form, messages) in any_messages(),
        edits in prop::collection::vec(
            prop::collection::vec((0..3_u8, any::<Index>(), any::<Index>()), 1..6), 20),
        inner in prop::collection::vec((any::<Index>(), any::<Index>(), 0..9_u8), 20),
    ) {
        for (edits, inner) in edits.iter().zip(inner) {
            let mut broken = edited(messages.clone(), edits);
            edit_inside(&mut broken, inner);
            prop_assert_eq!(first(form, &broken), second(form, &broken), "{}", Json::from(broken));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_find_the_same_in_junk(messages in junk::messages()) {
        for form in Form::ALL {
            prop_assert_eq!(first(form, &messages), second(form, &messages), "{}: {}", form, Json::from(messages));
            let (mended, _) = repair(&list(form, &messages)).unwrap();
            let left: Vec<_> = check(&mended).into_iter().map(|finding| finding.code.as_str()).collect();
            prop_assert!(!left.iter().any(|code| code.starts_with("result-m")
                || code.starts_with("result-o") || code.starts_with("result-r")),
                "{}: {} became {}", form, Json::from(messages), mended);
        }
    }
}

/// Changes something inside a message.
fn edit_inside(messages: &mut [Json], (at, other, kind): (Index, Index, u8)) {
    if messages.is_empty() {
        return;
    }
    let from = other.get(messages).clone();
    let at = at.index(messages.len());
    let message = &mut messages[at];
    match kind {
        0 => message["role"] = from["role"].clone(),
        1 => message["content"] = from["content"].clone(),
        2 => message["tool_calls"] = from["tool_calls"].clone(),
        3 => message["call_id"] = from["call_id"].clone(),
        4 => message["tool_call_id"] = "call_0".into(),
        5 => {
            if let (Some(blocks), Some(more)) = (
                message["content"].as_array_mut(),
                from["content"].as_array(),
            ) {
                blocks.extend(more.iter().cloned());
            }
        }
        6 => {
            if let Some(blocks) = message["content"].as_array_mut() {
                blocks.reverse();
            }
        }
        _ => {}
    }
}

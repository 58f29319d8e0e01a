//! Thoughts of a model that the provider binds to the list before them.

use accp_memory::disk::Context;
use accp_memory::{Code, Form, MessageList, Options, SessionId, Window, check};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use time::OffsetDateTime;

use crate::common::quarters::Quarters;

/// Returns a turn: what a person says, calls with thoughts and large results, and an answer with a thought.
fn turn(number: usize, calls: usize, is_open: bool) -> Vec<Json> {
    let thought = |at: usize| json!({ "type": "thinking", "thinking": format!("t{number}.{at}"), "signature": "c2ln" });
    let mut messages =
        vec![json!({ "role": "user", "content": format!("Step {number}, please.") })];
    for at in 0..calls {
        let id = format!("c{number}_{at}");
        let call = json!({ "type": "tool_use", "id": id, "name": "look", "input": { "at": 1.50 } });
        messages.push(json!({ "role": "assistant", "content": [thought(at), call] }));
        let rows = (0..40).map(|row| format!("row {row} of {id}: {number} lamps"));
        let text = rows.collect::<Vec<_>>().join("\n");
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
        messages.push(json!({ "role": "user", "content": [result] }));
    }
    if !is_open {
        let said = json!({ "type": "text", "text": format!("Step {number} is done.") });
        messages.push(json!({ "role": "assistant", "content": [thought(calls), said] }));
    }
    messages
}

/// Returns the text of a message with the number `1.50`. A program that writes the message anew would write `1.5`.
fn spelled(message: &Json) -> String {
    message
        .to_string()
        .replace(r#"{"at":1.5}"#, r#"{"at":1.50}"#)
}

/// Returns whether a message has a thought.
fn thinks(message: &str) -> bool {
    message.contains(r#""thinking""#)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Behind the first message that differs, only the current turn has thoughts, and the caller is told of them.
    #[test]
    fn no_thought_stands_behind_another_list_unsaid(
        turns in prop::collection::vec(1..4_usize, 2..9),
        size in 2_000..9_000_u64,
        is_open in any::<bool>(),
    ) {
        let last = turns.len() - 1;
        let all = turns.iter().enumerate();
        let messages: Vec<Json> = all.flat_map(|(at, calls)| turn(at, *calls, is_open && at == last)).collect();
        let mut messages: Vec<String> = messages.iter().map(spelled).collect();
        if !is_open {
            messages.push(json!({ "role": "user", "content": "Go on." }).to_string());
        }
        let root = tempfile::tempdir().unwrap();
        let mut context = Context::open(root.path(), SessionId::new("s").unwrap()).unwrap();
        let list = MessageList::of(Form::Anthropic, messages.iter().map(String::as_str)).unwrap();
        let window = Window::of(size).unwrap();
        let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
        let Ok(done) = context.compress(&list, &options, &mut ()) else {
            return Ok(());
        };
        prop_assert_eq!(check(&done.list), []);
        let now: Vec<&str> = done.list.messages().iter().map(accp_memory::ListMessage::raw).collect();
        let same = now.iter().zip(&messages).take_while(|(one, other)| *one == other).count();
        let under_way = now.iter().rposition(|one| one.contains("please.") || one.contains("Go on.")).unwrap_or(0);
        let behind: Vec<usize> = (same + 1..now.len()).filter(|at| thinks(now[*at])).collect();
        prop_assert!(behind.iter().all(|at| *at > under_way), "{behind:?} of {now:?}");
        let told: Vec<_> = done.bound.iter().map(|one| (one.code, one.message)).collect();
        let expected: Vec<_> = behind.iter().map(|at| (Code::ThinkingBound, Some(*at))).collect();
        prop_assert_eq!(told, expected);
        if done.events.is_empty() {
            prop_assert_eq!(done.list.to_string(), list.to_string());
        }
        // The parts of a message that stay keep all their bytes.
        for message in now.iter().filter(|one| one.contains(r#""type":"tool_use""#)) {
            prop_assert!(message.contains(r#""input":{"at":1.50}"#), "{message}");
        }
        // The next list begins with this list, so no thought in it is bound to another list.
        let mut next: Vec<String> = now.iter().map(|one| (*one).to_owned()).collect();
        if is_open {
            return Ok(());
        }
        next.extend(turn(50, 0, false).iter().skip(1).map(Json::to_string));
        next.push(json!({ "role": "user", "content": "Go on." }).to_string());
        let list = MessageList::of(Form::Anthropic, next.iter().map(String::as_str)).unwrap();
        let next = context.compress(&list, &options, &mut ()).unwrap();
        prop_assert!(!next.events.is_empty() || next.bound.is_empty());
    }
}

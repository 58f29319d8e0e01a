//! The prompts of each policy for one conversation, and the messages that the policy recovers.

use std::sync::Arc;

use accp_context::Recorded;
use accp_memory::policies::{Last, Whole};
use accp_memory::policy::{Agent, Kind, Message, Opening, Policy, Segment};
use accp_runtime::Registry;
use accp_runtime::view::View;
use serde_json::{Value as Json, json};

use crate::common::quarters::Quarters;

fn opening() -> Opening {
    Opening {
        tools: Some("[]\n".into()),
        counter: Arc::new(Quarters),
        view: View::new(Arc::new(Registry::standard())),
    }
}

/// Returns two system prompts, a question, and two calls with their results.
fn said() -> Vec<Message> {
    let call = |id: &str| json!([{ "id": id, "name": "stock", "arguments": { "item": id } }]);
    let said = [
        json!({ "role": "system", "content": "Be brief." }),
        json!({ "role": "system", "name": "desk", "content": "You are desk." }),
        json!({ "role": "user", "content": "Rye? Spelt?" }),
        json!({ "role": "assistant", "content": null, "tool_calls": call("rye") }),
        json!({ "role": "tool", "tool_call_id": "rye", "content": "{\"bags\":4}" }),
        json!({ "role": "assistant", "content": null, "tool_calls": call("spelt") }),
        json!({ "role": "tool", "tool_call_id": "spelt", "content": "{\"bags\":7}" }),
    ];
    let message = |(index, json): (usize, &Json)| Message::new(index, Recorded::of(json)).unwrap();
    said.iter().enumerate().map(message).collect()
}

/// Returns the prompt of an agent after all messages, and the messages recovered to the byte.
fn played(mut policy: impl Policy, agent: &str) -> (Vec<Segment>, Vec<usize>) {
    let said = said();
    for message in &said {
        policy.push(message);
    }
    let agent = Agent {
        name: agent.into(),
        cache: "".into(),
    };
    let is_back = |message: &&Message| {
        let back = policy.recover(message.index);
        back.is_some_and(|back| back == message.original())
    };
    let back = said.iter().filter(is_back).map(|message| message.index);
    let back = back.collect();
    (policy.prompt(&agent), back)
}

/// Returns the messages that the segments show.
fn messages(prompt: &[Segment]) -> Vec<usize> {
    prompt
        .iter()
        .filter_map(|segment| segment.message)
        .collect()
}

#[test]
fn the_whole_history_is_for_whom_it_is_for() {
    let (prompt, back) = played(Whole::new(&opening()), "clerk");
    assert_eq!(prompt[0].kind, Kind::Tools);
    assert_eq!(messages(&prompt), [0, 2, 3, 4, 5, 6]);
    assert_eq!(back, [0, 1, 2, 3, 4, 5, 6]);
    let (prompt, _) = played(Whole::new(&opening()), "desk");
    assert_eq!(messages(&prompt), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn the_last_messages_never_begin_with_a_result() {
    for (count, shown) in [(2, &[0, 5, 6][..]), (3, &[0, 5, 6]), (4, &[0, 3, 4, 5, 6])] {
        let (prompt, back) = played(Last::new(&opening(), count), "clerk");
        assert_eq!(messages(&prompt), shown, "{count}");
        // The system prompt of another agent stands in the prompts of that agent.
        assert_eq!(back, [&[0, 1], &shown[1..]].concat(), "{count}");
    }
}

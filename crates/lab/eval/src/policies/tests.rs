use std::sync::Arc;

use accp_context::{Recorded, view::View};
use accp_memory::policy::{Agent, Message, Opening, Policy, Segment};
use accp_registry::Registry;
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use super::*;

fn opening() -> Opening {
    Opening {
        tools: Some("[]\n".into()),
        counter: Arc::new(Bpe::default()),
        view: View::new(Arc::new(Registry::standard())),
    }
}

/// Returns a system prompt, a question, and two calls with their results.
fn said() -> Vec<Message> {
    let call = |id: &str| json!([{ "id": id, "name": "stock", "arguments": { "item": id } }]);
    let said = [
        json!({ "role": "system", "content": "Be brief." }),
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
fn played(mut policy: impl Policy) -> (Vec<Segment>, Vec<usize>) {
    let said = said();
    for message in &said {
        policy.push(message);
    }
    let agent = Agent {
        name: "clerk".into(),
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
fn a_name_is_taken_whole_or_not_at_all() {
    let names: Vec<_> = default_plans().into_iter().map(|plan| plan.name).collect();
    assert_eq!(names, DEFAULT);
    for name in [
        "",
        "JSON",
        "json:1",
        "plain:1",
        "once",
        "clip:x",
        "cut:-1",
        "bag:2",
        "last",
        "last:0",
        "last:-1",
        "last:x",
        "clear-tool-uses:",
        "clear-tool-uses:5",
        "clear-tool-uses:5,x",
        "draft:400",
        "views:",
        "memory:",
        "memory:shared",
        "memory:-",
        "memory:cuts",
        "views:1,2",
        "views:1,2,3,4",
    ] {
        assert!(plan(name).is_none(), "{name}");
    }
}

#[test]
fn old_results_are_cleared_over_the_trigger_only() {
    let (prompt, back) = played(ClearToolUses::new(&opening(), 20, 1));
    let text: String = prompt.iter().map(|segment| &*segment.text).collect();
    let cleared = r#"{"role":"tool","tool_call_id":"rye","content":"[tool result cleared]"}"#;
    assert!(text.contains(cleared) && text.contains("7}"), "{text}");
    assert_eq!(back, [0, 1, 2, 4, 5]);
    let (prompt, back) = played(ClearToolUses::new(&opening(), 1000, 1));
    assert_eq!(messages(&prompt), [0, 1, 2, 3, 4, 5]);
    assert_eq!(back.len(), 6);
}

#[test]
fn views_say_results_under_the_names_of_their_tools() {
    let limits = PromptLimits::default();
    let (prompt, back) = played(Views::new(&opening(), limits));
    let text = prompt.iter().map(|segment| &*segment.text);
    let text: String = text.skip(2).collect();
    let expected = "@user? Rye? Spelt?\n\
                    @assistant>req:stock{item:rye}\n\
                    @tool>done:stock{result:{bags:4}}\n\
                    @assistant>req:stock{item:spelt}\n\
                    @tool>done:stock{result:{bags:7}}\n";
    assert_eq!(text, expected);
    assert_eq!(back.len(), 6);
}

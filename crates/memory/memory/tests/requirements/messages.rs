//! Messages in each form, and lists of them.

use accp_memory::{Form, MessageList};
use serde_json::{Value as Json, json};

use crate::requirements::talk::INTENT;

pub(crate) fn list(form: Form, messages: &[Json]) -> MessageList {
    let raws: Vec<_> = messages.iter().map(Json::to_string).collect();
    MessageList::of(form, raws.iter().map(String::as_str)).unwrap()
}

pub(crate) fn user(text: &str) -> Json {
    json!({ "role": "user", "content": text })
}

pub(crate) fn chat_call(ids: &[&str]) -> Json {
    let call = |id: &&str| json!({ "id": id, "type": "function", "function": { "name": "stock", "arguments": "{}" } });
    json!({ "role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>() })
}

pub(crate) fn chat_result(id: &str, text: &str) -> Json {
    json!({ "role": "tool", "tool_call_id": id, "content": text })
}

/// Returns a message with a block of thinking and a call.
pub(crate) fn turn(id: &str) -> Json {
    json!({ "role": "assistant", "content": [
        { "type": "thinking", "thinking": format!("about {id}"), "signature": format!("sig-{id}") },
        { "type": "tool_use", "id": id, "name": "stock", "input": {} }] })
}

pub(crate) fn turn_result(id: &str, text: &str) -> Json {
    json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": text }] })
}

pub(crate) fn reasoning(id: &str) -> Json {
    json!({ "type": "reasoning", "id": format!("rs_{id}"), "summary": [], "encrypted_content": "x" })
}

pub(crate) fn item(id: &str) -> Json {
    json!({ "type": "function_call", "call_id": id, "name": "stock", "arguments": "{}" })
}

pub(crate) fn output(id: &str, text: &str) -> Json {
    json!({ "type": "function_call_output", "call_id": id, "output": text })
}

/// Returns the messages of twelve steps in a form, each with a call.
pub(crate) fn steps(form: Form) -> Vec<Json> {
    let mut all = vec![user(INTENT)];
    for number in 0..12 {
        let id = format!("c{number}");
        let text = "rye ".repeat(700);
        all.extend(match form {
            Form::OpenAi => vec![chat_call(&[&id]), chat_result(&id, &text)],
            Form::Anthropic => vec![turn(&id), turn_result(&id, &text)],
            Form::Responses => vec![reasoning(&id), item(&id), output(&id, &text)],
        });
    }
    all
}

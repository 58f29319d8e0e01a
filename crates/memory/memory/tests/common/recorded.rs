//! Recorded messages, as the files of a corpus have them.

use serde_json::{Value as Json, json};

/// Returns a recorded message in the form of OpenAI chat. A result that names no call becomes a message of the user.
pub(crate) fn chat(message: &Json) -> Json {
    let role = match message["role"].as_str() {
        Some("agent") => "assistant",
        Some("tool") if message["tool_call_id"].is_null() => "user",
        Some(role) => role,
        None => "user",
    };
    let mut out = json!({ "role": role, "content": message["content"] });
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let calls: Vec<_> = calls
        .map(|call| {
            let arguments = call["arguments"].to_string();
            json!({ "id": call["id"], "type": "function", "function": { "name": call["name"], "arguments": arguments } })
        })
        .collect();
    if !calls.is_empty() {
        out["tool_calls"] = calls.into();
    }
    if role == "tool" {
        out["tool_call_id"] = message["tool_call_id"].clone();
    }
    out
}

//! Single messages in each form.

use accp_memory::Form;
use serde_json::{Value as Json, json};

pub(crate) fn user(form: Form, text: &str) -> Json {
    spoken(form, "user", text)
}

pub(crate) fn assistant(form: Form, text: &str) -> Json {
    spoken(form, "assistant", text)
}

fn spoken(form: Form, role: &str, text: &str) -> Json {
    match form {
        Form::Responses => json!({ "type": "message", "role": role, "content": text }),
        _ => json!({ "role": role, "content": text }),
    }
}

/// Returns a message of the assistant with one call.
pub(crate) fn call(form: Form, id: &str, tool: &str, arguments: &Json) -> Json {
    match form {
        Form::OpenAi => {
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            let call = json!({ "id": id, "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        }
        Form::Anthropic => {
            let block = json!({ "type": "tool_use", "id": id, "name": tool, "input": arguments });
            json!({ "role": "assistant", "content": [block] })
        }
        Form::Responses => {
            let arguments = arguments.to_string();
            json!({ "type": "function_call", "call_id": id, "name": tool, "arguments": arguments })
        }
    }
}

/// Returns the arguments of the call in a message, as an object; `None` if it has none.
pub(crate) fn arguments(form: Form, message: &Json) -> Option<Json> {
    let arguments = match form {
        Form::OpenAi => &message["tool_calls"][0]["function"]["arguments"],
        Form::Anthropic => {
            return Some(message["content"][0]["input"].clone()).filter(Json::is_object);
        }
        Form::Responses => &message["arguments"],
    };
    let read: Json = serde_json::from_str(arguments.as_str()?).expect("arguments are JSON");
    // Arguments that are sent as a text are compact JSON.
    assert_eq!(read.to_string(), arguments.as_str()?);
    Some(read)
}

/// Returns the message with the result of a call.
pub(crate) fn result(form: Form, id: &str, text: &str) -> Json {
    match form {
        Form::OpenAi => json!({ "role": "tool", "tool_call_id": id, "content": text }),
        Form::Anthropic => {
            let block = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
            json!({ "role": "user", "content": [block] })
        }
        Form::Responses => json!({ "type": "function_call_output", "call_id": id, "output": text }),
    }
}

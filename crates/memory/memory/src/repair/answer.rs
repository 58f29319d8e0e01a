//! The results that a repair makes, in each form.

use serde_json::{Value as Json, json};

use crate::message::{Call, ListMessage};
use crate::raw::Pointer;

/// The text of a result for a call that has none in the list.
const NO_RESULT: &str = "No result was recorded for this call.";
/// The text of a first message that would otherwise lose its only blocks, which are misplaced results.
const NO_CALL: &str = "A result stood here, where no call asks for it.";
/// A picture of one point, for calls that take nothing but a picture as their result.
const PICTURE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Returns the message that answers a call of OpenAI's chat.
pub(super) fn message(call: &Call) -> String {
    let old = Pointer::of(["function_call".into(), "arguments".into()]);
    let message = if call.arguments == old {
        json!({ "role": "function", "name": call.id, "content": NO_RESULT })
    } else {
        json!({ "role": "tool", "tool_call_id": call.id, "content": NO_RESULT })
    };
    message.to_string()
}

/// Returns the item that answers a call of Responses.
pub(super) fn item(message: &ListMessage, call: &Call) -> String {
    let kind = message.json()["type"].as_str().unwrap_or_default();
    // Only the output of a local shell call has the id of the call as its own `id`.
    let key = if kind == "local_shell_call" {
        "id"
    } else {
        "call_id"
    };
    let mut item = json!({ "type": format!("{kind}_output"), key: call.id });
    match kind {
        "computer_call" => {
            item["output"] = json!({ "type": "computer_screenshot", "image_url": PICTURE });
            item["status"] = "incomplete".into();
        }
        "shell_call" => {
            let outcome = json!({ "type": "exit", "exit_code": 1 });
            item["output"] = json!([{ "stdout": "", "stderr": NO_RESULT, "outcome": outcome }]);
        }
        "apply_patch_call" => {
            item["status"] = "failed".into();
            item["output"] = NO_RESULT.into();
        }
        _ => item["output"] = NO_RESULT.into(),
    }
    item.to_string()
}

/// Returns the block that answers a call of Anthropic's form.
pub(super) fn block(id: &str) -> String {
    json!({ "type": "tool_result", "tool_use_id": id, "content": NO_RESULT, "is_error": true })
        .to_string()
}

/// Returns the turn of the user with these blocks.
pub(super) fn turn(blocks: &[String]) -> String {
    format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(","))
}

/// Returns the block that answers a call of a tool that Anthropic runs.
pub(super) fn server_block(call: &Json) -> String {
    let id = &call["id"];
    if call["type"] == "mcp_tool_use" {
        let content = json!([{ "type": "text", "text": NO_RESULT }]);
        let block = json!({ "type": "mcp_tool_result", "tool_use_id": id, "is_error": true, "content": content });
        return block.to_string();
    }
    let name = call["name"].as_str().unwrap_or_default();
    // The two tools that search for tools answer with the same kind of block.
    let name = if name.starts_with("tool_search_tool_") {
        "tool_search"
    } else {
        name
    };
    let error = json!({ "type": format!("{name}_tool_result_error"), "error_code": "unavailable" });
    json!({ "type": format!("{name}_tool_result"), "tool_use_id": id, "content": error })
        .to_string()
}

/// Returns the block of a first message that lost all its results.
pub(super) fn no_call() -> String {
    json!({ "type": "text", "text": NO_CALL }).to_string()
}

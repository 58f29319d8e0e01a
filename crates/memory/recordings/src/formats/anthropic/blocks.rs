//! Finds out which blocks and which requests are Anthropic's.

use serde_json::{Map, Value as Json};

/// The types of blocks that no other format has. From the types `ContentBlockParam` and `BetaContentBlockParam` of the
/// package anthropic 2.14.0 for Python, of November 2026. `text` and `image` are not here, because others have them.
const BLOCKS: [&str; 27] = [
    "advisor_tool_result",
    "bash_code_execution_tool_result",
    "browser_state",
    "code_execution_tool_result",
    "compaction",
    "container_upload",
    "document",
    "fallback",
    "mcp_tool_listing",
    "mcp_tool_result",
    "mcp_tool_use",
    "memory_tool_result",
    "redacted_thinking",
    "search_result",
    "server_tool_use",
    "text_editor_code_execution_tool_result",
    "thinking",
    "tool_addition",
    "tool_reference",
    "tool_removal",
    "tool_result",
    "tool_search_tool_result",
    "tool_use",
    "web_fetch_tool_result",
    "web_search_tool_result",
    "web_fetch_result",
    "web_search_result",
];
/// The types of parts, other than text, that OpenAI's chat has.
const CHAT: [&str; 4] = ["image_url", "input_audio", "file", "refusal"];
/// The members of a request that only this format has.
const REQUEST: [&str; 5] = [
    "anthropic_version",
    "anthropic_beta",
    "stop_sequences",
    "mcp_servers",
    "context_management",
];

/// Returns whether a block is of this format: by its type, or by its shape where the type is new.
pub(super) fn is_block(block: &Json) -> bool {
    let Some(kind) = block["type"].as_str() else {
        return false;
    };
    // In other formats, `thinking` is an array of parts.
    let known = BLOCKS.contains(&kind) && !(kind == "thinking" && block["thinking"].is_array());
    let source = block["source"].is_object() && block["source"]["type"].is_string();
    let call = kind.ends_with("_tool_use") && block.get("id").is_some();
    known
        || source
        || call
        || block.get("tool_use_id").is_some()
        || kind == "image" && block.get("source").is_some()
}

/// Returns whether a block has a mark for the cache, which no part of OpenAI's has.
pub(super) fn is_marked(block: &Json) -> bool {
    block.get("cache_control").is_some()
}

/// Returns whether a tool of a request is Anthropic's: one with a schema of its own, or one with a date in its type.
pub(super) fn is_tool(tool: &Json) -> bool {
    let kind = tool["type"].as_str().unwrap_or_default();
    let date = kind.rsplit_once('_').map(|(_, date)| date);
    let dated =
        date.is_some_and(|date| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()));
    tool.get("input_schema").is_some() || dated || kind == "mcp_toolset"
}

/// Returns whether a request has members that requests of other formats do not have.
pub(super) fn is_request(json: &Json) -> bool {
    let Some(map) = json.as_object().filter(|map| map.contains_key("messages")) else {
        return false;
    };
    let choice = map
        .get("tool_choice")
        .and_then(|choice| choice["type"].as_str());
    let own = REQUEST.iter().any(|key| map.contains_key(*key));
    own || matches!(choice, Some("any" | "auto" | "none" | "tool")) || is_short(map)
}

/// Returns whether a request with `max_tokens` asks a model of this provider. Requests of OpenAI's chat have
/// `max_tokens`, too.
fn is_short(map: &Map<String, Json>) -> bool {
    let model = map.get("model").and_then(Json::as_str).unwrap_or_default();
    let user = map
        .get("metadata")
        .is_some_and(|about| about.get("user_id").is_some());
    map.contains_key("max_tokens") && (model.starts_with("claude-") || user)
}

/// Returns whether a message can only be one of OpenAI's chat.
pub(super) fn is_chat(message: &Json) -> bool {
    let keys = ["tool_calls", "tool_call_id", "function_call"];
    let role = message["role"].as_str();
    let parts = message["content"].as_array().into_iter().flatten();
    let mut kinds = parts.filter_map(|part| part["type"].as_str());
    keys.iter().any(|key| message.get(key).is_some())
        || matches!(role, Some("tool" | "function" | "developer" | "system"))
        || kinds.any(|kind| CHAT.contains(&kind))
}

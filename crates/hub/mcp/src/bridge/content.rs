//! Results of MCP tools, as values of frames.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value as Json, json};

/// Returns the content of a result as JSON. If the result is one plain text, returns this text. If the result is
/// structured content, alone or with the same content as text, returns the structured content. Otherwise returns the
/// whole result.
pub(super) fn of(result: &CallToolResult) -> Json {
    let only = match &*result.content {
        [ContentBlock::Text(text)] if is_plain(&result.content) => Some(text.text.as_str()),
        _ => None,
    };
    match (only, &result.structured_content) {
        (Some(text), None) => text.into(),
        (None, Some(structured)) if result.content.is_empty() => structured.clone(),
        (Some(text), Some(structured)) if is_copy(text, structured) => structured.clone(),
        _ => whole(result),
    }
}

/// Returns the content of a failed result as text.
pub(super) fn words(result: &CallToolResult) -> String {
    match of(result) {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

/// Returns whether the first block of the content has only its type and its text.
fn is_plain(content: &[ContentBlock]) -> bool {
    let json = content
        .first()
        .and_then(|block| serde_json::to_value(block).ok());
    json.and_then(|json| json.as_object().map(|parts| parts.len() == 2))
        .unwrap_or_default()
}

fn is_copy(text: &str, structured: &Json) -> bool {
    serde_json::from_str::<Json>(text).is_ok_and(|read| read == *structured)
}

fn whole(result: &CallToolResult) -> Json {
    let mut all = json!({ "content": result.content });
    if let Some(structured) = &result.structured_content {
        all["structuredContent"] = structured.clone();
    }
    all
}

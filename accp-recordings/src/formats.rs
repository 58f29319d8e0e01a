//! The formats of recorded conversations: which one a document has, and its messages in the one
//! model. A module for each format.

mod anthropic;
mod chat;
mod claude_code;
mod draft;
mod fault;
mod fields;
mod gemini;
mod langchain;
mod langsmith;
mod media;
mod merge;
mod otel;
mod parts;
mod responses;
mod sharegpt;

use serde_json::Value as Json;

use crate::format::Format;
pub(crate) use claude_code::is_entry;
pub(crate) use fault::{Fault, Model};

/// Finds out the format of a document by its content; `None` if it has none of them.
pub(crate) fn detect(json: &Json) -> Option<Format> {
    // Sure signs of a format come first; plain messages are OpenAI's.
    let found = match json {
        json if otel::detect(json) => Format::Otel,
        json if claude_code::detect(json) => Format::ClaudeCode,
        json if langsmith::detect(json) => Format::LangSmith,
        json if sharegpt::detect(json) => Format::ShareGpt,
        json if langchain::detect(json) => Format::LangChain,
        json if gemini::detect(json) => Format::Gemini,
        json if responses::detect(json) => Format::Responses,
        json if anthropic::detect(json) => Format::Anthropic,
        json => return chat::messages(json).map(|_| Format::OpenAi),
    };
    Some(found)
}

/// Returns whether this is a conversation by itself, so that an array of such is several.
pub(crate) fn is_whole(json: &Json) -> bool {
    let list = |key: &str| json.get(key).is_some_and(Json::is_array);
    let items = json.is_object() && json.get("type").is_none() && responses::detect(json);
    list("messages") || list("contents") || list("conversations") || items
}

/// Reads a document. Returns `None` if it is in the form of the model as it is.
///
/// # Errors
/// When the document does not have this format.
pub(crate) fn read(json: &Json, format: Format) -> Result<Option<Model>, Fault> {
    let read = match format {
        Format::OpenAi => return chat::read(json),
        Format::Responses => responses::read,
        Format::Anthropic => anthropic::read,
        Format::Gemini => gemini::read,
        Format::LangChain => langchain::read,
        Format::LangSmith => langsmith::read,
        Format::Otel => otel::read,
        Format::ShareGpt => sharegpt::read,
        Format::ClaudeCode => claude_code::read,
    };
    read(json.clone()).map(Some)
}

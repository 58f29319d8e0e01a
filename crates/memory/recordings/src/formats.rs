//! Finds out the format of a document, and reads its messages into the common form. Each format has a module.

mod ai_sdk;
mod aider;
mod answers;
mod anthropic;
mod chat;
mod claims;
mod claude_code;
mod codex;
mod draft;
mod envelope;
mod fault;
mod fields;
mod gemini;
mod gemini_cli;
mod langchain;
mod langgraph;
mod langsmith;
mod langsmith_run;
mod listed;
mod media;
mod merge;
mod mini_swe;
mod neutral;
mod openai_agents;
mod openhands;
mod otel;
mod parts;
mod pydantic_ai;
mod readers;
mod responses;
mod sharegpt;
mod signature;
mod stream;
mod swe_agent;
mod tools;

use accp_context::Recorded;
use serde_json::{Map, Value as Json};

use crate::format::Format;
pub(crate) use aider::{BLOCKS as AIDER, STARTED};
pub(crate) use answers::is_message;
pub(crate) use claims::{claims, marks};
pub(crate) use envelope::place;
pub(crate) use fault::{Cannot, Fault, Parsed};

pub(crate) use neutral::{NeutralMessage, numbered_like};
pub(crate) use stream::is_piece;
pub(crate) use tools::{names as tool_names, renamed as renamed_tools};

/// Finds out the format of a document by its content; `None` if no format fits, or several formats fit.
pub(crate) fn detect(json: &Json) -> Option<Format> {
    match claims(json).as_slice() {
        [] => envelope::detect(json),
        [one] => Some(*one),
        _ => None,
    }
}

/// Returns whether this is a line of a log: all lines of its file are one conversation.
pub(crate) fn is_entry(json: &Json) -> bool {
    claude_code::is_entry(json)
        || codex::is_line(json)
        || gemini_cli::is_begin(json)
        || openai_agents::is_row(json)
        || openhands::is_event(json)
}

/// Returns whether the document is of this format and is not wrapped.
pub(crate) fn is_direct(json: &Json, format: Format) -> bool {
    claims::direct(json) == Some(format)
}

/// Returns whether this is a conversation by itself. An array of such values is several conversations.
pub(crate) fn is_whole(json: &Json) -> bool {
    // A state of a LangGraph thread, or an entry of a session file, is only a part of a
    // conversation.
    if langgraph::is_state(json) || is_entry(json) {
        return false;
    }
    let list = |key: &str| json.get(key).is_some_and(Json::is_array);
    let items = json.is_object() && json.get("type").is_none() && responses::detect(json);
    let nested = || match json {
        Json::Array(all) => !all.is_empty() && claims::direct(json).is_some(),
        json => claims::direct(json).is_none() && envelope::detect(json).is_some(),
    };
    list("messages") || list("contents") || list("conversations") || items || nested()
}

/// Returns whether a line belongs to the messages on the lines before it, in a file of one message a line. Items of
/// some types are not messages by themselves, but belong to the conversation.
pub(crate) fn is_next(json: &Json) -> bool {
    let is_item = || json["type"].is_string() && !is_whole(json) && !is_piece(json);
    is_message(json) || is_item()
}

/// Reads a document. Returns `None` if the document is in the common form already.
///
/// # Errors
/// When the document does not have this format.
pub(crate) fn read(json: &Json, format: Format) -> Result<Option<Parsed>, Fault> {
    if let Some(read) = envelope::read(json, format) {
        return read.map(Some);
    }
    if format == Format::OpenAi && !answers::has_beside(json) {
        return chat::read(json);
    }
    envelope::parse(json, format).map(Some)
}

/// Returns one message of a list as messages of the common form: one message for each result in it, and one for the
/// rest. Empty if the JSON is not a message of this format.
///
/// ```
/// use accp_recordings::{Format, message};
/// use serde_json::json;
///
/// let turn = json!({ "role": "user", "content": [
///     { "type": "tool_result", "tool_use_id": "t1", "content": "4" },
///     { "type": "text", "text": "And wheat?" }] });
/// let read = message(turn, Format::Anthropic);
/// assert_eq!(read[0]["tool_call_id"], "t1");
/// assert_eq!(read[1]["content"], "And wheat?");
/// ```
pub fn message(json: Json, format: Format) -> Vec<Json> {
    let list = Json::Array(vec![json]);
    envelope::parse(&list, format).map_or_else(|_| Vec::new(), |parsed| parsed.messages)
}

/// The key, outside the messages of a written document, of the map from new ids of calls to the recorded ids.
pub(crate) const RECORDED_IDS: &str = "recorded_ids";
/// The key of the map from new names of tools to the recorded names.
pub(crate) const RECORDED_NAMES: &str = "recorded_names";

/// The keys that a written document has outside its messages in every format. Any other key of a program could be taken
/// for a mark of that program's own format.
const BESIDE: [&str; 5] = ["id", "tools", Recorded::ABOUT, RECORDED_IDS, RECORDED_NAMES];

/// The writer of a format. It takes the messages and the values outside the messages.
type Write = fn(&[NeutralMessage], Map<String, Json>) -> Result<Json, Cannot>;

/// Writes a conversation in this format. `None` if the format is only read: it holds more than one conversation, or
/// belongs to one program. `rest` holds the recorded values outside the messages.
///
/// # Errors
/// When the format cannot express a message.
pub(crate) fn write(
    all: &[NeutralMessage],
    rest: Map<String, Json>,
    format: Format,
) -> Option<Result<Json, Cannot>> {
    let write: Write = match format {
        Format::OpenAi => chat::write,
        Format::Responses => responses::write,
        Format::Anthropic => anthropic::write,
        Format::Gemini => gemini::write,
        Format::LangChain => langchain::write,
        Format::Otel => otel::write,
        Format::ShareGpt => sharegpt::write,
        _ => return None,
    };
    if format != Format::OpenAi {
        // Only our own form of OpenAI's chat has recipients, channels and actions. A message with
        // one of them cannot be written in another format.
        for neutral in all {
            if let Some((key, _)) = neutral.keys.iter().next() {
                return Some(Err(neutral.cannot(format!("has the key `{key}`"))));
            }
        }
    }
    let (mut rest, mut others): (Map<_, _>, Map<_, _>) = rest
        .into_iter()
        .partition(|(key, _)| BESIDE.contains(&key.as_str()));
    if let Some(recorded) = rest.shift_remove("tools") {
        // Tools that the format cannot express stay as they were recorded.
        match tools::write(&recorded, format) {
            Some(written) => rest.insert("tools".to_owned(), written),
            None => others.insert("tools".to_owned(), recorded),
        };
    }
    let rest = match neutral::carried(Json::Object(rest), &others) {
        Json::Object(rest) => rest,
        _ => Map::new(),
    };
    Some(write(all, rest))
}

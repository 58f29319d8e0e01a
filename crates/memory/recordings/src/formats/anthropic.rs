//! Reads and writes Anthropic Messages: `messages` with content in blocks, and the system prompt under `system`.

mod blocks;

use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::fault::{Cannot, Fault, Parsed};
use super::fields::{Fields, is_void};
use super::media::{self, At, redacted};
use super::neutral::{NeutralMessage, Part, PartContent, carried, number};
use super::signature;

/// Keys of a message that only say how it was recorded.
pub(super) const ABOUT: [&str; 12] = [
    "id",
    "type",
    "model",
    "stop_reason",
    "stop_sequence",
    "stop_details",
    "usage",
    "container",
    "context_management",
    "created_at",
    "timestamp",
    "cache_control",
];
/// Keys of a block that only say how it was recorded.
const BLOCK: [&str; 3] = ["cache_control", "signature", "caller"];
/// The keys of messages that only OpenAI's chat has.
const OPENAI: [&str; 3] = ["tool_calls", "tool_call_id", "function_call"];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    let Some(messages) = json.get("messages").or(Some(json)).and_then(Json::as_array) else {
        return false;
    };
    let system = json.get("system").is_some_and(|system| {
        system.is_string() || system.as_array().is_some_and(|all| all.iter().all(is_text))
    });
    let blocks = || {
        let contents = messages.iter().filter_map(|message| message.get("content"));
        contents.filter_map(Json::as_array).flatten()
    };
    let is_answer = |message: &Json| {
        message["type"] == "message"
            && message.get("stop_reason").is_some()
            && message["content"].is_array()
    };
    if blocks().any(blocks::is_block) || messages.iter().any(is_answer) {
        return true;
    }
    // A chat of OpenAI may also have its system prompt outside the messages. So a prompt or tools
    // count only if no message has a key of OpenAI's.
    let openai = |message: &Json| OPENAI.iter().any(|key| message.get(key).is_some());
    let tools = json.get("tools").and_then(Json::as_array);
    let tools = tools.is_some_and(|all| all.iter().any(blocks::is_tool));
    if (system || tools) && !messages.iter().any(openai) {
        return true;
    }
    // Some servers of OpenAI's chat accept cache marks, too. So a mark counts only if no message is
    // of that chat.
    (blocks().any(blocks::is_marked) || blocks::is_request(json))
        && !messages.iter().any(blocks::is_chat)
}

fn is_text(block: &Json) -> bool {
    block["type"] == "text"
}

/// Reads a document.
///
/// # Errors
/// When there are no messages, or a message is not an object.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let (messages, mut rest, at) = match json {
        Json::Array(messages) => (messages, Fields::default(), ""),
        other => {
            let expected = "an object with `messages`";
            let mut rest = Fields::of(other).map_err(|_| Fault::at("", expected))?;
            let messages = rest.list("messages").ok_or(Fault::at("", expected))?;
            (messages, rest, "/messages")
        }
    };
    let mut parsed = Parsed::default();
    if let Some(system) = rest.take("system").filter(|system| !system.is_null()) {
        let mut draft = Draft::new("system");
        draft.content(Some(system), block);
        parsed.messages.push(draft.into_json());
    }
    for (index, message) in messages.into_iter().enumerate() {
        let message = Fields::of(message)
            .map_err(|_| Fault::at(format!("{at}/{index}"), "a message, an object"))?;
        self::message(message, Map::new(), &mut parsed.messages);
    }
    parsed.rest = rest.into_map();
    Ok(parsed)
}

/// Reads a message into one message, or several if it holds results. `about` holds what a recorder said about the
/// message.
pub(super) fn message(mut message: Fields, about: Map<String, Json>, out: &mut Vec<Json>) {
    let role = message
        .text("role")
        .unwrap_or_else(|| "assistant".to_owned());
    let content = message.take("content");
    let first = out.len();
    let mut draft = Draft::new(&role);
    match content {
        Some(Json::Array(blocks)) => {
            for json in blocks {
                let is_result = json["type"]
                    .as_str()
                    .is_some_and(|kind| kind == "tool_result" || kind.ends_with("_tool_result"));
                if is_result {
                    // Words before a result become a message of their own, which stays before the
                    // result.
                    if !draft.is_empty() {
                        out.push(std::mem::replace(&mut draft, Draft::new(&role)).into_json());
                    }
                    out.push(result(json));
                } else {
                    block(&mut draft, json);
                }
            }
        }
        other => draft.content(other, block),
    }
    draft.rest(message, &ABOUT);
    draft.about(about);
    draft.end(out, first);
}

/// Reads the result of a call.
fn result(json: Json) -> Json {
    let whole = json.clone();
    let Ok(mut block) = Fields::of(json) else {
        return Json::Null;
    };
    let kind = block.text("type");
    let mut draft = Draft::result(block.take("tool_use_id"), None);
    draft.failed(&mut block);
    if matches!(kind.as_deref(), Some("tool_result" | "mcp_tool_result")) {
        draft.content(block.take("content"), self::block);
        draft.rest(block, &["cache_control", "is_error"]);
    } else {
        // The provider ran this tool. The form of the result depends on the tool, so the result is
        // kept whole.
        draft.opaque(&whole);
    }
    draft.into_json()
}

/// Adds a block to a message.
pub(super) fn block(draft: &mut Draft, json: Json) {
    let Some((kind, mut block, whole)) = draft.open(json) else {
        return;
    };
    match kind.as_str() {
        "text" if block.str("text").is_some() => {
            let text = block.text("text").unwrap_or_default();
            draft.part("text", text, block, &BLOCK);
        }
        "thinking" if block.str("thinking").is_some() => {
            let text = block.text("thinking").unwrap_or_default();
            draft.part("thinking", text, block, &BLOCK);
        }
        "redacted_thinking" if block.str("data").is_some() => {
            let text = redacted(block.str("data").unwrap_or_default());
            draft.part("redacted_thinking", text, block, &["data"]);
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" if block.str("name").is_some() => {
            let (id, name) = (block.take("id"), block.take("name"));
            let input = block.take("input");
            let (about, unknown) = block.split(&BLOCK);
            draft.call(id, name, input, about);
            draft.shown(unknown);
        }
        "image" | "document" => media(draft, &kind, block, &whole),
        _ => draft.opaque(&whole),
    }
}

/// Adds a picture or a document. A text is shown; encoded data and addresses become a placeholder.
fn media(draft: &mut Draft, kind: &str, mut block: Fields, whole: &Json) {
    let context = block.text("context");
    let about = ["source", "title", "cache_control", "citations"];
    let source = block.get("source");
    let text = source
        .filter(|source| source["type"] == "text")
        .and_then(|source| source["data"].as_str());
    match (text, block.str("title")) {
        (None, _) => media::add(draft, kind, block, &about, whole),
        (Some(text), None) => draft.part(kind, text.to_owned(), block, &about),
        (Some(text), Some(title)) => {
            let text = format!("[{kind} \"{title}\"]\n{text}");
            draft.part(kind, text, block, &about);
        }
    }
    if let Some(context) = context {
        draft.text(context);
    }
}

/// Writes a conversation. Results of calls that follow each other become one message.
///
/// # Errors
/// When the format cannot express a message.
pub(crate) fn write(all: &[NeutralMessage], mut rest: Map<String, Json>) -> Result<Json, Cannot> {
    let mut messages: Vec<Json> = Vec::new();
    let mut results = Vec::new();
    for (index, neutral) in number(all).iter().enumerate() {
        neutral.without_name()?;
        if !neutral.is_result() {
            flush(&mut results, &mut messages);
        }
        match neutral.role.as_str() {
            "system" if index == 0 => {
                let mut content = content(neutral, Vec::new())?;
                if let (Json::String(text), false) = (&content, neutral.about.is_empty()) {
                    content = json!([{ "type": "text", "text": text }]);
                }
                if let Some(block) = content.get_mut(0) {
                    *block = carried(block.take(), &neutral.about);
                }
                rest.insert("system".to_owned(), content);
            }
            "user" | "assistant" => {
                let calls = neutral.calls.iter().map(|call| {
                    let (id, input) = (neutral.id_of(call)?, neutral.object(call)?);
                    let block =
                        json!({ "type": "tool_use", "id": id, "name": call.tool, "input": input });
                    Ok(carried(block, &call.about))
                });
                let calls = calls.collect::<Result<_, _>>()?;
                let message = json!({ "role": neutral.role, "content": content(neutral, calls)? });
                messages.push(carried(message, &neutral.about));
            }
            "tool" => {
                let mut block = json!({ "type": "tool_result", "tool_use_id": neutral.answers()? });
                // A result may lack its content, but an empty content is refused.
                let content = content(neutral, Vec::new())?;
                if !is_void(&content) {
                    block["content"] = content;
                }
                if neutral.is_error {
                    block["is_error"] = true.into();
                }
                results.push(carried(block, &neutral.about));
            }
            _ => return Err(neutral.no_role()),
        }
    }
    flush(&mut results, &mut messages);
    rest.insert("messages".to_owned(), Json::Array(messages));
    Ok(Json::Object(rest))
}

fn flush(results: &mut Vec<Json>, messages: &mut Vec<Json>) {
    if !results.is_empty() {
        let content = std::mem::take(results);
        messages.push(json!({ "role": "user", "content": content }));
    }
}

/// Writes the content of a message: a text, or blocks.
fn content(neutral: &NeutralMessage, calls: Vec<Json>) -> Result<Json, Cannot> {
    if let Some(text) = neutral.only_text().filter(|text| !text.is_empty())
        && calls.is_empty()
    {
        return Ok(text.into());
    }
    let blocks = neutral.parts.iter().map(|part| block_of(neutral, part));
    let mut blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    blocks.extend(calls);
    Ok(Json::Array(blocks))
}

/// Writes a part as a block. The block of a thought needs its signature: the provider refuses a thought without one.
fn block_of(neutral: &NeutralMessage, part: &Part) -> Result<Json, Cannot> {
    const UNSIGNED: &str = "has reasoning without a signature (take it out of the recording, or write openai or responses)";
    let mut about = part.about.clone();
    let block = match &part.content {
        PartContent::Thinking(text) => {
            let signature = signature::anthropic(&mut about);
            let signature = signature.ok_or_else(|| neutral.cannot(UNSIGNED))?;
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        what => written(what).ok_or_else(|| neutral.cannot(what.described()))?,
    };
    Ok(carried(block, &about))
}

fn written(what: &PartContent) -> Option<Json> {
    Some(match what {
        PartContent::Text(text) => json!({ "type": "text", "text": text }),
        PartContent::Redacted(data) => json!({ "type": "redacted_thinking", "data": data }),
        PartContent::Media(media) if ["image", "file"].contains(&media.kind) => {
            let source = match &media.at {
                At::Data(data) => {
                    json!({ "type": "base64", "media_type": media.mime.as_ref()?, "data": data })
                }
                At::Url(url) => json!({ "type": "url", "url": url }),
                At::File(id) => json!({ "type": "file", "file_id": id }),
            };
            let is_image = media.kind == "image";
            let kind = if is_image { "image" } else { "document" };
            let mut block = json!({ "type": kind, "source": source });
            if let Some(name) = &media.name {
                block["title"] = name.as_str().into();
            }
            media.with_mime(block)
        }
        PartContent::Media(_)
        | PartContent::Thinking(_)
        | PartContent::Refusal(_)
        | PartContent::Other(..) => return None,
    })
}

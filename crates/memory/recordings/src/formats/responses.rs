//! Reads and writes OpenAI Responses: `instructions`, and the items of `input` and `output`.

use accp_context::Recorded;
use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::fault::{Cannot, Fault, Parsed};
use super::fields::{Fields, merge};
use super::media::{self, At};
use super::neutral::{NeutralMessage, Part, PartContent, carried, number};

/// Keys of an item or a part that only say how it was recorded.
const ABOUT: [&str; 12] = [
    "type",
    "id",
    "status",
    "phase",
    "annotations",
    "logprobs",
    "encrypted_content",
    "object",
    "created_at",
    "namespace",
    "caller",
    "created_by",
];

/// Keys of a call that say what a tool of the provider has to do.
const ACTIONS: [&str; 2] = ["action", "operation"];

/// Keys of a part that hold a picture, a sound or a file.
const MEDIA: [&str; 7] = [
    "image_url",
    "file_url",
    "file_id",
    "filename",
    "file_data",
    "input_audio",
    "detail",
];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    let items = |json: &Json| {
        let items = json.as_array().filter(|items| !items.is_empty());
        items.is_some_and(|items| items.iter().all(is_item))
    };
    let typed = |json: &Json| json.as_array().is_some_and(|all| all.iter().any(is_typed));
    if json.is_array() {
        return items(json) && typed(json);
    }
    let output = json.get("output").is_some_and(items);
    // An object with a type is an item, and not a whole document.
    if json.get("type").is_some() {
        return false;
    }
    let input = json.get("input");
    let neutral = input.is_some_and(|input| input.is_string() && json.get("model").is_some());
    json.get("messages").is_none() && (output || neutral || input.is_some_and(items))
}

/// Returns whether this may be an item: it has a type, or is a message.
fn is_item(json: &Json) -> bool {
    json["type"].is_string() || json.get("role").is_some() && json.get("content").is_some()
}

/// Returns whether this is an item with a type that only this format has.
pub(super) fn is_typed(json: &Json) -> bool {
    let kind = json.get("type").and_then(Json::as_str).unwrap_or_default();
    let calls = kind.ends_with("_call") || kind.ends_with("_call_output");
    // An answer of Anthropic's is of the type `message`, too, but it has a `stop_reason`.
    kind == "message" && json.get("content").is_some() && json.get("stop_reason").is_none()
        || kind == "reasoning" && json.get("summary").is_some()
        || kind == "item_reference"
        || calls && (json.get("call_id").is_some() || json.get("id").is_some())
}

/// Returns whether a message has parts that only this format has.
pub(super) fn is_said(json: &Json) -> bool {
    let parts = json["content"].as_array().into_iter().flatten();
    let mut kinds = parts.filter_map(|part| part["type"].as_str());
    kinds.any(|kind| kind.starts_with("input_") || kind == "output_text")
}

/// Reads a document.
///
/// # Errors
/// When there is neither input nor output, or an item is not an object.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let mut all = Vec::new();
    let mut parsed = Parsed::default();
    match json {
        Json::Array(items) => all.push(("", items)),
        other => {
            let expected = "an object with the items `input` or `output`";
            let mut rest = Fields::of(other).map_err(|_| Fault::at("", expected))?;
            match rest.take("instructions") {
                Some(Json::String(text)) => {
                    let mut draft = Draft::new("system");
                    draft.text(text);
                    parsed.messages.push(draft.into_json());
                }
                Some(Json::Array(items)) => all.push(("/instructions", items)),
                Some(odd) => rest.put("instructions", odd),
                None => {}
            }
            match rest.take("input") {
                Some(Json::String(text)) => {
                    let mut draft = Draft::new("user");
                    draft.text(text);
                    parsed.messages.push(draft.into_json());
                }
                Some(Json::Array(items)) => all.push(("/input", items)),
                Some(odd) => rest.put("input", odd),
                None => {}
            }
            match rest.take("output") {
                Some(Json::Array(items)) => all.push(("/output", items)),
                // Some logs keep only the last item, as an object in place of the array.
                Some(item @ Json::Object(_)) if is_item(&item) => all.push(("/output", vec![item])),
                Some(odd) => rest.put("output", odd),
                None => {}
            }
            if all.is_empty() && parsed.messages.is_empty() {
                return Err(Fault::at("", expected));
            }
            parsed.rest = rest.into_map();
        }
    }
    let mut turn = Turn::default();
    for (at, items) in all {
        for (index, item) in items.into_iter().enumerate() {
            let item = Fields::of(item)
                .map_err(|_| Fault::at(format!("{at}/{index}"), "an item, an object"))?;
            turn.item(item, &mut parsed.messages);
        }
    }
    turn.end(&mut parsed.messages);
    Ok(parsed)
}

/// The message of an assistant while its items are read. Its reasoning, its words and its calls are separate items.
#[derive(Default)]
struct Turn {
    draft: Option<Draft>,
    /// Whether an item with the words of the message was read, also one that says nothing.
    has_words: bool,
}

impl Turn {
    fn end(&mut self, out: &mut Vec<Json>) {
        out.extend(self.draft.take().map(Draft::into_json));
        self.has_words = false;
    }

    /// Returns the message to add to. Words and reasoning begin a new message if the message has words or calls
    /// already.
    fn assistant(&mut self, out: &mut Vec<Json>, is_call: bool) -> &mut Draft {
        let is_over = self.has_words || self.draft.as_ref().is_some_and(Draft::has_calls);
        if is_over && !is_call {
            self.end(out);
        }
        self.draft.get_or_insert_with(|| Draft::new("assistant"))
    }

    fn item(&mut self, mut item: Fields, out: &mut Vec<Json>) {
        let whole = Json::Object(item.clone().into_map());
        internal(&mut item);
        let kind = item.text("type").unwrap_or_else(|| "message".to_owned());
        match kind.as_str() {
            "message" => {
                let role = item.text("role").unwrap_or_else(|| "assistant".to_owned());
                let content = item.take("content");
                if role == "assistant" {
                    let draft = self.assistant(out, false);
                    draft.content(content, part);
                    draft.rest(item, &ABOUT);
                    self.has_words = true;
                } else {
                    self.end(out);
                    let mut draft = Draft::new(&role);
                    draft.content(content, part);
                    draft.rest(item, &ABOUT);
                    out.push(draft.into_json());
                }
            }
            "reasoning" => {
                let draft = self.assistant(out, false);
                for key in ["summary", "content"] {
                    for json in item.list(key).into_iter().flatten() {
                        part(draft, json);
                    }
                }
                draft.rest(item, &ABOUT);
            }
            "function_call" | "custom_tool_call" => {
                let (id, name) = (item.take("call_id"), item.take("name"));
                let arguments = item.take("arguments").or_else(|| item.take("input"));
                let draft = self.assistant(out, true);
                let (about, unknown) = item.split(&ABOUT);
                draft.call(id, name, arguments, about);
                draft.shown(unknown);
            }
            // The provider defines this tool, but the program runs it. So the item is read as a
            // call.
            _ if kind.ends_with("_call") && is_run(&item) => {
                let (id, name) = (item.take("call_id"), kind.trim_end_matches("_call"));
                let mut actions = ACTIONS.into_iter();
                let action = actions.find_map(|key| item.take(key));
                let name = Some(Json::from(name));
                item.put("type", kind.into());
                let draft = self.assistant(out, true);
                let (about, unknown) = item.split(&ABOUT);
                draft.call(id, name, action, about);
                draft.shown(unknown);
            }
            _ if kind.ends_with("_call_output") => {
                self.end(out);
                let is_local = kind == "local_shell_call_output" && item.get("call_id").is_none();
                let id = item.take(if is_local { "id" } else { "call_id" });
                let mut draft = Draft::result(id, item.take("name"));
                draft.failed(&mut item);
                if matches!(
                    kind.as_str(),
                    "function_call_output" | "custom_tool_call_output"
                ) {
                    draft.content(item.take("output"), part);
                } else {
                    item.put("type", kind.into());
                    let output = item.take("output").unwrap_or_default();
                    match output {
                        Json::String(text) => draft.text(text),
                        other => draft.opaque(&other),
                    }
                }
                draft.rest(item, &ABOUT);
                out.push(draft.into_json());
            }
            // The provider ran this tool, or the kind of the item is unknown. So the item is kept
            // whole.
            _ => self.assistant(out, true).opaque(&whole),
        }
    }
}

/// Returns whether the program ran this call: then the item has an id of the call and says what to do.
fn is_run(item: &Fields) -> bool {
    let mut actions = ACTIONS.iter().filter_map(|key| item.get(key));
    item.str("call_id").is_some() && actions.any(Json::is_object)
}

/// Moves the keys that a program adds to an item for itself and its provider to the recorded values.
fn internal(item: &mut Fields) {
    let all = std::mem::take(item).into_map().into_iter();
    let (own, rest): (Map<_, _>, Map<_, _>) =
        all.partition(|(key, _)| key.starts_with("internal_"));
    *item = Fields::of(Json::Object(rest)).unwrap_or_default();
    if !own.is_empty() {
        let mut about = item.object(Recorded::ABOUT).unwrap_or_default().into_map();
        merge(&mut about, own);
        item.put(Recorded::ABOUT, Json::Object(about));
    }
}

/// Adds a part of a content.
fn part(draft: &mut Draft, json: Json) {
    let Some((kind, mut part, whole)) = draft.open(json) else {
        return;
    };
    match kind.as_str() {
        "input_text" | "output_text" | "text" if part.str("text").is_some() => {
            let text = part.text("text").unwrap_or_default();
            draft.part("text", text, part, &ABOUT);
        }
        "summary_text" | "reasoning_text" if part.str("text").is_some() => {
            let text = part.text("text").unwrap_or_default();
            draft.part("thinking", text, part, &ABOUT);
        }
        "refusal" if part.str("refusal").is_some() => {
            let text = part.text("refusal").unwrap_or_default();
            draft.part("refusal", text, part, &ABOUT);
        }
        "input_image" | "input_file" | "input_audio" => {
            media::add(draft, &kind, part, &MEDIA, &whole);
        }
        _ => draft.opaque(&whole),
    }
}

/// Writes a conversation as items of `input`.
///
/// # Errors
/// When the format cannot express a message.
pub(crate) fn write(all: &[NeutralMessage], mut rest: Map<String, Json>) -> Result<Json, Cannot> {
    let mut items = Vec::new();
    let mut last = "";
    let all = number(all);
    for (index, neutral) in all.iter().enumerate() {
        neutral.without_name()?;
        let only = neutral.only_text();
        match (neutral.role.as_str(), only) {
            ("system", Some(text)) if index == 0 && neutral.about.is_empty() => {
                rest.insert("instructions".to_owned(), text.into());
            }
            ("assistant", _) if last == "assistant" && neutral.parts.is_empty() => {
                return Err(neutral.cannot("has no words, and follows another of the assistant"));
            }
            ("assistant", _) => turn(neutral, &mut items)?,
            ("system" | "developer" | "user", _) => {
                let content = content(neutral, only, &neutral.parts, "input_text")?;
                let message =
                    json!({ "type": "message", "role": neutral.role, "content": content });
                items.push(carried(message, &neutral.about));
            }
            ("tool", _) => {
                let output = content(neutral, only, &neutral.parts, "input_text")?;
                let id = neutral.answers()?;
                let mut item =
                    json!({ "type": "function_call_output", "call_id": id, "output": output });
                if neutral.is_error {
                    item["is_error"] = true.into();
                }
                items.push(carried(item, &neutral.about));
            }
            _ => return Err(neutral.no_role()),
        }
        last = &neutral.role;
    }
    rest.insert("input".to_owned(), Json::Array(items));
    Ok(Json::Object(rest))
}

/// Writes a message of the assistant. Its reasoning, its words and its calls become separate items.
fn turn(neutral: &NeutralMessage, items: &mut Vec<Json>) -> Result<(), Cannot> {
    let first = items.len();
    let (thoughts, words) = neutral.thinking();
    let mut about = neutral.about.clone();
    let sealed = sealed(&mut about);
    if !thoughts.is_empty() || sealed.is_some() {
        let summary = neutral.write_parts(thoughts, |what| match what {
            PartContent::Thinking(text) => Some(json!({ "type": "summary_text", "text": text })),
            _ => None,
        })?;
        let mut item = json!({ "type": "reasoning", "summary": summary });
        if let Some((id, content)) = sealed {
            item["id"] = id;
            item["encrypted_content"] = content;
        }
        items.push(item);
    }
    if !words.is_empty() || neutral.calls.is_empty() && thoughts.is_empty() {
        let content = content(neutral, None, words, "output_text")?;
        items.push(json!({ "type": "message", "role": "assistant", "content": content }));
    }
    for call in &neutral.calls {
        let (arguments, about) = call.spelt();
        let item = json!({
            "type": "function_call",
            "call_id": neutral.id_of(call)?,
            "name": call.tool,
            "arguments": arguments,
        });
        items.push(carried(item, &about));
    }
    if let Some(item) = items.get_mut(first) {
        *item = carried(item.take(), &about);
    }
    Ok(())
}

/// Takes the id and the content of a reasoning item that only its provider can read.
fn sealed(about: &mut Map<String, Json>) -> Option<(Json, Json)> {
    const KEYS: [&str; 2] = ["id", "encrypted_content"];
    let is_reasoning = |id: &str| id.starts_with("rs_");
    about.get(KEYS[0])?.as_str().filter(|id| is_reasoning(id))?;
    about.get(KEYS[1])?.as_str()?;
    about.shift_remove(KEYS[0]).zip(about.shift_remove(KEYS[1]))
}

/// Writes a content: the text `only`, or parts. `text` is the type of text parts.
fn content(
    neutral: &NeutralMessage,
    only: Option<&str>,
    parts: &[Part],
    text: &str,
) -> Result<Json, Cannot> {
    if let Some(text) = only {
        return Ok(text.into());
    }
    let parts = neutral.write_parts(parts, |what| {
        Some(match what {
            PartContent::Text(neutral) => json!({ "type": text, "text": neutral }),
            PartContent::Refusal(text) => json!({ "type": "refusal", "refusal": text }),
            PartContent::Media(media) => {
                let (kind, key) = match media.kind {
                    "image" => ("input_image", "image_url"),
                    "file" => ("input_file", "file_url"),
                    _ => return None,
                };
                let mut part = match (&media.at, media.data_url()) {
                    (At::Data(_), Some(url)) if kind == "input_image" => json!({ key: url }),
                    (At::Data(_), Some(url)) => json!({ "file_data": url }),
                    (At::Data(_), None) => return None,
                    (At::Url(url), _) => json!({ key: url }),
                    (At::File(id), _) => json!({ "file_id": id }),
                };
                part["type"] = kind.into();
                if let Some(name) = &media.name {
                    part["filename"] = name.as_str().into();
                }
                media.with_mime(part)
            }
            PartContent::Thinking(_) | PartContent::Redacted(_) | PartContent::Other(..) => {
                return None;
            }
        })
    })?;
    Ok(Json::Array(parts))
}

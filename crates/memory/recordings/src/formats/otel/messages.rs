//! Reads and writes messages of OpenTelemetry's semantic conventions, and their parts.

use serde_json::{Value as Json, json};

use crate::formats::draft::Draft;
use crate::formats::fault::Cannot;
use crate::formats::fields::{Fields, merge};
use crate::formats::media::{self, At};
use crate::formats::neutral::{NeutralMessage, PartContent, carried};
use crate::formats::parts;

use crate::leaves::Leaves;

use super::attributes::Value;

/// Keys of a message or a part that no model saw.
const ABOUT: [&str; 8] = [
    "gen_ai.message.index",
    "finish_reason",
    "index",
    "event.name",
    "gen_ai.system",
    "gen_ai.provider.name",
    "builtin",
    "signature",
];

/// Reads the value of an attribute, an event or the span of a tool. `leaves` are the leaves of the other messages.
pub(super) fn read(value: Value, leaves: &Leaves, out: &mut Vec<Json>) {
    match value {
        Value::Tool(tool) => out.extend(tool.messages(leaves)),
        Value::System(Json::Array(list)) => {
            let mut draft = Draft::new("system");
            for json in list {
                part(&mut draft, json);
            }
            out.push(draft.into_json());
        }
        Value::System(other) => {
            let mut draft = Draft::new("system");
            draft.content(Some(other), |_, _| {});
            out.push(draft.into_json());
        }
        Value::Messages(Json::Array(list), _) => {
            for json in list {
                message(json, out);
            }
        }
        Value::Messages(other, role) => {
            let mut draft = Draft::new(role);
            draft.content(Some(other), |_, _| {});
            out.push(draft.into_json());
        }
        Value::Event(role, mut map) => {
            // The event of a choice has its message under `message`.
            if map.get("message").is_some_and(Json::is_object)
                && let Some(Json::Object(inner)) = map.shift_remove("message")
            {
                merge(&mut map, inner);
            }
            map.entry("role").or_insert_with(|| role.into());
            message(Json::Object(map), out);
        }
    }
}

/// Reads a message into one message, or several if it holds results.
pub(super) fn message(json: Json, out: &mut Vec<Json>) {
    let whole = json.clone();
    let Ok(mut fields) = Fields::of(json) else {
        let mut draft = Draft::new("user");
        draft.opaque(&whole);
        out.push(draft.into_json());
        return;
    };
    let role = fields
        .text("role")
        .unwrap_or_else(|| "assistant".to_owned());
    let mut draft = Draft::new(&role);
    let answered = fields.text("tool_call_id");
    let answered = match answered {
        None if role == "tool" => fields.text("id"),
        answered => answered,
    };
    if let Some(id) = answered {
        draft.set("tool_call_id", id.into());
    }
    if let Some(name) = fields.text("name") {
        draft.set("name", name.into());
    }
    let first = out.len();
    for json in fields.list("parts").into_iter().flatten() {
        if json["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("tool_call_response"))
        {
            if !draft.is_empty() {
                out.push(std::mem::replace(&mut draft, Draft::new(&role)).into_json());
            }
            out.extend(result(json));
        } else {
            part(&mut draft, json);
        }
    }
    draft.content(fields.take("content"), parts::any);
    for call in fields.list("tool_calls").into_iter().flatten() {
        parts::call(&mut draft, call);
    }
    draft.rest(fields, &ABOUT);
    draft.end(out, first);
}

/// Reads the result of a call.
fn result(json: Json) -> Option<Json> {
    let mut part = Fields::of(json).ok()?;
    let kind = part.text("type").unwrap_or_default();
    let mut draft = Draft::result(part.take("id"), part.take("name"));
    draft.failed(&mut part);
    let response = ["response", "result"]
        .into_iter()
        .find_map(|key| part.take(key));
    match response {
        Some(Json::String(text)) => draft.text(text),
        Some(Json::Null) | None => {}
        Some(other) => draft.text(other.to_string()),
    }
    if kind != "tool_call_response" {
        part.put("type", kind.into());
    }
    draft.rest(part, &ABOUT);
    Some(draft.into_json())
}

/// Returns whether this is a part with the keys of this format.
pub(super) fn is_part(part: &Json) -> bool {
    let has = |key: &str| part.get(key).is_some();
    match part["type"].as_str().unwrap_or_default() {
        "text" | "reasoning" | "thinking" => has("content"),
        "tool_call" => has("name") && !has("args"),
        "blob" | "uri" | "file" | "binary" => has("modality") || has("content") || has("file_id"),
        kind => kind.ends_with("tool_call_response"),
    }
}

/// Adds a part to a message.
fn part(draft: &mut Draft, json: Json) {
    let Some((kind, mut part, whole)) = draft.open(json) else {
        return;
    };
    match kind.as_str() {
        "text" if part.str("content").is_some() => {
            let text = part.text("content").unwrap_or_default();
            draft.part("text", text, part, &ABOUT);
        }
        "reasoning" | "thinking" if part.str("content").is_some() => {
            let text = part.text("content").unwrap_or_default();
            draft.part("thinking", text, part, &ABOUT);
        }
        "tool_call" if part.str("name").is_some() => {
            let (id, name) = (part.take("id"), part.take("name"));
            let arguments = part.take("arguments").filter(|json| !json.is_null());
            let (about, unknown) = part.split(&ABOUT);
            draft.call(id, name, arguments, about);
            draft.shown(unknown);
        }
        "blob" | "uri" | "file" | "file_data" | "binary" | "image-url" | "audio-url"
        | "video-url" | "document-url" => {
            let keys = [
                "modality",
                "mime_type",
                "media_type",
                "content",
                "uri",
                "url",
                "file_id",
            ];
            if kind == "binary" && part.get("modality").is_none() {
                part.put("modality", "file".into());
            }
            let kind = kind.replace('-', "_");
            media::add(draft, &kind, part, &keys, &whole);
        }
        // Older conventions of OpenTelemetry use the parts of OpenAI's chat.
        "text" | "image_url" => parts::any(draft, whole),
        _ => draft.opaque(&whole),
    }
}

/// Writes a message.
pub(super) fn written(neutral: &NeutralMessage) -> Result<Json, Cannot> {
    let parts = if neutral.is_result() {
        let (text, about) = neutral.flat()?;
        let mut part = json!({ "type": "tool_call_response", "response": text });
        let tool = neutral.tool.as_ref().filter(|_| neutral.call_id.is_none());
        for (key, value) in [("id", neutral.call_id.as_ref()), ("name", tool)] {
            if let Some(text) = value {
                part[key] = text.as_str().into();
            }
        }
        if neutral.is_error {
            part["is_error"] = true.into();
        }
        vec![carried(part, &about)]
    } else {
        let mut parts = neutral.write_parts(&neutral.parts, written_part)?;
        for call in &neutral.calls {
            let mut part =
                json!({ "type": "tool_call", "name": call.tool, "arguments": call.value() });
            if let Some(id) = &call.id {
                part["id"] = id.as_str().into();
            }
            parts.push(carried(part, &call.about));
        }
        parts
    };
    let mut message = json!({ "role": neutral.role, "parts": parts });
    if let Some(name) = &neutral.name {
        message["name"] = name.as_str().into();
    }
    Ok(if neutral.is_result() {
        message
    } else {
        carried(message, &neutral.about)
    })
}

fn written_part(what: &PartContent) -> Option<Json> {
    Some(match what {
        PartContent::Text(text) => json!({ "type": "text", "content": text }),
        PartContent::Thinking(text) => json!({ "type": "reasoning", "content": text }),
        PartContent::Media(media) => {
            let (kind, key, value) = match &media.at {
                At::Data(data) => ("blob", "content", data),
                At::Url(url) => ("uri", "uri", url),
                At::File(id) => ("file", "file_id", id),
            };
            let mut part = json!({ "type": kind, "modality": media.kind, key: value });
            if let Some(mime) = &media.mime {
                part["mime_type"] = mime.as_str().into();
            }
            part
        }
        PartContent::Redacted(_) | PartContent::Refusal(_) | PartContent::Other(..) => return None,
    })
}

//! Reads and writes messages of `LangChain`. They have a `type`. Their values stand in the message, under `data`, or in
//! a serialised constructor.

use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::fault::{Cannot, Fault, Parsed};
use super::fields::{Fields, is_void};
use super::media::At;
use super::neutral::{Arguments, NeutralMessage, PartContent, carried, number};
use super::{anthropic, chat, parts};

/// The types of this format, the names of their classes, and the roles of the common form.
const TYPES: [(&str, &str, &str); 6] = [
    ("human", "HumanMessage", "user"),
    ("ai", "AIMessage", "assistant"),
    ("system", "SystemMessage", "system"),
    ("tool", "ToolMessage", "tool"),
    ("function", "FunctionMessage", "tool"),
    ("developer", "DeveloperMessage", "developer"),
];
/// No model saw these keys of a message.
const ABOUT: [&str; 11] = [
    "id",
    "type",
    "lc",
    "example",
    "response_metadata",
    "usage_metadata",
    "artifact",
    "status",
    "additional_kwargs",
    "tool_call_chunks",
    "chunk_position",
];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    let messages = match json {
        Json::Array(_) => Some(json),
        _ => json.get("messages"),
    };
    let messages = messages.and_then(Json::as_array);
    messages.is_some_and(|all| all.iter().any(is_message))
}

/// Returns whether this is a message of this format.
pub(super) fn is_message(json: &Json) -> bool {
    let class = json["id"].as_array().and_then(|id| id.last());
    let constructor = json["lc"].is_number()
        && json["kwargs"].is_object()
        && (json["kwargs"].get("content").is_some() || class.and_then(role).is_some());
    let typed = role(&json["type"]).is_some() || json["type"] == "chat";
    let neutral = json.get("content").is_some() || json["data"].get("content").is_some();
    constructor || typed && neutral && json.get("from").is_none()
}

/// Returns whether this is the name of a type, and not the name of a class.
fn is_name(kind: &str) -> bool {
    TYPES.iter().any(|(name, ..)| *name == kind)
}

/// Returns the role of the common form for a type or the name of a class. The class may be that of a chunk.
fn role(kind: &Json) -> Option<&'static str> {
    let kind = kind.as_str()?;
    let class = kind.strip_suffix("Chunk").unwrap_or(kind);
    let known = TYPES
        .iter()
        .find(|(name, theirs, _)| *name == kind || *theirs == class);
    known.map(|(.., role)| *role)
}

/// Reads a document.
///
/// # Errors
/// When there are no messages, or a message is not an object.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let mut parsed = Parsed::default();
    let (messages, at) = match json {
        Json::Array(messages) => (messages, ""),
        other => {
            let expected = "an object with `messages`";
            let mut rest = Fields::of(other).map_err(|_| Fault::at("", expected))?;
            let messages = rest.list("messages").ok_or(Fault::at("", expected))?;
            parsed.rest = rest.into_map();
            (messages, "/messages")
        }
    };
    for (index, json) in messages.into_iter().enumerate() {
        if !json.is_object() {
            return Err(Fault::at(format!("{at}/{index}"), "a message, an object"));
        }
        message(json, &mut parsed.messages);
    }
    Ok(parsed)
}

/// Reads a message of this format, or of a provider's chat.
pub(super) fn message(json: Json, out: &mut Vec<Json>) {
    if !is_message(&json) && json.get("role").is_some() {
        let is_answer = json["type"] == "message" && json["content"].is_array();
        if is_answer || anthropic::detect(&Json::Array(vec![json.clone()])) {
            let fields = Fields::of(json).unwrap_or_default();
            anthropic::message(fields, Map::new(), out);
        } else if let Json::Object(map) = json {
            out.push(chat::message(map));
        }
        return;
    }
    let class = json["id"].as_array().and_then(|id| id.last()).cloned();
    let mut wrapper = Fields::of(json).unwrap_or_default();
    let inner = ["kwargs", "data"]
        .into_iter()
        .find_map(|key| wrapper.object(key));
    let mut fields = match inner {
        Some(inner) => inner,
        None => std::mem::take(&mut wrapper),
    };
    let kind = [wrapper.get("type"), fields.get("type"), class.as_ref()];
    let known = kind.into_iter().flatten().find_map(role);
    let neutral = fields.text("role");
    for fields in [&mut wrapper, &mut fields] {
        if fields
            .str("type")
            .is_some_and(|kind| kind == "constructor" || is_name(kind))
        {
            fields.take("type");
        }
    }
    let is_developer = |more: &Json| more["__openai_role__"] == "developer";
    let known = match fields.get("additional_kwargs") {
        Some(more) if known == Some("system") && is_developer(more) => Some("developer"),
        _ => known,
    };
    let mut draft = match known {
        Some("tool") => Draft::result(fields.take("tool_call_id"), fields.take("name")),
        Some(role) => Draft::new(role),
        None => Draft::new(neutral.as_deref().unwrap_or("assistant")),
    };
    if known.is_some()
        && let Some(neutral) = neutral
    {
        fields.put("role", neutral.into());
    }
    if let Some(name) = fields.text("name") {
        draft.set("name", name.into());
    }
    if fields.str("status") == Some("error") {
        draft.set("is_error", true.into());
    }
    let calls = calls(&mut fields);
    if let Some(text) = fields
        .text("reasoning_content")
        .filter(|text| !text.is_empty())
    {
        draft.named("thinking", text, Map::new());
    }
    let ids: Vec<Json> = calls
        .iter()
        .filter_map(|call| call.get("id").cloned())
        .collect();
    draft.content(fields.take("content"), |draft, json| {
        // The content may have a block for a call that is also in the list of calls. Such a block
        // is not read as a second call.
        let is_call = json["type"] == "tool_use" || json["type"] == "tool_call";
        if is_call && ids.contains(&json["id"]) {
            let about = [("content".to_owned(), Json::Array(vec![json]))];
            draft.about(about.into_iter().collect());
        } else {
            parts::any(draft, json);
        }
    });
    if let Some(text) = fields.text("refusal").filter(|text| !text.is_empty()) {
        draft.named("refusal", text, Map::new());
    }
    for call in calls {
        parts::call(&mut draft, call);
    }
    draft.rest(fields, &ABOUT);
    draft.rest(wrapper, &ABOUT);
    out.push(draft.into_json());
}

/// Takes the calls of a message. A message may have them in the form of its provider only.
fn calls(fields: &mut Fields) -> Vec<Json> {
    let mut calls = fields.list("tool_calls").unwrap_or_default();
    calls.extend(fields.list("invalid_tool_calls").into_iter().flatten());
    let Some(mut more) = fields.object("additional_kwargs") else {
        return calls;
    };
    if calls.is_empty() {
        calls.extend(more.take("function_call").filter(|call| !is_void(call)));
    }
    // Calls in `more` that repeat the message's own calls are not read again.
    let known: Vec<Json> = calls.iter().map(|call| call["id"].clone()).collect();
    let all = more.list("tool_calls").unwrap_or_default();
    let (repeated, new): (Vec<Json>, Vec<Json>) = all
        .into_iter()
        .partition(|call| !known.is_empty() && known.contains(&call["id"]));
    calls.extend(new);
    if !repeated.is_empty() {
        more.put("tool_calls", Json::Array(repeated));
    }
    // Some providers put text in fields other than `content`.
    for key in ["reasoning_content", "refusal"] {
        if let Some(neutral) = more.text(key) {
            fields.put(key, neutral.into());
        }
    }
    fields.put("additional_kwargs", Json::Object(more.into_map()));
    calls
}

/// Writes a conversation: messages with a `type`, and their values under `data`.
///
/// # Errors
/// When the format cannot express a message.
pub(crate) fn write(all: &[NeutralMessage], mut rest: Map<String, Json>) -> Result<Json, Cannot> {
    let messages = number(all).iter().map(written).collect::<Result<_, _>>()?;
    rest.insert("messages".to_owned(), Json::Array(messages));
    Ok(Json::Object(rest))
}

fn written(neutral: &NeutralMessage) -> Result<Json, Cannot> {
    let content = match neutral.only_text() {
        Some(text) => text.into(),
        None => Json::Array(neutral.write_parts(&neutral.parts, block)?),
    };
    let mut data = json!({ "content": content });
    let kind = match neutral.role.as_str() {
        "user" => "human",
        "assistant" => "ai",
        "system" => "system",
        "developer" => {
            data["additional_kwargs"] = json!({ "__openai_role__": "developer" });
            "system"
        }
        "tool" => {
            data["tool_call_id"] = neutral.answers()?.into();
            if let Some(tool) = &neutral.tool {
                data["name"] = tool.as_str().into();
            }
            if neutral.is_error {
                data["status"] = "error".into();
            }
            "tool"
        }
        "" => return Err(neutral.no_role()),
        other => {
            data["role"] = other.into();
            "chat"
        }
    };
    if let Some(name) = &neutral.name {
        data["name"] = name.as_str().into();
    }
    for call in &neutral.calls {
        let is_object = matches!(call.arguments, Arguments::Object(_));
        let (key, kind) = if is_object {
            ("tool_calls", "tool_call")
        } else {
            ("invalid_tool_calls", "invalid_tool_call")
        };
        let written =
            json!({ "name": call.tool, "args": call.value(), "id": call.id, "type": kind });
        let written = carried(written, &call.about);
        match &mut data[key] {
            Json::Array(calls) => calls.push(written),
            empty => *empty = Json::Array(vec![written]),
        }
    }
    Ok(json!({ "type": kind, "data": carried(data, &neutral.about) }))
}

fn block(what: &PartContent) -> Option<Json> {
    Some(match what {
        PartContent::Text(text) => json!({ "type": "text", "text": text }),
        PartContent::Thinking(text) => json!({ "type": "reasoning", "reasoning": text }),
        PartContent::Redacted(data) => json!({ "type": "redacted_thinking", "data": data }),
        PartContent::Refusal(text) => json!({ "type": "refusal", "refusal": text }),
        PartContent::Media(media) => {
            let (key, value) = match &media.at {
                At::Data(data) => ("base64", data),
                At::Url(url) => ("url", url),
                At::File(id) => ("file_id", id),
            };
            let mut block = json!({ "type": media.kind, key: value });
            for (key, value) in [("mime_type", &media.mime), ("filename", &media.name)] {
                if let Some(text) = value {
                    block[key] = text.as_str().into();
                }
            }
            block
        }
        PartContent::Other(..) => return None,
    })
}

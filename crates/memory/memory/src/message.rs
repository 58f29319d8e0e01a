//! A message of a list: its text as it was given, and the places of its calls, results and media.

use std::sync::Arc;

use accp_context::Recorded;
use accp_recordings::{LoneSurrogates, read_json};
use accp_registry::Hash;
use accp_tokens::MediaPrices;
use serde_json::{Map, Value as Json};

use crate::finding::{Code, Finding};
use crate::form::Form;
use crate::media::{self, Found};
use crate::raw::{Pointer, PointerStep, compact, replaced, unescaped};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
    Assistant,
    /// A result that is a message of its own. In Anthropic's form, results are in turns of the user instead.
    Tool,
    /// An item of the provider's, such as a reference or a summary, or a role that the form does not know.
    Other,
}

/// A call of a tool that the program has to answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// The id; the name of the function for calls without ids. Empty where it is missing.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Pointer,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The id of the call; empty where it is missing.
    pub(crate) id: String,
    pub(crate) content: Pointer,
    /// Whether the program says that the call failed.
    pub(crate) failed: bool,
}

/// One message of a list.
#[derive(Debug, Clone)]
pub struct ListMessage {
    raw: Arc<str>,
    json: Arc<Json>,
    /// The message with a line in the place of each picture, document and sound.
    shown: Arc<Json>,
    /// The text without the bytes of pictures, documents and sounds; `None` if the message has none of these.
    bare: Option<Arc<str>>,
    pub(crate) media: Arc<[Found]>,
    prices: MediaPrices,
    digest: Hash,
    /// The lone surrogates of the text. The value has U+FFFD in their places.
    lone: LoneSurrogates,
    pub(crate) role: Role,
    pub(crate) calls: Vec<Call>,
    pub(crate) answers: Vec<Answer>,
}

/// The types of calls in Responses that a program answers, each with the member that has the arguments.
const CALLS: [(&str, &str); 6] = [
    ("function_call", "arguments"),
    ("custom_tool_call", "input"),
    ("computer_call", "action"),
    ("local_shell_call", "action"),
    ("shell_call", "action"),
    ("apply_patch_call", "operation"),
];
/// The types of items with results end with this.
const OUTPUT: &str = "_output";

impl ListMessage {
    /// Reads the text of a message.
    ///
    /// # Errors
    /// When the text is not a JSON object.
    pub(crate) fn read(form: Form, index: usize, raw: &str) -> Result<Self, Finding> {
        let fault = |what: &str| {
            let text = format!("expected an object with a role or a type, found {what}");
            Finding::at(Code::NotAList, index, text)
        };
        let read = read_json(raw.as_bytes());
        let (json, lone) = read.map_err(|error| fault(&error.to_string()))?;
        match json {
            Json::Object(map) => Ok(Self::of(form, raw, map, lone)),
            other => Err(fault(kind(&other))),
        }
    }

    /// Makes a message of an object.
    pub(crate) fn of_object(form: Form, map: Map<String, Json>) -> Self {
        let raw = Json::Object(map.clone()).to_string();
        Self::of(form, &raw, map, LoneSurrogates::default())
    }

    /// Makes a message of an object and its text.
    fn of(form: Form, raw: &str, map: Map<String, Json>, lone: LoneSurrogates) -> Self {
        let (role, calls, answers) = match form {
            Form::OpenAi => chat(&map),
            Form::Anthropic => anthropic(&map),
            Form::Responses => responses(&map),
        };
        let media = media::found(form, &map);
        let json = Json::Object(map);
        let shown = media::described(form, &json, &media).map(Arc::new);
        let digest = digest(&json);
        let json = Arc::new(json);
        Self {
            bare: media::bare(raw, &json, &media).map(Arc::from),
            raw: Arc::from(raw),
            digest,
            shown: shown.unwrap_or_else(|| Arc::clone(&json)),
            json,
            media: media.into(),
            prices: media::prices(form),
            lone,
            role,
            calls,
            answers,
        }
    }

    /// Returns whether every form has the message with the same meaning: it has a role and texts, and nothing else.
    pub(crate) fn is_plain(&self) -> bool {
        let is_text = |part: &Json| part["text"].is_string() && has_only(part, &["type", "text"]);
        let content = &self.json["content"];
        let mut parts = content.as_array().into_iter().flatten();
        has_only(&self.json, &["role", "content"])
            && (content.is_string() || content.is_array() && parts.all(is_text))
    }

    /// Makes a message of the user.
    pub(crate) fn user(form: Form, text: &str) -> Self {
        let mut json = Map::new();
        if form == Form::Responses {
            json.insert("type".to_owned(), "message".into());
        }
        json.insert("role".to_owned(), "user".into());
        json.insert("content".to_owned(), text.into());
        let raw = Json::Object(json.clone()).to_string();
        let json = Arc::new(Json::Object(json));
        Self {
            raw: Arc::from(raw),
            shown: Arc::clone(&json),
            bare: None,
            media: Arc::new([]),
            prices: media::prices(form),
            digest: digest(&json),
            json,
            lone: LoneSurrogates::default(),
            role: Role::User,
            calls: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Returns the message with other values in these places; `None` if a place is not there.
    pub(crate) fn with(&self, form: Form, values: &[(Pointer, Json)]) -> Option<Self> {
        let texts: Vec<_> = values
            .iter()
            .map(|(place, value)| (place.clone(), value.to_string()))
            .collect();
        Self::read(form, 0, &replaced(&self.raw, &texts)?).ok()
    }

    /// Returns the message as it was given.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns the message as a value.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// Returns the message with a line in the place of each picture, document and sound.
    pub(crate) fn shown(&self) -> &Json {
        &self.shown
    }

    /// Returns the lone surrogates of the text.
    pub(crate) fn lone(&self) -> &LoneSurrogates {
        &self.lone
    }

    /// Returns the message as one line of compact JSON and a line feed, without the bytes of pictures, documents and
    /// sounds, and without escapes that JSON does not need. Tokens are counted in this form.
    pub(crate) fn line(&self) -> String {
        let text = self.bare.as_ref().unwrap_or(&self.raw);
        let mut line = unescaped(&compact(text)).into_owned();
        line.push('\n');
        line
    }

    /// Returns what a provider bills for pictures, documents and sounds: by these prices, or by those of the form.
    pub(crate) fn media_tokens(&self, prices: Option<MediaPrices>) -> u64 {
        let prices = prices.unwrap_or(self.prices);
        let media = self.media.iter();
        media.map(|found| prices.tokens(&found.medium)).sum()
    }

    /// Returns the pictures, documents and sounds of a result.
    pub(crate) fn media_of(&self, answer: &Answer) -> impl Iterator<Item = &Found> {
        let media = self.media.iter();
        media.filter(|found| found.part.is_inside(&answer.content))
    }

    /// Returns the digest that identifies the message. Spelling, the order of keys, and marks for a provider's cache
    /// do not change it.
    pub(crate) fn digest(&self) -> Hash {
        self.digest
    }

    /// Returns whether another message says the same: both have one digest, or one role and one text. A program makes a
    /// block of a text to put a mark for the cache on it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let has_text = |text| other.only_text() == Some(text);
        self.digest == other.digest || self.only_text().is_some_and(has_text)
    }

    /// Returns the role and the text of a message that has nothing else.
    fn only_text(&self) -> Option<(&str, &str)> {
        let text = match &self.json["content"] {
            Json::Array(blocks) => {
                let [block] = blocks.as_slice() else {
                    return None;
                };
                let is_text =
                    block["type"] == "text" && has_only(block, &["type", "text", "cache_control"]);
                block["text"].as_str().filter(|_| is_text)
            }
            content => content.as_str(),
        };
        let role = self.json["role"].as_str();
        role.zip(text)
            .filter(|_| has_only(&self.json, &["role", "content"]))
    }

    /// Returns whether the message stays in a list that older messages leave: a message of the system, or a `compaction`
    /// of Responses, which stands for earlier items and which only the provider can read.
    pub fn stays(&self) -> bool {
        self.role == Role::System || self.is_kind("compaction")
    }

    /// Returns whether the message is an item of this type.
    pub(crate) fn is_kind(&self, kind: &str) -> bool {
        self.json["type"] == kind
    }

    /// Returns the name of the speaker; `None` for a result, whose name is that of its tool.
    pub(crate) fn name(&self) -> Option<&str> {
        let speaks = matches!(self.role, Role::System | Role::User | Role::Assistant);
        // In Responses, a call has a `name` too: that of its tool.
        let speaks = speaks && self.json.get("role").is_some();
        let name = self.json.get("name").and_then(Json::as_str);
        name.filter(|name| speaks && !name.is_empty())
    }

    /// Returns the blocks of the content.
    pub(crate) fn blocks(&self) -> &[Json] {
        self.json["content"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the message as messages of the one model for recorded conversations. There, each result is a message
    /// of its own.
    pub(crate) fn model(&self, form: Form) -> Vec<Json> {
        accp_recordings::message(Json::clone(&self.shown), form.format())
    }

    /// Returns the words of the speaker, without results.
    pub(crate) fn words(&self, form: Form) -> String {
        let model = self.model(form);
        let recorded = model.iter().map(Recorded::of);
        let texts: Vec<_> = recorded
            .filter(|one| !one.is_result())
            .flat_map(Recorded::texts)
            .collect();
        texts.join("\n")
    }

    /// Returns the text of a result: its content, or the texts of its parts. Pictures, documents and sounds are the
    /// lines that say what they are, and other parts are JSON.
    pub(crate) fn text_of(&self, answer: &Answer) -> String {
        match answer.content.value(&self.shown) {
            Some(Json::String(text)) => text.clone(),
            Some(Json::Array(parts)) => {
                let text = |part: &Json| match part["text"].as_str() {
                    Some(text) => text.to_owned(),
                    None => part.to_string(),
                };
                parts.iter().map(text).collect::<Vec<_>>().join("\n")
            }
            Some(other) => match other["text"].as_str() {
                Some(text) => text.to_owned(),
                None => other.to_string(),
            },
            None => String::new(),
        }
    }

    /// Returns the arguments of a call. A text that is a JSON object is read as JSON.
    pub(crate) fn arguments(&self, call: &Call) -> Option<Json> {
        match call.arguments.value(&self.json)? {
            Json::String(text) => {
                let read = serde_json::from_str::<Json>(text).ok();
                Some(
                    read.filter(Json::is_object)
                        .unwrap_or_else(|| text.as_str().into()),
                )
            }
            value => Some(value.clone()),
        }
    }
}

/// Returns whether an object has no other members than these.
fn has_only(json: &Json, keys: &[&str]) -> bool {
    let mut all = json.as_object().into_iter().flat_map(Map::keys);
    all.all(|key| keys.contains(&&**key))
}

/// Returns the word for a kind of JSON.
pub(crate) fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

fn text(json: Option<&Json>) -> String {
    json.and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn chat(map: &Map<String, Json>) -> (Role, Vec<Call>, Vec<Answer>) {
    let mut calls = Vec::new();
    let mut answers = Vec::new();
    let role = match map.get("role").and_then(Json::as_str) {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(role @ ("tool" | "function")) => {
            let key = if role == "tool" {
                "tool_call_id"
            } else {
                "name"
            };
            answers.push(Answer {
                id: text(map.get(key)),
                content: Pointer::of(["content".into()]),
                failed: map.get("is_error") == Some(&Json::Bool(true)),
            });
            Role::Tool
        }
        _ => Role::Other,
    };
    let all = map.get("tool_calls").and_then(Json::as_array);
    for (index, call) in all.into_iter().flatten().enumerate() {
        let at = Pointer::of(["tool_calls".into(), index.into()]);
        let (inside, at, key) = match (call.get("function"), call.get("custom")) {
            (Some(function), _) => (function, at.inside("function"), "arguments"),
            (None, Some(custom)) => (custom, at.inside("custom"), "input"),
            (None, None) => (call, at, "arguments"),
        };
        calls.push(Call {
            id: text(call.get("id")),
            tool: text(inside.get("name")),
            arguments: at.inside(key),
        });
    }
    if let Some(call) = map.get("function_call").filter(|call| call.is_object()) {
        calls.push(Call {
            id: text(call.get("name")),
            tool: text(call.get("name")),
            arguments: Pointer::of(["function_call".into(), "arguments".into()]),
        });
    }
    (role, calls, answers)
}

fn anthropic(map: &Map<String, Json>) -> (Role, Vec<Call>, Vec<Answer>) {
    let role = match map.get("role").and_then(Json::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => Role::Other,
    };
    let mut calls = Vec::new();
    let mut answers = Vec::new();
    let blocks = map.get("content").and_then(Json::as_array);
    for (index, block) in blocks.into_iter().flatten().enumerate() {
        let at = Pointer::of(["content".into(), index.into()]);
        match block["type"].as_str() {
            Some("tool_use") => calls.push(Call {
                id: text(block.get("id")),
                tool: text(block.get("name")),
                arguments: at.inside("input"),
            }),
            Some("tool_result") => answers.push(Answer {
                id: text(block.get("tool_use_id")),
                content: at.inside("content"),
                failed: block["is_error"] == true,
            }),
            _ => {}
        }
    }
    (role, calls, answers)
}

fn responses(map: &Map<String, Json>) -> (Role, Vec<Call>, Vec<Answer>) {
    let kind = map.get("type").and_then(Json::as_str);
    let id = |map: &Map<String, Json>| text(map.get("call_id").or_else(|| map.get("id")));
    let role = match (kind, map.get("role").and_then(Json::as_str)) {
        (None | Some("message"), Some("user")) => Role::User,
        (None | Some("message"), Some("system" | "developer")) => Role::System,
        (None | Some("message"), Some("assistant")) => Role::Assistant,
        (Some("reasoning"), _) => Role::Assistant,
        (Some("item_reference" | "compaction"), _) => Role::Other,
        (Some(kind), _) if kind.ends_with(OUTPUT) => Role::Tool,
        (Some(kind), _) if kind.ends_with("_call") => Role::Assistant,
        _ => Role::Other,
    };
    let mut calls = Vec::new();
    let mut answers = Vec::new();
    let known = CALLS.iter().find(|(call, _)| Some(*call) == kind);
    if let Some(&(call, member)) = known {
        let tool = map.get("name").and_then(Json::as_str);
        calls.push(Call {
            id: id(map),
            tool: tool.unwrap_or(call.trim_end_matches("_call")).to_owned(),
            arguments: Pointer::of([PointerStep::from(member)]),
        });
    }
    let answered = kind.and_then(|kind| kind.strip_suffix(OUTPUT));
    if answered.is_some_and(|call| CALLS.iter().any(|(known, _)| *known == call)) {
        answers.push(Answer {
            id: id(map),
            content: Pointer::of(["output".into()]),
            failed: map.get("is_error") == Some(&Json::Bool(true)),
        });
    }
    (role, calls, answers)
}

/// Returns the digest of a message in a form that does not depend on its spelling.
fn digest(json: &Json) -> Hash {
    let mut text = String::new();
    canonical(json, &mut text);
    Hash::of(text.as_bytes())
}

/// Writes JSON with sorted keys, and without the marks for a provider's cache, which move as a list grows.
fn canonical(json: &Json, out: &mut String) {
    match json {
        Json::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Json::Object(map) => {
            let mut members: Vec<_> = map
                .iter()
                .filter(|(key, _)| *key != "cache_control")
                .collect();
            members.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (key, value) in members {
                out.push_str(&Json::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

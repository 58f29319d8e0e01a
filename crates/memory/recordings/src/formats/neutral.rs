//! A message on its way from one format to another: the values that formats share, and separately all other recorded
//! values.

use accp_context::{Call, Calls, Recorded};
use serde_json::{Map, Value as Json, json};

use super::fault::Cannot;
use super::fields::is_void;
use super::media::{Media, redacted};

/// Keys of a message that only say how it was recorded.
const ABOUT: [&str; 13] = [
    "id",
    "object",
    "created",
    "created_at",
    "timestamp",
    "model",
    "usage",
    "metadata",
    "weight",
    "annotations",
    "finish_reason",
    "logprobs",
    "index",
];

/// A message that can be written in any format. Two messages are equal if their texts, calls and results are equal.
/// Other recorded values are not compared.
#[derive(Debug, Clone)]
pub(crate) struct NeutralMessage {
    /// The index of the message, from 0.
    index: usize,
    pub(super) role: String,
    /// The speaker, if it is not a tool.
    pub(super) name: Option<String>,
    pub(super) call_id: Option<String>,
    /// The tool of a result.
    pub(super) tool: Option<String>,
    pub(super) is_error: bool,
    pub(super) parts: Vec<Part>,
    pub(super) calls: Vec<NeutralCall>,
    /// The keys that only our own form of OpenAI's chat has.
    pub(super) keys: Map<String, Json>,
    pub(super) about: Map<String, Json>,
}

/// A part of a message.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) content: PartContent,
    pub(super) about: Map<String, Json>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum PartContent {
    Text(String),
    Thinking(String),
    /// Thinking that only its provider can read, in base64.
    Redacted(String),
    Refusal(String),
    Media(Media),
    /// A part of a type that no other format has, and its text.
    Other(String, String),
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub(super) struct NeutralCall {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) arguments: Arguments,
    pub(super) about: Map<String, Json>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arguments {
    Object(Map<String, Json>),
    /// A text that is not a JSON object.
    Text(String),
}

impl PartialEq for NeutralMessage {
    fn eq(&self, other: &Self) -> bool {
        let tools = (&self.tool, &other.tool);
        (&self.role, &self.name, &self.call_id) == (&other.role, &other.name, &other.call_id)
            && tools.0 == tools.1
            && self.is_error == other.is_error
            && self.parts == other.parts
            && self.calls == other.calls
            && self.keys == other.keys
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl PartialEq for NeutralCall {
    fn eq(&self, other: &Self) -> bool {
        (&self.id, &self.tool, &self.arguments) == (&other.id, &other.tool, &other.arguments)
    }
}

impl NeutralMessage {
    /// Makes neutral messages of recorded messages.
    pub(crate) fn all<'m>(messages: impl Iterator<Item = Recorded<'m>>) -> Vec<Self> {
        let mut calls = Calls::default();
        let all = messages.enumerate().map(|(index, message)| {
            let tool = message.is_result().then(|| calls.answered(message));
            let neutral = Self::of(message, tool.flatten(), index);
            for call in &neutral.calls {
                calls.note(call.id.as_deref(), &call.tool);
            }
            neutral
        });
        all.collect()
    }

    fn of(message: Recorded<'_>, tool: Option<&str>, index: usize) -> Self {
        let mut rest = message.as_json().as_object().cloned().unwrap_or_default();
        let mut about = taken_map(&mut rest, Recorded::ABOUT);
        let mut parts = Vec::new();
        match rest.shift_remove("content") {
            Some(Json::String(text)) => {
                parts.extend(Part::of(&json!({ "text": text }), &mut about));
            }
            Some(Json::Array(all)) => {
                parts.extend(all.iter().filter_map(|part| Part::of(part, &mut about)));
            }
            _ => {}
        }
        let calls = message.calls().map(NeutralCall::of).collect();
        rest.retain(|key, value| {
            let known = ["role", "name", "tool_calls", "tool_call_id", "is_error"];
            !known.contains(&key.as_str()) && !is_void(value)
        });
        let (more, keys) = rest
            .into_iter()
            .partition(|(key, _)| ABOUT.contains(&key.as_str()));
        let is_result = message.is_result();
        Self {
            index,
            role: message.role().unwrap_or_default().to_owned(),
            name: message.name().filter(|_| !is_result).map(str::to_owned),
            call_id: message.call_id().map(str::to_owned),
            tool: tool.map(str::to_owned),
            is_error: message.as_json().get("is_error") == Some(&Json::Bool(true)),
            parts,
            calls,
            keys,
            about: joined(about, more),
        }
    }

    pub(super) fn is_result(&self) -> bool {
        self.role == "tool"
    }

    /// Makes the error that says why this message cannot be written.
    pub(crate) fn cannot(&self, why: impl Into<String>) -> Cannot {
        Cannot {
            message: self.index,
            why: why.into(),
        }
    }

    /// Returns everything that was recorded and no model saw.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = &Map<String, Json>> {
        let parts = self.parts.iter().map(|part| &part.about);
        let calls = self.calls.iter().map(|call| &call.about);
        std::iter::once(&self.about).chain(parts).chain(calls)
    }

    /// Writes the parts with `write`, which returns `None` for a part that the format has no place for.
    pub(super) fn write_parts(
        &self,
        parts: &[Part],
        mut write: impl FnMut(&PartContent) -> Option<Json>,
    ) -> Result<Vec<Json>, Cannot> {
        let parts = parts.iter().map(|part| {
            let written = write(&part.content);
            let written = written.ok_or_else(|| self.cannot(part.content.described()))?;
            Ok(carried(written, &part.about))
        });
        parts.collect()
    }

    /// Returns the parts at the beginning that are thinking, and the parts behind them.
    pub(super) fn thinking(&self) -> (&[Part], &[Part]) {
        let is_other = |part: &Part| {
            !matches!(
                part.content,
                PartContent::Thinking(_) | PartContent::Redacted(_)
            )
        };
        let at = self.parts.iter().position(is_other);
        self.parts.split_at(at.unwrap_or(self.parts.len()))
    }

    /// Returns the text of a message for a format whose messages have no parts, and the recorded values of the
    /// message and its part.
    pub(super) fn flat(&self) -> Result<(&str, Map<String, Json>), Cannot> {
        match self.parts.as_slice() {
            [] => Ok(("", self.about.clone())),
            [
                Part {
                    content: PartContent::Text(text),
                    about,
                },
            ] => Ok((text, joined(self.about.clone(), about.clone()))),
            [_] => Err(self.cannot(self.parts[0].content.described())),
            _ => Err(self.cannot("has more than one part")),
        }
    }

    /// Returns the text of a message that has nothing else; `""` if there is no text.
    pub(super) fn only_text(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [
                Part {
                    content: PartContent::Text(text),
                    about,
                },
            ] if about.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Returns the id of the call that this result answers.
    pub(super) fn answers(&self) -> Result<&str, Cannot> {
        let id = self.call_id.as_deref();
        id.ok_or_else(|| self.cannot("is a result that names no call"))
    }

    /// Returns the id of a call.
    pub(super) fn id_of<'c>(&self, call: &'c NeutralCall) -> Result<&'c str, Cannot> {
        let why = || self.cannot(format!("has a call of `{}` without an id", call.tool));
        call.id.as_deref().ok_or_else(why)
    }

    /// Returns the arguments of a call as an object.
    pub(super) fn object<'c>(
        &self,
        call: &'c NeutralCall,
    ) -> Result<&'c Map<String, Json>, Cannot> {
        match &call.arguments {
            Arguments::Object(map) => Ok(map),
            Arguments::Text(_) => Err(self.cannot(format!(
                "has a call of `{}` whose arguments are not a JSON object",
                call.tool
            ))),
        }
    }

    /// Refuses the name of a speaker.
    pub(super) fn without_name(&self) -> Result<(), Cannot> {
        match &self.name {
            Some(name) => Err(self.cannot(format!("names its speaker, `{name}`"))),
            None => Ok(()),
        }
    }

    /// Makes the error for a role that the format does not have.
    pub(super) fn no_role(&self) -> Cannot {
        match self.role.as_str() {
            "" => self.cannot("has no role"),
            "system" => self.cannot("is a system prompt behind the first message"),
            role => self.cannot(format!("has the role `{role}`")),
        }
    }
}

impl Part {
    /// Reads a part. An empty text gives no part; its recorded values go to `beside`.
    fn of(json: &Json, beside: &mut Map<String, Json>) -> Option<Self> {
        let mut rest = json.as_object().cloned()?;
        let kind = rest.shift_remove("type");
        let kind = kind.as_ref().and_then(Json::as_str).unwrap_or("text");
        let text = match rest.shift_remove("text") {
            Some(Json::String(text)) => text,
            _ => String::new(),
        };
        let about = taken_map(&mut rest, Recorded::ABOUT);
        let mut about = joined(about, rest);
        let content = match kind {
            "thinking" => PartContent::Thinking(text),
            "refusal" => PartContent::Refusal(text),
            "redacted_thinking" => match about.shift_remove("data") {
                Some(Json::String(data)) if redacted(&data) == text => PartContent::Redacted(data),
                _ => PartContent::Other(kind.to_owned(), text),
            },
            // No reader understands this part, so the model gets its JSON.
            "opaque" => PartContent::Text(text),
            "image" | "audio" | "video" | "file" => {
                let mut left = about.clone();
                match Media::take(kind, &mut left).filter(|media| media.text() == text) {
                    Some(media) => {
                        about = left;
                        PartContent::Media(media)
                    }
                    None => PartContent::Other(kind.to_owned(), text),
                }
            }
            "text" | "input_text" | "output_text" | "document" if text.is_empty() => {
                *beside = joined(std::mem::take(beside), about);
                return None;
            }
            "text" | "input_text" | "output_text" | "document" => PartContent::Text(text),
            other => PartContent::Other(other.to_owned(), text),
        };
        Some(Self { content, about })
    }
}

impl PartContent {
    pub(super) fn described(&self) -> String {
        match self {
            Self::Text(_) => "has a text".to_owned(),
            Self::Thinking(_) => "has thinking".to_owned(),
            Self::Redacted(_) => "has redacted thinking".to_owned(),
            Self::Refusal(_) => "has a refusal".to_owned(),
            Self::Media(media) => format!("has {}", media.text()),
            Self::Other(kind, _) => format!("has a part of type `{kind}`"),
        }
    }
}

impl NeutralCall {
    fn of(call: Call<'_>) -> Self {
        let recorded = call.as_json().get(Recorded::ABOUT);
        let mut about = recorded
            .and_then(Json::as_object)
            .cloned()
            .unwrap_or_default();
        let spelling = call.as_json().get(Call::SPELLING);
        let (arguments, spelling) = match call.recorded_arguments() {
            None | Some(Json::Null) => (Arguments::Object(Map::new()), None),
            Some(Json::String(text)) if text.is_empty() => (Arguments::Object(Map::new()), None),
            Some(Json::Object(map)) => (Arguments::Object(map.clone()), spelling),
            Some(text @ Json::String(json)) => match serde_json::from_str(json) {
                Ok(Json::Object(map)) => (Arguments::Object(map), Some(text)),
                _ => (Arguments::Text(json.clone()), None),
            },
            Some(other) => (Arguments::Text(other.to_string()), None),
        };
        // White space in the arguments has no meaning. Other differences, such as a repeated key, are kept.
        if let (Arguments::Object(map), Some(Json::String(text))) = (&arguments, spelling)
            && !is_spelt(&Json::Object(map.clone()), &compact(text))
        {
            about.insert(Call::SPELLING.to_owned(), text.as_str().into());
        }
        Self {
            id: call.id().map(str::to_owned),
            tool: call.tool().unwrap_or_default().to_owned(),
            arguments,
            about,
        }
    }

    /// Returns the arguments as a text, spelt as they were recorded, and the other recorded values.
    pub(super) fn spelt(&self) -> (String, Map<String, Json>) {
        let mut about = self.about.clone();
        let text = match &self.arguments {
            Arguments::Text(text) => text.clone(),
            Arguments::Object(map) => {
                let value = Json::Object(map.clone());
                let same =
                    |text: &&str| serde_json::from_str::<Json>(text).ok() == Some(value.clone());
                let spelling = about
                    .get(Call::SPELLING)
                    .and_then(Json::as_str)
                    .filter(same);
                match spelling.map(str::to_owned) {
                    Some(spelling) => {
                        about.shift_remove(Call::SPELLING);
                        spelling
                    }
                    None => value.to_string(),
                }
            }
        };
        (text, about)
    }

    /// Returns the arguments as an object or a text.
    pub(super) fn value(&self) -> Json {
        match &self.arguments {
            Arguments::Object(map) => Json::Object(map.clone()),
            Arguments::Text(text) => text.as_str().into(),
        }
    }
}

/// If no call of a conversation has an id, gives ids to the calls in their order. A result answers the first call
/// before it that has no answer yet.
pub(super) fn number(all: &[NeutralMessage]) -> Vec<NeutralMessage> {
    let mut all = all.to_vec();
    let has_id = |neutral: &NeutralMessage| {
        neutral.call_id.is_some() || neutral.calls.iter().any(|c| c.id.is_some())
    };
    if all.iter().any(has_id) {
        return all;
    }
    let mut open: Vec<(String, String)> = Vec::new();
    let mut next = 1;
    for neutral in &mut all {
        for call in &mut neutral.calls {
            let id = format!("call_{next}");
            next += 1;
            open.push((id.clone(), call.tool.clone()));
            call.id = Some(id);
        }
        let fits =
            |(_, tool): &(String, String)| neutral.tool.as_ref().is_none_or(|own| own == tool);
        if neutral.is_result()
            && let Some(at) = open.iter().position(fits)
        {
            let (id, tool) = open.remove(at);
            neutral.call_id = Some(id);
            neutral.tool = Some(tool);
        }
    }
    all
}

/// Returns these messages as a writer may have numbered them: with new ids if the calls in `found` have ids.
pub(crate) fn numbered_like(
    all: &[NeutralMessage],
    found: &[NeutralMessage],
) -> Vec<NeutralMessage> {
    let ids = found
        .iter()
        .any(|neutral| neutral.calls.iter().any(|call| call.id.is_some()));
    if ids { number(all) } else { all.to_vec() }
}

/// Adds the recorded values that no model saw, under a key of our own.
pub(super) fn carried(json: Json, about: &Map<String, Json>) -> Json {
    match json {
        Json::Object(mut map) if !about.is_empty() => {
            let both = joined(taken_map(&mut map, Recorded::ABOUT), about.clone());
            map.insert(Recorded::ABOUT.to_owned(), Json::Object(both));
            Json::Object(map)
        }
        json => json,
    }
}

fn joined(mut map: Map<String, Json>, more: Map<String, Json>) -> Map<String, Json> {
    super::fields::merge(&mut map, more);
    map
}

/// Takes the object under a key.
fn taken_map(map: &mut Map<String, Json>, key: &str) -> Map<String, Json> {
    match map.shift_remove(key) {
        Some(Json::Object(inner)) => inner,
        Some(odd) if !is_void(&odd) => [(key.to_owned(), odd)].into_iter().collect(),
        _ => Map::new(),
    }
}

/// Returns whether this is the compact text of the JSON.
fn is_spelt(json: &Json, text: &str) -> bool {
    let compact = json.to_string();
    compact == text
}

/// Returns a JSON text without the white space between its tokens.
fn compact(json: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    let keeps = |c: &char| {
        let keeps = inside || !c.is_ascii_whitespace();
        inside ^= *c == '"' && !escaped;
        escaped = inside && *c == '\\' && !escaped;
        keeps
    };
    json.chars().filter(keeps).collect()
}

//! Builds a message of the common form piece by piece.

use accp_context::{Call, Recorded};
use serde_json::{Map, Value as Json, json};

use super::fields::{Fields, is_void, merge};

/// The roles that a message with a result may have in a recording.
const ROLES: [&str; 4] = ["user", "assistant", "tool", "system"];

/// A message that a reader builds piece by piece. It has the parts that a model saw, each with a `text`, the calls,
/// and values that only say how the message was recorded.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    keys: Map<String, Json>,
    parts: Vec<Json>,
    calls: Vec<Json>,
    about: Map<String, Json>,
}

impl Draft {
    /// Begins a message of this role.
    pub(crate) fn new(role: &str) -> Self {
        let mut draft = Self::default();
        draft.set("role", role.into());
        draft
    }

    /// Begins the result of a call.
    pub(crate) fn result(id: Option<Json>, tool: Option<Json>) -> Self {
        let mut draft = Self::new("tool");
        let mut about = Map::new();
        for (key, recorded, value) in [("tool_call_id", "id", id), ("name", "name", tool)] {
            match value {
                Some(Json::String(text)) => draft.set(key, text.into()),
                Some(odd) if !is_void(&odd) => {
                    about.insert(recorded.to_owned(), odd);
                }
                _ => {}
            }
        }
        draft.shown(about);
        draft
    }

    /// Marks the result as failed if the recording says so.
    pub(crate) fn failed(&mut self, fields: &mut Fields) {
        if fields.get("is_error") == Some(&Json::Bool(true)) {
            fields.take("is_error");
            self.set("is_error", true.into());
        }
    }

    /// Sets a key of the message.
    pub(crate) fn set(&mut self, key: &str, value: Json) {
        self.keys.insert(key.to_owned(), value);
    }

    /// Adds words of the speaker.
    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.named("text", text, Map::new());
    }

    /// Adds a part with a type. `about` holds the values that no model saw as text.
    pub(crate) fn named(&mut self, kind: &str, text: impl Into<String>, about: Map<String, Json>) {
        let mut part = Map::new();
        part.insert("type".to_owned(), kind.into());
        part.insert("text".to_owned(), text.into().into());
        if !about.is_empty() {
            part.insert(Recorded::ABOUT.to_owned(), Json::Object(about));
        }
        self.parts.push(Json::Object(part));
    }

    /// Adds a part whose remaining keys are `fields`. Of these, `about` only say how the part was
    /// recorded; the others are shown.
    pub(crate) fn part(
        &mut self,
        kind: &str,
        text: impl Into<String>,
        fields: Fields,
        about: &[&str],
    ) {
        let (about, unknown) = fields.split(about);
        self.named(kind, text, about);
        self.shown(unknown);
    }

    /// Returns the type of a part, its other keys, and the whole part. A part that is not an object is added as it
    /// is, and `None` is returned.
    pub(crate) fn open(&mut self, part: Json) -> Option<(String, Fields, Json)> {
        let whole = part.clone();
        match Fields::of(part) {
            Ok(mut fields) => {
                let kind = fields.take("type");
                let kind = kind.as_ref().and_then(Json::as_str).unwrap_or_default();
                Some((kind.to_owned(), fields, whole))
            }
            Err(odd) => {
                self.opaque(&odd);
                None
            }
        }
    }

    /// Adds something that no reader understands: its JSON is shown whole.
    pub(crate) fn opaque(&mut self, json: &Json) {
        match json {
            Json::String(text) => self.named("text", text.as_str(), Map::new()),
            json if is_void(json) => {}
            json => self.named("opaque", json.to_string(), Map::new()),
        }
    }

    /// Adds keys that no reader knows: their JSON is shown whole.
    pub(crate) fn shown(&mut self, unknown: Map<String, Json>) {
        self.opaque(&Json::Object(unknown));
    }

    /// Adds the remaining keys of a message. The keys in `about` only say how the message was recorded; the other
    /// keys are shown.
    pub(crate) fn rest(&mut self, fields: Fields, about: &[&str]) {
        let (about, unknown) = fields.split(about);
        self.shown(unknown);
        self.about(about);
    }

    /// Adds the remaining keys of a program's event as recorded values. The reader has already taken the keys that a
    /// model saw. All other keys are the program's own, and each version has more of them.
    pub(crate) fn event(&mut self, mut fields: Fields) {
        let recorded = fields.object(Recorded::ABOUT).unwrap_or_default();
        self.about(fields.into_map());
        self.about(recorded.into_map());
    }

    /// Adds what only says how the message was recorded. Two values of one key are both kept.
    pub(crate) fn about(&mut self, about: Map<String, Json>) {
        merge(&mut self.about, about);
    }

    /// Adds the content of a message: a text, or parts that `part` reads.
    pub(crate) fn content(&mut self, content: Option<Json>, mut part: impl FnMut(&mut Self, Json)) {
        match content {
            Some(Json::String(text)) => self.text(text),
            Some(Json::Array(parts)) => parts.into_iter().for_each(|json| part(self, json)),
            Some(odd) => self.opaque(&odd),
            None => {}
        }
    }

    /// Adds a call. The arguments are a value or a JSON text. A call without a name is shown as
    /// it is.
    pub(crate) fn call(
        &mut self,
        id: Option<Json>,
        name: Option<Json>,
        arguments: Option<Json>,
        about: Map<String, Json>,
    ) {
        let id = id.filter(|id| !id.is_null());
        let (name, id) = match (name, id) {
            (Some(Json::String(name)), id @ (None | Some(Json::String(_)))) => (name, id),
            (name, id) => {
                let whole =
                    json!({ "id": id, "name": name, "arguments": arguments, "about": about });
                let (_, whole) = Fields::of(whole).unwrap_or_default().split(&[]);
                self.shown(whole);
                return;
            }
        };
        let mut call = Map::new();
        if let Some(id) = id {
            call.insert("id".to_owned(), id);
        }
        let (value, text) = match arguments {
            Some(Json::String(text)) => match serde_json::from_str(&text) {
                Ok(value @ Json::Object(_)) => (Some(value), Some(text)),
                _ => (None, Some(text)),
            },
            value => (value, None),
        };
        match (value, text) {
            (None, Some(text)) => {
                call.insert("type".to_owned(), "function".into());
                let function = json!({ "name": name, "arguments": text });
                call.insert("function".to_owned(), function);
            }
            (value, text) => {
                call.insert("name".to_owned(), name.into());
                let compact = value.as_ref().map(Json::to_string);
                call.extend(value.map(|value| ("arguments".to_owned(), value)));
                let spelling = text.filter(|text| compact.as_ref() != Some(text));
                call.extend(spelling.map(|text| (Call::SPELLING.to_owned(), text.into())));
            }
        }
        if !about.is_empty() {
            call.insert(Recorded::ABOUT.to_owned(), Json::Object(about));
        }
        self.calls.push(Json::Object(call));
    }

    /// Returns whether the message has neither content nor calls.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.calls.is_empty()
    }

    /// Ends the message. The messages in `out` from `first` on were split off from it. If the rest of the message
    /// says nothing, its recorded values go to the last of these messages.
    pub(crate) fn end(self, out: &mut Vec<Json>, first: usize) {
        let is_empty = self.is_empty();
        match out[first..].last_mut() {
            Some(Json::Object(last)) if is_empty => {
                let known = |key: &str, value: &Json| {
                    key == "role" && ROLES.iter().any(|role| value == role)
                };
                let keys = self.keys.into_iter();
                let keys = keys.filter(|(key, value)| !known(key, value));
                let about: Map<String, Json> = keys.chain(self.about).collect();
                if !about.is_empty() {
                    let slot = last.entry(Recorded::ABOUT);
                    if let Json::Object(slot) = slot.or_insert_with(|| json!({})) {
                        merge(slot, about);
                    }
                }
            }
            _ => out.push(self.into_json()),
        }
    }

    /// Returns whether the message has calls.
    pub(crate) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Returns the message. If the content is a single plain text, it is written as a string.
    pub(crate) fn into_json(self) -> Json {
        let mut message = self.keys;
        let plain = |part: &Json| part["type"] == "text" && part.get(Recorded::ABOUT).is_none();
        let content = match self.parts.as_slice() {
            [] => Json::Null,
            [part] if plain(part) => part["text"].clone(),
            _ => Json::Array(self.parts),
        };
        message.insert("content".to_owned(), content);
        if !self.calls.is_empty() {
            message.insert("tool_calls".to_owned(), Json::Array(self.calls));
        }
        if !self.about.is_empty() {
            message.insert(Recorded::ABOUT.to_owned(), Json::Object(self.about));
        }
        Json::Object(message)
    }
}

//! A recorded conversation, checked once and kept unchanged.

use std::borrow::Cow;
use std::fmt;

use accp_context::Recorded;
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use crate::content::Content;
use crate::exact::LoneSurrogates;
use crate::format::Format;
use crate::formats::{self, Fault, Parsed};
use crate::leaves::Leaves;
use crate::shell;
use crate::words::Formats;

/// The key of the recorded values that no model saw.
pub(crate) const RECORDED: &str = "_recorded";
/// The key of the messages.
const MESSAGES: &str = "messages";

/// A conversation as it was recorded. Its messages have one common form, whatever the format of the recording is.
///
/// The common form of a message is that of OpenAI's chat: `role`, `content`, `tool_calls`, `tool_call_id`. If a
/// content has parts, each part has a `text`. A part that no reader understands is shown whole: its type is `opaque`,
/// and its text is the JSON of the part. Recorded values about a message that no model saw are under
/// [`Recorded::ABOUT`].
///
/// ```
/// use accp_recordings::{Conversation, Format};
/// use serde_json::json;
///
/// let recorded = json!({ "system": "Be brief.", "messages": [
///     { "role": "user", "content": [{ "type": "text", "text": "Rye?" }] },
///     { "role": "assistant", "content": [
///         { "type": "tool_use", "id": "t1", "name": "stock", "input": { "flour": "rye" } }] },
///     { "role": "user", "content": [
///         { "type": "tool_result", "tool_use_id": "t1", "content": "4" }] }] });
/// let conversation = Conversation::new(recorded)?;
/// assert_eq!(conversation.format(), Format::Anthropic);
/// let roles: Vec<_> = conversation.messages().filter_map(|message| message.role()).collect();
/// assert_eq!(roles, ["system", "user", "assistant", "tool"]);
/// # Ok::<(), accp_recordings::NotConversation>(())
/// ```
#[derive(Debug, Clone)]
pub struct Conversation {
    json: Json,
    format: Format,
    /// The messages and the other keys; `None` if the messages of the document are in the common form already.
    parsed: Option<Parsed>,
    /// The lone surrogates of the document, which has U+FFFD in their places.
    lone: LoneSurrogates,
}

/// JSON that is not a recorded conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotConversation {
    /// The JSON has none of the formats. Holds what was found instead, and what the user can do.
    #[error(
        "expected a conversation: an object whose `messages` is an array of objects with `role` \
         and `content`, or that array, or another of the formats {formats} (`--format-in` forces \
         one); found {0}",
        formats = names()
    )]
    Messages(String),
    /// The message with this index, from 0, is not an object; holds the kind of JSON found instead.
    #[error(
        "expected `messages[{0}]` to be an object with `role` and `content`, found {1} (read as \
         openai; `--format-in` forces another format)"
    )]
    Message(usize, &'static str),
    /// The document cannot be read in this format.
    #[error("expected {expected} at {place} (read as {format})", place = place(pointer))]
    Part {
        /// The format that was found out or asked for.
        format: Format,
        /// The JSON pointer of the fault.
        pointer: String,
        /// What was expected there.
        expected: &'static str,
    },
    /// The JSON has the marks of several formats; holds their names with the marks.
    #[error("the document could be of several formats: {0}; name the right one with `--format-in`")]
    Several(String),
    /// The document says something that its messages would lack.
    #[error(
        "the value at `{pointer}` would be lost (read as {format}): report it with this line, or \
         force another format"
    )]
    Lost {
        /// The format that was found out or asked for.
        format: Format,
        /// The JSON pointer of the value.
        pointer: String,
    },
}

impl NotConversation {
    /// Returns the index of the list item that has the fault, if the document is a list.
    pub(crate) fn item(&self) -> Option<usize> {
        let pointer = match self {
            Self::Messages(_) | Self::Several(_) => return None,
            Self::Message(index, _) => return Some(*index),
            Self::Part { pointer, .. } | Self::Lost { pointer, .. } => pointer,
        };
        pointer.split('/').nth(1)?.parse().ok()
    }
}

/// Returns the place of a JSON pointer in words, for an error.
fn place(pointer: &str) -> String {
    match pointer {
        "" => "the top".to_owned(),
        pointer => format!("`{pointer}`"),
    }
}

/// Returns the names of all formats.
fn names() -> String {
    Format::ALL.map(Format::name).join(", ")
}

impl Conversation {
    /// Finds out the format of a document by its content, and reads the document.
    ///
    /// # Errors
    /// When the JSON is not a conversation.
    pub fn new(json: Json) -> Result<Self, NotConversation> {
        if let Some(format) = formats::detect(&json) {
            return Self::read(json, format);
        }
        Err(match formats::claims(&json).as_slice() {
            [] => NotConversation::Messages(without_format(&json)),
            several => NotConversation::Several(marked(several)),
        })
    }

    /// Reads a document of this format.
    ///
    /// # Errors
    /// When the document does not have this format, or the messages would lack something that the
    /// document says.
    pub fn read(json: Json, format: Format) -> Result<Self, NotConversation> {
        let parsed = formats::read(&json, format);
        let parsed = parsed.map_err(|fault| refused(&json, format, fault))?;
        let conversation = Self {
            json,
            format,
            parsed,
            lone: LoneSurrogates::default(),
        };
        match conversation.lost() {
            Some(pointer) => Err(NotConversation::Lost { format, pointer }),
            None => Ok(conversation),
        }
    }

    /// Returns the place of the first value of the document that neither the messages nor the other keys hold.
    fn lost(&self) -> Option<String> {
        let parsed = self.parsed.as_ref()?;
        let mut kept = Leaves::default();
        parsed.messages.iter().for_each(|message| kept.add(message));
        parsed.rest.values().for_each(|value| kept.add(value));
        kept.first_lost(&self.json, self.formats())
    }

    fn formats(&self) -> Formats {
        Formats {
            document: self.format,
            answered: self.parsed.as_ref().and_then(|parsed| parsed.answered),
        }
    }

    /// Counts the bytes of the document that the messages have to show, and the bytes that each message shows.
    pub fn content(&self) -> Content {
        let mut document = Leaves::default();
        document.add(&self.json);
        let mut beside = Leaves::default();
        self.rest()
            .for_each(|(_, value)| beside.add_as_in(&document, value));
        for message in self.messages() {
            let about = message.not_shown().into_iter();
            about.for_each(|json| beside.add_as_in(&document, json));
        }
        Content::count(&self.json, self.formats(), &beside, self.messages())
    }

    /// Returns the format of the recording.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the document without the values that its messages hold; `None` if the messages of the document are in
    /// the common form already.
    pub(crate) fn shell(&self) -> Option<Json> {
        let parsed = self.parsed.as_ref()?;
        Some(shell::cut(&self.json, &parsed.messages))
    }

    /// Builds a conversation from these messages and the other recorded keys. A `bare`
    /// conversation is an array of messages without keys.
    pub(crate) fn of(
        messages: Vec<Json>,
        mut rest: Map<String, Json>,
        bare: bool,
    ) -> Result<Self, NotConversation> {
        let messages = Json::Array(messages);
        let json = if bare {
            messages
        } else {
            rest.insert(MESSAGES.into(), messages);
            Json::Object(rest)
        };
        Self::read(json, Format::OpenAi)
    }

    /// Builds a conversation from its shell. The given messages are kept, and not read again from the document: the
    /// keys of the restored document may have another order, which would change the texts of opaque parts.
    pub(crate) fn restored(
        shell: &Json,
        messages: Vec<Json>,
        format: Format,
    ) -> Result<Option<Self>, NotConversation> {
        let Some(json) = shell::fill(shell, &messages) else {
            return Ok(None);
        };
        let mut conversation = Self::read(json, format)?;
        if let Some(parsed) = &mut conversation.parsed {
            parsed.messages = messages;
        }
        Ok(Some(conversation))
    }

    /// Returns the conversation with other messages, and without the key `without` outside the messages. The document
    /// changes only if it has its messages in the common form.
    pub(crate) fn with_messages(mut self, messages: Vec<Json>, without: &str) -> Self {
        if let Some(parsed) = &mut self.parsed {
            parsed.messages = messages;
            parsed.rest.shift_remove(without);
            if let Some(Json::Object(beside)) = parsed.rest.get_mut(RECORDED) {
                beside.shift_remove(without);
            }
        } else if let Some(document) = self.json.as_object_mut() {
            document.insert(MESSAGES.to_owned(), messages.into());
            document.shift_remove(without);
        } else {
            self.json = messages.into();
        }
        self
    }

    /// Returns the recorded JSON.
    pub fn as_json(&self) -> &Json {
        &self.json
    }

    /// Returns the recorded JSON.
    pub fn into_json(self) -> Json {
        self.json
    }

    /// Returns the conversation with the lone surrogates of its text.
    pub(crate) fn with_lone(self, lone: LoneSurrogates) -> Self {
        Self { lone, ..self }
    }

    /// Returns the lone surrogates of the recording. Its JSON has U+FFFD in their places.
    pub(crate) fn lone(&self) -> &LoneSurrogates {
        &self.lone
    }

    /// Returns whether the conversation is a bare array of messages.
    pub fn is_bare(&self) -> bool {
        self.json.is_array()
    }

    /// Returns the messages in their order.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Recorded<'_>> + Clone {
        let recorded = || {
            let bare = self.json.as_array();
            bare.or_else(|| self.json.get(MESSAGES)?.as_array())
        };
        let messages = match &self.parsed {
            Some(parsed) => Some(&parsed.messages),
            None => recorded(),
        };
        messages
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .map(Recorded::of)
    }

    /// Returns the value of a key outside the messages: `id`, `tools`, and the other recorded keys.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match &self.parsed {
            Some(parsed) => parsed.rest.get(key),
            None => self.json.get(key).filter(|_| key != MESSAGES),
        }
    }

    /// Returns the keys outside the messages, with their values.
    pub(crate) fn rest(&self) -> impl Iterator<Item = (&String, &Json)> {
        let (rest, own) = match &self.parsed {
            Some(parsed) => (Some(&parsed.rest), None),
            None => (self.json.as_object(), Some(MESSAGES)),
        };
        let all = rest.into_iter().flatten();
        all.filter(move |(key, _)| own != Some(key.as_str()))
    }

    /// Returns the recorded id: a text or a number.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        match self.get("id")? {
            Json::String(id) => Some(Cow::Borrowed(id)),
            id @ Json::Number(_) => Some(Cow::Owned(id.to_string())),
            _ => None,
        }
    }

    /// Returns the half of all conversations that this conversation belongs to. The half does not depend on the file.
    pub fn half(&self) -> Half {
        let id = self.id();
        let id = id.unwrap_or_else(|| Cow::Owned(self.json.to_string()));
        if Sha256::digest(id.as_bytes())[0] & 1 == 0 {
            Half::Learn
        } else {
            Half::Measure
        }
    }
}

/// Writes the recorded JSON as compact text, with the lone surrogates of the recorded text.
impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lone.write(&self.json))
    }
}

/// Compares all but the other keys: these follow from the document, except for their order.
impl PartialEq for Conversation {
    fn eq(&self, other: &Self) -> bool {
        self.format == other.format
            && self.json == other.json
            && self.lone == other.lone
            && self.messages().eq(other.messages())
    }
}

/// One of the two halves of all conversations: a registry learnt from one half is measured on
/// the other. The id of a conversation decides its half; without an id its whole JSON decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The last bit of the first byte of SHA-256 over the id is 0.
    Learn,
    /// The last bit of the first byte of SHA-256 over the id is 1.
    Measure,
}

/// Makes the error for a document that a reader refused.
fn refused(json: &Json, format: Format, fault: Fault) -> NotConversation {
    let at = json.pointer(&fault.pointer).map_or("nothing", found);
    let index = fault
        .pointer
        .rsplit('/')
        .next()
        .and_then(|index| index.parse().ok());
    match (format, index) {
        (Format::OpenAi, Some(index)) => NotConversation::Message(index, at),
        (Format::OpenAi, None) => NotConversation::Messages(without_format(json)),
        _ => NotConversation::Part {
            format,
            pointer: fault.pointer,
            expected: fault.expected,
        },
    }
}

/// Describes a document without a known format, and says what the user can do.
fn without_format(json: &Json) -> String {
    const KEYS: usize = 6;
    if formats::is_piece(json) {
        let cure = "record the whole answer, or all pieces in an array beside the request: \
                    {\"request\": .., \"response\": [..]}";
        return format!("a piece of a streamed answer; {cure}");
    }
    let said = match json {
        Json::Object(map) if map.get(MESSAGES).is_some_and(|json| !json.is_array()) => {
            format!("an object whose `{MESSAGES}` is {}", found(&map[MESSAGES]))
        }
        Json::Object(map) if !map.is_empty() => {
            let mut names: Vec<String> = map.keys().map(|key| format!("`{key}`")).collect();
            let more = names.len() > KEYS;
            names.truncate(KEYS);
            let more = if more { " and others" } else { "" };
            format!("an object with {}{more}", names.join(", "))
        }
        other => found(other).to_owned(),
    };
    let cure = formats::place(json).map(|place| {
        format!("; a conversation stands at `{place}`: give that value alone, or under `messages`")
    });
    said + &cure.unwrap_or_default()
}

/// Returns the names of formats with their marks.
fn marked(formats: &[Format]) -> String {
    let named = formats.iter().map(|format| {
        let marks = formats::marks(*format);
        format!("{format} ({marks})")
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Returns the kind of a JSON value, for an error.
fn found(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object without it",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn half(json: Json) -> Half {
        Conversation::new(json).unwrap().half()
    }

    #[test]
    fn the_halves_never_change() {
        let halves: String = (0..16)
            .map(
                |id| match half(json!({ "id": id.to_string(), "messages": [] })) {
                    Half::Learn => 'l',
                    Half::Measure => 'm',
                },
            )
            .collect();
        insta::assert_snapshot!(halves, @"mmllmmmmlmlmmmml");
        let number = half(json!({ "id": 2, "messages": [] }));
        assert_eq!(number, half(json!({ "id": "2", "messages": [] })));
    }

    #[test]
    fn without_an_id_it_goes_by_what_it_says() {
        let half = |n: u32| half(json!({ "messages": [{ "content": n }] }));
        assert!((0..16).any(|n| half(n) != half(0)));
    }

    #[test]
    fn what_is_no_conversation_is_told() {
        let of = |json| Conversation::new(json).map_err(|error| format!("{error:?}"));
        for (json, expected) in [
            (json!(null), "Messages(\"null\")"),
            (json!({}), "Messages(\"an object without it\")"),
            (json!([{ "n": 1 }]), "Messages(\"an array\")"),
            (json!([{}, "x"]), "Message(1, \"a string\")"),
            (json!({ "messages": [1] }), "Message(0, \"a number\")"),
        ] {
            assert_eq!(of(json).unwrap_err(), expected);
        }
        let bare = of(json!([{ "role": "user" }])).unwrap();
        assert!(bare.is_bare() && bare.messages().len() == 1 && bare.id().is_none());
    }
}

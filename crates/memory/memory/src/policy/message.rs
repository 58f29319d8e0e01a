//! Messages of a conversation, as policies get them.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value as Json;

use accp_context::Recorded;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The kind of a message or a segment of a prompt, for statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// System prompts, which the tokens "without the system prompt" leave out.
    System,
    /// Tool schemas.
    Tools,
    /// Instructions for reading the rest of the prompt.
    Primer,
    /// Words of a user.
    User,
    /// Words of an agent.
    Agent,
    /// A message with tool calls.
    Call,
    /// A tool's result.
    Result,
    /// A replacement for messages that have left: facts, summaries, a manifest.
    Facts,
}

/// A message of a conversation, as policies get it.
///
/// ```
/// use accp_context::Recorded;
/// use accp_memory::policy::{Kind, Message};
/// use serde_json::json;
///
/// let prompt = json!({ "role": "system", "name": "clerk", "content": "Be brief." });
/// let message = Message::new(0, Recorded::of(&prompt)).expect("it has a role");
/// assert_eq!(message.kind, Kind::System);
/// assert!(message.is_for("clerk") && !message.is_for("desk"));
/// assert_eq!(message.original(), prompt.to_string());
/// ```
#[derive(Debug, Clone)]
pub struct Message {
    /// The index in the conversation, from 0.
    pub index: usize,
    /// The message as a model saw it, without keys that only say how it was recorded.
    pub json: Arc<Json>,
    /// `json` as compact JSON and a line feed.
    pub text: Arc<str>,
    /// The kind, which depends on the speaker and on tool calls.
    pub kind: Kind,
    /// The only agent that reads the message: a system prompt with a name is for the agent of that
    /// name.
    pub only_for: Option<Arc<str>>,
    /// When the message was said, in Unix seconds; `None` if the recording does not say when.
    pub time: Option<f64>,
}

impl Kind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::System,
        Self::Tools,
        Self::Primer,
        Self::User,
        Self::Agent,
        Self::Call,
        Self::Result,
        Self::Facts,
    ];

    /// Returns the word for the kind in dumps and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Tools => "tools",
            Self::Primer => "primer",
            Self::User => "user",
            Self::Agent => "agent",
            Self::Call => "call",
            Self::Result => "result",
            Self::Facts => "facts",
        }
    }
}

impl Message {
    /// Makes the message of this index from a recorded message; `None` if it has no role.
    pub fn new(index: usize, recorded: Recorded<'_>) -> Option<Self> {
        let kind = match recorded.role()? {
            "system" | "developer" => Kind::System,
            "user" => Kind::User,
            _ if recorded.is_result() => Kind::Result,
            _ if recorded.calls().next().is_some() => Kind::Call,
            _ => Kind::Agent,
        };
        let shown = recorded.shown();
        let name = recorded.name().filter(|_| kind == Kind::System);
        Some(Self {
            index,
            text: Arc::from(format!("{shown}\n")),
            kind,
            only_for: name.map(Arc::from),
            time: time(recorded),
            json: Arc::new(shown),
        })
    }

    /// Returns the message as a recorded message, which gives its role, texts and calls.
    pub fn recorded(&self) -> Recorded<'_> {
        Recorded::of(&self.json)
    }

    /// Returns whether the agent of this name reads the message.
    pub fn is_for(&self, agent: &str) -> bool {
        self.only_for.as_deref().is_none_or(|only| only == agent)
    }

    /// Returns the speaker and, if recorded, the recipient: `dev` or `dev to planner`.
    pub fn speaker(&self) -> String {
        let recorded = self.recorded();
        let role = recorded.role().unwrap_or_default();
        let name = recorded.name().unwrap_or(role);
        match recorded.to() {
            Some(to) => format!("{name} to {to}"),
            None => name.to_owned(),
        }
    }

    /// Returns the message as text without JSON: its words, and each call as `> tool(key: value)`.
    ///
    /// ```
    /// use accp_context::Recorded;
    /// use accp_memory::policy::Message;
    /// use serde_json::json;
    ///
    /// let json = json!({ "role": "assistant", "content": "I look.", "tool_calls": [
    ///     { "id": "c1", "name": "stock", "arguments": { "item": "rye", "bags": 4 } }] });
    /// let message = Message::new(0, Recorded::of(&json)).expect("it has a role");
    /// assert_eq!(message.plain(), "I look.\n> stock(item: rye, bags: 4)");
    /// ```
    pub fn plain(&self) -> String {
        self.plain_with(|_, _| None)
    }

    /// Returns the same text as [`plain`](Self::plain), but asks `write` for the text of a call's arguments, and of
    /// the lists and objects in them. `write` gets a value and its plain text. The plain text stays if `write`
    /// returns `None`.
    pub(crate) fn plain_with(
        &self,
        mut write: impl FnMut(&Json, &str) -> Option<String>,
    ) -> String {
        let recorded = self.recorded();
        let mut out = recorded.texts().join("\n");
        for call in recorded.calls() {
            if !out.is_empty() {
                out.push('\n');
            }
            let tool = call.tool().unwrap_or_default();
            let arguments = call.arguments();
            let _ = match arguments.as_deref() {
                Some(Json::Object(fields)) => {
                    let plain = plain_fields(fields, &mut |_, _| None);
                    match write(&Json::Object(fields.clone()), &plain) {
                        Some(text) => write!(out, "> {tool} {text}"),
                        None => write!(out, "> {tool}({})", plain_fields(fields, &mut write)),
                    }
                }
                Some(other) => write!(out, "> {tool}({other})"),
                None => {
                    let text = call.recorded_arguments().and_then(Json::as_str);
                    write!(out, "> {tool}({})", text.unwrap_or_default())
                }
            };
        }
        out
    }

    /// Returns the original. [`Policy::recover`](super::Policy::recover) has to return these bytes.
    pub fn original(&self) -> &str {
        self.text.trim_end_matches('\n')
    }
}

/// Returns the members of an object as `key: value, key: value`.
fn plain_fields(
    fields: &serde_json::Map<String, Json>,
    write: &mut impl FnMut(&Json, &str) -> Option<String>,
) -> String {
    let fields = fields.iter().map(|(key, value)| match value {
        Json::String(text) => format!("{key}: {text}"),
        Json::Object(_) | Json::Array(_) => {
            let recorded = value.to_string();
            format!("{key}: {}", write(value, &recorded).unwrap_or(recorded))
        }
        other => format!("{key}: {other}"),
    });
    let fields: Vec<String> = fields.collect();
    fields.join(", ")
}

/// The keys under which programs record when a message was said.
const CLOCKS: [&str; 4] = ["timestamp", "created_at", "createdAt", "time"];
/// A number from here on counts milliseconds: as seconds it would be in the year 5138.
const MILLIS: f64 = 1e11;

/// Returns when a message was said, in Unix seconds.
fn time(message: Recorded<'_>) -> Option<f64> {
    let beside = message.not_shown();
    let known = std::iter::once(message.as_json()).chain(beside);
    let known = known.into_iter().find_map(|about| {
        let found = CLOCKS.iter().find_map(|key| about.get(*key));
        found.filter(|found| !found.is_null())
    })?;
    match known {
        Json::String(text) => {
            let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
            Some(time.unix_timestamp_nanos() as f64 / 1e9)
        }
        number => {
            let number = number.as_f64()?;
            Some(if number >= MILLIS {
                number / 1e3
            } else {
                number
            })
        }
    }
}

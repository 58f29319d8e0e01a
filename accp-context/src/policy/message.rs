//! A message of a conversation, as policies are told it.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::recorded::Recorded;

/// What a message or a segment of a prompt is, for the figures by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// System prompts: left out of the tokens "without the system prompt".
    System,
    /// Tool schemas.
    Tools,
    /// What teaches the model to read the rest.
    Primer,
    /// What a user said.
    User,
    /// What an agent said.
    Agent,
    /// A message with tool calls.
    Call,
    /// A tool's result.
    Result,
    /// What stands for messages that are no longer there: facts, summaries, a manifest.
    Facts,
}

/// A message of a conversation, as policies are told it.
///
/// ```
/// use accp_context::Recorded;
/// use accp_context::policy::{Kind, Message};
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
    /// From 0 in the conversation.
    pub index: usize,
    /// As a model was shown it: without what only says how it was recorded.
    pub json: Arc<Json>,
    /// The same as compact JSON and a line feed.
    pub text: Arc<str>,
    /// Who says it, and whether it calls tools.
    pub kind: Kind,
    /// The only agent that reads it: a system prompt with a name is for the agent of that name.
    pub only_for: Option<Arc<str>>,
}

impl Kind {
    /// All kinds, in the order of the figures.
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

    /// The word of the dump, which is also that of JSON.
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
    /// The recorded message in this place; `None` if it has no role.
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
            json: Arc::new(shown),
        })
    }

    /// What can be asked of a recorded message.
    pub fn recorded(&self) -> Recorded<'_> {
        Recorded::of(&self.json)
    }

    /// Whether the agent of this name reads it.
    pub fn is_for(&self, agent: &str) -> bool {
        self.only_for.as_deref().is_none_or(|only| only == agent)
    }

    /// The original, whose bytes [`Policy::recover`](super::Policy::recover) has to give back.
    pub fn original(&self) -> &str {
        self.text.trim_end_matches('\n')
    }
}

//! What a policy is: the way from a transcript to prompts.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use accp_runtime::view::View;
use accp_tokens::Bpe;

use super::transcript::{Agent, Message};

/// What a segment of a prompt is, for the figures by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// System prompts: left out of the tokens "without the system prompt".
    System,
    /// Tool schemas.
    Tools,
    /// What teaches the model to read the rest.
    Primer,
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

/// A piece of a prompt. The prompt is the texts of its segments one after another, with
/// nothing added between; end each with a line feed.
///
/// Cloning is cheap. Give the same `Arc` again for what did not change since the last prompt:
/// the instrument then counts it once.
#[derive(Debug, Clone)]
pub struct Segment {
    pub kind: Kind,
    pub text: Arc<str>,
    /// What the text binds together, where its syntax does not say so in a way that
    /// [`super::binding`] knows: abbreviated keys, values by position. A pair counts only if
    /// its value stands in the text.
    pub records: Arc<[Record]>,
    /// The index of the message that it shows, where it shows one alone.
    pub message: Option<usize>,
}

/// Values that a segment binds together: each with the full name of its key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Record(pub Vec<(String, String)>);

/// One conversation under a policy: it is told each message in turn and asked for the prompt
/// of the agent whose message comes next. It never sees what comes later.
pub trait Policy {
    /// Takes the next message of the transcript.
    fn push(&mut self, message: &Message);

    /// The prompt that `agent` gets now, its parts in order: tool schemas, system prompts that
    /// are [for it](Message::is_for), and the conversation so far.
    fn prompt(&mut self, agent: &Agent) -> Vec<Segment>;

    /// The message of this index as it was recorded, compact JSON, from what the policy still
    /// has: prompts as they would be now, and any store that it keeps. `None` if it is gone.
    /// The instrument compares the bytes.
    fn recover(&self, index: usize) -> Option<Cow<'_, str>>;
}

/// What a policy is told when a conversation begins.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The tool schemas, a line of compact JSON.
    pub tools: Option<Arc<str>>,
    /// What counts tokens.
    pub counter: Bpe,
    /// How messages are shown where that goes by a registry.
    pub view: View,
}

/// A policy by its name, which starts on each conversation afresh.
pub struct Plan {
    pub name: String,
    /// What it does, in a line.
    pub doc: String,
    pub start: Box<Start>,
}

/// What begins a conversation under a policy.
pub type Start = dyn Fn(&Opening) -> Box<dyn Policy> + Send + Sync;

impl Kind {
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

impl Segment {
    pub fn new(kind: Kind, text: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            text: text.into(),
            records: Arc::default(),
            message: None,
        }
    }

    /// The tool schemas of a conversation, if it has any.
    pub fn tools(opening: &Opening) -> Option<Self> {
        let tools = opening.tools.as_ref()?;
        Some(Self::new(Kind::Tools, Arc::clone(tools)))
    }
}

impl Plan {
    /// A policy that `start` begins.
    pub fn new<P: Policy + 'static>(
        name: impl Into<String>,
        doc: impl Into<String>,
        start: impl Fn(&Opening) -> P + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            doc: doc.into(),
            start: Box::new(move |opening| Box::new(start(opening))),
        }
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plan").field(&self.name).finish()
    }
}

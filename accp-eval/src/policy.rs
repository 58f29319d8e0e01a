//! What a policy is: the way from a transcript to prompts.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use accp_recordings::Message as Recorded;
use accp_runtime::TokenCounter;
use accp_runtime::view::View;
use serde_json::Value as Json;

/// What a segment of a prompt is, for the figures by kind.
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

/// Who is asked for the next message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name; where none was recorded, its role.
    pub name: Arc<str>,
    /// Prompts with this key share a provider's cache. A cache knows no agents, it knows
    /// beginnings of prompts: an agent with a system prompt of its own has a cache of its own,
    /// and all agents that read one transcript from its first message share one.
    pub cache: Arc<str>,
}

/// A piece of a prompt. The prompt is the texts of its segments one after another, with
/// nothing added between; end each with a line feed.
///
/// Cloning is cheap. Give the same `Arc` again for what did not change since the last prompt:
/// the instrument then counts it once.
#[derive(Debug, Clone)]
pub struct Segment {
    /// What it is, for the figures by kind.
    pub kind: Kind,
    /// Its text.
    pub text: Arc<str>,
    /// What the text binds together, where no reader of JSON, tables and `key: value` could
    /// tell: abbreviated keys, values by position. A pair counts only if its value stands in
    /// the text.
    pub records: Arc<[Record]>,
    /// The index of the message that it shows, where it shows one alone.
    pub message: Option<usize>,
}

/// Values that a segment binds together: each with the full name of its key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Record(
    /// Each key with its value.
    pub Vec<(String, String)>,
);

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
#[derive(Clone)]
pub struct Opening {
    /// The tool schemas, a line of compact JSON.
    pub tools: Option<Arc<str>>,
    /// What counts tokens.
    pub counter: Arc<dyn TokenCounter + Send + Sync>,
    /// How messages are shown where that goes by a registry.
    pub view: View,
}

/// A policy by its name, which starts on each conversation afresh.
pub struct Plan {
    /// Its name, as in the report.
    pub name: String,
    /// What it does, in a line.
    pub doc: String,
    /// Begins a conversation.
    pub start: Box<Start>,
}

/// What begins a conversation under a policy.
pub type Start = dyn Fn(&Opening) -> Box<dyn Policy> + Send + Sync;

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

    /// The original, whose bytes [`Policy::recover`] has to give back.
    pub fn original(&self) -> &str {
        self.text.trim_end_matches('\n')
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Opening");
        out.field("counter", &self.counter.name());
        out.field("tools", &self.tools).finish_non_exhaustive()
    }
}

impl Segment {
    /// A segment that binds nothing beyond its text.
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

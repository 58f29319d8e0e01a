//! A part of a prompt, and its role in a chat request.

use std::sync::Arc;

use accp_frame::{AgentId, DynamicFrame, Value};
use accp_registry::view::ROLE;

/// The beginnings of a definition and of a reference to an old message: both need a primer.
pub(super) const DEFINITION: &str = "@=";
pub(super) const COLD: &str = "$cold.p";

/// A part of a prompt, in whole lines.
///
/// A program makes a chat request from the parts. The host of a session checks the sender of a message, but not its
/// role: see [`Role`].
///
/// ```
/// use accp_runtime::view::{Part, PartKind, Role};
///
/// /// Returns the role of a part in a request to the model behind the agent `me`.
/// fn role(part: &Part, me: &str) -> &'static str {
///     match (part.kind, part.role) {
///         (PartKind::Primer, _) => "system",
///         _ if part.sender.as_ref().is_some_and(|sender| *sender == *me) => "assistant",
///         (_, Role::Tool) => "tool",
///         _ => "user",
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Part {
    /// The kind.
    pub kind: PartKind,
    /// The sender of the message; `None` for the primer and for facts, which are about messages of several senders.
    pub sender: Option<AgentId<'static>>,
    /// The role in a chat request.
    pub role: Role,
    /// The position of the message; for facts, the position of the last message.
    pub position: u64,
    /// The text.
    pub text: Arc<str>,
    /// The values that the text shows, with full names: a message's payload, or the records of the
    /// facts.
    pub values: Arc<[Value<'static>]>,
}

/// The role of a part in a chat request.
///
/// The primer is [`System`](Self::System). Facts are [`User`](Self::User): they repeat values of other agents, and
/// these values must not get the rank of instructions. A chat message has the role that its field `role` names. The
/// answer of a tool (`done:tool`, `partial:tool`, `fail:tool`) is [`Tool`](Self::Tool). Any other message is
/// [`User`](Self::User).
///
/// A sender can write any role. So look at the sender before a message gets the rank of
/// [`System`](Self::System), and before it is taken for an answer of the model itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Instructions.
    System,
    /// Someone who asks or informs.
    User,
    /// A model.
    Assistant,
    /// A tool.
    Tool,
}

impl Role {
    /// Returns the word for the role in a chat request: `system`, `user`, `assistant` or `tool`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// Returns the role of a message: the role that its payload names, or else the role that follows from its header.
    pub(super) fn of(message: &DynamicFrame<'_>) -> Self {
        let said = message.payload.get(ROLE).and_then(Value::as_str);
        let all = [Self::System, Self::User, Self::Assistant, Self::Tool];
        let is_answer = matches!(message.intent.as_str(), "done" | "partial" | "fail");
        match (&*message.operation, said) {
            ("chat", Some(said)) => {
                let role = all.into_iter().find(|role| role.as_str() == said);
                role.unwrap_or(Self::User)
            }
            ("tool", _) if is_answer => Self::Tool,
            _ => Self::User,
        }
    }
}

/// The kind of a part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartKind {
    /// [`PRIMER`](crate::view::PRIMER), before the first part that needs it.
    Primer,
    /// Facts of old messages.
    Facts,
    /// A message.
    Message,
}

//! What a session is told, and what it answers.

use std::fmt;

use accp_context::{Checkpoint, CheckpointHooks};
use accp_frame::AgentId;
use accp_registry::{ErrorCode, Hash, Problems, Schema};

use crate::{Cold, Entry, MemberId, Mid, Outbound, SendError};

/// Everything that a session is told.
///
/// The inputs that only a host understands are refused by a member with
/// [`InputError::HostOnly`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A frame has arrived. The caller has made sure that this member sent it; a member hears
    /// [`MemberId::HOST`] and nobody else.
    Frame {
        /// Who sent it.
        from: MemberId,
        /// The bytes as they came.
        bytes: &'a [u8],
    },
    /// A frame is to be sent. A host's frame is accepted at once; a member's waits in the
    /// outbox until its fate is known. Answered by [`Answer::Sent`].
    Send(&'a Outbound<'a>),
    /// A delivered frame has been handled. The mark and the replies are kept together, or
    /// neither is. A reply in a chain that was cancelled meanwhile is left out.
    Handled {
        /// The position of the frame.
        position: u64,
        /// What is sent in answer to it.
        replies: &'a [Outbound<'a>],
    },
    /// The link to this member is new. A member tells its host what it holds.
    Connected(MemberId),
    /// The link to this member is gone. A host sends nothing there until it hears the member
    /// again.
    Disconnected(MemberId),
    /// The bytes of a value are wanted from the host of this member. The value stands in a
    /// later batch, with [`Event::Supplied`](crate::Event::Supplied). A host fetches whatever
    /// its members put, without being asked.
    Fetch {
        /// The key without its tier; `p57` is the frame at position 57.
        key: &'a str,
        /// The digest and the length that the log gives; `None` to take what the host has.
        announced: Option<(Hash, u64)>,
    },
    /// The answer to [`Read::Entries`](crate::Read::Entries): what the log has there.
    Entries {
        /// The position that was asked for.
        from: u64,
        /// The entries, ascending.
        entries: &'a [Entry],
    },
    /// The answer to [`Read::Cold`](crate::Read::Cold).
    Cold {
        /// The key that was asked for.
        key: &'a str,
        /// `None` when the key is not known, or its bytes are not here.
        value: Option<Cold>,
    },
    /// Time has passed; due at [`Session::next_timeout`](crate::Session::next_timeout).
    Timeout,
    /// Host: an agent joins. The caller has made sure that it is this agent. Answered by
    /// [`Answer::Joined`], with the same number when the agent is in the session already.
    Join {
        /// The agents that the member speaks for, its own name first.
        agents: &'a [AgentId<'a>],
        /// Whether the member may cancel what others started.
        supervisor: bool,
    },
    /// Host: a member leaves.
    Leave(MemberId),
    /// Host: references to a cold key of another session are allowed.
    Grant {
        /// The other session.
        session: &'a str,
        /// The key there without its tier; `*` for all of them.
        key: &'a str,
    },
    /// Host: the bytes under these keys are let go of; from now on they are E2002.
    Expire(&'a [&'a str]),
    /// Host: a schema is registered while the session runs (`RegisterSchema`, draft section
    /// 7.1). Members fetch it.
    Register(Box<Schema>),
    /// Host: a phase of the work is over, so a checkpoint is due (draft section 5.2, item 4).
    /// Answered by [`Answer::Checkpoint`].
    Phase,
    /// Host: these hooks are asked before each checkpoint from now on.
    Hooks(Hooks),
}

/// What a host asks before a checkpoint and tells after it.
pub struct Hooks(pub Box<dyn CheckpointHooks + Send>);

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}

/// What [`Session::handle`](crate::Session::handle) answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// The input was taken.
    Done,
    /// The id of the frame that was sent, or of the last one when there are several.
    Sent(Mid),
    /// The number of the member.
    Joined(MemberId),
    /// The checkpoint that was taken. `None` when none was: without a token counter there
    /// are none, and a hook may object.
    Checkpoint(Option<Box<Checkpoint>>),
}

/// Why a session did not take an input: nothing of it was kept, and the session is as it
/// was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputError {
    /// The frame was not sent, or not marked handled.
    Send(SendError),
    /// The agent cannot join.
    Join(JoinError),
    /// Every mistake in the schema, and a clash with one that is registered.
    Schema(Problems),
    /// Only the host of a session can do this; the text names the input.
    HostOnly(&'static str),
}

/// Why an agent cannot join.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// The session has all the members that there are numbers for.
    Full,
    /// The agent belongs to another member, or to the host.
    Taken(String),
}

impl InputError {
    /// The code of the draft (section 3.6) that comes nearest.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Send(error) => error.code(),
            Self::Join(_) | Self::HostOnly(_) => ErrorCode::POLICY_DENIED,
            Self::Schema(_) => ErrorCode::UNKNOWN_SCHEMA,
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(
                f,
                "the session has {} members, which is all that there are numbers for",
                MemberId::LAST.number() - MemberId::HOST.number()
            ),
            Self::Taken(agent) => write!(f, "{agent} is an agent of another member"),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(error) => error.fmt(f),
            Self::Join(error) => error.fmt(f),
            Self::Schema(problems) => problems.fmt(f),
            Self::HostOnly(input) => {
                write!(
                    f,
                    "only the host of a session can {input}; this side is a member"
                )
            }
        }
    }
}

impl std::error::Error for JoinError {}

impl std::error::Error for InputError {}

impl From<SendError> for InputError {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

impl From<JoinError> for InputError {
    fn from(error: JoinError) -> Self {
        Self::Join(error)
    }
}

impl From<Problems> for InputError {
    fn from(problems: Problems) -> Self {
        Self::Schema(problems)
    }
}

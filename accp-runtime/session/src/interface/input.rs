//! Inputs of a session, and its answers.

use std::fmt;

use accp_context::{Checkpoint, CheckpointHooks};
use accp_frame::{AgentId, Registry, Value};
use accp_registry::{ErrorCode, Hash, Problems, Schema};

use crate::interface::outbound::{Outbound, SendError};
use crate::interface::output::Cold;
use crate::log::entry::Entry;
use crate::log::mid::{MemberId, Mid};
use crate::log::vouch::LogKey;

/// An input to a session.
///
/// A member refuses the inputs for a host with [`InputError::HostOnly`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A frame has arrived. The caller has made sure that this member sent it. A member takes
    /// frames from [`MemberId::HOST`] only.
    Frame {
        /// The member that sent the frame.
        from: MemberId,
        /// The bytes as they arrived.
        bytes: &'a [u8],
    },
    /// The application sends a frame. A host accepts its own frame at once. A member keeps the
    /// frame in its outbox until it knows whether the host has taken it. Answered by
    /// [`Answer::Sent`].
    Send(&'a Outbound<'a>),
    /// The application has handled a delivered frame. The mark and the replies are kept together,
    /// or neither is. A reply in a chain that was cancelled meanwhile is left out.
    Handled {
        /// The position of the frame.
        position: u64,
        /// The replies to the frame.
        replies: &'a [Outbound<'a>],
    },
    /// The link to this member is new. A member tells its host which position it holds.
    Connected(MemberId),
    /// The link to this member is gone. A host sends nothing to the member until a frame of the member arrives.
    Disconnected(MemberId),
    /// Host: ask this member for a sign of life (`ping:link`). If the member can be reached, a frame from it
    /// arrives.
    Ping(MemberId),
    /// The application wants the bytes of a value from the host of this member. The value comes in a later batch,
    /// with [`Event::Supplied`](crate::Event::Supplied). If the log of this side does not know the value yet,
    /// [`Event::Unavailable`](crate::Event::Unavailable) comes. A host needs no such input: it fetches all values
    /// that its members put.
    Fetch {
        /// The key without its tier; `p57` is the frame at position 57.
        key: &'a str,
        /// The digest and the length that the log gives; `None` to accept whatever value the host has under the key.
        announced: Option<(Hash, u64)>,
    },
    /// The answer to [`Read::Entries`](crate::Read::Entries): entries of the log.
    Entries {
        /// The position that was asked for.
        from: u64,
        /// The entries, ascending.
        entries: &'a [Entry],
    },
    /// The answer to [`Read::Entry`](crate::Read::Entry).
    Entry {
        /// The position that was asked for.
        at: u64,
        /// The entry. Its text is empty if it was deleted.
        entry: Option<Entry>,
    },
    /// The answer to [`Read::Cold`](crate::Read::Cold).
    Cold {
        /// The key that was asked for.
        key: &'a str,
        /// `None` when the key is not known, or its bytes are not here.
        value: Option<Cold>,
    },
    /// The answer to [`Read::Cold`](crate::Read::Cold), if the store has damaged data under the key. Nobody is asked for
    /// the bytes, because the store has a row for them already.
    DamagedCold {
        /// The key that was asked for.
        key: &'a str,
    },
    /// Time has passed. Due at [`Session::next_timeout`](crate::Session::next_timeout).
    Timeout,
    /// Host: an agent joins. The caller has checked the identity of the agent. Answered by [`Answer::Joined`], with
    /// the same number if the agent is in the session already.
    Join {
        /// The agents that the member speaks for, its own name first.
        agents: &'a [AgentId<'a>],
        /// True if the member may cancel chains that others started.
        supervisor: bool,
    },
    /// This side takes these requests from now on, each as its intent, its operation and the code of its schema
    /// (`req:note:NOTE`), or `*` for all requests that the list does not name. The host chooses among the members
    /// that take a request ([`Outbound::to_a_taker`]), and prefers those that name it. This list replaces the last
    /// one. It stays in force, also over restarts, until the next list. The host never chooses a side that knows only
    /// the draft.
    Takes(&'a [String]),
    /// Member: this side leaves the session. [`Event::Left`](crate::Event::Left) comes when the host has taken it
    /// out. If the host chose this side for requests, other members get these requests. A host cannot leave its
    /// session, and ignores this input.
    Bye,
    /// Host: a member leaves.
    Leave(MemberId),
    /// Host: frames may refer to a cold key of another session.
    Grant {
        /// The other session.
        session: &'a str,
        /// The key there without its tier; `*` for all keys.
        key: &'a str,
    },
    /// Host: the bytes under these keys expire; references to them are E2002 from now on.
    Expire(&'a [&'a str]),
    /// Host: a schema is registered while the session runs (`RegisterSchema`, draft section
    /// 7.1). Members fetch it.
    Register(Box<Schema>),
    /// Host: the schemas of a registry are registered while the session runs, all of them at once or none. Members fetch
    /// them.
    RegisterAll(Box<Registry>),
    /// Host, after [`Event::RolledBack`](crate::Event::RolledBack): take the lost entries from the member that has
    /// them. [`Event::Recovered`](crate::Event::Recovered) or [`Event::NotRecovered`](crate::Event::NotRecovered)
    /// reports the outcome.
    Recover,
    /// Host: vouch for the log under a new secret, and so give the log a new identity. After
    /// [`Event::RolledBack`](crate::Event::RolledBack) the host goes on without the lost entries, and
    /// members that have them are removed: they have to open their sides anew.
    Fork(LogKey),
    /// Host: a phase of the work is over, so a checkpoint is due (draft section 5.2, item 4).
    /// Answered by [`Answer::Checkpoint`].
    Phase,
    /// Host: a late summary; see [`Session::supply_summary`](crate::Session::supply_summary).
    Summary {
        /// The number of the checkpoint.
        checkpoint: u64,
        /// The summary.
        text: &'a str,
        /// The values that references of the frames lead to. The summary may contain these values, too.
        values: &'a [Value<'a>],
    },
    /// Host: the session asks these hooks before each checkpoint from now on.
    Hooks(Hooks),
}

/// The hooks that a host asks before a checkpoint and tells after it.
pub struct Hooks(pub Box<dyn CheckpointHooks + Send>);

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}

/// The answer of [`Session::handle`](crate::Session::handle).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// The session took the input.
    Done,
    /// The id of the frame that was sent, or of the last frame when there are several.
    Sent(Mid),
    /// The number of the member.
    Joined(MemberId),
    /// The checkpoint that was taken. `None` if the host took no checkpoint, because it counts no tokens or because a
    /// hook vetoed the checkpoint.
    Checkpoint(Option<Box<Checkpoint>>),
}

/// The outcome for a frame that a member has sent outside of its link ([`Session::post`](crate::Session::post)).
/// The texts are the frames to answer with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Posted {
    /// The frame is in the log.
    Accepted {
        /// The id of the frame.
        mid: Mid,
        /// `ack:frame` with the id as `of`.
        answer: String,
    },
    /// The frame is refused: `fail:error`.
    Refused(String),
    /// The frame was about the link, and this is the answer, such as `pong:link`. If the answer is a registry in
    /// several frames, each frame is on a line of its own.
    Link(String),
    /// The frame has no answer: it is `ack` or `pong`, or has expired, or its chain was cancelled.
    Silent,
    /// The host cannot take the frame now. Nothing has changed; send it again later.
    Later,
}

/// The outcome for bytes that a member has sent outside of its link ([`Session::supply`](crate::Session::supply)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Supplied {
    /// The bytes are those of the value, and the host did not have them before.
    Kept,
    /// The host has the bytes of the value already. It did not compare them with the new bytes.
    Here,
    /// This member has announced no value under the key.
    Unknown,
    /// The announcement has another digest or length.
    Differs,
    /// The value has expired.
    Expired,
    /// The host can take nothing now, because it was rolled back.
    Later,
}

/// The reason why a session did not take an input. The session kept nothing of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputError {
    /// The frame was not sent, or not marked handled.
    Send(SendError),
    /// The agent cannot join.
    Join(JoinError),
    /// All mistakes in the schema, including a clash with a registered schema.
    Schema(Problems),
    /// The host cannot recover its log, for this reason.
    Recover(&'static str),
    /// The summary was not taken.
    Summary(SummaryError),
    /// Only the host of a session can do this; the text names the action.
    HostOnly(&'static str),
}

/// The reason why an agent cannot join.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// The session has as many members as its rules allow ([`Rules::members`](crate::Rules::members)), including
    /// members that have left.
    Full,
    /// The agent belongs to another member.
    Taken(String),
    /// The name is that of the host itself.
    Host(String),
    /// The name has this many characters, and a host lets in no new agent whose name has more than 128.
    TooLong(usize),
}

impl JoinError {
    /// The most characters in the name of an agent that joins. Agents with longer names that are in a log stay.
    pub(crate) const NAME: usize = 128;
}

impl InputError {
    /// Returns the nearest error code of the draft (section 3.6).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Send(error) => error.code(),
            Self::Join(JoinError::TooLong(_)) => ErrorCode::PARSE_ERROR,
            Self::Join(_) | Self::Recover(_) | Self::Summary(_) | Self::HostOnly(_) => {
                ErrorCode::POLICY_DENIED
            }
            Self::Schema(_) => ErrorCode::UNKNOWN_SCHEMA,
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str(
                "the session has as many members as its host lets in: begin another session",
            ),
            Self::Taken(agent) => write!(f, "{agent} is an agent of another member"),
            Self::Host(agent) => {
                write!(
                    f,
                    "{agent} is the name of the host of this session: give the agent another one"
                )
            }
            Self::TooLong(characters) => {
                write!(
                    f,
                    "the name of an agent has at most {} characters, and this one has {characters}",
                    Self::NAME
                )
            }
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(error) => error.fmt(f),
            Self::Join(error) => error.fmt(f),
            Self::Schema(problems) => problems.fmt(f),
            Self::Recover(why) => f.write_str(why),
            Self::Summary(error) => error.fmt(f),
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

impl From<SummaryError> for InputError {
    fn from(error: SummaryError) -> Self {
        Self::Summary(error)
    }
}

impl From<Problems> for InputError {
    fn from(problems: Problems) -> Self {
        Self::Schema(problems)
    }
}

/// The reason why a host did not take a late summary. A summary that the host took earlier stays.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryError {
    /// No summary of the checkpoint with this number is wanted.
    NotWanted(u64),
    /// The summary has no text.
    Empty,
    /// These words of the summary look like values, and stand in no frame that left hot state.
    Invented(Vec<String>),
}

impl fmt::Display for SummaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWanted(id) => write!(
                f,
                "no summary of ckpt_{id} is wanted: only of the last checkpoint, if frames left \
                 with it and Rules::late_summaries is set"
            ),
            Self::Empty => {
                f.write_str("the summary has no text; to keep the first one, supply none")
            }
            Self::Invented(words) => write!(
                f,
                "these words stand in no frame that left hot state: {}; leave them out of the \
                 summary, or write them as the frames do",
                words.join(", ")
            ),
        }
    }
}

impl std::error::Error for SummaryError {}

//! Errors of agents, by who is at fault.

use std::fmt;
use std::time::Duration;

use accp_frame::{
    DecodeError, EncodeError, ErrorCode, FrameFamily, IntoOwned, profiles::ErrorFail,
};
use accp_session::{Inbound, InputError, Mid, PeerError, ReadError, SendError};
use accp_store::{DriverError, StoreError};

/// Takes the result that a caller waits for.
pub(crate) type Done<T> = tokio::sync::oneshot::Sender<Result<T, Error>>;

/// The function to call when some data is durable. If that failed, the function gets the reason.
pub(crate) type OnDurable = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// The reason why a call of an agent failed. The variant says who is at fault.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller: this is not the name of an agent.
    #[error("agent `{0}`: {1}")]
    Name(String, EncodeError),
    /// The caller: the session does not take this frame. Nothing was sent.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The host will never take the frame.
    #[error("{}: the host refuses the frame: expected {}", .0.code, .0.message)]
    Refused(PeerError),
    /// The peer answered with `fail`. [`Error::frame`] reads it as a type.
    #[error(transparent)]
    Failed(Box<Failure>),
    /// The peer sent this frame, shortened here, instead of a frame of the expected type. The frame counts as
    /// handled.
    #[error("`{0}` came, which is not a frame of the expected type: {1}")]
    Answer(String, DecodeError),
    /// The caller: this is not the address of a hub, for this reason.
    #[error("`{0}` is not the address of a hub: {1}")]
    Address(String, String),
    /// There is no hub at this address, for this reason.
    #[error("no hub at {0}: {1}; `accp serve` starts one")]
    Unreachable(String, String),
    /// The hub at this address does not let the agent in, for this reason.
    #[error("the hub at {0} refuses the agent: {1}")]
    Denied(String, String),
    /// There is no session of this name, and the server lets no message begin one.
    #[error(
        "there is no session `{0}`, and a message does not begin one here: expected a session that is there"
    )]
    NoSession(String),
    /// The hub does not take this now. Nothing has changed: the same call may work later.
    #[error("{0}")]
    Busy(Box<Busy>),
    /// The hub does not go on with an agent that was in its session, for this reason: the hub has another log than
    /// the agent, because its store is new or an older copy, or it does not take the registry of the agent any
    /// more. The agent has ended. Connect it again, with an empty store.
    #[error("the hub does not go on with the agent: {}: expected {}", .0.code, .0.message)]
    Removed(Box<PeerError>),
    /// The reference with this text, without its `$`, could not be read.
    #[error("`${0}`: {1}")]
    Reference(String, ReadError),
    /// Nobody has answered in time. A late answer goes to a handler.
    #[error("E3001: no answer within {0:?}")]
    Timeout(Duration),
    /// The session has not taken frames in this time, because the agent has never been in its session or its
    /// outbox is full. The frame was not sent. For an agent that is closed, a handler may still run.
    #[error(
        "E3001: the session has not taken all frames within {0:?}: is the hub there, does it let the agent in, \
         and have the handlers ended, if the agent is closed?"
    )]
    Unsent(Duration),
    /// The frame with this id waits in the outbox of the agent: the host has not said in time whether it takes
    /// the frame. The agent goes on sending the frame until the host answers, so do not send it again. The frame
    /// outlives this process only once the store of the agent has it. [`queued`](crate::Sending::queued) waits
    /// for that.
    #[error("E3001: the hub has not taken the frame {0} in time; it goes out until the hub has it")]
    Pending(Mid),
    /// The chain of the frame was cancelled.
    #[error("the chain of the frame was cancelled")]
    Cancelled,
    /// The time of the frame (`ttl`) was over before the host took it.
    #[error("E3001: the time of the frame was over")]
    Expired,
    /// The store has data that this program did not write, or that another version wrote. Opening the store again
    /// does not help: restore it from a backup.
    #[error("the store of this side is damaged: {0}")]
    Damaged(String),
    /// The side of the agent has ended, for this reason: for example, its store failed, or another program has
    /// opened the side. Open the hub again.
    #[error("the side of this agent has ended: {0}")]
    Ended(String),
}

impl Error {
    /// Returns the code of the draft (section 3.6), where there is one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Input(error) => Some(error.code()),
            Self::Refused(error) => Some(error.code),
            Self::Removed(error) => Some(error.code),
            Self::Busy(busy) => Some(busy.code),
            Self::Failed(failure) => failure.code(),
            Self::Answer(_, error) => Some(error.code()),
            Self::Reference(_, error) => Some(error.code()),
            Self::NoSession(_) => Some(ErrorCode::REF_NOT_FOUND),
            Self::Timeout(_) | Self::Expired | Self::Unsent(_) | Self::Pending(_) => {
                Some(ErrorCode::TIMEOUT)
            }
            Self::Name(..)
            | Self::Address(..)
            | Self::Unreachable(..)
            | Self::Denied(..)
            | Self::Cancelled
            | Self::Damaged(_)
            | Self::Ended(_) => None,
        }
    }

    /// Reads the frame by which the peer has reported its failure.
    ///
    /// ```
    /// use accp_client::{Error, Hub};
    /// use accp_runtime::profiles::{ChatDone, ChatReq, ErrorFail};
    /// use accp_store::MemoryStore;
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let (guest, cook) = (hub.agent("guest")?, hub.agent("cook")?);
    /// cook.serve(|_: ChatReq, cx| async move { cx.reply(ErrorFail::new("E2001", "no flour", false)).await });
    /// let error = guest.ask::<ChatDone>(ChatReq::new("bread?")).await.unwrap_err();
    /// let fail: ErrorFail = error.frame()?; // any other error comes back as it is
    /// assert_eq!((&*fail.code, &*fail.msg), ("E2001", "no flour"));
    ///
    /// // The answer and the failure are two types that the question may have.
    /// type Answer = Result<ChatDone<'static>, ErrorFail<'static>>;
    /// let answer: Answer = guest.ask(ChatReq::new("bread?")).await?;
    /// assert_eq!(answer.unwrap_err(), fail);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns this error itself if it is not [`Error::Failed`]. [`Error::Answer`] when the failure is of another
    /// type.
    pub fn frame<F>(&self) -> Result<F, Self>
    where
        F: FrameFamily,
        for<'a> F::Frame<'a>: IntoOwned<Owned = F>,
    {
        match self {
            Self::Failed(failure) => read(failure.inbound()),
            other => Err(other.clone()),
        }
    }

    /// Returns the error for an input that the session refuses.
    pub(crate) fn of_input(error: InputError) -> Self {
        match error {
            InputError::Send(SendError::Denied(error)) => Self::Refused(*error),
            InputError::Send(SendError::Expired) => Self::Expired,
            InputError::Send(SendError::Cancelled) => Self::Cancelled,
            error => Self::Input(error),
        }
    }

    /// Makes the error for a frame that does not have the expected type.
    pub(crate) fn answer(inbound: &Inbound, error: DecodeError) -> Self {
        const SHOWN: usize = 160;
        let text = inbound.text();
        let shown = match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        Self::Answer(shown, error)
    }

    /// Makes the error for a side that has ended, if the reason is no longer known.
    pub(crate) fn ended() -> Self {
        Self::Ended("its task is over".to_owned())
    }
}

/// The reason why a hub does not take something now: the caller has used up a limit, the store is away, or the hub
/// ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// The code of the draft (section 3.6).
    pub code: ErrorCode,
    /// What the hub expects, as in `fewer new sessions a minute`.
    pub expected: String,
    /// The time after which the caller may try again.
    pub again: Duration,
    /// Whether the caller has used up a limit. If not, the hub itself cannot go on now.
    pub is_limit: bool,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, expected) = (self.code, &self.expected);
        let seconds = self.seconds();
        let unit = if seconds == 1 { "second" } else { "seconds" };
        write!(
            f,
            "{code}: expected {expected}; try again in {seconds} {unit}"
        )
    }
}

impl Busy {
    /// Returns the time after which the caller may try again, in whole seconds: at least one.
    pub fn seconds(&self) -> u64 {
        let more = u64::from(self.again.subsec_nanos() > 0);
        self.again.as_secs().saturating_add(more).max(1)
    }
}

/// The frame by which a peer has reported its failure.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the answer is a failure: {}{message}", code.map_or(String::new(), |code| format!("{code}: ")))]
pub struct Failure {
    code: Option<ErrorCode>,
    message: String,
    inbound: Inbound,
}

impl Failure {
    /// Makes the failure of a frame. `code` is the code that a schema of the program names.
    pub(crate) fn of(inbound: Inbound, code: Option<ErrorCode>) -> Self {
        let (code, message) = match inbound.decode::<ErrorFail<'_>>() {
            Ok(answer) => (
                answer.frame.code.parse().ok(),
                answer.frame.msg.into_owned(),
            ),
            Err(_) => (code, inbound.text().to_owned()),
        };
        Self {
            code,
            message,
            inbound,
        }
    }

    /// Returns the code, if the answer names one of the draft (section 3.6): `fail:error`, or a frame under a schema whose
    /// rules name a field for it, in the registry of this agent.
    pub fn code(&self) -> Option<ErrorCode> {
        self.code
    }

    /// Returns the message of the failure for people, or the text of the frame if it is not `fail:error`.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the frame. [`Inbound::message`] reads it by a registry, and [`Error::frame`] as a type.
    pub fn inbound(&self) -> &Inbound {
        &self.inbound
    }
}

/// Reads a frame of this type.
pub(crate) fn read<F>(inbound: &Inbound) -> Result<F, Error>
where
    F: FrameFamily,
    for<'a> F::Frame<'a>: IntoOwned<Owned = F>,
{
    match inbound.decode::<F::Frame<'_>>() {
        Ok(typed) => Ok(typed.frame.into_owned()),
        Err(error) => Err(Error::answer(inbound, error)),
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        if error.is_damage() {
            Self::Damaged(error.to_string())
        } else {
            Self::Ended(error.to_string())
        }
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Input(error) => Self::Input(error),
            DriverError::Reference(key, error) => Self::Reference(key, error),
            DriverError::Restore(..) => Self::Damaged(error.to_string()),
            DriverError::Store(why) => why.into(),
            other => Self::Ended(other.to_string()),
        }
    }
}

//! What goes wrong while a session is driven.

use std::error::Error;
use std::fmt;

use accp_runtime::ErrorCode;
use accp_runtime::session::{InputError, Outbound, ReadError, RestoreError};

use crate::{SideId, StoreError};

/// What a handler gives for a frame: the frames in answer to it, or why it was not handled.
pub type Handled<'i> = Result<Vec<Outbound<'i>>, Box<dyn Error + Send + Sync>>;

/// What went wrong while a session was driven, told apart by who is at fault.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriverError {
    /// The session did not take an input; nothing has changed.
    Input(InputError),
    /// The store.
    Store(StoreError),
    /// The store, in a call before this one, with these words: the session was put aside.
    Failed(String),
    /// What the store gave back of this side: it is not what was put there.
    Restore(SideId, RestoreError),
    /// This reference, without its `$`.
    Reference(String, ReadError),
    /// What handles frames: the frame is handed out again.
    Handler(Box<dyn Error + Send + Sync>),
}

impl DriverError {
    /// The code of the draft (section 3.6), where an input or a reference is at fault.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Input(error) => Some(error.code()),
            Self::Reference(_, error) => Some(error.code()),
            _ => None,
        }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Failed(failure) => write!(
                f,
                "the session was put aside when its store failed ({failure}): open it again from the store"
            ),
            Self::Restore(side, error) => write!(
                f,
                "side `{side}`: {error}: take a copy of the store back from a backup"
            ),
            Self::Reference(key, error) => write!(f, "`${key}`: {error}"),
            Self::Handler(error) => error.fmt(f),
        }
    }
}

impl Error for DriverError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Input(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::Restore(_, error) => Some(error),
            Self::Reference(_, error) => Some(error),
            Self::Handler(error) => Some(&**error),
            Self::Failed(_) => None,
        }
    }
}

impl From<InputError> for DriverError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<StoreError> for DriverError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

//! Errors of a driver.

use std::error::Error;
use std::fmt;

use accp_frame::ErrorCode;
use accp_session::{InputError, Outbound, ReadError, RestoreError};

use crate::error::StoreError;
use crate::side::SideId;

/// The result of a handler: the frames that answer a frame, or the reason why the frame was not handled.
pub type Handled<'i> = Result<Vec<Outbound<'i>>, Box<dyn Error + Send + Sync>>;

/// An error of a driver. The variant tells which part is at fault.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriverError {
    /// The session refused an input; nothing has changed.
    Input(InputError),
    /// The store failed.
    Store(StoreError),
    /// The store failed in an earlier call, with this text. Since then the session is put aside: every call
    /// fails.
    Failed(String),
    /// The session cannot be restored from the state that the store has of this side.
    Restore(SideId, RestoreError),
    /// The reference with this text, without its `$`, could not be read.
    Reference(String, ReadError),
    /// The handler of frames failed: the frame is handed out again.
    Handler(Box<dyn Error + Send + Sync>),
}

impl DriverError {
    /// Returns the code of the draft (section 3.6), where an input or a reference is at fault.
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

//! Finds the value that a reference names (draft sections 5.1 and 7.3, step 2).
use std::fmt;

use accp_registry::ErrorCode;

use crate::log::mid::{MemberId, Mid};
use crate::reference::{ColdKey, Reference, Target};
use crate::state::State;
use accp_frame::Value;

/// Where the value of a reference is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Located {
    /// In the state of the session: this value. The path of the reference has been followed only if the value is from
    /// a checkpoint.
    Here(Value<'static>),
    /// The frame in hot state, without its metadata.
    Hot(String),
    /// The frame at this position of the log, which the store has.
    Log(u64),
    /// The value under this key in the store.
    Cold(String),
    /// The frame or value under this key in the cold state of another session, which the store has.
    Foreign {
        /// The other session.
        session: String,
        /// The key there, without its tier.
        key: String,
    },
}

/// The reason why a reference leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The session holds nothing of this name (E2001).
    NotFound,
    /// Nobody has supplied the bytes of the value in time (E3001). The next reading asks again.
    Unavailable,
    /// The value has expired (E2002).
    Expired,
    /// The reference leads to a session that granted no access (E5002).
    Unauthorized,
}

impl ReadError {
    /// Returns the code of the draft (section 3.6).
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::REF_NOT_FOUND,
            Self::Unavailable => ErrorCode::TIMEOUT,
            Self::Expired => ErrorCode::REF_EXPIRED,
            Self::Unauthorized => ErrorCode::UNAUTHORIZED_REF,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::NotFound => "the session holds nothing under this reference",
            Self::Unavailable => {
                "nobody has supplied the bytes of this reference; read it again later"
            }
            Self::Expired => "the value of this reference has expired",
            Self::Unauthorized => "this reference leads to a session that granted no access",
        };
        write!(f, "{}: {text}", self.code())
    }
}

impl std::error::Error for ReadError {}

impl State {
    /// Returns the place of the value that a reference names.
    ///
    /// # Errors
    /// As [`ReadError`] says. Nothing is read from the store.
    pub fn locate(&self, reference: &Reference<'_>) -> Result<Located, ReadError> {
        self.locate_with(reference, None)
    }

    /// As [`State::locate`], for a frame of member `own.0` that is sent together with its values up
    /// to the number `own.1`.
    pub(crate) fn locate_with(
        &self,
        reference: &Reference<'_>,
        own: Option<(MemberId, u64)>,
    ) -> Result<Located, ReadError> {
        match reference.target {
            Target::Hot(position) => match self.hot().frame(position) {
                Some(frame) => Ok(Located::Hot(frame.into())),
                // The frame has left the context and is in the log.
                None => self.located_in_log(position),
            },
            Target::Warm(id) => {
                let key = format!("ckpt_{id}");
                let path = reference.path.unwrap_or_default();
                let value = self.warm().resolve(&key, path);
                value.map(Located::Here).ok_or(ReadError::NotFound)
            }
            Target::Context(key) => {
                let value = self.shared().get(key).cloned();
                value.map(Located::Here).ok_or(ReadError::NotFound)
            }
            Target::Cold(ColdKey::Frame(position)) => self.located_in_log(position),
            Target::Cold(ColdKey::Value { member, number }) => {
                let is_own = own.is_some_and(|(me, last)| me == member && number <= last);
                let key = format!("k{member}_{number}");
                if !self.holds_put(member, number) && !is_own {
                    Err(ReadError::NotFound)
                } else if self.expired.contains(&key) {
                    Err(ReadError::Expired)
                } else {
                    Ok(Located::Cold(key))
                }
            }
            Target::Foreign { session, key } => {
                if !self.is_granted(session, key) {
                    return Err(ReadError::Unauthorized);
                }
                Ok(Located::Foreign {
                    session: session.into(),
                    key: key.to_string(),
                })
            }
            Target::Cold(ColdKey::Other(_)) | Target::Unknown(_) => Err(ReadError::NotFound),
        }
    }

    fn located_in_log(&self, position: u64) -> Result<Located, ReadError> {
        if position > 0 && position <= self.position {
            Ok(Located::Log(position))
        } else {
            Err(ReadError::NotFound)
        }
    }

    /// Returns whether this chain, or a chain above it, was cancelled.
    pub fn is_cancelled(&self, chain: &Mid) -> bool {
        self.chains.reaches(chain)
    }
}

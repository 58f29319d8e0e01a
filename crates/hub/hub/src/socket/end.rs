//! How sockets end, and what their peers are told.

use accp_client::{REMOVED, REPLACED};
use accp_frame::Limits;
use axum::extract::ws::{CloseFrame, close_code};
use tokio_tungstenite::tungstenite::error::{Error, ProtocolError};

use crate::answer::Refused;
use crate::auth::Authorized;

/// The most bytes of the reason in a close frame (RFC 6455, section 5.5.1).
const REASON: usize = 123;

/// Why a socket ends.
pub(super) enum End {
    /// The peer has closed the socket, or is gone.
    Gone,
    /// The peer is silent, or reads nothing.
    Silent,
    /// The peer is refused, with an error frame and this reason.
    Refused(Refused),
    /// The hub at this address runs this session; the first frame is for that hub.
    Elsewhere(Authorized, String, String),
    /// Another link of the agent has opened.
    Replaced,
    /// The agent was taken out of the session.
    Removed,
    /// Another hub has closed the socket. The peer gets the same close frame.
    There(CloseFrame),
    /// A message that is not text.
    NotText,
    /// A message that cannot be read, with the code and the reason of the close. The hub does not read what follows
    /// the message.
    Unreadable(u16, String),
    /// The session has ended, or the hub ends. The peer may connect again.
    Restart,
}

impl End {
    /// Returns the code and the reason of the close frame; `None` if the peer gets no close frame.
    pub(super) fn close(&self) -> Option<(u16, String)> {
        let (code, reason) = match self {
            Self::Gone | Self::Elsewhere(..) => return None,
            Self::There(close) => (close.code, close.reason.to_string()),
            Self::Silent => (close_code::NORMAL, "the peer is silent".to_owned()),
            Self::Refused(refused) => {
                let code = if refused.again.is_some() {
                    close_code::AGAIN
                } else {
                    close_code::POLICY
                };
                let reason = format!("{}: expected {}", refused.code, refused.expected);
                (code, reason)
            }
            Self::Replaced => (
                REPLACED,
                "another connection of this agent has opened".to_owned(),
            ),
            Self::Removed => (
                REMOVED,
                "the agent was taken out of the session; it may connect again".to_owned(),
            ),
            Self::NotText => (
                close_code::UNSUPPORTED,
                "a frame is a text message".to_owned(),
            ),
            Self::Unreadable(code, reason) => (*code, reason.clone()),
            Self::Restart => (
                close_code::RESTART,
                "the session is opened again".to_owned(),
            ),
        };
        Some((code, cut(&reason)))
    }
}

/// Cuts a reason that is too long for a close frame, between two characters.
fn cut(reason: &str) -> String {
    let mut ends = (0..=reason.len().min(REASON)).rev();
    let end = ends.find(|at| reason.is_char_boundary(*at));
    let kept = reason.get(..end.unwrap_or_default());
    kept.unwrap_or_default().to_owned()
}

/// Returns how a socket ends after this error. `limit` is the most bytes of a frame.
pub(super) fn broken(error: axum::Error, limit: usize) -> End {
    match error.into_inner().downcast_ref::<Error>() {
        Some(Error::Capacity(_)) => {
            // No session takes a longer frame, whatever the settings of the hub say.
            let raises = limit < Limits::DEFAULT.frame_bytes;
            let raises = if raises {
                ", or raise `limits.frame` of the hub"
            } else {
                ""
            };
            End::Unreadable(
                close_code::SIZE,
                format!(
                    "a frame has {limit} bytes at most: send long values by `sync:put`{raises}"
                ),
            )
        }
        Some(Error::Utf8(_)) => End::Unreadable(
            close_code::INVALID,
            "a frame is a text message in UTF-8".to_owned(),
        ),
        Some(Error::Protocol(error)) if *error != ProtocolError::ResetWithoutClosingHandshake => {
            let reason = "messages as RFC 6455 frames them are expected";
            End::Unreadable(close_code::PROTOCOL, reason.to_owned())
        }
        _ => End::Gone,
    }
}

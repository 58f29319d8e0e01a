//! Answers that are errors: a frame of the schema ER in the body of a response.

use std::fmt;
use std::time::Duration;

use accp_frame::{AgentId, EncodeOptions, ErrorCode, Typed, Value, profiles::ErrorFail};
use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::access::Denied;

/// The media type of frames (draft section 12).
pub(crate) const ACCP: &str = "application/accp";

/// The reason why a request is refused.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) code: ErrorCode,
    /// What the hub expected, without any part of the request.
    pub(crate) expected: String,
    pub(crate) at: Option<usize>,
    /// Seconds after which the request may be made again.
    pub(crate) again: Option<u64>,
    /// The address of the hub that runs the session, if another hub runs it.
    pub(crate) there: Option<String>,
}

impl Refused {
    fn new(status: StatusCode, code: ErrorCode, expected: impl Into<String>) -> Self {
        Self {
            status,
            code,
            expected: expected.into(),
            at: None,
            again: None,
            there: None,
        }
    }

    pub(crate) fn invalid(expected: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorCode::PARSE_ERROR, expected)
    }

    pub(crate) fn media_type() -> Self {
        let expected = format!("Content-Type: {ACCP}");
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Self::new(status, ErrorCode::PARSE_ERROR, expected)
    }

    pub(crate) fn too_long(limit: usize) -> Self {
        let expected = format!("{limit} bytes at most");
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::PARSE_ERROR,
            expected,
        )
    }

    /// `expected` did not come within this time.
    pub(crate) fn too_slow(expected: &str, time: Duration) -> Self {
        let expected = format!("{expected} within {} seconds", time.as_secs());
        Self::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::TIMEOUT, expected)
    }

    pub(crate) fn unknown_session() -> Self {
        let expected = "a session that is there";
        Self::new(StatusCode::NOT_FOUND, ErrorCode::REF_NOT_FOUND, expected)
    }

    pub(crate) fn not_found(code: ErrorCode, expected: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, expected)
    }

    /// The request contradicts existing data.
    pub(crate) fn conflict(expected: impl Into<String>) -> Self {
        let code = ErrorCode::POLICY_DENIED;
        Self::new(StatusCode::CONFLICT, code, expected)
    }

    /// The hub cannot take the request now.
    pub(crate) fn busy(expected: &str) -> Self {
        Self {
            again: Some(1),
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                ErrorCode::TIMEOUT,
                expected,
            )
        }
    }

    /// The session or its hub ends before the answer is complete.
    pub(crate) fn ending() -> Self {
        Self::busy("a session that goes on: it ends here, and the answer is not whole")
    }

    /// The hub ends while a client waits for an answer. Another hub has the frame of the client.
    pub(crate) fn ending_before_the_answer() -> Self {
        Self::busy(
            "an answer of the hub that runs the session, but this hub ends: send the same frame again to another hub, \
             which says E3002 if the frame has arrived",
        )
    }

    /// The hub ends while a client waits for the answer to its call at another hub.
    pub(crate) fn ending_in_a_call() -> Self {
        Self::busy(
            "an answer of the hub that runs the session, but this hub ends: what the call has sent stands, and an answer \
             waits there",
        )
    }

    /// The address does not allow the method of the request.
    pub(crate) fn method() -> Self {
        let expected = "a method that the header `Allow` and /openapi.json name for this address";
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Self::new(status, ErrorCode::PARSE_ERROR, expected)
    }

    /// The request does not open a WebSocket, for the reason of this status.
    pub(crate) fn upgrade(status: StatusCode) -> Self {
        let expected = "a request that opens a WebSocket (RFC 6455): GET with `Connection: Upgrade`, \
                        `Upgrade: websocket`, `Sec-WebSocket-Version: 13` and `Sec-WebSocket-Key`";
        Self::new(status, ErrorCode::PARSE_ERROR, expected)
    }

    /// An answer is not complete in the time that its caller waits.
    pub(crate) fn late() -> Self {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            ErrorCode::TIMEOUT,
            "a whole answer in the time of `Prefer: wait`; its other pieces come in the log",
        )
    }

    /// The hub at this address runs the session.
    pub(crate) fn elsewhere(there: String) -> Self {
        Self {
            there: Some(there),
            ..Self::busy("the hub that runs the session")
        }
    }

    pub(crate) fn too_many() -> Self {
        let expected = "fewer frames a second";
        Self {
            again: Some(1),
            // The draft has no code for "try again later", so the error has the code of a timeout.
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::TIMEOUT, expected)
        }
    }

    pub(crate) fn too_fast() -> Self {
        Self {
            expected: "fewer bytes a second".to_owned(),
            ..Self::too_many()
        }
    }

    pub(crate) fn too_many_requests() -> Self {
        Self {
            expected: "fewer requests and sockets that are open at a time".to_owned(),
            ..Self::too_many()
        }
    }

    pub(crate) fn too_many_bytes() -> Self {
        Self {
            expected: "fewer bytes of bodies at a time, of those on their way and of calls without an answer"
                .to_owned(),
            ..Self::too_many()
        }
    }

    /// The caller may begin a session after this time.
    pub(crate) fn too_many_sessions(wait: Duration) -> Self {
        Self {
            expected: "fewer new sessions a minute".to_owned(),
            again: Some(wait.as_secs() + 1),
            ..Self::too_many()
        }
    }

    /// The log cannot be read from this position on.
    pub(crate) fn unreadable(position: u64) -> Self {
        let expected = format!("a log that can be read from position {position} on");
        let code = ErrorCode::INTERNAL_ERROR;
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, code, expected)
    }

    /// The store has damaged data where a value should be. The session itself goes on.
    pub(crate) fn damaged_value(reference: &str) -> Self {
        let expected = format!(
            "a value that is whole in the store, and the data of `{reference}` is damaged there: the hub's log names the \
             place, `accp session verify` finds what else is damaged, and a backup has the value"
        );
        let code = ErrorCode::INTERNAL_ERROR;
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, code, expected)
    }

    pub(crate) fn origin() -> Self {
        let expected = "a page of an origin that the hub knows (`origins`)";
        Self::new(StatusCode::FORBIDDEN, ErrorCode::POLICY_DENIED, expected)
    }

    pub(crate) fn host() -> Self {
        let expected =
            "a Host of loopback, or of a page in `origins`, because the hub has no tokens";
        Self::new(StatusCode::FORBIDDEN, ErrorCode::POLICY_DENIED, expected)
    }

    /// Data was erased, but pages of the file may still hold it, because another program reads the file.
    pub(crate) fn unscrubbed() -> Self {
        Self::busy(
            "that no other program reads the file of the hub meanwhile: nobody can read what was erased, and \
             blocks of the file may still hold it until it is erased again",
        )
    }

    /// The disk has no room to erase data. The log of the hub says whether the data has left the tables.
    pub(crate) fn uncopied(why: &accp_store::StoreError) -> Self {
        tracing::error!(%why, "data is not erased");
        Self::busy(
            "room on the disk for a copy of the store: nothing is erased, or blocks of the disk may still hold it, until \
             it is erased again; the hub's log says which",
        )
    }

    /// The store failed. The reason is for the log of the hub, and not for the caller.
    pub(crate) fn store(why: &impl Fails) -> Self {
        tracing::error!(%why, "a session cannot go on");
        if why.is_damage() {
            return Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                ErrorCode::INTERNAL_ERROR,
                "a session whose data in the store is not damaged; the hub's log says what is, and only a backup \
                 helps",
            );
        }
        Self::busy("a store that can be written")
    }
}

/// Why a store failed.
pub(crate) trait Fails: fmt::Display {
    /// Returns whether the data is damaged, so that trying again does not help.
    fn is_damage(&self) -> bool;
}

impl Fails for accp_store::StoreError {
    fn is_damage(&self) -> bool {
        self.is_damage()
    }
}

impl Fails for accp_client::Error {
    fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_))
    }
}

impl From<Denied> for Refused {
    fn from(denied: Denied) -> Self {
        let status = match denied {
            Denied::Token | Denied::Claims(_) => StatusCode::UNAUTHORIZED,
            Denied::Agent | Denied::Session | Denied::Admin => StatusCode::FORBIDDEN,
            Denied::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, denied.code(), denied.to_string())
    }
}

impl From<accp_frame::DecodeError> for Refused {
    fn from(error: accp_frame::DecodeError) -> Self {
        let at = error.at();
        Self {
            at: Some(at),
            ..Self::new(StatusCode::BAD_REQUEST, error.code(), error.expected())
        }
    }
}

impl Refused {
    /// Returns whether the same request may be taken later: the store or the session takes nothing now.
    pub(crate) fn is_later(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE
    }

    /// Returns the error as a frame.
    pub(crate) fn frame(&self, hub: &str) -> String {
        // Damage stays, however often the caller asks.
        let is_damage = self.status == StatusCode::INTERNAL_SERVER_ERROR;
        let error = ErrorFail {
            code: self.code.to_string().into(),
            msg: self.expected.as_str().into(),
            retry: self.code.is_retryable().unwrap_or_default() && !is_damage,
            expected_sequence: None,
            version: None,
            field: None,
            at: self.at.and_then(|at| i64::try_from(at).ok()),
            holder: None,
            sequence: None,
            tool_name: None,
            escalate_to: None,
        };
        // The error names no session, because the session may be unknown or the caller may have no
        // right to it.
        let mut envelope = accp_client::outside();
        envelope.extra.insert("of", Value::Null);
        let options = EncodeOptions {
            inline: true,
            ..EncodeOptions::default()
        };
        let mut text = String::new();
        if let Ok(agent) = AgentId::new(hub) {
            // Codes and texts of the hub always fit in a frame, so the encoding cannot fail.
            let _ = Typed::new(agent, error, envelope).encode_into(&mut text, options);
        }
        crate::frame_log::log("", hub, "sends", text.as_bytes());
        text
    }

    pub(crate) fn response(&self, hub: &str) -> Response {
        let mut response = frame(self.status, self.frame(hub));
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer realm=\"accp\"");
            headers.insert(header::WWW_AUTHENTICATE, bearer);
        }
        if let Some(again) = self.again {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(again));
        }
        response
    }
}

/// Returns a response whose body is one frame.
pub(crate) fn frame(status: StatusCode, text: impl Into<String>) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(ACCP))];
    (status, kind, text.into()).into_response()
}

/// Returns a frame as a chunk. It ends with a line feed, for clients that read lines.
pub(crate) fn line(text: &str) -> Bytes {
    let mut line = String::with_capacity(text.len() + 1);
    line.push_str(text);
    line.push('\n');
    line.into()
}

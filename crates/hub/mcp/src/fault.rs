//! Errors of tool calls for the model, and of other requests for its client: what is wrong, and what to do about it.

use accp_client::Error;
use accp_frame::{DecodeError, EncodeError, ErrorCode};
use accp_session::ReadError;
use rmcp::ErrorData;
use rmcp::model::ErrorCode as RpcCode;
use serde_json::json;

/// The code of an error for a request that the client may repeat later. JSON-RPC leaves this code to servers.
const LATER: RpcCode = RpcCode(-32000);

/// The reason why a tool has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    /// What the model can do about the error.
    pub(crate) cure: String,
    /// Whether the frame that was sent is still under way, so that nobody may send the frame again.
    pub(crate) stands: bool,
}

impl Fault {
    pub(crate) fn new(
        code: ErrorCode,
        message: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            cure: cure.into(),
            stands: false,
        }
    }

    /// Says that the frame that was sent is still under way.
    pub(crate) fn standing(mut self) -> Self {
        self.stands = true;
        self
    }

    /// An argument of the call is missing or of the wrong type.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        let cure = "call the tool again with arguments that fit its input schema";
        Self::new(ErrorCode::TOOL_SCHEMA_MISMATCH, message, cure)
    }

    /// The right of the caller is over.
    pub(crate) fn over(why: String) -> Self {
        Self::new(ErrorCode::POLICY_DENIED, why, "tell the user")
    }

    /// The text of a frame cannot be read.
    pub(crate) fn text(error: &DecodeError) -> Self {
        let cure =
            "mend the frame at that byte, or give `intent`, `operation` and `params` instead";
        let code = error.code();
        Self::new(code, without_code(&error.to_string(), code), cure)
    }

    /// A frame cannot be written.
    pub(crate) fn frame(error: &EncodeError) -> Self {
        let cure = "mend what the message names; accp://registry says which fields a frame takes";
        Self::new(error.code(), error.to_string(), cure)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let cure = match &error {
            Error::Input(_) => "mend what the message names; nothing was sent",
            Error::Pending(_) => {
                "do not send it again: it waits for the hub and goes out by itself. If it stays so, tell the user \
                 that the hub is away"
            }
            Error::Unsent(_) => {
                "nothing was sent; call again later, or tell the user that the hub is away"
            }
            Error::Refused(_) => "the frame is not in the session; mend it and send it again",
            Error::Failed(_) => "the other agent could not do it; read its reason",
            Error::Timeout(_) => {
                "the question stands: go on with other work, and call accp_receive later for the \
                 answer; do not ask again"
            }
            Error::Expired => {
                "the frame is not in the session; send it again with a longer ttl, or with none"
            }
            Error::Cancelled => {
                "the frame is not in the session, and its chain is over; begin another one if it is still needed"
            }
            Error::Reference(_, ReadError::Unavailable) => "read it again later",
            Error::Reference(..) => {
                "take a reference from the context (`p7`, `cold.k101_1`), or find it with accp_query"
            }
            Error::Busy(_) => "nothing was sent; call again after that time",
            Error::Ended(_) => "call again: the agent is opened anew if it can be",
            _ => "tell the user",
        };
        let code = match &error {
            Error::Cancelled | Error::Denied(..) => ErrorCode::POLICY_DENIED,
            Error::Name(_, why) => why.code(),
            _ => error.code().unwrap_or(ErrorCode::INTERNAL_ERROR),
        };
        let stands = matches!(error, Error::Pending(_) | Error::Timeout(_));
        Self {
            stands,
            ..Self::new(code, without_code(&error.to_string(), code), cure)
        }
    }
}

/// Makes the error for a request that cannot be served: the caller gets no agent, or its agent has ended. Its data has
/// the code of the draft and what to do, and the seconds after which the request may work if the hub has said so.
pub(crate) fn unserved(error: &Error) -> ErrorData {
    let number = match error {
        Error::Busy(_) | Error::Reference(_, ReadError::Unavailable) => LATER,
        Error::Denied(..) | Error::NoSession(_) | Error::Name(..) | Error::Input(_) => {
            RpcCode::INVALID_REQUEST
        }
        _ => RpcCode::INTERNAL_ERROR,
    };
    let Fault { code, cure, .. } = Fault::from(error.clone());
    let mut data = json!({ "code": code.to_string(), "cure": cure });
    if let Error::Busy(busy) = error {
        data["retryAfter"] = busy.seconds().into();
    }
    ErrorData::new(number, error.to_string(), Some(data))
}

/// Makes the error for a tool or a resource that is not there. Its data has the code of the draft and what to do.
pub(crate) fn absent(number: RpcCode, text: String, code: ErrorCode, cure: &str) -> ErrorData {
    let data = json!({ "code": code.to_string(), "cure": cure });
    ErrorData::new(number, text, Some(data))
}

/// Makes the error for a request whose caller has no right any more.
pub(crate) fn over(why: String) -> ErrorData {
    let Fault { code, cure, .. } = Fault::over(String::new());
    let data = json!({ "code": code.to_string(), "cure": cure });
    ErrorData::new(RpcCode::INVALID_REQUEST, why, Some(data))
}

/// Removes the code from a text, because the result shows the code before the text.
fn without_code(text: &str, code: ErrorCode) -> String {
    let code = code.to_string();
    let text = text.replacen(&format!("{code}: "), "", 1);
    let prefix = format!("{code} ");
    text.strip_prefix(&prefix).map(String::from).unwrap_or(text)
}

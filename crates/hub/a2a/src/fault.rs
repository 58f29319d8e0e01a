//! Errors as clients of A2A get them.

use std::collections::HashMap;

use a2a::errordetails::ERROR_INFO_TYPE;
use a2a::{A2AError, FieldViolation, JsonRpcError, PROTOCOL_DOMAIN, TypedDetail};
use accp_client::{Busy, Error};
use accp_frame::{DecodeError, ErrorCode};
use accp_session::{InputError, SendError};
use serde_json::Value;

/// The code of an error for a call that the client may repeat later. JSON-RPC leaves this code to servers, and the
/// codes of A2A begin at -32001.
const LATER: i32 = -32000;
/// The type of a detail that says when to call again.
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// The reason why a call fails.
pub(crate) enum Failure {
    Call(A2AError),
    /// The agent of the caller cannot be opened, at least not now.
    Agent(Error),
}

impl From<A2AError> for Failure {
    fn from(error: A2AError) -> Self {
        Self::Call(error)
    }
}

/// An error of the agent during the call.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Call(of_agent(&error))
    }
}

/// Refuses push notifications.
pub(crate) fn of_push() -> A2AError {
    let error = A2AError::push_notification_not_supported();
    let message =
        format!("{error}: call SendStreamingMessage or SubscribeToTask, or GetTask later");
    A2AError { message, ..error }
}

/// Makes the error for a call that the client may repeat later: the caller has used up a limit, or the hub accepts no
/// calls now.
fn of_busy(busy: &Busy) -> A2AError {
    let seconds = busy.seconds();
    let reason = if busy.is_limit {
        "RATE_LIMITED"
    } else {
        "UNAVAILABLE"
    };
    let delay = HashMap::from([("retryDelay".to_owned(), format!("{seconds}s").into())]);
    let facts = [
        ("code", busy.code.to_string()),
        ("retryAfter", seconds.to_string()),
    ];
    let details = vec![TypedDetail::new(RETRY_INFO, delay), of_facts(reason, facts)];
    A2AError::new(LATER, busy.to_string()).with_details(details)
}

/// Refuses a part that is not a frame. The error says the code, the byte and what was expected, and quotes
/// nothing of the part.
pub(crate) fn of_frame(part: usize, error: &DecodeError) -> A2AError {
    let (code, at, expected) = (error.code(), error.at(), error.expected());
    let text = format!("{code} at byte {at}: expected {expected}");
    let facts = [("code", code.to_string()), ("byte", at.to_string())];
    of_part(part, &text, facts)
}

/// Refuses a part whose frame is valid but not allowed here.
pub(crate) fn of_part<const N: usize>(
    part: usize,
    text: &str,
    facts: [(&str, String); N],
) -> A2AError {
    of_field(&format!("message.parts[{part}]"), text, facts)
}

/// Refuses a field of the params.
pub(crate) fn of_field<const N: usize>(
    field: &str,
    text: &str,
    facts: [(&str, String); N],
) -> A2AError {
    let violation = FieldViolation {
        field: field.to_owned(),
        description: text.to_owned(),
    };
    let mut details = vec![TypedDetail::bad_request(vec![violation])];
    if N > 0 {
        details.push(of_facts("INVALID_PARAMS", facts));
    }
    A2AError::invalid_params(format!("{field}: {text}")).with_details(details)
}

/// Reads a number that is not negative.
pub(crate) fn count(field: &str, number: Option<i32>) -> Result<Option<usize>, A2AError> {
    let number = number.map(usize::try_from).transpose();
    number.map_err(|_| of_field(field, "expected a number from 0", []))
}

/// Makes the error for a frame that the session refuses.
pub(crate) fn of_session(part: usize, error: &Error) -> A2AError {
    let code = error.code();
    match (error, code) {
        (Error::Input(_) | Error::Refused(_), Some(code)) => {
            let text = match error {
                Error::Refused(why) => format!("{code}: expected {}", why.message),
                // These errors describe the client's own frame, so the client may read their texts.
                other => other.to_string(),
            };
            of_part(part, &text, [("code", code.to_string())])
        }
        _ => of_agent(error),
    }
}

/// Makes the failure of a call whose first frame was judged before its agent was opened: the frame is refused, or the
/// agent cannot be opened.
pub(crate) fn of_first(part: usize, error: Error) -> Failure {
    let is_about_the_frame = match &error {
        Error::Refused(_) | Error::Expired | Error::Cancelled => true,
        Error::Input(InputError::Send(why)) => !matches!(why, SendError::Stopped(_)),
        _ => false,
    };
    if is_about_the_frame {
        of_session(part, &error).into()
    } else {
        Failure::Agent(error)
    }
}

/// Makes the error for an agent that has failed.
pub(crate) fn of_agent(error: &Error) -> A2AError {
    if let Error::Busy(busy) = error {
        return of_busy(busy);
    }
    let code = error.code().unwrap_or(ErrorCode::INTERNAL_ERROR);
    let facts = [("code", code.to_string())];
    A2AError::internal(error.to_string()).with_details(vec![of_facts("INTERNAL_ERROR", facts)])
}

/// Makes the error for a caller that may not act as the agent.
pub(crate) fn of_caller(error: &Error) -> A2AError {
    let refused = A2AError::invalid_request(error.to_string());
    match error.code() {
        Some(code) => {
            let facts = [("code", code.to_string())];
            refused.with_details(vec![of_facts("INVALID_REQUEST", facts)])
        }
        None => refused,
    }
}

/// Writes an error for JSON-RPC. The types of A2A derive the reason of an `ErrorInfo` from the error code, and A2A
/// has no code for a limit. So this function writes the reason that the error itself names.
pub(crate) fn to_json_rpc(error: &A2AError) -> JsonRpcError {
    let mut written = error.to_jsonrpc_error();
    let mut details = error.details.iter().flatten();
    let own = details.find_map(|detail| {
        let reason = detail.value.get("reason");
        reason.filter(|_| detail.type_url == ERROR_INFO_TYPE)
    });
    let data = written.data.as_mut().and_then(Value::as_array_mut);
    let info = data.and_then(|details| details.last_mut());
    if let (Some(reason), Some(info)) = (own, info) {
        info["reason"] = reason.clone();
    }
    written
}

/// Makes an `ErrorInfo` with this metadata.
fn of_facts<const N: usize>(reason: &str, facts: [(&str, String); N]) -> TypedDetail {
    let facts = facts.map(|(name, value)| (name.to_owned(), value));
    TypedDetail::error_info(reason, PROTOCOL_DOMAIN, Some(HashMap::from(facts)))
}

//! Errors as clients of A2A get them.

use std::collections::HashMap;

use a2a::{A2AError, FieldViolation, PROTOCOL_DOMAIN, TypedDetail};
use accp_client::Error;
use accp_frame::{DecodeError, ErrorCode};

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

/// Refuses a call because the agent sends too many frames for now.
pub(crate) fn of_rate() -> A2AError {
    let facts = [("code", ErrorCode::POLICY_DENIED.to_string())];
    let text = "the agent sends too many frames: send the message again in a second, or in parts";
    A2AError::internal(text).with_details(vec![of_facts("RATE_LIMITED", facts)])
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

/// Makes the error for an agent that has failed.
pub(crate) fn of_agent(error: &Error) -> A2AError {
    let code = error.code().unwrap_or(ErrorCode::INTERNAL_ERROR);
    let facts = [("code", code.to_string())];
    A2AError::internal(error.to_string()).with_details(vec![of_facts("INTERNAL_ERROR", facts)])
}

/// Makes the error for a caller that is not let in as the agent.
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

/// Makes an `ErrorInfo` with this metadata.
fn of_facts<const N: usize>(reason: &str, facts: [(&str, String); N]) -> TypedDetail {
    let facts = facts.map(|(name, value)| (name.to_owned(), value));
    TypedDetail::error_info(reason, PROTOCOL_DOMAIN, Some(HashMap::from(facts)))
}

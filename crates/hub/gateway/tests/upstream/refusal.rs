//! A refusal of the provider.

/// Why a request is refused.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) param: Option<&'static str>,
}

impl Refusal {
    pub(super) fn invalid(message: &str) -> Self {
        Self {
            status: 400,
            kind: "invalid_request_error",
            message: message.to_owned(),
            param: None,
        }
    }

    pub(super) fn key() -> Self {
        Self {
            status: 401,
            kind: "authentication_error",
            ..Self::invalid("invalid x-api-key")
        }
    }

    pub(super) fn model(name: &str) -> Self {
        Self {
            status: 404,
            kind: "not_found_error",
            ..Self::invalid(&format!("model: {name}"))
        }
    }

    pub(super) fn of(param: &'static str, message: &str) -> Self {
        Self {
            param: Some(param),
            ..Self::invalid(message)
        }
    }
}

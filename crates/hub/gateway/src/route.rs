//! Finds out which API a request is for.

use std::fmt;

use accp_memory::Form;
use axum::http::{HeaderMap, Method};

/// A provider of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic, and other providers with its API.
    Anthropic,
    /// OpenAI, and other providers with its API.
    OpenAi,
}

impl Provider {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a request goes, and whether it has a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) provider: Provider,
    /// The form of the request's list, if a model answers the request.
    pub(crate) form: Option<Form>,
}

impl Route {
    /// Finds the route by the path. If both providers have this path, finds it by the headers that only clients of
    /// Anthropic send.
    pub(crate) fn of(method: &Method, path: &str, headers: &HeaderMap) -> Self {
        let form = match path {
            "/v1/messages" => Some(Form::Anthropic),
            "/v1/chat/completions" => Some(Form::OpenAi),
            "/v1/responses" => Some(Form::Responses),
            _ => None,
        };
        let is_anthropic = match form {
            Some(form) => form == Form::Anthropic,
            None => {
                path.starts_with("/v1/messages/")
                    || headers.contains_key("anthropic-version")
                    || headers.contains_key("x-api-key")
            }
        };
        Self {
            provider: if is_anthropic {
                Provider::Anthropic
            } else {
                Provider::OpenAi
            },
            form: form.filter(|_| method == Method::POST),
        }
    }
}

#[cfg(test)]
mod tests {
    use Provider::{Anthropic, OpenAi};
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_path_has_a_provider_and_a_form() {
        let mut headers = HeaderMap::new();
        let of = |method, path, headers: &HeaderMap| {
            let route = Route::of(&method, path, headers);
            (route.provider, route.form)
        };
        assert_eq!(
            of(Method::POST, "/v1/messages", &headers),
            (Anthropic, Some(Form::Anthropic))
        );
        assert_eq!(
            of(Method::POST, "/v1/messages/count_tokens", &headers),
            (Anthropic, None)
        );
        assert_eq!(
            of(Method::POST, "/v1/responses", &headers),
            (OpenAi, Some(Form::Responses))
        );
        assert_eq!(
            of(Method::POST, "/v1/responses/compact", &headers),
            (OpenAi, None)
        );
        assert_eq!(of(Method::GET, "/v1/responses", &headers), (OpenAi, None));
        assert_eq!(of(Method::GET, "/v1/models", &headers), (OpenAi, None));
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        assert_eq!(of(Method::GET, "/v1/models", &headers), (Anthropic, None));
    }
}

//! Finds out which API a request is for.

use std::fmt;

use accp_memory::Form;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

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
            None => path.starts_with("/v1/messages/") || is_of_anthropic(headers),
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

/// Returns whether headers are those of a client of Anthropic: it names an API or a feature of Anthropic, or it shows a
/// key that Anthropic has given it.
fn is_of_anthropic(headers: &HeaderMap) -> bool {
    let mut names = headers.keys().map(HeaderName::as_str);
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    names.any(|name| name.starts_with("anthropic-") || name == "x-api-key")
        || shown.any(|value| {
            let key = value.to_str().ok().and_then(|text| text.split_once(' '));
            key.is_some_and(|(_, key)| key.trim_start().starts_with("sk-ant-"))
        })
}

/// Returns why the gateway refuses to pass a path on. Either the path is below `/accp/`, where only the gateway's own
/// pages are, or its steps could lead to another place at the provider, or there is none.
pub(crate) fn misled(path: &str) -> Option<(StatusCode, String)> {
    if path.starts_with("/accp/") {
        let message =
            format!("there is no page {path}; expected /accp/v1/gateway/report, events or ready");
        return Some((StatusCode::NOT_FOUND, message));
    }
    if path.is_empty() {
        // A request of the method CONNECT has no path.
        let message = "the gateway is not a proxy for CONNECT; give its URL to the client as the base URL of the API";
        return Some((StatusCode::BAD_REQUEST, message.to_owned()));
    }
    let mut steps = path
        .split('/')
        .map(|step| step.to_ascii_lowercase().replace("%2e", "."));
    let leads_away = !path.starts_with('/')
        || path.contains('\\')
        || steps.any(|step| matches!(&*step, "." | ".."));
    leads_away.then(|| {
        let message = format!("expected a path from `/` without `.`, `..` and `\\`, found {path}");
        (StatusCode::BAD_REQUEST, message)
    })
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
        for (name, value, provider) in [
            ("anthropic-beta", "oauth-2025-04-20", Anthropic),
            ("authorization", "Bearer sk-ant-oat01-x", Anthropic),
            ("authorization", "Bearer sk-proj-x", OpenAi),
        ] {
            let headers = HeaderMap::from_iter([(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )]);
            let path = "/api/oauth/profile";
            assert_eq!(of(Method::GET, path, &headers), (provider, None), "{value}");
        }
    }

    #[test]
    fn a_path_leads_where_it_says() {
        for path in ["/", "/v1/models", "/v1/files/a..b", "/v1/files/.hidden"] {
            assert_eq!(misled(path), None, "{path}");
        }
        for path in [
            "*",
            "/v1/../x",
            "/v1/%2E%2e/x",
            "/v1/./x",
            "/v1\\x",
            "/v1/..",
        ] {
            let (status, _) = misled(path).expect(path);
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
        }
        let (status, message) = misled("").expect("no path");
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(message.contains("base URL"), "{message}");
        let (status, _) = misled("/accp/v1/gateway/raport").expect("a page");
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
}

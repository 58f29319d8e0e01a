//! Sends a request to its provider.

use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};

use crate::arriving::{Cut, innermost};
use crate::headers;
use crate::route::Route;
use crate::state::App;

/// What a provider answers, or why there is no answer.
pub(crate) type Sent = Result<reqwest::Response, reqwest::Error>;

/// Sends a request on. The gateway reads the answers of models, for their counts.
pub(crate) async fn send(
    app: &App,
    route: Route,
    (parts, url): (&Parts, &str),
    body: Option<reqwest::Body>,
) -> Sent {
    let mut headers = parts.headers.clone();
    headers::prepare(&mut headers, route.form.is_some());
    let request = app
        .client
        .request(parts.method.clone(), url)
        .headers(headers);
    let request = match body {
        Some(body) => request.body(body),
        None => request,
    };
    request.send().await
}

/// Returns the head of a request whose body was changed. If `is_read`, the gateway has to read the answer, so the
/// head asks for an answer without compression.
pub(crate) fn unpacked(parts: &Parts, is_read: bool) -> Parts {
    let mut parts = parts.clone();
    parts.headers.remove(header::CONTENT_ENCODING);
    parts.headers.remove(header::CONTENT_LENGTH);
    if is_read {
        let identity = HeaderValue::from_static("identity");
        parts.headers.insert(header::ACCEPT_ENCODING, identity);
    }
    parts
}

/// Returns whether the provider has refused the request itself, with status 400.
pub(crate) fn is_refused(sent: &Sent) -> bool {
    let sent = sent.as_ref();
    sent.is_ok_and(|sent| sent.status() == StatusCode::BAD_REQUEST)
}

/// Returns the status and the words of the answer that a client gets if there is none from the provider. The reason may
/// be that the client's own request did not come whole.
pub(crate) fn failed(url: &str, error: &reqwest::Error) -> (StatusCode, String) {
    match Cut::behind(error) {
        Some(cut) => (cut.status(), cut.to_string()),
        None => (StatusCode::BAD_GATEWAY, told(url, error)),
    }
}

/// Returns why there is no answer from a provider. `url` is its URL as users see it.
pub(crate) fn told(url: &str, error: &reqwest::Error) -> String {
    let cause = innermost(error);
    if error.is_connect() {
        format!("{url} cannot be reached: {cause}")
    } else {
        format!(
            "{url} broke off before its answer: {cause}; it may have taken the request, and may bill it"
        )
    }
}

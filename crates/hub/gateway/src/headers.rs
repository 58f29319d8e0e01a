//! Headers: which headers are passed on, and what they say of the owner and the session of a request.

use accp_memory::Form;
use axum::http::Method;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use ring::hmac;
use serde_json::Value as Json;

/// The header with which a client turns the gateway off for a request: `x-accp: off`.
pub(crate) const SWITCH: HeaderName = HeaderName::from_static("x-accp");

/// Headers that belong to one connection and are not passed on.
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// Headers in which clients name their session.
const SESSION: [&str; 6] = [
    "x-claude-code-session-id",
    "session_id",
    "session-id",
    "x-session-id",
    "conversation_id",
    "x-codex-turn-state",
];

/// The headers in which a client shows its key.
const KEYS: [&str; 3] = ["authorization", "x-api-key", "api-key"];

/// A key has at least this many bytes. A shorter one is no secret, and may stand in any text.
const SHORTEST: usize = 8;

/// Removes the headers of a connection, also those that the header `connection` names.
pub(crate) fn remove_of_connection(headers: &mut HeaderMap) {
    let named = headers.get_all(header::CONNECTION).iter();
    let named: Vec<HeaderName> = named
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
}

/// Removes the headers that are meant for the gateway alone. If the gateway reads the answer (`is_read`), also asks
/// for an answer that the gateway can read.
pub(crate) fn prepare(headers: &mut HeaderMap, is_read: bool) {
    remove_of_connection(headers);
    headers.remove(header::HOST);
    headers.remove(SWITCH);
    let accepted = headers.get(header::ACCEPT_ENCODING);
    if let Some(accepted) = accepted.filter(|_| is_read) {
        let takes_gzip = accepted
            .to_str()
            .is_ok_and(|text| text.split(',').any(is_gzip));
        let value = if takes_gzip { "gzip" } else { "identity" };
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
    }
}

/// Returns whether a part of `accept-encoding` accepts gzip.
fn is_gzip(part: &str) -> bool {
    let (name, weight) = part.split_once(';').unwrap_or((part, ""));
    let weight = weight.trim().strip_prefix("q=");
    let weight = weight.and_then(|weight| weight.trim().parse::<f32>().ok());
    name.trim().eq_ignore_ascii_case("gzip") && weight.is_none_or(|weight| weight > 0.0)
}

/// Returns whether a request asks for a WebSocket. The gateway ignores offers to change to other protocols.
pub(crate) fn asks_for_socket(parts: &Parts) -> bool {
    let to = parts.headers.get(header::UPGRADE);
    let is_socket = |to: &HeaderValue| to.as_bytes().eq_ignore_ascii_case(b"websocket");
    parts.method == Method::GET && to.is_some_and(is_socket)
}

/// Returns whether the client has turned the gateway off.
pub(crate) fn is_off(headers: &HeaderMap) -> bool {
    headers
        .get(SWITCH)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"off"))
}

/// Returns the digest of the credentials of a request, under the secret of a ledger. All requests without credentials
/// have the same digest.
pub(crate) fn owner(secret: &hmac::Key, headers: &HeaderMap) -> [u8; 16] {
    let mut context = hmac::Context::with_key(secret);
    for name in KEYS {
        let value = headers.get(name).map_or(&b""[..], |value| value.as_bytes());
        context.update(&(value.len() as u64).to_le_bytes());
        context.update(value);
    }
    first_half(context.sign().as_ref())
}

/// Returns a text without the keys that a request shows: a provider may repeat a key in its error.
pub(crate) fn without_keys(headers: &HeaderMap, text: &str) -> String {
    let shown = KEYS.iter().flat_map(|name| headers.get_all(*name));
    let words = shown.filter_map(|value| value.to_str().ok());
    let keys = words.flat_map(str::split_whitespace);
    keys.filter(|key| key.len() >= SHORTEST)
        .fold(text.to_owned(), |text, key| text.replace(key, "[key]"))
}

/// Returns what a request says of its session: a header of its client, or a member of its body. `None` if it says nothing.
pub(crate) fn session_hint(headers: &HeaderMap, form: Form, body: &Json) -> Option<String> {
    let of_header = SESSION.iter().find_map(|name| headers.get(*name));
    if let Some(value) = of_header.and_then(|value| value.to_str().ok()) {
        return Some(value.to_owned());
    }
    let members: &[&str] = match form {
        Form::Anthropic => &["/metadata/user_id"],
        Form::OpenAi => &["/prompt_cache_key"],
        Form::Responses => &["/prompt_cache_key", "/conversation", "/conversation/id"],
    };
    let found = members
        .iter()
        .find_map(|place| body.pointer(place)?.as_str());
    found.map(str::to_owned)
}

/// Returns the first half of a digest.
pub(crate) fn first_half(digest: &[u8]) -> [u8; 16] {
    let half = digest.first_chunk::<16>();
    half.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            })
            .collect()
    }

    #[test]
    fn what_belongs_to_a_connection_ends_there() {
        let mut all = headers(&[
            ("connection", "x-hop, keep-alive"),
            ("x-hop", "1"),
            ("keep-alive", "5"),
            ("host", "127.0.0.1"),
            ("x-accp", "shadow"),
            ("accept-encoding", "br, gzip, zstd"),
            ("anthropic-beta", "a,b"),
        ]);
        for (is_read, encodings) in [(false, "br, gzip, zstd"), (true, "gzip")] {
            prepare(&mut all, is_read);
            let left: Vec<_> = all
                .iter()
                .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
                .collect();
            assert_eq!(
                left,
                [("accept-encoding", encodings), ("anthropic-beta", "a,b")]
            );
        }
    }

    #[test]
    fn an_encoding_of_no_weight_is_not_accepted() {
        for (part, expected) in [
            ("gzip", true),
            (" GZIP ; q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("x-gzip", false),
        ] {
            assert_eq!(is_gzip(part), expected, "{part}");
        }
    }

    #[test]
    fn a_text_loses_the_keys_of_its_request() {
        let shown = headers(&[
            ("authorization", "Bearer sk-proj-12"),
            ("x-api-key", "sk-ant-34"),
            ("api-key", "local"),
        ]);
        let text = "the Bearer of sk-proj-12 or sk-ant-34 is not local";
        let expected = "the Bearer of [key] or [key] is not local";
        assert_eq!(without_keys(&shown, text), expected);
    }

    #[test]
    fn a_session_belongs_to_the_key_that_uses_it() {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, b"s");
        let of = |pairs| owner(&secret, &headers(pairs));
        let one = of(&[("x-api-key", "k1")]);
        assert_eq!(one, of(&[("x-api-key", "k1"), ("x-other", "1")]));
        assert_ne!(one, of(&[("x-api-key", "k2")]));
        assert_ne!(one, of(&[("authorization", "k1")]));
        let other = hmac::Key::new(hmac::HMAC_SHA256, b"t");
        assert_ne!(one, owner(&other, &headers(&[("x-api-key", "k1")])));
    }
}

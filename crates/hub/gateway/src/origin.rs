//! Tells requests of programs from those that a page of another site makes in a browser on this machine.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

/// The ends of host names that no other site can have: those below `localhost`, and those by which a container
/// reaches its machine.
const OWN: [&str; 2] = [".localhost", ".internal"];

/// Returns the host that a request names, without its port; an empty text if it names none.
pub(crate) fn host<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> &'r str {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    // HTTP/2 has the host in the URI.
    let authority = uri.authority().map(Authority::as_str);
    without_port(host.or(authority).unwrap_or_default())
}

/// Returns whether a host is an address or `localhost`. A page of another site has another host, even if the name of
/// that host leads to this machine.
pub(crate) fn is_address(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']);
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok()
}

/// Returns why a request for a provider is refused; `None` if the request may come from a program. A program names no
/// origin, or one that is not a site, such as `null` or `vscode-webview://..`. With `is_loopback`, only this machine
/// can reach the gateway, so a request also has to name a host that always means this machine.
pub(crate) fn refused(headers: &HeaderMap, uri: &Uri, is_loopback: bool) -> Option<String> {
    let origins = headers.get_all(header::ORIGIN).iter();
    let origins = origins.map(|origin| String::from_utf8_lossy(origin.as_bytes()));
    for origin in origins {
        let site = origin.split_once("://");
        let site = site.filter(|(scheme, _)| {
            scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
        });
        if site.is_some_and(|(_, host)| !is_loopback_name(without_port(host))) {
            return Some(format!("expected no page of another site, found {origin}"));
        }
    }
    let host = host(headers, uri);
    let is_own = host.is_empty() || is_address(host) || is_loopback_name(host);
    (is_loopback && !is_own)
        .then(|| format!("expected an address or localhost as the host, found {host}"))
}

/// Returns whether a name leads to this machine, whoever asks.
fn is_loopback_name(host: &str) -> bool {
    let lower = host.to_ascii_lowercase();
    let address = lower.trim_matches(['[', ']']);
    let address = address.parse::<std::net::IpAddr>();
    lower == "localhost"
        || address.is_ok_and(|address| address.is_loopback())
        || OWN.iter().any(|end| lower.ends_with(end))
}

/// Returns a host without the port after it.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(origin: Option<&'static str>, host: &'static str, is_loopback: bool) -> Option<String> {
        let mut headers = HeaderMap::new();
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        }
        if !host.is_empty() {
            headers.insert(header::HOST, HeaderValue::from_static(host));
        }
        refused(&headers, &Uri::from_static("/v1/messages"), is_loopback)
    }

    #[test]
    fn pages_of_other_sites_are_told_from_programs() {
        for origin in [
            None,
            Some("null"),
            Some("vscode-webview://0a1b"),
            Some("file://"),
            Some("app://-"),
            Some("http://localhost:3000"),
            Some("https://127.0.0.1"),
            Some("http://[::1]:8080"),
            Some("http://app.localhost"),
        ] {
            assert_eq!(of(origin, "127.0.0.1:7338", true), None, "{origin:?}");
        }
        for origin in [
            "http://evil.example",
            "HTTPS://evil.example:443",
            "http://localhost.evil.example",
            "http://192.168.1.9",
            "http://",
        ] {
            let told = of(Some(origin), "127.0.0.1:7338", true);
            assert!(told.is_some_and(|told| told.contains(origin)), "{origin}");
            assert!(of(Some(origin), "gateway.example", false).is_some());
        }
        for host in [
            "",
            "localhost:7338",
            "[::1]:7338",
            "10.0.0.2",
            "host.docker.internal:7338",
        ] {
            assert_eq!(of(None, host, true), None, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:7338",
            "localhost.evil.example",
        ] {
            assert!(of(None, host, true).is_some(), "{host}");
            // Other machines know the gateway by a name.
            assert_eq!(of(None, host, false), None, "{host}");
        }
    }
}

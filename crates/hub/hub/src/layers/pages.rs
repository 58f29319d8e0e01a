//! Refuses requests of foreign pages in browsers. Otherwise any page that a user opens could use a hub on
//! loopback.

use axum::http::{HeaderMap, header};

use crate::answer::Refused;
use crate::app::App;

/// Refuses a request of a page that the hub does not know.
pub(super) fn check(app: &App, headers: &HeaderMap) -> Result<(), Refused> {
    if !is_origin_fine(app, headers) || !is_site_fine(headers) {
        return Err(Refused::origin());
    }
    if !is_host_fine(app, headers) {
        return Err(Refused::host());
    }
    Ok(())
}

/// Returns whether the page that makes the request, which a browser names in `Origin`, may use this hub.
fn is_origin_fine(app: &App, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let Ok(origin) = origin.to_str() else {
        return false;
    };
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let is_own = host.is_some_and(|host| {
        let scheme = if app.config.tls.is_some() {
            "https"
        } else {
            "http"
        };
        origin
            .strip_prefix(scheme)
            .and_then(|rest| rest.strip_prefix("://"))
            == Some(host)
    });
    // A page whose own name leads to loopback sends that name as `Host` and as `Origin` (DNS
    // rebinding). So a hub without tokens accepts equal names only for loopback.
    let is_own = is_own && (!app.access.is_open() || host.is_some_and(is_loopback));
    is_own || app.config.origins.iter().any(|known| known == origin)
}

/// Returns whether the browser names no other site in `Sec-Fetch-Site` (Fetch Metadata, section 2.3). A browser
/// sends no `Origin` when a page of another site shows an image, loads a script or sends a form by GET.
fn is_site_fine(headers: &HeaderMap) -> bool {
    let Some(site) = headers.get("sec-fetch-site") else {
        return true;
    };
    let is_own = matches!(site.as_bytes(), b"same-origin" | b"none");
    // If the browser sends `Origin`, the hub checks that header instead.
    is_own || headers.contains_key(header::ORIGIN)
}

/// Returns whether this hub answers to the name in `Host`. A page whose name leads to loopback reads the hub as
/// its own origin, and then the browser sends no `Origin`. So a hub that lets everybody on its machine in without
/// tokens answers only to names of loopback and of `origins`.
fn is_host_fine(app: &App, headers: &HeaderMap) -> bool {
    if !app.access.is_open() || app.config.anybody_from_anywhere {
        return true;
    }
    let Some(host) = headers.get(header::HOST) else {
        return true;
    };
    if headers.get_all(header::HOST).iter().count() > 1 {
        return false;
    }
    host.to_str().is_ok_and(|host| {
        let name = |origin: &String| {
            origin
                .split_once("://")
                .is_some_and(|(_, name)| name == host)
        };
        is_loopback(host) || app.config.origins.iter().any(name)
    })
}

fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) {
            name
        } else {
            host
        }
    });
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

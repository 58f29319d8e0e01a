//! The page at `/ui`, for people: one file, with its style and its script in it.
//!
//! The page reads a hub by the public routes. It holds no data, so everybody may load it.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{Html, IntoResponse};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

const SKELETON: &str = include_str!("ui/page.html");
const STYLE: &str = include_str!("ui/page.css");
const SCRIPT: &str = concat!(
    include_str!("ui/hub.js"),
    include_str!("ui/log.js"),
    include_str!("ui/context.js"),
    include_str!("ui/page.js"),
);

/// The page, and its content security policy, which a browser enforces.
static PAGE: LazyLock<(String, String)> = LazyLock::new(|| {
    let page = SKELETON
        .replace("/* page.css */", STYLE)
        .replace("/* page.js */", SCRIPT);
    (page, policy())
});

/// Returns the content security policy of the page: it runs only its own script and style, connects
/// only to its hub, and never parses text as markup.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(SCRIPT),
        hash(STYLE),
    )
}

pub(crate) async fn page() -> impl IntoResponse {
    let (page, policy) = &*PAGE;
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy.as_str()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, Html(page.as_str()))
}

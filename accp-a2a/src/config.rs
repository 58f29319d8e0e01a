//! The settings of a router.

use std::fmt::Write as _;
use std::time::Duration;

use accp_client::Principal;

/// The settings of a [`router`](crate::router).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Where clients find the router, without the session and the agent:
    /// `https://hub.example/a2a`. The cards of agents name it.
    pub url: String,
    /// The time for which a call that waits for the end of a task may wait: 60 seconds by default. After
    /// that the client gets the task as it is.
    pub wait: Duration,
    /// The time after which an agent is dropped for whom no request comes: 30 minutes by default. The next
    /// request opens it again.
    pub idle: Duration,
    /// The bytes of a request: 1 MiB by default.
    pub body: usize,
}

impl Config {
    /// Makes the settings of a router that clients find at this URL.
    pub fn new(url: impl Into<String>) -> Self {
        let url = url.into();
        Self {
            url: url.trim_end_matches('/').to_owned(),
            wait: Duration::from_secs(60),
            idle: Duration::from_secs(30 * 60),
            body: 1 << 20,
        }
    }

    /// Returns the URL of an agent.
    pub(crate) fn of(&self, who: &Principal) -> String {
        let (session, agent) = (encode(who.session()), encode(who.agent()));
        format!("{}/{session}/{agent}", self.url)
    }
}

/// Writes a name as a part of an address.
fn encode(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}"); // a String takes everything
        }
    }
    text
}

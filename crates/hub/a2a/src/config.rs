//! The settings of a router.

use std::time::Duration;

use accp_client::{Principal, address_part};

/// The settings of a [`router`](crate::router).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The URL at which clients find the router, without the session and the agent: `https://hub.example/a2a`. The
    /// cards of agents name this URL.
    pub url: String,
    /// The longest time that a call waits for the end of its task: 60 seconds by default. After that, the client gets
    /// the task as it is.
    pub wait: Duration,
    /// The router drops an agent that gets no requests for this time: 30 minutes by default. If the right of the
    /// principal that opened an agent ends, the router drops the agent at once. The next request opens the agent
    /// again.
    pub idle: Duration,
    /// The most bytes of a request: 1 MiB by default.
    pub body: usize,
    /// The most bytes of the frames in one answer: 8 MiB by default. Values that replace references do not count. An
    /// answer leaves out the oldest frames first, and says so.
    pub answer: usize,
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
            answer: 8 << 20,
        }
    }

    /// Returns the URL of an agent.
    pub(crate) fn of(&self, who: &Principal) -> String {
        let (session, agent) = (address_part(who.session()), address_part(who.agent()));
        format!("{}/{session}/{agent}", self.url)
    }
}

//! The deadline of a wait.

use std::time::Duration;

use tokio::time::Instant;

/// How long somebody waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) within: Duration,
    pub(crate) until: Instant,
}

//! The plan for the kills of one file.

use std::time::Duration;

use accp_runtime::session::Scope;

use super::plant::Plant;
use super::side::Kind;

/// The plan for one file.
#[derive(Debug)]
pub(crate) struct CrashPlan {
    pub(crate) seed: u64,
    /// The side that is killed.
    pub(crate) side: Kind,
    pub(crate) scope: Scope,
    pub(crate) kills: u64,
    /// The longest time between a line and the kill.
    pub(crate) delay: Duration,
    pub(crate) plant: Option<Plant>,
}

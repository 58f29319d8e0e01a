//! What happens in one run: who is there, how the link fails, what is said.

use std::time::Duration;

use accp_runtime::session::Scope;
use accp_runtime::testing::{Faults, Rng};

/// A run, as the seed has it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) scope: Scope,
    pub(crate) members: usize,
    /// Frames that the agents want to send, in all.
    pub(crate) sends: usize,
    pub(crate) faults: Faults,
    /// In a thousand steps.
    pub(crate) host_crashes: u64,
    pub(crate) member_crashes: u64,
    pub(crate) partitions: u64,
    /// How far the clocks of the members are from the host's, in milliseconds.
    pub(crate) skew: Vec<i64>,
    /// Whether tokens are counted, so that there are checkpoints.
    pub(crate) counted: bool,
    /// Whether the last member joins when half of all is said.
    pub(crate) late: bool,
}

impl Plan {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let pair = rng.per_mille(500);
        let members = if pair { 1 } else { 5 };
        let mut some = |most: u64, often: u64| {
            if rng.per_mille(often) {
                rng.below(most + 1)
            } else {
                0
            }
        };
        let faults = Faults {
            loss: some(300, 800),
            duplication: some(300, 800),
            delay: some(300, 800),
            latency: Duration::from_millis(some(50, 800)),
            jitter: Duration::from_millis(some(200, 600)),
            delayed_by: Duration::from_millis(some(20_000, 1000)),
        };
        Self {
            host_crashes: some(20, 500),
            member_crashes: some(30, 500),
            partitions: some(10, 500),
            faults,
            scope: if rng.per_mille(400) {
                Scope::Shared
            } else {
                Scope::Sender
            },
            members,
            sends: 50 + rng.below(20) as usize,
            skew: (0..members)
                .map(|_| {
                    if rng.per_mille(500) {
                        rng.below(40_000) as i64 - 20_000
                    } else {
                        0
                    }
                })
                .collect(),
            counted: rng.per_mille(600),
            late: !pair && rng.per_mille(300),
        }
    }
}

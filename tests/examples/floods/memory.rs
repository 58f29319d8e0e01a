//! Measures the memory of a process, and decides whether it has stopped growing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::interval;

/// Returns the resident memory of a process in MiB.
pub(crate) fn resident(process: u32) -> Result<u64, String> {
    let file = format!("/proc/{process}/status");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib = kib.and_then(|kib| kib.parse::<u64>().ok());
    kib.map(|kib| kib >> 10)
        .ok_or_else(|| format!("{file} has no VmRSS: the hub has ended"))
}

/// Records the most memory that a process has had since the watch was started.
pub(crate) struct Watch {
    most: Arc<AtomicU64>,
    looking: JoinHandle<()>,
}

impl Watch {
    pub(crate) fn start(process: u32) -> Self {
        let most = Arc::new(AtomicU64::new(0));
        let noted = Arc::clone(&most);
        let looking = tokio::spawn(async move {
            let mut ticks = interval(Duration::from_millis(5));
            while let Ok(now) = resident(process) {
                noted.fetch_max(now, Ordering::Relaxed);
                ticks.tick().await;
            }
        });
        Self { most, looking }
    }

    /// Returns the most memory so far, in MiB.
    pub(crate) fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

/// The number of successive rounds of a flood that must not add more memory than [`ADDS`].
pub(crate) const QUIET: usize = 3;
/// The MiB that these rounds together may add. Even without a leak, the memory of a round may fit a little worse
/// into the memory that earlier rounds have freed.
const ADDS: u64 = 1;

/// Returns whether the memory of a hub has stopped growing, by its memory after each round of a flood.
///
/// A hub that frees everything reaches a level after a few rounds: then the allocator has as much memory as a round
/// needs at one time. A hub that keeps something of each client has that much more after each round, and reaches no
/// level. For example, 1 KiB for each of 2000 clients is 6 MiB in the rounds that this function compares. The check
/// was tried on a hub that kept 256 bytes of each connection: a flood of 2000 connections found this leak.
pub(crate) fn has_stopped(rests: &[u64]) -> bool {
    let Some(before) = rests.len().checked_sub(QUIET + 1) else {
        return false;
    };
    rests[before..]
        .iter()
        .all(|rest| *rest <= rests[before] + ADDS)
}

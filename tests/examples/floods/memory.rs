//! How much memory a process has.

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

/// Notes the most memory that a process has while this lives.
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

/// Rounds of a flood that have to add next to nothing, one after another.
pub(crate) const QUIET: usize = 3;
/// The MiB that these rounds together may add: the allocator always has a round whose memory fits a little
/// worse into the memory that earlier rounds have freed.
const ADDS: u64 = 1;

/// Returns whether the memory of a hub has stopped growing, by its memory after each round of a flood.
///
/// A hub that frees everything reaches a level after a few rounds: the allocator then has the memory that
/// a round needs at one time. A hub that keeps something of each client has that much more after each
/// round, and reaches no level: 1 KiB for each of 2000 clients is 6 MiB in the rounds that this function
/// compares. As a test, a hub was made to keep 256 bytes of each connection, and a flood of 2000
/// connections found that.
pub(crate) fn has_stopped(rests: &[u64]) -> bool {
    let Some(before) = rests.len().checked_sub(QUIET + 1) else {
        return false;
    };
    rests[before..]
        .iter()
        .all(|rest| *rest <= rests[before] + ADDS)
}

//! How much memory a process has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, interval};

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

/// Waits until a process has at most so much memory. Returns what it has.
pub(crate) async fn comes_down(process: u32, to: u64, patience: Duration) -> Result<u64, String> {
    let until = Instant::now() + patience;
    let mut ticks = interval(Duration::from_millis(50));
    loop {
        let now = resident(process)?;
        if now <= to {
            return Ok(now);
        }
        if Instant::now() >= until {
            return Err(format!(
                "the hub has {now} MiB, and not {to} again, after {patience:?}"
            ));
        }
        ticks.tick().await;
    }
}

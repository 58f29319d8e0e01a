//! The signals that end this process.

#[cfg(unix)]
use rustix::process::Signal;
#[cfg(unix)]
use tokio::signal::unix::{self, SignalKind};

/// Receives the signals that would end this process, so that the process can first end the commands
/// that it has started.
pub(super) struct Signals {
    #[cfg(unix)]
    taken: Vec<unix::Signal>,
}

/// The signals that end a process, unless the process ignores them.
#[cfg(unix)]
const ENDS: [Signal; 12] = [
    Signal::TERM,
    Signal::INT,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::ABORT,
    Signal::ALARM,
    Signal::VTALARM,
    Signal::PROF,
    Signal::XCPU,
    Signal::XFSZ,
];

#[cfg(unix)]
impl Signals {
    pub(super) fn new() -> Self {
        let ignored = ignored();
        let numbers = ENDS.iter().map(|signal| signal.as_raw());
        // A signal that this process inherited as ignored stays ignored. So under `nohup`, a
        // terminal that is closed does not end this process.
        let numbers = numbers.filter(|number| ignored >> (number - 1) & 1 == 0);
        let taken = numbers.filter_map(|number| unix::signal(SignalKind::from_raw(number)).ok());
        Self {
            taken: taken.collect(),
        }
    }

    /// Waits until this process gets one of the signals.
    pub(super) async fn end(&mut self) {
        std::future::poll_fn(|context| {
            let mut taken = self.taken.iter_mut();
            if taken.any(|signal| signal.poll_recv(context).is_ready()) {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
    }
}

/// Returns the signals that this process ignores, each as a bit. Only Linux reports these signals; on other systems,
/// the function returns none.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .map(str::trim);
    mask.and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .unwrap_or_default()
}

#[cfg(not(unix))]
impl Signals {
    pub(super) fn new() -> Self {
        Self {}
    }

    /// Waits until the process is interrupted.
    pub(super) async fn end(&mut self) {
        // If no handler can be set, the system itself ends the process. So this future never completes.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

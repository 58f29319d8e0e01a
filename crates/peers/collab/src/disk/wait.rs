//! Waits for a turn.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use notify::{RecursiveMode, Watcher as _};

use super::Shared;
use crate::finding::Finding;
use crate::folder::{Folder, Scope};
use crate::log::LOG_FILE;
use crate::names::names;
use crate::next::{Action, Next, next};
use crate::protocol::PROTOCOL_FILE;
use crate::state::State;
use crate::table::Phase;
use crate::texts::READINESS_FILE;
use accp_store::files::Os;

/// The shortest pause between two checks.
const SHORTEST: Duration = Duration::from_millis(50);

/// How many times an invalid folder is read again before the wait fails.
const PATIENCE: u32 = 5;

/// How long to wait for further changes, because files that belong together are often written one after the other.
const SETTLE: Duration = Duration::from_millis(5);

names! {
    /// Why a wait is over.
    Reason {
        /// The participant has the turn.
        Turn = "turn",
        /// The collaboration is completed.
        Completed = "completed",
        /// The collaboration is blocked.
        Blocked = "blocked",
    }
}

/// The result of a wait.
#[derive(Debug, Clone)]
pub struct Ready {
    /// Why the wait is over.
    pub reason: Reason,
    /// What to do.
    pub next: Next,
    /// The folder.
    pub folder: Folder,
}

/// How to wait.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// The longest time between two checks of the files, for systems that do not report changes.
    pub interval: Duration,
    /// When to give up; `None` for never.
    pub timeout: Option<Duration>,
}

impl Shared<Os> {
    /// Waits until a participant has the turn, or the collaboration is over. `tell` is called for each change in
    /// between. Returns `None` after the timeout.
    ///
    /// # Errors
    /// The errors of [`next`].
    pub fn wait(
        &self,
        who: &str,
        waiting: Waiting,
        mut tell: impl FnMut(&Folder),
    ) -> Result<Option<Ready>, Vec<Finding>> {
        let until = waiting
            .timeout
            .and_then(|timeout| Instant::now().checked_add(timeout));
        let interval = waiting.interval.max(SHORTEST);
        let (sender, receiver) = mpsc::channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading a file causes an event, too, but it changes nothing.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                let _ = sender.send(());
            }
        });
        // Without a watcher, the regular checks suffice.
        let _watcher = watcher.ok().and_then(|mut watcher| {
            let mode = RecursiveMode::NonRecursive;
            watcher.watch(self.path(), mode).ok().map(|()| watcher)
        });
        let mut seen = None;
        loop {
            let stamp = Stamp::of(self.path());
            if seen != Some(stamp) {
                seen = Some(stamp);
                let mut folder = self.read(Scope::All);
                // A program that writes a file in place may let a reader see half of it for a moment.
                for _ in 0..PATIENCE {
                    if folder.standing().is_ok() {
                        break;
                    }
                    std::thread::sleep(SHORTEST);
                    folder = self.read(Scope::All);
                }
                if let Some((reason, next)) = ready(&folder, who)? {
                    return Ok(Some(Ready {
                        reason,
                        next,
                        folder,
                    }));
                }
                tell(&folder);
            }
            let now = Instant::now();
            let left = until.map_or(interval, |until| until.saturating_duration_since(now));
            if left.is_zero() {
                return Ok(None);
            }
            match receiver.recv_timeout(left.min(interval)) {
                Ok(()) => {
                    std::thread::sleep(SETTLE);
                    while receiver.try_recv().is_ok() {}
                    seen = None;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left.min(interval)),
            }
        }
    }
}

/// Returns why a participant need not wait; `None` if it has to wait.
fn ready(folder: &Folder, who: &str) -> Result<Option<(Reason, Next)>, Vec<Finding>> {
    let next = next(folder, who)?;
    let phase = folder.state().map(State::phase);
    let reason = match phase {
        Some(Phase::Completed) => Reason::Completed,
        Some(Phase::Blocked) => Reason::Blocked,
        // An owner that has accepted does not have the turn any more, but has to classify again if a question is
        // opened.
        _ if next.is_asked || next.action == Action::Classify => Reason::Turn,
        _ => return Ok(None),
    };
    Ok(Some((reason, next)))
}

/// A value that changes whenever a file that decides the turn changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp([Option<(u64, SystemTime)>; 3]);

impl Stamp {
    fn of(folder: &Path) -> Self {
        let of = |name: &str| {
            let about = std::fs::metadata(folder.join(name)).ok()?;
            Some((about.len(), about.modified().ok()?))
        };
        Self([of(LOG_FILE), of(PROTOCOL_FILE), of(READINESS_FILE)])
    }
}

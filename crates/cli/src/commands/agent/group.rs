//! A process group: a command, and the processes that it has started.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{Child, Command};

/// The time between two checks whether a group is gone.
#[cfg(unix)]
const LOOK: Duration = Duration::from_millis(20);

/// A command in its own process group. If this value is dropped before [`exit`](Self::exit) has returned, the group
/// is killed.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) child: Child,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl Group {
    /// Starts a command as the first process of a new group.
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        command.process_group(0);
        let child = command.kill_on_drop(true).spawn()?;
        Ok(Self {
            #[cfg(unix)]
            id: child
                .id()
                .and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())),
            child,
        })
    }

    /// Waits until the command has ended by itself. Then ends the processes that the command has left in its group.
    pub(super) async fn exit(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        #[cfg(unix)]
        {
            self.end_all(grace).await;
            // From now on, the system may give this number to another group. That group must not get a signal.
            self.id = None;
        }
        #[cfg(not(unix))]
        let _ = grace; // Such a system has no process groups.
        Ok(status)
    }

    /// Ends the group: sends SIGTERM to each process, and kills the processes that still run after the grace time.
    #[cfg(unix)]
    pub(super) async fn end(mut self, grace: Duration) {
        self.end_all(grace).await;
    }

    #[cfg(unix)]
    async fn end_all(&mut self, grace: Duration) {
        self.signal(rustix::process::Signal::TERM);
        let gone = async {
            // The first process stays in the group until this process has waited for it.
            let _ = self.child.wait().await;
            while self.is_there() {
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(grace, gone).await.is_err() {
            self.signal(rustix::process::Signal::KILL);
        }
    }

    /// Kills only the command itself, because this system has no process groups.
    #[cfg(not(unix))]
    pub(super) async fn end(mut self, _grace: Duration) {
        // Killing a command that has ended already fails, which is fine.
        let _ = self.child.kill().await;
    }

    #[cfg(unix)]
    fn is_there(&self) -> bool {
        self.id
            .is_some_and(|id| rustix::process::test_kill_process_group(id).is_ok())
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(id) = self.id {
            // A group that has ended needs no signal.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if self.is_there() {
            self.signal(rustix::process::Signal::KILL);
        }
    }
}

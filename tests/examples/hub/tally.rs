//! Compares the tasks that workers got with the tasks that were sent.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// The tasks that each worker has got, by sender.
pub(crate) struct Tally {
    sessions: Vec<Mutex<Seen>>,
    handled: watch::Sender<u64>,
}

#[derive(Default)]
struct Seen {
    /// The number of the next task of each sender.
    next: BTreeMap<String, u64>,
    /// The first task that was out of order, as a message.
    wrong: Option<String>,
}

impl Seen {
    fn had_of(&self, sender: &str) -> u64 {
        self.next.get(sender).copied().unwrap_or_default()
    }
}

impl Tally {
    pub(crate) fn new(sessions: usize) -> Self {
        Self {
            sessions: (0..sessions).map(|_| Mutex::default()).collect(),
            handled: watch::Sender::new(0),
        }
    }

    /// Counts a task that a worker got. A task is `SENDER_NUMBER`. Checks that it is the sender's next task.
    pub(crate) fn had(&self, session: usize, task: &str) {
        let mut seen = self.session(session);
        let (sender, number) = task.rsplit_once('_').unwrap_or((task, ""));
        let next = seen.next.entry(sender.to_owned()).or_default();
        let (wanted, found) = (*next, number.parse::<u64>());
        *next += 1;
        if found != Ok(wanted) && seen.wrong.is_none() {
            seen.wrong = Some(format!(
                "session {session}: after {wanted} tasks of {sender} came {task}"
            ));
        }
        drop(seen);
        self.handled.send_modify(|handled| *handled += 1);
    }

    /// Counts a task that one of several agents got. After this agent has left, another agent may get the same task
    /// again. Then `again` is true, and the task does not count twice.
    pub(crate) fn had_by_one(&self, session: usize, task: &str, again: bool) {
        let (sender, number) = task.rsplit_once('_').unwrap_or((task, ""));
        let next = self.session(session).had_of(sender);
        let was_had = number.parse::<u64>().is_ok_and(|number| number < next);
        if !(again && was_had) {
            self.had(session, task);
        }
    }

    pub(crate) fn handled(&self) -> u64 {
        *self.handled.borrow()
    }

    /// Waits until the workers have got this many tasks in all.
    pub(crate) async fn reach(&self, count: u64, patience: Duration) -> Result<(), String> {
        let mut handled = self.handled.subscribe();
        let reached = timeout(patience, handled.wait_for(|handled| *handled >= count)).await;
        match reached {
            Ok(_) => self.is_right(),
            Err(_) => Err(format!(
                "{} of {count} tasks within {patience:?}",
                self.handled()
            )),
        }
    }

    /// Waits until the worker of a session has got this many tasks of a sender.
    pub(crate) async fn reach_of(&self, session: usize, sender: &str, count: u64) {
        let mut handled = self.handled.subscribe();
        let has = |_: &u64| self.session(session).had_of(sender) >= count;
        // This fails only if the channel is closed, and the channel stays open as long as this
        // tally exists.
        let _ = handled.wait_for(has).await;
    }

    /// Waits until each worker has got one more task of each sender.
    pub(crate) async fn reach_each(
        &self,
        senders: &[&str],
        patience: Duration,
    ) -> Result<(), String> {
        let until = Instant::now() + patience;
        for session in 0..self.sessions.len() {
            for sender in senders {
                let had = self.session(session).had_of(sender);
                let reached = timeout_at(until, self.reach_of(session, sender, had + 1)).await;
                reached.map_err(|_| {
                    format!("session {session}: no task of {sender} within {patience:?}")
                })?;
            }
        }
        self.is_right()
    }

    fn is_right(&self) -> Result<(), String> {
        let wrong = (0..self.sessions.len()).find_map(|at| self.session(at).wrong.clone());
        wrong.map_or(Ok(()), Err)
    }

    /// Waits for all tasks, and compares the tasks that the workers got with the tasks that were sent. Returns the
    /// number of tasks.
    pub(crate) async fn check(
        &self,
        sent: &[BTreeMap<String, u64>],
        patience: Duration,
    ) -> Result<u64, String> {
        let all: u64 = sent.iter().flat_map(BTreeMap::values).sum();
        self.reach(all, patience).await?;
        for (at, sent) in sent.iter().enumerate() {
            let seen = &self.session(at).next;
            if seen != sent {
                return Err(format!("session {at}: sent {sent:?}, had {seen:?}"));
            }
        }
        self.is_right()?;
        Ok(all)
    }

    fn session(&self, at: usize) -> MutexGuard<'_, Seen> {
        self.sessions[at]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

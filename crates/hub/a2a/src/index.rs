//! The index of the tasks of an agent.

use std::collections::BTreeMap;

use accp_client::Error;
use accp_session::Mid;

use crate::frame::TaskFrame;
use crate::log::Log;
use crate::task::TaskRecord;

/// The tasks of an agent, as far as the log was read. The index can be made again from the log at any time, so
/// it is not stored.
#[derive(Debug, Default)]
pub(crate) struct TaskIndex {
    /// The last position that was read.
    read: u64,
    tasks: BTreeMap<Mid, TaskRecord>,
    /// The chain of each request, by the id of the request.
    chains: BTreeMap<Mid, Mid>,
}

impl TaskIndex {
    /// Reads the new entries of the log.
    pub(crate) async fn catch_up(&mut self, log: &Log, agent: &str) -> Result<(), Error> {
        let known = log.position().await?;
        if known < self.read {
            // The log is shorter than before: the store was replaced by an older copy. The index is
            // built again.
            *self = Self::default();
        }
        let mut log = log.frames(self.read + 1);
        while let Some(entry) = log.next_ready().await? {
            self.read = entry.position;
            let Ok(frame) = TaskFrame::read(&entry.text) else {
                continue;
            };
            let Some(chain) = frame.chain() else { continue };
            let caused = frame.cause().and_then(|cause| self.chains.get(&cause));
            let known = if self.tasks.contains_key(&chain) {
                Some(&chain)
            } else {
                caused
            };
            if let Some(task) = known.and_then(|chain| self.tasks.get_mut(chain)) {
                task.take(&entry, &frame);
            } else if let Some(task) = TaskRecord::begin(agent, &entry, &frame) {
                self.chains.insert(task.mid.clone(), chain.clone());
                self.tasks.insert(chain, task);
            }
        }
        Ok(())
    }

    pub(crate) fn get(&self, id: &str) -> Option<&TaskRecord> {
        self.tasks.get(&Mid::parse(id))
    }

    /// Returns the tasks, the one with the latest frame first.
    pub(crate) fn latest(&self) -> Vec<&TaskRecord> {
        let mut tasks: Vec<&TaskRecord> = self.tasks.values().collect();
        tasks.sort_unstable_by_key(|task| std::cmp::Reverse(task.last));
        tasks
    }
}

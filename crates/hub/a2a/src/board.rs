//! The tasks of an agent.

use std::collections::BTreeMap;

use accp_client::Error;
use accp_session::Mid;

use crate::course::Course;
use crate::log::Log;
use crate::said::Said;

/// The tasks of an agent, as far as its log was read. It can be made again from the log at any time, so it
/// is not kept anywhere else.
#[derive(Debug, Default)]
pub(crate) struct Board {
    /// How far the log was read.
    read: u64,
    tasks: BTreeMap<Mid, Course>,
    /// The chains of requests by the ids of these requests.
    chains: BTreeMap<Mid, Mid>,
}

impl Board {
    /// Reads what the log has got since.
    pub(crate) async fn catch_up(&mut self, log: &Log, agent: &str) -> Result<(), Error> {
        let known = log.position().await?;
        if known < self.read {
            // The log is an older copy than the one that was read.
            *self = Self::default();
        }
        let mut log = log.frames(self.read + 1);
        while let Some(entry) = log.next_ready().await? {
            self.read = entry.position;
            let Ok(said) = Said::read(&entry.text) else {
                continue;
            };
            let Some(chain) = said.chain() else { continue };
            let caused = said.cause().and_then(|cause| self.chains.get(&cause));
            let known = if self.tasks.contains_key(&chain) {
                Some(&chain)
            } else {
                caused
            };
            if let Some(task) = known.and_then(|chain| self.tasks.get_mut(chain)) {
                task.take(&entry, &said);
            } else if let Some(task) = Course::begin(agent, &entry, &said) {
                self.chains.insert(task.mid.clone(), chain.clone());
                self.tasks.insert(chain, task);
            }
        }
        Ok(())
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Course> {
        self.tasks.get(&Mid::parse(id))
    }

    /// Returns the tasks, those first about which something was said last.
    pub(crate) fn latest(&self) -> Vec<&Course> {
        let mut tasks: Vec<&Course> = self.tasks.values().collect();
        tasks.sort_unstable_by_key(|task| std::cmp::Reverse(task.last));
        tasks
    }
}

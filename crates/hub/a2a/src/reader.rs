//! Reads the tasks of one agent for clients.

mod list;

use std::sync::Arc;

use a2a::{A2AError, Task};
use accp_client::Agents;

pub(crate) use list::ListFilter;

use crate::expand::AnswerQuota;
use crate::fault::Failure;
use crate::pool::{SlotGuard, Tasks};
use crate::render::{Renderer, stream_of};
use crate::stream::StreamOrder;
use crate::task::TaskRecord;
use crate::updates::TaskUpdates;

/// Reads the tasks of one agent for clients.
#[derive(Clone)]
pub(crate) struct TaskReader {
    agent: String,
    tasks: Arc<Tasks>,
    pub(crate) renderer: Renderer,
}

impl TaskReader {
    /// Returns the reader of an agent. `None`: the agent is not in the session, so it has no tasks.
    pub(crate) async fn of<A: Agents>(slot: &SlotGuard<'_, A>) -> Result<Option<Self>, Failure> {
        let Some(tasks) = slot.tasks().await.map_err(Failure::Agent)? else {
            return Ok(None);
        };
        let log = tasks.log.clone();
        let registry = log.registry().await.map_err(Failure::Agent)?;
        let session = slot.who.session().to_owned();
        Ok(Some(Self {
            agent: slot.who.agent().to_owned(),
            tasks,
            renderer: Renderer {
                log,
                session,
                registry,
                most: slot.most(),
            },
        }))
    }

    pub(crate) async fn get(&self, id: &str, history: Option<usize>) -> Result<Task, Failure> {
        let record = self.find(id).await?;
        self.show(&record, history).await
    }

    /// Returns a task with the updates that follow.
    pub(crate) async fn subscribe(&self, id: &str) -> Result<(Task, TaskUpdates), Failure> {
        let record = self.find(id).await?;
        if record.state.is_terminal() {
            return Err(ended(&record, "GetTask returns it").into());
        }
        self.watch(record, None).await
    }

    pub(crate) async fn show(
        &self,
        record: &TaskRecord,
        history: Option<usize>,
    ) -> Result<Task, Failure> {
        let mut quota = AnswerQuota::new(self.renderer.most);
        let task = self.renderer.task(record, history, true, &mut quota).await;
        Ok(task?)
    }

    /// Returns a task with at most this many of its last messages, and with the updates that follow.
    pub(crate) async fn watch(
        &self,
        record: TaskRecord,
        history: Option<usize>,
    ) -> Result<(Task, TaskUpdates), Failure> {
        let task = self.show(&record, history).await?;
        let known = task.artifacts.iter().flatten();
        let begun = known.filter_map(|artifact| stream_of(&artifact.artifact_id));
        let begun = begun.map(str::to_owned).collect();
        let mut pieces = StreamOrder::new(&self.renderer.registry);
        let read = record.entries(&self.renderer.log).await;
        for (entry, role) in read? {
            // The client gets these frames with the task, so they are not sent again as updates.
            drop(pieces.take(entry, role));
        }
        let updates = TaskUpdates::new(self.renderer.clone(), record);
        Ok((task, updates.behind(pieces, begun)))
    }

    /// Returns the task with this id.
    pub(crate) async fn find(&self, id: &str) -> Result<TaskRecord, Failure> {
        let known = self.known(id).await?;
        Ok(known.ok_or_else(|| A2AError::task_not_found(id))?)
    }

    /// Returns the task with this id, if there is one.
    pub(crate) async fn known(&self, id: &str) -> Result<Option<TaskRecord>, Failure> {
        let mut index = self.tasks.index.lock().await;
        let read = index.catch_up(&self.renderer.log, &self.agent).await;
        read?;
        Ok(index.get(id).map(|task| task.at_present().into_owned()))
    }
}

/// Refuses a call because its task has ended.
pub(crate) fn ended(record: &TaskRecord, cure: &str) -> A2AError {
    let state = serde_json::to_value(&record.state).unwrap_or_default();
    let state = state.as_str().unwrap_or_default();
    let text = format!("the task {} has ended ({state}): {cure}", record.id);
    A2AError::unsupported_operation(text)
}

//! What clients read of the tasks of one agent.

mod list;

use std::sync::Arc;

use a2a::{A2AError, Task};
use accp_client::Agents;

pub(crate) use list::Wanted;

use crate::course::Course;
use crate::fault::{self, Failure};
use crate::follow::Follow;
use crate::pieces::Pieces;
use crate::places::{Tasks, Visit};
use crate::shown::{Shown, stream_of};
use crate::values::Room;

/// Where clients read the tasks of one agent.
#[derive(Clone)]
pub(crate) struct Desk {
    agent: String,
    tasks: Arc<Tasks>,
    pub(crate) shown: Shown,
}

impl Desk {
    /// Returns the desk of an agent. `None`: the agent is not in the session, so it has no tasks.
    pub(crate) async fn of<A: Agents>(visit: &Visit<'_, A>) -> Result<Option<Self>, Failure> {
        let Some(tasks) = visit.tasks().await.map_err(Failure::Agent)? else {
            return Ok(None);
        };
        let log = tasks.log.clone();
        let registry = log.registry().await.map_err(Failure::Agent)?;
        let session = visit.who.session().to_owned();
        Ok(Some(Self {
            agent: visit.who.agent().to_owned(),
            tasks,
            shown: Shown {
                log,
                session,
                registry,
            },
        }))
    }

    pub(crate) async fn get(&self, id: &str, history: Option<usize>) -> Result<Task, A2AError> {
        let course = self.find(id).await?;
        self.show(&course, history).await
    }

    /// Returns a task with what comes after.
    pub(crate) async fn subscribe(&self, id: &str) -> Result<(Task, Follow), A2AError> {
        let course = self.find(id).await?;
        if course.state.is_terminal() {
            return Err(ended(&course, "GetTask returns it"));
        }
        self.watch(course).await
    }

    pub(crate) async fn show(
        &self,
        course: &Course,
        history: Option<usize>,
    ) -> Result<Task, A2AError> {
        let mut room = Room::of_an_answer();
        let task = self.shown.task(course, history, true, &mut room).await;
        task.map_err(|error| fault::of_agent(&error))
    }

    pub(crate) async fn watch(&self, course: Course) -> Result<(Task, Follow), A2AError> {
        let task = self.show(&course, None).await?;
        let known = task.artifacts.iter().flatten();
        let begun = known.filter_map(|artifact| stream_of(&artifact.artifact_id));
        let begun = begun.map(str::to_owned).collect();
        let mut pieces = Pieces::new(&self.shown.registry);
        let read = course.entries(&self.shown.log).await;
        for (entry, step) in read.map_err(|error| fault::of_agent(&error))? {
            // The task has shown them.
            drop(pieces.take(entry, step));
        }
        let follow = Follow::new(self.shown.clone(), course);
        Ok((task, follow.behind(pieces, begun)))
    }

    /// Returns the task with this id.
    pub(crate) async fn find(&self, id: &str) -> Result<Course, A2AError> {
        let known = self.known(id).await?;
        known.ok_or_else(|| A2AError::task_not_found(id))
    }

    pub(crate) async fn known(&self, id: &str) -> Result<Option<Course>, A2AError> {
        let mut board = self.tasks.board.lock().await;
        let read = board.catch_up(&self.shown.log, &self.agent).await;
        read.map_err(|error| fault::of_agent(&error))?;
        Ok(board.get(id).cloned())
    }
}

/// Refuses what cannot be done in a task that has ended.
pub(crate) fn ended(course: &Course, cure: &str) -> A2AError {
    let state = serde_json::to_value(&course.state).unwrap_or_default();
    let state = state.as_str().unwrap_or_default();
    let text = format!("the task {} has ended ({state}): {cure}", course.id);
    A2AError::unsupported_operation(text)
}

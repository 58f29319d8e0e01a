//! What clients say for one agent.

use std::time::Duration;

use a2a::{A2AError, Task, TaskState};
use accp_client::{Agent, Agents, Frames};
use accp_frame::Message as Dynamic;
use accp_session::{Mid, Outbound};
use tokio::time::timeout;

use crate::course::Course;
use crate::desk::{Desk, ended};
use crate::fault::{self, Failure};
use crate::follow::Follow;
use crate::incoming::Incoming;
use crate::places::Visit;
use crate::said::Said;

/// Speaks for one agent. The agent opens once all is checked that can be checked without it.
pub(crate) struct Speaker<'v, A> {
    pub(crate) visit: &'v Visit<'v, A>,
    /// `None` for an agent that is not in the session yet.
    pub(crate) desk: Option<Desk>,
    /// The time for which a call waits for the end of a task.
    pub(crate) wait: Duration,
}

impl<A: Agents> Speaker<'_, A> {
    /// Takes a message, and waits for the end of its task unless the client does not want that.
    pub(crate) async fn send(&self, incoming: Incoming) -> Result<Task, Failure> {
        let (history, returns) = (incoming.history, incoming.returns);
        let (desk, course) = self.take(incoming).await?;
        let course = desk.find(&course.id).await?;
        let mut follow = Follow::new(desk.shown.clone(), course);
        if !returns {
            // After this time the client gets the task as it is.
            if let Ok(settled) = timeout(self.wait, follow.settle()).await {
                settled.map_err(|error| fault::of_agent(&error))?;
            }
        }
        Ok(desk.show(&follow.course, history).await?)
    }

    /// Takes a message, and returns its task with what comes after.
    pub(crate) async fn stream(&self, incoming: Incoming) -> Result<(Task, Follow), Failure> {
        let (desk, course) = self.take(incoming).await?;
        Ok(desk.watch(course).await?)
    }

    /// Cancels the chain of a task.
    pub(crate) async fn cancel(&self, id: &str) -> Result<Task, Failure> {
        let course = self.find(id).await?;
        let refused = || A2AError::task_not_cancelable(id);
        if course.state.is_terminal() {
            return Err(refused().into());
        }
        let (agent, desk) = self.open().await?;
        let cancel = Dynamic::new(agent.name().to_owned(), "cancel", "task");
        let cancel = cancel.map_err(|error| A2AError::internal(error.to_string()))?;
        let cancel = Outbound::owned_message(cancel).in_chain(course.id.clone());
        let sent = agent.send_with(cancel).await;
        sent.map_err(|error| fault::of_agent(&error))?;
        let mut follow = Follow::new(desk.shown.clone(), course);
        if let Ok(over) = timeout(self.wait, follow.end()).await {
            over.map_err(|error| fault::of_agent(&error))?;
        }
        match follow.course.state {
            // The answer was faster.
            TaskState::Completed | TaskState::Failed => Err(refused().into()),
            _ => Ok(desk.show(&follow.course, None).await?),
        }
    }

    async fn find(&self, id: &str) -> Result<Course, A2AError> {
        match &self.desk {
            Some(desk) => desk.find(id).await,
            None => Err(A2AError::task_not_found(id)),
        }
    }

    /// Opens the agent, which is in the session from then on.
    async fn open(&self) -> Result<(Agent, Desk), Failure> {
        let agent = self.visit.agent().await.map_err(Failure::Agent)?;
        let desk = Desk::of(self.visit).await?;
        let ended = || A2AError::internal("the agent has left the session: call again");
        Ok((agent, desk.ok_or_else(ended)?))
    }

    /// Sends what a message holds into the session. Returns its task as it stood before all that may follow
    /// from the message, so that a stream has each frame that does.
    async fn take(&self, incoming: Incoming) -> Result<(Desk, Course), Failure> {
        let Incoming { id, content, .. } = incoming;
        let _turn = self.visit.turn().await;
        let name = self.visit.who.agent();
        let registry = self.visit.registry().await.map_err(Failure::Agent)?;
        if let Some(id) = incoming.task {
            let course = self.find(&id).await?;
            if course.state.is_terminal() {
                let cure = "begin a new one by a message without taskId";
                return Err(ended(&course, cure).into());
            }
            let frames = content.frames(name, &course.id, false, &registry)?;
            let (agent, desk) = self.open().await?;
            let log = desk.shown.log.frames(course.last + 1);
            self.put(&agent, &course.id, log, frames).await?;
            return Ok((desk, course));
        }
        let chain = content.chain(name, &id);
        // The client has sent this message before.
        if let Some(desk) = Desk::of(self.visit).await?
            && let Some(course) = desk.known(&chain).await?
        {
            return Ok((desk, course.at_its_beginning()));
        }
        let frames = content.frames(name, &chain, true, &registry)?;
        let (agent, desk) = self.open().await?;
        let position = desk.shown.log.position().await;
        let after = position.map_err(|error| fault::of_agent(&error))? + 1;
        let log = desk.shown.log.frames(after);
        self.put(&agent, &chain, log, frames).await?;
        let course = desk.find(&chain).await?.at_its_beginning();
        Ok((desk, course))
    }

    /// Sends frames, each once the host has taken the one before. `log` begins before them.
    async fn put(
        &self,
        agent: &Agent,
        chain: &str,
        mut log: Frames,
        frames: Vec<(usize, Outbound<'static>)>,
    ) -> Result<(), A2AError> {
        let chain = Mid::parse(chain);
        for (part, outbound) in frames {
            let asked = agent.ask_with::<()>(outbound).within(self.wait).frame();
            // The log tells that the host took the frame, and the question tells if it did not.
            tokio::select! {
                biased;
                answered = asked => match answered {
                    Ok(_) | Err(accp_client::Error::Failed { .. }) => {}
                    Err(error) => return Err(fault::of_session(part, &error)),
                },
                taken = taken(&mut log, &chain, agent.name()) => {
                    taken.map_err(|error| fault::of_agent(&error))?;
                }
            }
        }
        Ok(())
    }
}

/// Waits for the next frame of an agent in a chain.
async fn taken(log: &mut Frames, chain: &Mid, agent: &str) -> Result<(), accp_client::Error> {
    while let Some(entry) = log.next().await? {
        let said = Said::read(&entry.text);
        if said.is_ok_and(|said| Course::is_mine(chain, agent, &said)) {
            return Ok(());
        }
    }
    Err(accp_client::Error::Ended("its task is over".to_owned()))
}

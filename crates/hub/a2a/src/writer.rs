//! Calls by which clients send messages to one agent and cancel its tasks.

use std::time::Duration;

use a2a::{A2AError, Task, TaskState};
use accp_client::{Agent, Agents, Error, Frames};
use accp_frame::DynamicFrame;
use accp_session::{Mid, Outbound};
use tokio::time::timeout;

use crate::fault::{self, Failure};
use crate::frame::TaskFrame;
use crate::message::{ClientMessage, PartFrame};
use crate::pool::SlotGuard;
use crate::reader::{TaskReader, ended};
use crate::task::TaskRecord;
use crate::updates::TaskUpdates;

/// Writes into the session for one agent. The agent is opened only after every check that needs no agent.
pub(crate) struct TaskWriter<'v, A> {
    pub(crate) slot: &'v SlotGuard<'v, A>,
    /// `None` for an agent that is not in the session yet.
    pub(crate) reader: Option<TaskReader>,
    /// How long a call waits for the end of a task.
    pub(crate) wait: Duration,
}

impl<A: Agents> TaskWriter<'_, A> {
    /// Takes a message, and waits for the end of its task unless the client does not want that.
    pub(crate) async fn send(&self, message: ClientMessage) -> Result<Task, Failure> {
        let (history, returns) = (message.history, message.returns);
        let (reader, record) = self.take(message).await?;
        let record = reader.find(&record.id).await?;
        let mut updates = TaskUpdates::new(reader.renderer.clone(), record);
        if !returns {
            // If the time is over before the task settles, or the server ends, the client gets the task as it is.
            tokio::select! {
                biased;
                settled = timeout(self.wait, updates.settle()) => settled.unwrap_or(Ok(()))?,
                () = self.slot.who.ends() => {}
            }
        }
        reader.show(&updates.record, history).await
    }

    /// Takes a message, and returns its task with the updates that follow.
    pub(crate) async fn stream(
        &self,
        message: ClientMessage,
    ) -> Result<(Task, TaskUpdates), Failure> {
        let history = message.history;
        let (reader, record) = self.take(message).await?;
        reader.watch(record, history).await
    }

    /// Cancels the chain of a task.
    pub(crate) async fn cancel(&self, id: &str) -> Result<Task, Failure> {
        let record = self.find(id).await?;
        let refused = || A2AError::task_not_cancelable(id);
        if record.state.is_terminal() {
            return Err(refused().into());
        }
        let (agent, reader) = self.open().await?;
        let cancel = DynamicFrame::new(agent.name().to_owned(), "cancel", "task");
        let cancel = cancel.map_err(|error| A2AError::internal(error.to_string()))?;
        let cancel = Outbound::owned_message(cancel).in_chain(record.id.clone());
        let sent = agent.send_with(cancel).await;
        sent?;
        let mut updates = TaskUpdates::new(reader.renderer.clone(), record);
        tokio::select! {
            biased;
            over = timeout(self.wait, updates.end()) => over.unwrap_or(Ok(()))?,
            () = self.slot.who.ends() => {}
        }
        match updates.record.state {
            // The task ended before the cancellation arrived, so it cannot be cancelled.
            TaskState::Completed | TaskState::Failed => Err(refused().into()),
            _ => Ok(reader.show(&updates.record, None).await?),
        }
    }

    async fn find(&self, id: &str) -> Result<TaskRecord, Failure> {
        match &self.reader {
            Some(reader) => reader.find(id).await,
            None => Err(A2AError::task_not_found(id).into()),
        }
    }

    /// Opens the agent, which is in the session from then on.
    async fn open(&self) -> Result<(Agent, TaskReader), Failure> {
        let agent = self.slot.agent().await.map_err(Failure::Agent)?;
        let reader = TaskReader::of(self.slot).await?;
        let ended = || A2AError::internal("the agent has left the session: call again");
        Ok((agent, reader.ok_or_else(ended)?))
    }

    /// Sends the frames of a message into the session. Returns the task in its state before these frames, so that
    /// a stream to the client has every later frame.
    async fn take(&self, message: ClientMessage) -> Result<(TaskReader, TaskRecord), Failure> {
        let ClientMessage { id, content, .. } = message;
        let mut turn = self.slot.turn().await;
        let name = self.slot.who.agent();
        let registry = self.slot.registry().await.map_err(Failure::Agent)?;
        let chain = content.chain(name, &id);
        if let Some(task) = message.task {
            let Some(reader) = &self.reader else {
                return Err(A2AError::task_not_found(&task).into());
            };
            let record = reader.find(&task).await?;
            if record.id == chain {
                // The client repeats the message that began the task, and names the task by now.
                return Ok((reader.clone(), record.at_its_beginning()));
            }
            let message = turn.enter(&record, &id, &chain)?;
            if message.sent == content.frame_count() {
                return Ok((reader.clone(), message.before.clone()));
            }
            if record.state.is_terminal() {
                let cure = "begin a new one by a message without taskId";
                return Err(ended(&record, cure).into());
            }
            let frames = content.frames(name, &record.id, false, &registry)?;
            let (agent, reader) = self.open().await?;
            let log = reader.renderer.log.frames(record.last + 1);
            let sent = self.send_all(&agent, &record.id, log, frames, &mut message.sent);
            sent.await?;
            return Ok((reader, message.before.clone()));
        }
        // If the client repeats a message, it gets the task that the first copy began.
        if let Some(reader) = TaskReader::of(self.slot).await?
            && let Some(record) = reader.known(&chain).await?
        {
            return Ok((reader, record.at_its_beginning()));
        }
        let frames = content.frames(name, &chain, true, &registry)?;
        if let Some(PartFrame { part, outbound }) = frames.first() {
            let first = outbound.clone().to_a_taker();
            let checked = self.slot.check_frame(&first).await;
            checked.map_err(|error| fault::of_first(*part, error))?;
        }
        let (agent, reader) = self.open().await?;
        let position = reader.renderer.log.position().await;
        let after = position? + 1;
        let log = reader.renderer.log.frames(after);
        let mut all = 0;
        self.send_all(&agent, &chain, log, frames, &mut all).await?;
        let record = reader.find(&chain).await?.at_its_beginning();
        Ok((reader, record))
    }

    /// Sends frames one by one, without the first `sent` ones, and counts them there. Each frame is sent after the host
    /// has accepted the previous one. `log` begins before the first frame that is sent.
    async fn send_all(
        &self,
        agent: &Agent,
        chain: &str,
        mut log: Frames,
        frames: Vec<PartFrame>,
        sent: &mut usize,
    ) -> Result<(), Failure> {
        let chain = Mid::parse(chain);
        let left = frames.into_iter().skip(*sent);
        for frame in left {
            let PartFrame { part, outbound } = frame;
            // The frame goes out even if the client leaves meanwhile, so it is counted before.
            *sent += 1;
            let asked = agent.ask_with::<()>(outbound).within(self.wait).frame();
            // An entry in the log shows that the host has accepted the frame. If the host refuses the frame, the
            // request fails.
            tokio::select! {
                biased;
                answered = asked => match answered {
                    Ok(_) | Err(Error::Failed(_)) => {}
                    Err(error) => {
                        if !matches!(error, Error::Pending(_) | Error::Timeout(_)) {
                            *sent -= 1;
                        }
                        return Err(fault::of_session(part, &error).into());
                    }
                },
                accepted = accepted(&mut log, &chain, agent.name()) => {
                    accepted?;
                }
            }
        }
        Ok(())
    }
}

/// Waits for the next frame of an agent in a chain.
async fn accepted(log: &mut Frames, chain: &Mid, agent: &str) -> Result<(), Error> {
    while let Some(entry) = log.next().await? {
        let frame = TaskFrame::read(&entry.text);
        if frame.is_ok_and(|frame| TaskRecord::is_of_client(chain, agent, &frame)) {
            return Ok(());
        }
    }
    Err(Error::Ended("its task is over".to_owned()))
}

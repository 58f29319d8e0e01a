//! The state of a task, as it follows from the log of its session.

use std::borrow::Cow;
use std::time::SystemTime;

use a2a::TaskState;
use accp_frame::Intent;
use accp_session::{CancelToken, Entry, Inbound, Mid, Time};

use crate::frame::TaskFrame;
use crate::log::Log;

/// A task: the chain that a request of the agent begins. All data of a task follows from the log.
#[derive(Debug, Clone)]
pub(crate) struct TaskRecord {
    /// The name of the chain, which is the id of the task.
    pub(crate) id: String,
    chain: Mid,
    /// The id of the request.
    pub(crate) mid: Mid,
    /// The agent that asks.
    agent: String,
    pub(crate) state: TaskState,
    /// When the state was last set.
    pub(crate) at: Time,
    /// When the request was sent.
    begun: Time,
    /// The positions of the first and the last frame.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The position of the frame that explains the state.
    pub(crate) why: Option<u64>,
    /// When the `ttl` of the last request of the client is over, and that of the request that began the task.
    over: Option<Time>,
    first_over: Option<Time>,
    /// Whether the task counts as failed because its `ttl` is over. The log does not say so.
    pub(crate) has_lapsed: bool,
}

/// The role of a frame in a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameRole {
    /// A frame of the client.
    Client,
    /// A frame of another agent, such as `wait`.
    Agent,
    /// A piece of a stream of another agent.
    Piece,
    /// The answer, which ends the task.
    Answer,
    /// The failure, which ends the task.
    Failure,
    /// The cancellation, which ends the task.
    Cancel,
}

impl TaskRecord {
    /// Returns the task that a frame begins: a request of this agent.
    pub(crate) fn begin(agent: &str, entry: &Entry, frame: &TaskFrame<'_>) -> Option<Self> {
        if frame.agent() != agent || frame.intent() != Intent::REQ.as_str() {
            return None;
        }
        let over = over(entry, frame);
        Some(Self {
            id: frame.chain_name()?.to_owned(),
            chain: frame.chain()?,
            mid: entry.mid.clone(),
            agent: agent.to_owned(),
            state: TaskState::Submitted,
            at: entry.at,
            begun: entry.at,
            first: entry.position,
            last: entry.position,
            why: None,
            over,
            first_over: over,
            has_lapsed: false,
        })
    }

    /// Returns when the task fails if no other agent says anything before: when its `ttl` is over.
    pub(crate) fn fails_at(&self) -> Option<Time> {
        self.over.filter(|_| self.state == TaskState::Submitted)
    }

    /// Lets the task fail if its `ttl` is over and nobody has answered. An agent that has begun with the request in time
    /// may still answer: then the log has the answer, and the next reader gets it.
    pub(crate) fn lapse(&mut self) {
        if let Some(over) = self.fails_at().filter(|over| *over <= now()) {
            (self.state, self.at, self.why) = (TaskState::Failed, over, None);
            self.has_lapsed = true;
        }
    }

    /// Returns the task as a client sees it now.
    pub(crate) fn at_present(&self) -> Cow<'_, Self> {
        if self.fails_at().is_none_or(|over| over > now()) {
            return Cow::Borrowed(self);
        }
        let mut task = self.clone();
        task.lapse();
        Cow::Owned(task)
    }

    /// Returns the task as it was after its request, before all other frames.
    pub(crate) fn at_its_beginning(&self) -> Self {
        Self {
            state: TaskState::Submitted,
            at: self.begun,
            last: self.first,
            why: None,
            over: self.first_over,
            has_lapsed: false,
            ..self.clone()
        }
    }

    /// Takes the next frame of the log. Returns its role; `None` if the frame does not belong to this task, or comes
    /// after the end of the task.
    pub(crate) fn take(&mut self, entry: &Entry, frame: &TaskFrame<'_>) -> Option<FrameRole> {
        if self.state.is_terminal() || entry.position <= self.last {
            return None;
        }
        let role = self.role_of(entry, frame)?;
        let (state, explains) = match role {
            FrameRole::Answer => (TaskState::Completed, false),
            FrameRole::Failure => (TaskState::Failed, true),
            FrameRole::Cancel => (TaskState::Canceled, false),
            FrameRole::Agent if frame.intent() == Intent::WAIT.as_str() => {
                (TaskState::InputRequired, true)
            }
            // Only a frame of the agent moves a task from submitted to working.
            FrameRole::Client if self.state == TaskState::Submitted => {
                (TaskState::Submitted, false)
            }
            FrameRole::Client | FrameRole::Agent | FrameRole::Piece => (TaskState::Working, false),
        };
        let asks = [Intent::REQ.as_str(), Intent::QRY.as_str()].contains(&frame.intent());
        if asks && role == FrameRole::Client {
            self.over = over(entry, frame);
        }
        self.state = state;
        self.why = explains.then_some(entry.position);
        (self.at, self.last) = (entry.at, entry.position);
        Some(role)
    }

    /// Returns the role of a frame in this task.
    fn role_of(&self, entry: &Entry, frame: &TaskFrame<'_>) -> Option<FrameRole> {
        let is_in_chain = frame.chain().as_ref() == Some(&self.chain);
        let is_caused = frame.cause().as_ref() == Some(&self.mid);
        if !is_in_chain && !is_caused {
            return None;
        }
        if frame.intent() == Intent::CANCEL.as_str() {
            return is_in_chain.then_some(FrameRole::Cancel);
        }
        if frame.agent() == self.agent {
            return is_in_chain.then_some(FrameRole::Client);
        }
        if frame.intent() == Intent::STREAM.as_str() {
            return Some(FrameRole::Piece);
        }
        let text = entry.text.clone();
        let inbound = Inbound::new(entry.position, entry.sender, text, CancelToken::new());
        Some(match inbound.answers(&self.mid, &self.chain) {
            Some(Intent::FAIL) => FrameRole::Failure,
            Some(_) => FrameRole::Answer,
            None => FrameRole::Agent,
        })
    }

    /// Returns the frames of the task in their order, each with its role.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn entries(
        &self,
        log: &Log,
    ) -> Result<Vec<(Entry, FrameRole)>, accp_client::Error> {
        let mut log = log.frames(self.first);
        let mut entries = Vec::new();
        let mut record: Option<Self> = None;
        while let Some(entry) = log.next_ready().await? {
            if entry.position > self.last {
                break;
            }
            let Ok(frame) = TaskFrame::read(&entry.text) else {
                continue;
            };
            let role = if let Some(record) = &mut record {
                record.take(&entry, &frame)
            } else {
                record = Self::begin(&self.agent, &entry, &frame);
                record.is_some().then_some(FrameRole::Client)
            };
            if let Some(role) = role {
                drop(frame);
                entries.push((entry, role));
            }
        }
        Ok(entries)
    }

    /// Returns whether this agent has sent a frame in this chain.
    pub(crate) fn is_of_client(chain: &Mid, agent: &str, frame: &TaskFrame<'_>) -> bool {
        frame.agent() == agent && frame.chain().as_ref() == Some(chain)
    }
}

/// Returns when the `ttl` of a request is over: from then on, no agent in the process of the host gets the request.
fn over(entry: &Entry, frame: &TaskFrame<'_>) -> Option<Time> {
    let ttl = frame.envelope.ttl.filter(|ttl| *ttl > 0)?;
    // Sessions count whole seconds.
    let last = entry.at.as_secs().saturating_add(ttl);
    Some(Time::from_secs(last.saturating_add(1)))
}

/// Returns the time of day.
pub(crate) fn now() -> Time {
    let since = SystemTime::UNIX_EPOCH.elapsed();
    let millis = since.map_or(0, |since| since.as_millis());
    Time::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

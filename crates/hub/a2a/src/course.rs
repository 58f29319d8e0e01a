//! The course of a task, as the log of its session tells it.

use a2a::TaskState;
use accp_frame::Intent;
use accp_session::{CancelToken, Entry, Inbound, Mid, Time};

use crate::log::Log;
use crate::said::Said;

/// A task: the chain that a request of the agent begins. All of it follows from the log.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    /// The name of the chain, which is the id of the task.
    pub(crate) id: String,
    chain: Mid,
    /// The id of the request.
    pub(crate) mid: Mid,
    /// The agent that asks.
    agent: String,
    pub(crate) state: TaskState,
    /// When the state was last said.
    pub(crate) at: Time,
    /// When the request came.
    begun: Time,
    /// The positions of the first and the last frame.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The position of the frame that says why the state is what it is.
    pub(crate) why: Option<u64>,
}

/// What a frame is in the course of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The client says something.
    Mine,
    /// Another agent says something, or waits.
    Said,
    /// Another agent sends a piece of a stream.
    Piece,
    /// The answer, which ends the task.
    Answer,
    /// The failure, which ends the task.
    Failure,
    /// The cancellation, which ends the task.
    Cancel,
}

impl Course {
    /// Returns the task that a frame begins: a request of this agent.
    pub(crate) fn begin(agent: &str, entry: &Entry, said: &Said<'_>) -> Option<Self> {
        if said.agent() != agent || said.intent() != Intent::REQ.as_str() {
            return None;
        }
        Some(Self {
            id: said.chain_name()?.to_owned(),
            chain: said.chain()?,
            mid: entry.mid.clone(),
            agent: agent.to_owned(),
            state: TaskState::Submitted,
            at: entry.at,
            begun: entry.at,
            first: entry.position,
            last: entry.position,
            why: None,
        })
    }

    /// Returns the task as its request began it.
    pub(crate) fn at_its_beginning(&self) -> Self {
        Self {
            state: TaskState::Submitted,
            at: self.begun,
            last: self.first,
            why: None,
            ..self.clone()
        }
    }

    /// Takes the next frame of the log. Returns what it is in this task; `None` if it is not of this
    /// task, or comes after its end.
    pub(crate) fn take(&mut self, entry: &Entry, said: &Said<'_>) -> Option<Step> {
        if self.state.is_terminal() || entry.position <= self.last {
            return None;
        }
        let step = self.step(entry, said)?;
        let (state, explains) = match step {
            Step::Answer => (TaskState::Completed, false),
            Step::Failure => (TaskState::Failed, true),
            Step::Cancel => (TaskState::Canceled, false),
            Step::Said if said.intent() == Intent::WAIT.as_str() => {
                (TaskState::InputRequired, true)
            }
            // What the client says does not begin the work.
            Step::Mine if self.state == TaskState::Submitted => (TaskState::Submitted, false),
            Step::Mine | Step::Said | Step::Piece => (TaskState::Working, false),
        };
        self.state = state;
        self.why = explains.then_some(entry.position);
        (self.at, self.last) = (entry.at, entry.position);
        Some(step)
    }

    /// Returns what a frame is in this task.
    fn step(&self, entry: &Entry, said: &Said<'_>) -> Option<Step> {
        let is_in_chain = said.chain().as_ref() == Some(&self.chain);
        let is_caused = said.cause().as_ref() == Some(&self.mid);
        if !is_in_chain && !is_caused {
            return None;
        }
        if said.intent() == Intent::CANCEL.as_str() {
            return is_in_chain.then_some(Step::Cancel);
        }
        if said.agent() == self.agent {
            return is_in_chain.then_some(Step::Mine);
        }
        if said.intent() == Intent::STREAM.as_str() {
            return Some(Step::Piece);
        }
        let text = entry.text.clone();
        let inbound = Inbound::new(entry.position, entry.sender, text, CancelToken::new());
        Some(match inbound.answers(&self.mid, &self.chain) {
            Some(Intent::FAIL) => Step::Failure,
            Some(_) => Step::Answer,
            None => Step::Said,
        })
    }

    /// Returns the frames of the task in their order, each with what it is.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn entries(
        &self,
        log: &Log,
    ) -> Result<Vec<(Entry, Step)>, accp_client::Error> {
        let mut log = log.frames(self.first);
        let mut entries = Vec::new();
        let mut course: Option<Self> = None;
        while let Some(entry) = log.next_ready().await? {
            if entry.position > self.last {
                break;
            }
            let Ok(said) = Said::read(&entry.text) else {
                continue;
            };
            let step = if let Some(course) = &mut course {
                course.take(&entry, &said)
            } else {
                course = Self::begin(&self.agent, &entry, &said);
                course.is_some().then_some(Step::Mine)
            };
            if let Some(step) = step {
                drop(said);
                entries.push((entry, step));
            }
        }
        Ok(entries)
    }

    /// Returns whether a frame is in the chain of the task, from the agent that asks.
    pub(crate) fn is_mine(chain: &Mid, agent: &str, said: &Said<'_>) -> bool {
        said.agent() == agent && said.chain().as_ref() == Some(chain)
    }
}

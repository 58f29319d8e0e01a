//! What an answer leaves out of a task, because its frames take too many bytes.

use std::collections::{BTreeMap, HashMap};

use accp_session::Entry;
use serde_json::{Value, json};

use crate::expand::AnswerQuota;
use crate::frame::TaskFrame;
use crate::task::FrameRole;

/// The name under which the metadata of a task and of an artifact says what is left out.
pub(crate) const LEFT_OUT: &str = "accp.leftOut";

/// How many frames of a task an answer leaves out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    messages: usize,
    answers: usize,
    /// The pieces of streams, by the agent that sent them.
    pieces: BTreeMap<String, usize>,
}

/// Returns the frames of a task in their order. The flag of each frame says whether the answer shows the frame: the
/// answer shows the last `wanted` messages, and the artifacts if `has_artifacts` is true. The newest frames use the
/// quota first, so the answer leaves out the oldest frames.
pub(crate) fn newest(
    entries: Vec<(Entry, FrameRole)>,
    mut wanted: usize,
    has_artifacts: bool,
    quota: &mut AnswerQuota,
) -> (Vec<(Entry, FrameRole, bool)>, LeftOut) {
    let mut left_out = LeftOut::default();
    let mut all = Vec::with_capacity(entries.len());
    for (entry, role) in entries.into_iter().rev() {
        let is_wanted = match role {
            FrameRole::Client | FrameRole::Agent => {
                let is_wanted = wanted > 0;
                wanted = wanted.saturating_sub(1);
                is_wanted
            }
            FrameRole::Piece | FrameRole::Answer => has_artifacts,
            FrameRole::Failure | FrameRole::Cancel => false,
        };
        let is_shown = is_wanted && quota.count_frame(&entry.text);
        if is_wanted && !is_shown {
            left_out.count(&entry, role);
        }
        all.push((entry, role, is_shown));
    }
    all.reverse();
    (all, left_out)
}

impl LeftOut {
    fn count(&mut self, entry: &Entry, role: FrameRole) {
        match (role, TaskFrame::read(&entry.text)) {
            (FrameRole::Piece, Ok(frame)) => {
                *self.pieces.entry(frame.agent().to_owned()).or_default() += 1;
            }
            (FrameRole::Answer, _) => self.answers += 1,
            _ => self.messages += 1,
        }
    }

    /// Returns the metadata of a task whose frames may take `most` bytes. `None` if nothing is left out.
    pub(crate) fn of_task(&self, most: usize) -> Option<HashMap<String, Value>> {
        let parts = self.pieces.values().sum::<usize>() + self.answers;
        if self.messages == 0 && parts == 0 {
            return None;
        }
        let why = format!(
            "the frames of an answer take {most} bytes at most, so the oldest are left out; the log of the session has all"
        );
        let told = json!({ "messages": self.messages, "parts": parts, "why": why });
        Some(HashMap::from([(LEFT_OUT.to_owned(), told)]))
    }

    /// Returns the metadata of the stream of an agent: how many of its first parts are left out. `None` if the answer
    /// has all parts of the stream.
    pub(crate) fn of_stream(&self, agent: &str) -> Option<HashMap<String, Value>> {
        let parts = *self.pieces.get(agent)?;
        Some(HashMap::from([(LEFT_OUT.to_owned(), json!(parts))]))
    }
}

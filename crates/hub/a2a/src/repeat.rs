//! Messages that clients have sent into existing tasks, so that a message that comes again is not sent again.

use std::collections::VecDeque;

use a2a::A2AError;
use sha2::{Digest as _, Sha256};

use crate::fault;
use crate::task::TaskRecord;

/// How many messages are remembered for an agent.
const KEPT: usize = 256;

/// A message that a client has sent into an existing task.
pub(crate) struct SentMessage {
    /// The SHA-256 of the id that the client has given to the message. The id itself may be as long as a request.
    id: [u8; 32],
    /// The name that follows from the id and the content of the message.
    name: String,
    /// The task as it was before the frames of this message.
    pub(crate) before: TaskRecord,
    /// How many of its frames were sent.
    pub(crate) sent: usize,
}

/// The last messages that clients of one agent have sent into existing tasks.
#[derive(Default)]
pub(crate) struct SentMessages(VecDeque<SentMessage>);

impl SentMessages {
    /// Returns a message into this task: the one that came before, or a new one of which nothing was sent. `name`
    /// follows from the id and the content.
    ///
    /// # Errors
    /// When another message of the task has this id.
    pub(crate) fn enter(
        &mut self,
        task: &TaskRecord,
        id: &str,
        name: &str,
    ) -> Result<&mut SentMessage, A2AError> {
        // A message whose first frame was refused may come again in another form.
        self.0.retain(|message| message.sent > 0);
        let id: [u8; 32] = Sha256::digest(id.as_bytes()).into();
        let same = |message: &SentMessage| message.before.id == task.id && message.id == id;
        let at = if let Some(at) = self.0.iter().position(same) {
            at
        } else {
            if self.0.len() == KEPT {
                self.0.pop_front();
            }
            self.0.push_back(SentMessage {
                id,
                name: name.to_owned(),
                before: task.clone(),
                sent: 0,
            });
            self.0.len() - 1
        };
        let message = &mut self.0[at];
        if message.name != name {
            let text = "expected an id of its own: another message of this task has this id";
            return Err(fault::of_field("message.messageId", text, []));
        }
        Ok(message)
    }
}

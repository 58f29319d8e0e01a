//! The answer to a question that was sent.

use std::sync::Arc;

use accp_frame::{FrameFamily, Intent, IntoOwned};
use accp_session::Inbound;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::command::{Answered, Command};
use crate::deadline::Deadline;
use crate::error::{Error, Failure, read};
use crate::handle::Handle;

/// A question that was sent. If `number` is given, dropping this before the answer comes cancels the chain of the
/// question.
pub(crate) struct PendingAnswer {
    side: Arc<Handle>,
    number: Option<u64>,
    answered: oneshot::Receiver<Answered>,
    deadline: Deadline,
}

impl PendingAnswer {
    /// `number` is given if the question is to be cancelled when its asker no longer waits.
    pub(crate) fn new(
        side: Arc<Handle>,
        number: Option<u64>,
        answered: oneshot::Receiver<Answered>,
        deadline: Deadline,
    ) -> Self {
        Self {
            side,
            number,
            answered,
            deadline,
        }
    }

    /// Returns the end of the wait.
    pub(crate) fn until(&self) -> Instant {
        self.deadline.until
    }

    /// Waits for the answer as a frame of any type.
    pub(crate) async fn frame(&mut self) -> Result<Inbound, Error> {
        match self.answered().await? {
            (inbound, Intent::FAIL, code) => {
                Err(Error::Failed(Box::new(Failure::of(inbound, code))))
            }
            (inbound, ..) => Ok(inbound),
        }
    }

    /// Waits for the answer as a frame of this type, which may be the type of a failure.
    pub(crate) async fn typed<A>(&mut self) -> Result<A, Error>
    where
        A: FrameFamily,
        for<'a> A::Frame<'a>: IntoOwned<Owned = A>,
    {
        match self.answered().await? {
            (inbound, Intent::FAIL, code) if !inbound.is::<A>() => {
                Err(Error::Failed(Box::new(Failure::of(inbound, code))))
            }
            (inbound, ..) => read(&inbound),
        }
    }

    /// Waits for the answer. This measures the time itself, because the task of the side may be held up.
    async fn answered(&mut self) -> Answered {
        let answered = timeout_at(self.deadline.until, &mut self.answered).await;
        let answered = answered.or_else(|_| {
            // After `close`, the side hands the answer to a handler. An answer that arrived just
            // before is still in the channel.
            self.answered.close();
            let answered = self.answered.try_recv().map(Ok);
            // When this `PendingAnswer` is dropped, the side forgets the question and cancels its
            // chain.
            answered.map_err(|_| Error::Timeout(self.deadline.within))
        })?;
        self.number = None;
        let answered = answered.unwrap_or_else(|_| Err(Error::ended()));
        if let Ok((inbound, ..)) = &answered {
            self.tell_taken(inbound, true);
        }
        answered
    }

    /// Tells the side whether the asker has taken the answer. If the side has ended, a handler of its next run gets the
    /// answer.
    fn tell_taken(&self, inbound: &Inbound, is_taken: bool) {
        let position = inbound.position();
        let _ = self.side.tell(Command::Taken { position, is_taken });
    }

    /// Stops waiting, and leaves the question open.
    pub(crate) fn leave(mut self) {
        if let Some(number) = self.number.take() {
            let _ = self.side.tell(Command::Leave(number));
        }
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        // The answer may have come while its asker was about to leave.
        self.answered.close();
        if let Ok(Ok((inbound, ..))) = self.answered.try_recv() {
            self.tell_taken(&inbound, false);
        }
        if let Some(number) = self.number {
            let _ = self.side.tell(Command::Abandon(number));
        }
    }
}

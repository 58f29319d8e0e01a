//! The answer to a question that was sent.

use std::sync::Arc;

use accp_frame::{FrameFamily, Intent, IntoOwned, profiles::ErrorFail};
use accp_session::Inbound;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::command::{Answered, Command};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::handle::Handle;

/// A question that was sent. If it is to be cancelled, that happens when this is dropped.
pub(crate) struct PendingAnswer {
    side: Arc<Handle>,
    number: Option<u64>,
    answered: oneshot::Receiver<Answered>,
    deadline: Deadline,
}

impl PendingAnswer {
    /// `number` is that of a question that is cancelled when nobody waits any more.
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

    /// Returns when nobody waits any more.
    pub(crate) fn until(&self) -> Instant {
        self.deadline.until
    }

    /// Waits for the answer. The time of the wait runs here, because the task of the side may be held up.
    pub(crate) async fn frame(&mut self) -> Result<Inbound, Error> {
        let answered = timeout_at(self.deadline.until, &mut self.answered).await;
        let answered = answered.or_else(|_| {
            // From here on the side hands the answer to a handler. The answer may have arrived just before.
            self.answered.close();
            let answered = self.answered.try_recv().map(Ok);
            // When this value is dropped, the side forgets and cancels the question.
            answered.map_err(|_| Error::Timeout(self.deadline.within))
        })?;
        self.number = None;
        match answered.unwrap_or_else(|_| Err(Error::ended()))? {
            (inbound, Intent::FAIL) => Err(failure(&inbound)),
            (inbound, _) => Ok(inbound),
        }
    }

    /// Waits no longer, and lets the question stand.
    pub(crate) fn leave(mut self) {
        if let Some(number) = self.number.take() {
            let _ = self.side.tell(Command::Leave(number));
        }
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let _ = self.side.tell(Command::Abandon(number));
        }
    }
}

/// Reads a frame of this type.
pub(crate) fn read<A>(inbound: &Inbound) -> Result<A, Error>
where
    A: FrameFamily,
    for<'a> A::Frame<'a>: IntoOwned<Owned = A>,
{
    match inbound.decode::<A::Frame<'_>>() {
        Ok(typed) => Ok(typed.frame.into_owned()),
        Err(error) => Err(Error::answer(inbound, error)),
    }
}

/// Reads what a failure says.
fn failure(inbound: &Inbound) -> Error {
    match inbound.decode::<ErrorFail<'_>>() {
        Ok(answer) => Error::Failed {
            code: answer.frame.code.parse().ok(),
            message: answer.frame.msg.into_owned(),
        },
        Err(_) => Error::Failed {
            code: None,
            message: inbound.text().to_owned(),
        },
    }
}

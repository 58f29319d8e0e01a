//! A question to another agent.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use accp_runtime::profiles::ErrorFail;
use accp_runtime::session::{Inbound, Outbound};
use accp_runtime::{FrameFamily, Intent, IntoOwned};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::command::{Asking, Command};
use crate::error::Error;
use crate::handle::Handle;

/// The time for which a question waits if nothing else is said.
const PATIENCE: Duration = Duration::from_secs(60);
/// A time that nobody waits for.
const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);

/// A question, which is sent when it is awaited. See [`Agent::ask`](crate::Agent::ask).
#[must_use = "a question is sent when it is awaited"]
pub struct Ask<A> {
    side: Arc<Handle>,
    outbound: Outbound<'static>,
    within: Duration,
    cancels: bool,
    answer: PhantomData<fn() -> A>,
}

impl<A> Ask<A> {
    pub(crate) fn new(side: Arc<Handle>, outbound: Outbound<'static>) -> Self {
        Self {
            side,
            outbound,
            within: PATIENCE,
            cancels: false,
            answer: PhantomData,
        }
    }

    /// Waits for the answer for this time at most; 60 seconds by default.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// Cancels the chain of the question if nobody waits for the answer any more: the future is dropped,
    /// or the time is over (draft section 3.7, item 4). Otherwise the question stands, and a late
    /// answer goes to a handler.
    pub fn cancelling(mut self) -> Self {
        self.cancels = true;
        self
    }

    /// Waits for the answer as a frame of any type.
    ///
    /// # Errors
    /// See [`Agent::ask`](crate::Agent::ask).
    pub async fn frame(self) -> Result<Inbound, Error> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let (answer, answered) = oneshot::channel();
        let (now, number) = (Instant::now(), NUMBERS.fetch_add(1, Ordering::Relaxed));
        self.side.tell(Command::Ask(Asking {
            outbound: self.outbound,
            number,
            within: self.within,
            until: now.checked_add(self.within).unwrap_or(now + FAR),
            cancels: self.cancels,
            answer,
        }))?;
        let mut guard = Guard {
            side: &self.side,
            number: self.cancels.then_some(number),
        };
        let answered = answered.await.unwrap_or_else(|_| Err(Error::ended()));
        guard.number = None;
        match answered? {
            (inbound, Intent::FAIL) => Err(failure(&inbound)),
            (inbound, _) => Ok(inbound),
        }
    }
}

/// Cancels a question when it is dropped.
struct Guard<'a> {
    side: &'a Handle,
    number: Option<u64>,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let _ = self.side.tell(Command::Abandon(number));
        }
    }
}

impl<A> IntoFuture for Ask<A>
where
    A: FrameFamily + 'static,
    for<'a> A::Frame<'a>: IntoOwned<Owned = A>,
{
    type Output = Result<A, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let inbound = self.frame();
        Box::pin(async move {
            match inbound.await?.decode::<A::Frame<'_>>() {
                Ok(typed) => Ok(typed.frame.into_owned()),
                Err(error) => Err(Error::Answer(error)),
            }
        })
    }
}

/// Reads what a failure says.
fn failure(inbound: &Inbound) -> Error {
    match inbound.decode::<ErrorFail<'_>>() {
        Ok(told) => Error::Failed {
            code: told.frame.code.parse().ok(),
            message: told.frame.msg.into_owned(),
        },
        Err(_) => Error::Failed {
            code: None,
            message: inbound.text().to_owned(),
        },
    }
}

impl<A> fmt::Debug for Ask<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("outbound", &self.outbound)
            .finish_non_exhaustive()
    }
}

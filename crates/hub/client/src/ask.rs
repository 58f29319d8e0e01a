//! A question to another agent.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use accp_frame::{FrameFamily, IntoOwned};
use accp_session::{Inbound, Outbound};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::command::{Asking, Command};
use crate::deadline::Deadline;
use crate::error::{Done, Error};
use crate::handle::Handle;
use crate::pending_answer::PendingAnswer;
use crate::pieces::Pieces;
use crate::sent::Sent;

/// How long a question waits by default.
const PATIENCE: Duration = Duration::from_secs(60);
/// A time so far in the future that no wait reaches it.
const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);

/// A question, which is sent when it is awaited. See [`Agent::ask`](crate::Agent::ask).
#[must_use = "a question is sent when it is awaited"]
pub struct Ask<A> {
    side: Arc<Handle>,
    outbound: Outbound<'static>,
    within: Duration,
    cancels: bool,
    /// Gets the position once the hub has accepted the question, or the reason why it has not.
    fate: Option<Done<Sent>>,
    answer: PhantomData<fn() -> A>,
}

impl<A> Ask<A> {
    pub(crate) fn new(side: Arc<Handle>, outbound: Outbound<'static>) -> Self {
        Self {
            side,
            outbound: outbound.to_a_taker(),
            within: PATIENCE,
            cancels: false,
            fate: None,
            answer: PhantomData,
        }
    }

    /// Waits for the answer for this time at most; 60 seconds by default. The wait ends at that time even if the
    /// agent or its store is held up.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// Names the agent that the question is for: see [`Outbound::to`]. An agent cannot ask itself, because its frames
    /// come to all others: that is [`Error::Input`] with E2001.
    ///
    /// ```
    /// use accp_client::Hub;
    /// use accp_runtime::profiles::{ChatDone, ChatReq};
    /// use accp_store::MemoryStore;
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let (guest, cook, baker) = (hub.agent("guest")?, hub.agent("cook")?, hub.agent("baker")?);
    /// for (agent, dish) in [(&cook, "soup"), (&baker, "bread")] {
    ///     agent.serve(move |_: ChatReq, cx| cx.reply(ChatDone::new(dish)));
    /// }
    /// let answer = guest.ask::<ChatDone>(ChatReq::new("what is there?")).of("baker").await?;
    /// assert_eq!(answer.content, "bread");
    /// let nobody = guest.ask::<ChatDone>(ChatReq::new("what is there?")).of("waiter").await;
    /// assert!(nobody.unwrap_err().to_string().contains("waiter has not, and hub, guest, cook, baker have"));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(mut self, agent: impl Into<String>) -> Self {
        self.outbound = self.outbound.to(agent);
        self
    }

    /// Cancels the chain of the question if nobody waits for the answer any more, because the future is dropped
    /// or the time is over (draft section 3.7, item 4). Otherwise the question stays open, and a handler gets a
    /// late answer.
    pub fn cancelling(mut self) -> Self {
        self.cancels = true;
        self
    }

    /// Returns a future that is ready once the hub has accepted or refused the question. The hub has accepted
    /// each question that gets an answer.
    ///
    /// # Errors
    /// Those of [`Agent::send`](crate::Agent::send), and [`Error::Ended`] also when the question was not sent.
    pub fn accepted(&mut self) -> impl Future<Output = Result<Sent, Error>> + Send + use<A> {
        let (fate, known) = oneshot::channel();
        self.fate = Some(fate);
        async move { known.await.unwrap_or_else(|_| Err(Error::ended())) }
    }

    /// Waits for the answer as a frame of any type.
    ///
    /// # Errors
    /// See [`Agent::ask`](crate::Agent::ask).
    pub async fn frame(self) -> Result<Inbound, Error> {
        self.send(None)?.frame().await
    }

    /// As [`frame`](Self::frame), but returns `None` if `over` is ready first, because the asker may not speak
    /// any more. Then nothing more is sent for the question: it stays open, even if
    /// [`cancelling`](Self::cancelling) was set.
    ///
    /// # Errors
    /// See [`Agent::ask`](crate::Agent::ask).
    pub async fn frame_unless(
        self,
        over: impl Future<Output = ()>,
    ) -> Result<Option<Inbound>, Error> {
        let mut waiting = self.send(None)?;
        tokio::select! {
            biased;
            () = over => {
                waiting.leave();
                Ok(None)
            }
            frame = waiting.frame() => frame.map(Some),
        }
    }

    /// Sends the question now, and returns the pieces of the stream that come before the answer: frames of
    /// type `P` with the intent `stream` in its chain.
    ///
    /// ```
    /// use accp_client::Hub;
    /// use accp_runtime::profiles::{ChatDone, ChatReq, InferStream};
    /// use accp_store::MemoryStore;
    /// use futures_util::stream;
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let (guest, cook) = (hub.agent("guest")?, hub.agent("cook")?);
    /// cook.serve(|_: ChatReq, cx| async move {
    ///     let words = ["rye", "bread"].into_iter().enumerate();
    ///     let pieces = words.map(|(at, word)| InferStream::new(at as i64, word));
    ///     cx.stream(stream::iter(pieces)).await?;
    ///     cx.reply(ChatDone::new("rye bread")).await
    /// });
    /// let mut answer = guest.ask::<ChatDone>(ChatReq::new("what is there?")).pieces::<InferStream>();
    /// let mut words = Vec::new();
    /// while let Some(piece) = answer.next().await {
    ///     words.push(piece?.data);
    /// }
    /// assert_eq!(words, ["rye", "bread"]);
    /// assert_eq!(answer.answer().await?.content, "rye bread");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pieces<P>(self) -> Pieces<P, A> {
        let (pieces, received) = mpsc::unbounded_channel();
        Pieces::new(self.send(Some(pieces)), received)
    }

    fn send(self, pieces: Option<UnboundedSender<Inbound>>) -> Result<PendingAnswer, Error> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let (answer, answered) = oneshot::channel();
        let (now, number) = (Instant::now(), NUMBERS.fetch_add(1, Ordering::Relaxed));
        let deadline = Deadline {
            within: self.within,
            until: now.checked_add(self.within).unwrap_or(now + FAR),
        };
        self.side.tell(Command::Ask(Asking {
            outbound: self.outbound,
            number,
            deadline,
            cancels: self.cancels,
            fate: self.fate,
            answer,
            pieces,
        }))?;
        let number = self.cancels.then_some(number);
        Ok(PendingAnswer::new(self.side, number, answered, deadline))
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
        Box::pin(async move { self.send(None)?.typed().await })
    }
}

impl<A> fmt::Debug for Ask<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("outbound", &self.outbound)
            .finish_non_exhaustive()
    }
}

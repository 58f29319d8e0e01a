//! Agents as services of tower, for its layers: limits, retries, load shedding.

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use accp_frame::{EncodeFrame, FrameFamily, IntoOwned};
use tower_service::Service;

use crate::agent::Agent;
use crate::error::Error;

/// An agent that asks, as a service: a request is a frame, and the response is the frame that answers it. See
/// [`Agent::asks`].
pub struct Asks<A> {
    agent: Agent,
    within: Option<Duration>,
    answer: PhantomData<fn() -> A>,
}

impl<A> Asks<A> {
    /// Waits for each answer for this time at most; 60 seconds by default.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }
}

impl Agent {
    /// Returns a service of tower that asks: see [`ask`](Self::ask). A call whose future is dropped is
    /// cancelled ([`Ask::cancelling`](crate::Ask::cancelling)), as a layer that gives up expects.
    ///
    /// ```
    /// use accp_client::Hub;
    /// use accp_runtime::profiles::{ChatDone, ChatReq};
    /// use accp_store::MemoryStore;
    /// use tower_service::Service;
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let (guest, cook) = (hub.agent("guest")?, hub.agent("cook")?);
    /// cook.serve(|asked: ChatReq, cx| async move {
    ///     cx.reply(ChatDone::new(asked.content.to_uppercase())).await
    /// });
    /// let mut asks = guest.asks::<ChatDone>(); // under any layer of tower
    /// let done = asks.call(ChatReq::new("soup")).await?;
    /// assert_eq!(done.content, "SOUP");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn asks<A>(&self) -> Asks<A> {
        Asks {
            agent: self.clone(),
            within: None,
            answer: PhantomData,
        }
    }

    /// Hands the frames of type `F` to a service of tower, and replies with its responses. Otherwise this works
    /// as [`serve`](Self::serve). Each frame gets a clone of the service, and waits until that clone is ready.
    ///
    /// ```
    /// use accp_client::Hub;
    /// use accp_runtime::profiles::{ChatDone, ChatReq};
    /// use accp_store::MemoryStore;
    /// use std::time::Duration;
    /// use tower::{ServiceBuilder, service_fn};
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let (guest, cook) = (hub.agent("guest")?, hub.agent("cook")?);
    /// let cooks = service_fn(|asked: ChatReq<'static>| async move {
    ///     Ok::<_, std::io::Error>(ChatDone::new(asked.content.to_uppercase()))
    /// });
    /// cook.serve_service(ServiceBuilder::new().timeout(Duration::from_secs(5)).service(cooks));
    /// let done: ChatDone = guest.ask(ChatReq::new("soup")).await?;
    /// assert_eq!(done.content, "SOUP");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn serve_service<F, S>(&self, service: S)
    where
        F: FrameFamily + Send + 'static,
        for<'a> F::Frame<'a>: IntoOwned<Owned = F>,
        S: Service<F> + Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Response: EncodeFrame + Send + Sync + 'static,
        S::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        self.serve(move |frame: F, cx| {
            let mut service = service.clone();
            async move {
                let ready = poll_fn(|task| service.poll_ready(task)).await;
                ready.map_err(Into::into)?;
                let response = service.call(frame).await.map_err(Into::into)?;
                cx.reply(response).await?;
                Ok::<_, Box<dyn StdError + Send + Sync>>(())
            }
        });
    }
}

impl<Q, A> Service<Q> for Asks<A>
where
    Q: EncodeFrame + Send + Sync + 'static,
    A: FrameFamily + 'static,
    for<'a> A::Frame<'a>: IntoOwned<Owned = A>,
{
    type Response = A;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<A, Error>> + Send>>;

    /// An agent is always ready. A question that cannot be sent yet waits, and the time of its wait runs
    /// meanwhile.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, frame: Q) -> Self::Future {
        let mut ask = self.agent.ask(frame).cancelling();
        if let Some(within) = self.within {
            ask = ask.within(within);
        }
        ask.into_future()
    }
}

impl<A> Clone for Asks<A> {
    fn clone(&self) -> Self {
        Self {
            agent: self.agent.clone(),
            within: self.within,
            answer: PhantomData,
        }
    }
}

impl<A> fmt::Debug for Asks<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asks")
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

//! A frame on its way into the log.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use accp_session::{Mid, Outbound};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::claim::Claim;
use crate::command::{Command, Posting};
use crate::error::Error;
use crate::handle::Handle;
use crate::sent::Sent;

/// How long a frame waits by default.
const PATIENCE: Duration = Duration::from_secs(60);

/// A frame, which is sent when it is awaited. See [`Agent::send`](crate::Agent::send).
#[must_use = "a frame is sent when it is awaited"]
pub struct Sending {
    side: Arc<Handle>,
    outbound: Outbound<'static>,
    within: Duration,
}

impl Sending {
    pub(crate) fn new(side: Arc<Handle>, outbound: Outbound<'static>) -> Self {
        Self {
            side,
            outbound,
            within: PATIENCE,
        }
    }

    /// Waits for this time at most; 60 seconds by default. The wait ends at that time even if the agent or its store
    /// is held up.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// Names the agent that a request is for: see [`Outbound::to`].
    pub fn to(mut self, agent: impl Into<String>) -> Self {
        self.outbound = self.outbound.to(agent);
        self
    }

    /// Waits only until the frame is in the store of this agent, and returns the id of the frame. The agent then
    /// sends the frame until the host has accepted or refused it, also after a restart on that store. An agent of
    /// a hub in this process shares the store of its hub, so its frame is in the log then.
    ///
    /// # Errors
    /// [`Error::Unsent`] when the session has not taken the frame in time: the frame is not sent.
    /// [`Error::Pending`] when the session has taken the frame, but the store has not written it in time.
    /// [`Error::Input`] when the session refuses the frame. [`Error::Refused`] and [`Error::Expired`] when the
    /// hub in this process refuses it. [`Error::Ended`].
    ///
    /// ```
    /// use accp_client::Hub;
    /// use accp_runtime::profiles::ChatReq;
    /// use accp_store::MemoryStore;
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let guest = hub.agent("guest")?;
    /// let mid = guest.send(ChatReq::new("hello")).queued().await?;
    /// let sent = guest.send(ChatReq::new("soup?")).await?;
    /// assert!(sent.mid != mid && sent.position.is_some());
    /// # Ok::<(), accp_client::Error>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn queued(self) -> Result<Mid, Error> {
        let (queued, on_its_way) = oneshot::channel();
        let (within, claim) = (self.within, Arc::<Claim>::default());
        self.side.tell(Command::Send(Posting {
            outbound: self.outbound,
            queued: Some(queued),
            claim: Arc::clone(&claim),
            fate: None,
        }))?;
        match timeout(within, on_its_way).await {
            Ok(sent) => sent.unwrap_or_else(|_| Err(Error::ended())),
            Err(_) => Err(late(&claim, within)),
        }
    }

    async fn accepted(self) -> Result<Sent, Error> {
        let (queued, on_its_way) = oneshot::channel();
        let (fate, known) = oneshot::channel();
        let (within, claim) = (self.within, Arc::<Claim>::default());
        self.side.tell(Command::Send(Posting {
            outbound: self.outbound,
            queued: Some(queued),
            claim: Arc::clone(&claim),
            fate: Some(fate),
        }))?;
        let accepted = timeout(within, async {
            on_its_way.await.unwrap_or_else(|_| Err(Error::ended()))?;
            known.await.unwrap_or_else(|_| Err(Error::ended()))
        });
        let accepted = accepted.await;
        accepted.unwrap_or_else(|_| Err(late(&claim, within)))
    }
}

/// Returns the error for a frame that was not sent in time.
fn late(claim: &Claim, within: Duration) -> Error {
    claim
        .give_up()
        .map_or(Error::Unsent(within), Error::Pending)
}

impl IntoFuture for Sending {
    type Output = Result<Sent, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.accepted())
    }
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending")
            .field("outbound", &self.outbound)
            .finish_non_exhaustive()
    }
}

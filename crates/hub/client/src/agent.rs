//! An agent of a session.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use accp_context::TokenBudget;
use accp_frame::{DynamicFrame, EncodeFrame, FrameFamily, IntoOwned, Registry, Value};
use accp_session::{Outbound, Session};
use accp_store::Match;
use futures_util::{Stream, StreamExt as _};

use crate::ask::Ask;
use crate::command::{self, Command};
use crate::context::{Cx, DELIVERED};
use crate::error::Error;
use crate::frames::Frames;
use crate::handle::Handle;
use crate::sending::Sending;

/// An agent of a session. Clones are the same agent.
///
/// An agent of a [`Hub`](crate::Hub) in this process shares the log of the hub. An agent that is
/// [connected](Agent::connect) has a store of its own, which keeps the frames of the agent until the hub has
/// them.
///
/// When the last clone is dropped, the agent stops. Frames that it has not marked as handled come again when
/// an agent of this name is opened.
#[derive(Clone)]
pub struct Agent {
    handle: Arc<Handle>,
}

impl Agent {
    pub(crate) fn of(handle: Arc<Handle>) -> Self {
        Self { handle }
    }

    /// Returns the name of the agent.
    pub fn name(&self) -> &str {
        self.handle.name()
    }

    /// Waits until the agent is in its session and has the log so far. Only calls that read the session,
    /// [`look`](Self::look) and [`context`](Self::context), need this wait.
    ///
    /// # Errors
    /// [`Error::Refused`] when the hub does not let the agent in, for example because the agent's registry breaks
    /// a reader. [`Error::Ended`].
    pub async fn joined(&self) -> Result<(), Error> {
        self.handle.call(Command::Joined).await
    }

    /// Sends a frame. When this returns, the hub has accepted the frame: it is in the log, at the returned position.
    /// While the link is down, this waits for at most 60 seconds, or for the time that [`within`](Sending::within)
    /// sets. [`queued`](Sending::queued) does not wait for the hub.
    ///
    /// # Errors
    /// [`Error::Pending`] when the hub has not taken the frame in time: the frame stays in the outbox, and the
    /// agent goes on sending it, so do not send it again. [`Error::Unsent`] when the outbox had no room for the
    /// frame. [`Error::Input`] when the session refuses the frame, and [`Error::Refused`] when the hub does.
    /// [`Error::Expired`] and [`Error::Cancelled`] when the hub has dropped the frame. [`Error::Ended`].
    pub fn send(&self, frame: impl EncodeFrame + Send + Sync + 'static) -> Sending {
        self.send_with(Outbound::owned(frame))
    }

    /// As [`send`](Self::send), with the rest of the envelope: its chain, its `ttl`. The frame may also be a
    /// [`DynamicFrame`](accp_frame::DynamicFrame).
    ///
    /// # Errors
    /// See [`send`](Self::send).
    pub fn send_with(&self, outbound: Outbound<'static>) -> Sending {
        Sending::new(Arc::clone(&self.handle), outbound)
    }

    /// Sends a frame and waits for the frame that answers it, `done` or `end` in its chain. The wait takes at most 60
    /// seconds, or the time that [`within`](Ask::within) sets. The answer counts as handled.
    ///
    /// If the future is dropped, or nobody answers in time, the question stays open, and a handler gets a late
    /// answer; [`cancelling`](Ask::cancelling) cancels the question instead. A question that this side could not
    /// send in time, because it had not joined yet or its outbox was full, is not sent at all.
    ///
    /// # Errors
    /// [`Error::Failed`] when the answer is `fail`, [`Error::Answer`] when it is another frame than
    /// `A`, [`Error::Timeout`] (E3001), [`Error::Refused`], [`Error::Cancelled`], [`Error::Expired`],
    /// [`Error::Input`] when the session does not take the frame, [`Error::Ended`].
    pub fn ask<A>(&self, frame: impl EncodeFrame + Send + Sync + 'static) -> Ask<A> {
        self.ask_with(Outbound::owned(frame))
    }

    /// As [`ask`](Self::ask), with the rest of the envelope. The question may also be a
    /// [`DynamicFrame`](accp_frame::DynamicFrame).
    pub fn ask_with<A>(&self, outbound: Outbound<'static>) -> Ask<A> {
        Ask::new(Arc::clone(&self.handle), outbound)
    }

    /// Hands the frames of type `F` to a handler, also those that wait already. If a frame fits two handlers, the
    /// handler that was registered first gets it. Handlers are called in the order of the session and run
    /// concurrently: at most 64 frames of an agent are being handled at a time.
    ///
    /// Frames that no handler takes wait. If the agent lives in the process of its hub, they wait in the log. The hub
    /// remembers at most 256 gaps of such frames between handled frames; beyond that, the frames in the oldest gap
    /// count as handled. For other agents, the frames wait in memory.
    ///
    /// A handler may get a frame again if the agent was opened again before the frame was marked: then
    /// [`Inbound::redelivered`](accp_session::Inbound::redelivered) is true. A handler gets its own agent from
    /// [`Cx::agent`]. A handler that owns a clone of the agent keeps the agent and its hub alive.
    pub fn serve<F, H, R, E>(&self, handler: H)
    where
        F: FrameFamily + Send + 'static,
        for<'a> F::Frame<'a>: IntoOwned<Owned = F>,
        H: Fn(F, Cx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn StdError + Send + Sync>> + 'static,
    {
        let add = Box::new(move |handlers| command::on(handlers, handler));
        // This call returns no error. If the side has ended, the next call that can fail says so.
        let _ = self.tell(Command::Serve(add));
    }

    /// Hands every frame that no other handler takes to this handler. [`Cx::inbound`] has the frame, and
    /// [`Cx::message`] reads it. A later call replaces the handler.
    pub fn serve_others<H, R, E>(&self, handler: H)
    where
        H: Fn(Cx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn StdError + Send + Sync>> + 'static,
    {
        let add = Box::new(move |handlers| command::otherwise(handlers, handler));
        let _ = self.tell(Command::Serve(add));
    }

    /// Returns the log of the session from a position on, and then each new entry. The first position is 1. The
    /// log has the frames of all agents, also those of this agent. Reading marks nothing as handled.
    pub fn frames(&self, from: u64) -> Frames {
        self.handle.log.from(from)
    }

    /// Returns the context of the session as a model reads it (draft section 5): the checkpoints and
    /// the frames since. Only its end changes until the next checkpoint.
    ///
    /// The context is empty if the hub counts no tokens: see [`budget`](Self::budget).
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn context(&self) -> Result<String, Error> {
        self.handle.look(Session::context).await
    }

    /// Returns how much of its budget the context takes (`GetBudget`, draft section 7.1).
    ///
    /// A session has a budget and a context if its hub counts tokens. `accp serve` does. A [`Hub`](crate::Hub) does if it
    /// was opened with a counter ([`Options::counting`](accp_session::Options::counting)).
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn budget(&self) -> Result<TokenBudget, Error> {
        self.handle.look(Session::budget).await
    }

    /// Returns the registry of the session: the schemas by which its frames are read now.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn registry(&self) -> Result<Arc<Registry>, Error> {
        self.handle.registry().await
    }

    /// Calls `look` with the session of this agent, and returns its answer.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.handle.look(look).await
    }

    /// Reads the value that a reference names: `cold.p57`, `cold.k101_12.rows.0`, `warm.ckpt_3`, or `ctx.sprint` for the
    /// key `sprint` of the shared state. The reference may begin with `$`. This waits while the bytes of the value are on
    /// their way here.
    ///
    /// # Errors
    /// [`Error::Reference`] with E2001 or E2002 when there is no such value, E5002 when it belongs to
    /// another session, E3001 when nobody supplies it. [`Error::Ended`].
    pub async fn expand(&self, reference: &str) -> Result<Value<'static>, Error> {
        self.handle.expand(reference).await
    }

    /// Looks for words in the frames that have left the context; see
    /// [`Store::search`](accp_store::Store::search). Returns at most `limit` frames, the best first.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn search(&self, words: &str, limit: usize) -> Result<Vec<Match>, Error> {
        self.handle.search(words, limit).await
    }

    /// Closes the agent: its handlers get no more frames, running handlers end, and the hub gets all frames that
    /// the agent has sent. Then the agent ends, with all of its clones. So a program that closes its agents
    /// before it ends loses nothing, with a store or without. A handler that waits for the close of its own agent
    /// waits for its own end, so it lets another task close the agent.
    ///
    /// ```
    /// use accp_client::{Error, Hub};
    /// use accp_runtime::profiles::ChatReq;
    /// use accp_store::MemoryStore;
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let guest = hub.agent("guest")?;
    /// guest.send(ChatReq::new("hello")).queued().await?;
    /// guest.close().await?;
    /// assert!(matches!(guest.send(ChatReq::new("hello")).await, Err(Error::Ended(_))));
    /// # Ok::<(), Error>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsent`] when the close takes more than 60 seconds, because a handler still runs or the hub is
    /// away. Frames in a store that is kept go out when the agent is opened again. [`Error::Ended`].
    pub async fn close(&self) -> Result<(), Error> {
        self.handle.close().await
    }

    /// Closes the agent, and takes it out of the session. The hub gives the requests that the agent has not
    /// answered to other agents that take such requests. The session keeps the name and the number of the agent.
    /// An agent of this name comes back with the next [`connect`](Agent::connect) or
    /// [`Hub::agent`](crate::Hub::agent).
    ///
    /// # Errors
    /// As [`close`](Self::close), and [`Error::Unsent`] when the hub is away for more than 60 seconds.
    pub async fn leave(&self) -> Result<(), Error> {
        self.handle.leave().await
    }

    pub(crate) fn tell(&self, command: Command) -> Result<(), Error> {
        self.handle.tell(command)
    }
}

impl Cx {
    /// Returns the agent that handles the frame, for more than the reply: to send pieces of a stream, or to ask
    /// others. A handler that gets its agent here keeps the agent alive only while the handler runs.
    ///
    /// # Errors
    /// [`Error::Ended`] when the last handle of the agent was dropped.
    pub fn agent(&self) -> Result<Agent, Error> {
        let handle = self.handle().and_then(|handle| handle.downcast().ok());
        handle.map(Agent::of).ok_or_else(Error::ended)
    }

    /// Reads the frame under full names, with values in the place of its references, for handlers of
    /// [`serve_others`](Agent::serve_others). A typed handler gets those values in its frame. A reference whose
    /// value cannot be read stays.
    ///
    /// ```
    /// use accp_client::Hub;
    /// use accp_runtime::profiles::{ChatDone, ChatReq};
    /// use accp_store::MemoryStore;
    ///
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// let hub = Hub::open("lunch", MemoryStore::new()).await?;
    /// let (guest, cook) = (hub.agent("guest")?, hub.agent("cook")?);
    /// cook.serve_others(|cx| async move {
    ///     let asked = cx.message().await?;
    ///     let words = asked.payload.get("content").and_then(|words| words.as_str());
    ///     cx.reply(ChatDone::new(words.unwrap_or("what?").to_uppercase())).await
    /// });
    /// let long = "rye bread ".repeat(10_000);
    /// let answer: ChatDone = guest.ask(ChatReq::new(long.clone())).await?;
    /// assert_eq!(answer.content, long.to_uppercase());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Answer`] when the registry of the agent cannot read the frame: a handler that returns this error answers
    /// with E1003 if the schema is not known, and with E1004 if it has another form. [`Error::Ended`].
    pub async fn message(&self) -> Result<DynamicFrame<'static>, Error> {
        let registry = self.agent()?.registry().await?;
        let inbound = self.inbound();
        let whole = inbound.whole();
        let message = whole.and_then(|text| DynamicFrame::decode_with(text, &registry, &DELIVERED));
        match message {
            Ok(message) => Ok(message.into_owned()),
            Err(error) => Err(Error::answer(inbound, error)),
        }
    }

    /// Sends the pieces of a stream in the chain of the frame. Each piece goes out when the previous one is in the
    /// store. Returns how many pieces there were. The reply comes after the pieces. The agent that asked reads the
    /// pieces by [`Ask::pieces`].
    ///
    /// # Errors
    /// Those of [`Agent::send`], and [`Error::Cancelled`] once the chain is cancelled.
    pub async fn stream<F>(&self, pieces: impl Stream<Item = F>) -> Result<u64, Error>
    where
        F: EncodeFrame + Send + Sync + 'static,
    {
        let agent = self.agent()?;
        let inbound = self.inbound();
        let chain = inbound
            .chain()
            .map_err(|error| Error::answer(inbound, error))?;
        let chain = chain.to_string();
        let cancelled = self.inbound().cancel_token();
        let mut pieces = pin!(pieces);
        let mut count = 0;
        loop {
            let piece = tokio::select! {
                biased;
                () = cancelled.cancelled() => return Err(Error::Cancelled),
                piece = pieces.next() => piece,
            };
            let Some(piece) = piece else {
                return Ok(count);
            };
            let piece = Outbound::owned(piece).in_chain(chain.clone());
            agent.send_with(piece).queued().await?;
            count += 1;
        }
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

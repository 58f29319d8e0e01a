//! A driver for asynchronous code.

use std::collections::VecDeque;
use std::fmt;

use accp_runtime::session::{
    Inbound, Input, MemberId, Mid, Options, Outbound, Reference, Rules, Session, Time,
};
use accp_runtime::{AgentId, Value};
use accp_session::{Batch, Entry, Output, Read, Resolver};

use super::course::{Course, Outcome, Reading, side_of};
use super::error::DriverError;
use super::link::Link;
use super::look_up::look_up;
use crate::{Committer, Kept, NoRows, OpenSide, Pending, RowsError, SideId};

/// Runs one [`Session`] on a [`Committer`] and a [`Link`]. It is [`Driver`](crate::Driver) for
/// asynchronous code: it has the same contract, and awaits where that blocks.
///
/// It needs no executor of a certain kind, and no thread of its own: all drivers of a process share
/// the committer's. A call that is dropped before it is done loses nothing: the next call goes on
/// with what was under way.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::session::{Options, Outbound, Rules, Time, Transmit};
/// use accp_runtime::{AgentId, Message, Registry};
/// use accp_store::{AsyncDriver, Committer, MemoryStore};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let now = Time::from_secs(1_714_000_000);
/// let registry = Arc::new(Registry::standard());
/// let options = Options::new("lunch", AgentId::new("planner")?, registry);
/// let committer = Committer::new(MemoryStore::new())?;
///
/// let link = Vec::<Transmit>::new();
/// let mut host = AsyncDriver::open_host(&committer, link, options, Rules::default(), now).await?;
/// let plan = Message::new("planner", "req", "plan")?;
/// host.send(&Outbound::message(&plan), now)?;
/// host.carry_out(now).await?; // commits, then sends
/// assert!(host.session().is_quiet());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AsyncDriver<L, T: ?Sized + 'static = NoRows> {
    course: Course,
    store: OpenSide<T>,
    link: L,
    /// In the order in which it was submitted.
    under_way: VecDeque<UnderWay>,
    /// What came of calls that were dropped.
    outcome: Outcome,
}

/// What the committer was asked and has not answered.
enum UnderWay {
    Commit(Pending<Box<Batch>>),
    Entries(u64, Pending<Vec<Entry>>),
    Cold(String, Pending<Option<Kept>>),
}

impl<L: Link, T: ?Sized + 'static> AsyncDriver<L, T> {
    /// Opens a session that the store has, or begins it, as its host.
    ///
    /// # Errors
    /// [`DriverError::Store`], [`DriverError::Restore`].
    pub async fn open_host(
        committer: &Committer<T>,
        link: L,
        options: Options,
        rules: Rules,
        now: Time,
    ) -> Result<Self, DriverError> {
        Self::open(committer, link, options, Some(rules), now).await
    }

    /// Opens a session that the store has, or joins it, as a member.
    ///
    /// # Errors
    /// [`DriverError::Store`], [`DriverError::Restore`].
    pub async fn open_member(
        committer: &Committer<T>,
        link: L,
        options: Options,
        now: Time,
    ) -> Result<Self, DriverError> {
        Self::open(committer, link, options, None, now).await
    }

    async fn open(
        committer: &Committer<T>,
        link: L,
        options: Options,
        rules: Option<Rules>,
        now: Time,
    ) -> Result<Self, DriverError> {
        let (store, stored) = committer.open(&side_of(&options)).await?;
        Ok(Self {
            course: Course::open(options, rules, stored.as_ref(), now)?,
            store,
            link,
            under_way: VecDeque::new(),
            outcome: Outcome::default(),
        })
    }

    /// The session, to look at.
    pub fn session(&self) -> &Session {
        self.course.session()
    }

    /// The session, to hand inputs to.
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn session_mut(&mut self) -> Result<&mut Session, DriverError> {
        self.course.session_mut()
    }

    /// The name under which the store keeps this side of the session.
    pub fn side(&self) -> &SideId {
        self.course.side()
    }

    /// The link.
    pub fn link_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// A frame has arrived; see [`Input::Frame`].
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn receive(&mut self, from: MemberId, frame: &[u8], now: Time) -> Result<(), DriverError> {
        self.course.receive(from, frame, now)
    }

    /// Host: lets an agent in, and gives the number of its member; see [`Session::join`].
    ///
    /// # Errors
    /// [`DriverError::Input`], [`DriverError::Failed`].
    pub fn join(&mut self, agent: &AgentId<'_>, now: Time) -> Result<MemberId, DriverError> {
        self.course.join(agent, now)
    }

    /// Sends a frame, and gives the id it goes by; see [`Session::send`]. It leaves with the next
    /// [`carry_out`](Self::carry_out).
    ///
    /// # Errors
    /// [`DriverError::Input`], [`DriverError::Failed`].
    pub fn send(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<Mid, DriverError> {
        self.course.send(outbound, now)
    }

    /// Marks a frame handled, with these answers to it: see [`Session::handled`]. The next
    /// [`carry_out`](Self::carry_out) commits both.
    ///
    /// # Errors
    /// [`DriverError::Input`] when an answer cannot be sent; then the frame is not marked.
    /// [`DriverError::Failed`].
    pub fn handled(
        &mut self,
        inbound: &Inbound,
        answers: Vec<Outbound<'_>>,
        now: Time,
    ) -> Result<(), DriverError> {
        self.course.handled(inbound, answers, now)
    }

    /// Lets time pass, commits what the session wants kept, sends what may leave then, and
    /// reads what it asks for.
    ///
    /// # Errors
    /// [`DriverError::Store`] when the store fails; frames that were kept before it did may
    /// have left. [`DriverError::Failed`] from then on.
    pub async fn carry_out(&mut self, now: Time) -> Result<Outcome, DriverError> {
        self.course.handle(Input::Timeout, now)?;
        loop {
            while !self.under_way.is_empty() {
                self.step(now).await?;
            }
            match self.course.next() {
                None => return Ok(std::mem::take(&mut self.outcome)),
                output => self.begin(output),
            }
        }
    }

    /// As [`carry_out`](Self::carry_out), with rows of the application that join the commit of
    /// everything that was handed to the session before, such as the mark of a frame and its
    /// replies. See [`Transactional`](crate::Transactional).
    ///
    /// # Errors
    /// As [`carry_out`](Self::carry_out); when the rows cannot be written, the session is put aside.
    pub async fn carry_out_with(
        &mut self,
        now: Time,
        rows: impl FnMut(&T) -> Result<(), RowsError> + Send + 'static,
    ) -> Result<Outcome, DriverError> {
        self.course.handle(Input::Timeout, now)?;
        let mut next = self.course.next();
        let batch = match next.take() {
            Some(Output::Batch(batch)) => batch,
            other => {
                next = other;
                Box::default()
            }
        };
        let kept = self.store.commit_with(batch, rows);
        self.under_way.push_back(UnderWay::Commit(kept));
        self.begin(next);
        self.carry_out(now).await
    }

    /// Reads what a reference names; `None` while its bytes are on their way here: see
    /// [`Driver::read`](crate::Driver::read).
    ///
    /// # Errors
    /// As there.
    pub async fn read(
        &mut self,
        reference: &Reference<'_>,
    ) -> Result<Option<Value<'static>>, DriverError> {
        let mut resolver = Resolver::new(reference);
        let mut found = None;
        loop {
            match self.course.read(&mut resolver, found)? {
                Reading::Done(value) => return Ok(value),
                Reading::Need(need) => {
                    let (side, is_host) = (self.side().clone(), self.session().is_host());
                    let ask = self
                        .store
                        .ask(move |store| look_up(store, &side, is_host, &need));
                    found = Some(ask.await?);
                }
            }
        }
    }

    /// Submits what the session puts out.
    fn begin(&mut self, output: Option<Output>) {
        let under_way = match output {
            Some(Output::Batch(batch)) => UnderWay::Commit(self.store.commit(batch)),
            Some(Output::Read(Read::Entries { from, limit })) => {
                UnderWay::Entries(from, self.store.entries(from, limit))
            }
            Some(Output::Read(Read::Cold { key })) => {
                let kept = self.store.cold(&key);
                UnderWay::Cold(key, kept)
            }
            _ => return,
        };
        self.under_way.push_back(under_way);
    }

    /// Awaits the first answer that is under way, and does what follows from it.
    async fn step(&mut self, now: Time) -> Result<(), DriverError> {
        // Until the answer is there it stays where a later call finds it.
        match self.under_way.front_mut() {
            None => Ok(()),
            Some(UnderWay::Commit(pending)) => {
                let kept = pending.await;
                self.under_way.pop_front();
                self.course.kept(kept, &mut self.link, &mut self.outcome)
            }
            Some(UnderWay::Entries(from, pending)) => {
                let (from, entries) = (*from, pending.await);
                self.under_way.pop_front();
                self.course.entries(from, entries, now)
            }
            Some(UnderWay::Cold(key, pending)) => {
                let kept = pending.await;
                let key = std::mem::take(key);
                self.under_way.pop_front();
                self.course.cold(&key, kept, now)
            }
        }
    }
}

impl<L: fmt::Debug, T: ?Sized + 'static> fmt::Debug for AsyncDriver<L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncDriver")
            .field("course", &self.course)
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}

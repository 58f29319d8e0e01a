//! A driver for asynchronous code.

use std::collections::VecDeque;
use std::fmt;

use accp_frame::{AgentId, DynamicFrame, Value};
use accp_session::{
    Batch, Entry, Inbound, Input, MemberId, Mid, Options, Outbound, Reference, Rules, Session, Time,
};

use super::error::DriverError;
use super::link::Link;
use super::look_up::{Search, look_up};
use super::machine::{Answer, Machine, Outcome, Request, side_of};
use super::values::{FrameValues, Lookup, ReferenceValue, SummaryFrames};
use crate::committer::{Committer, NoRows, OpenSide, Pending};
use crate::rows::RowsError;
use crate::search::Match;
use crate::side::SideId;
use crate::store::Store;

/// Runs one [`Session`] on a [`Committer`] and a [`Link`]. It is [`Driver`](crate::Driver) for
/// asynchronous code: it has the same contract, but awaits instead of blocking.
///
/// It runs on any executor and needs no thread of its own: all drivers of a process share the
/// committer's thread. If a call is dropped before it is done, nothing is lost: the next call
/// continues the work.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::session::{Options, Outbound, Rules, Time, Transmit};
/// use accp_runtime::{AgentId, DynamicFrame, Registry};
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
/// let plan = DynamicFrame::new("planner", "req", "plan")?;
/// host.send(&Outbound::message(&plan), now)?;
/// host.carry_out(now).await?; // commits, then sends
/// assert!(host.session().is_quiet());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AsyncDriver<L, T: ?Sized + 'static = NoRows> {
    machine: Machine,
    store: OpenSide<T>,
    link: L,
    /// Requests to the committer, in the order in which they were submitted.
    under_way: VecDeque<UnderWay>,
}

/// A request that the committer has not answered yet.
enum UnderWay {
    Commit(Pending<Box<Batch>>),
    Read(Pending<Answer>),
}

impl<L: Link, T: ?Sized + 'static> AsyncDriver<L, T> {
    /// Opens the session as its host: loads it from the store, or begins it.
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

    /// Opens the session as a member: loads it from the store, or joins it.
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
            machine: Machine::open(options, rules, stored.as_ref(), now)?,
            store,
            link,
            under_way: VecDeque::new(),
        })
    }

    /// Returns the session, for reading its state.
    pub fn session(&self) -> &Session {
        self.machine.session()
    }

    /// Returns the session, for handing inputs to it.
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn session_mut(&mut self) -> Result<&mut Session, DriverError> {
        self.machine.session_mut()
    }

    /// Returns the name under which the store keeps this side of the session.
    pub fn side(&self) -> &SideId {
        self.machine.side()
    }

    /// Returns the link.
    pub fn link_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// Hands a frame that has arrived to the session; see [`Input::Frame`].
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn receive(&mut self, from: MemberId, frame: &[u8], now: Time) -> Result<(), DriverError> {
        self.machine.receive(from, frame, now)
    }

    /// Makes an agent join the session, and returns the number of its member; see [`Session::join`]. Only for a host.
    ///
    /// # Errors
    /// [`DriverError::Input`], [`DriverError::Failed`].
    pub fn join(&mut self, agent: &AgentId<'_>, now: Time) -> Result<MemberId, DriverError> {
        self.machine.join(agent, now)
    }

    /// Gives the log of a host a new identity, under a new secret; see [`Input::Fork`](accp_session::Input::Fork).
    /// After this, a host that was restored from an older copy can go on without the entries that the copy lacks.
    ///
    /// # Errors
    /// [`DriverError::Input`], [`DriverError::Failed`], and [`DriverError::Store`] if the system gives no random bytes.
    pub fn fork(&mut self, now: Time) -> Result<(), DriverError> {
        self.machine.fork(now)
    }

    /// Sends a frame, and returns its message id; see [`Session::send`]. The frame leaves with the
    /// next [`carry_out`](Self::carry_out).
    ///
    /// # Errors
    /// [`DriverError::Input`], [`DriverError::Failed`].
    pub fn send(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<Mid, DriverError> {
        self.machine.send(outbound, now)
    }

    /// Marks a frame as handled, with these answers to it: see [`Session::replied`]. The next
    /// [`carry_out`](Self::carry_out) commits both.
    ///
    /// # Errors
    /// [`DriverError::Input`] when an answer cannot be sent; the frame is then not marked.
    /// [`DriverError::Failed`].
    pub fn handled(
        &mut self,
        inbound: &Inbound,
        answers: Vec<Outbound<'_>>,
        now: Time,
    ) -> Result<Option<Mid>, DriverError> {
        self.machine.handled(inbound, answers, now)
    }

    /// Tells the session the time, commits its batches, sends the frames that may then leave, and reads from the store
    /// for the session.
    ///
    /// # Errors
    /// [`DriverError::Store`] when the store fails. Frames that were kept before the failure may
    /// have left. Every later call returns [`DriverError::Failed`].
    pub async fn carry_out(&mut self, now: Time) -> Result<Outcome, DriverError> {
        self.machine.handle(Input::Timeout, now)?;
        loop {
            while !self.under_way.is_empty() {
                self.step(now).await?;
            }
            match self.machine.next() {
                None => return Ok(self.machine.take_outcome()),
                Some(request) => self.submit(request),
            }
        }
    }

    /// Carries out as [`carry_out`](Self::carry_out) does, with rows of the application in the
    /// first commit. The first commit holds everything that was handed to the session before, such
    /// as the mark of a frame and its replies. See [`Transactional`](crate::Transactional).
    ///
    /// # Errors
    /// The errors of [`carry_out`](Self::carry_out). When the rows cannot be written, the session
    /// is put aside.
    pub async fn carry_out_with(
        &mut self,
        now: Time,
        rows: impl FnMut(&T) -> Result<(), RowsError> + Send + 'static,
    ) -> Result<Outcome, DriverError> {
        self.machine.handle(Input::Timeout, now)?;
        let (batch, read) = match self.machine.next() {
            Some(Request::Commit(batch)) => (batch, None),
            read => (Box::default(), read),
        };
        let committed = self.store.commit_with(batch, rows);
        self.under_way.push_back(UnderWay::Commit(committed));
        if let Some(read) = read {
            self.submit(read);
        }
        self.carry_out(now).await
    }

    /// Reads the value that a reference names. Returns `None` while its bytes are on their way
    /// here: see [`Driver::read`](crate::Driver::read).
    ///
    /// # Errors
    /// The errors of [`Driver::read`](crate::Driver::read).
    pub async fn read(
        &mut self,
        reference: &Reference<'_>,
    ) -> Result<Option<Value<'static>>, DriverError> {
        let mut lookup = ReferenceValue::of(reference);
        self.run_lookup(&mut lookup).await?;
        Ok(lookup.value)
    }

    /// Reads at most `limit` entries of the log from a position on: see
    /// [`Store::entries`](crate::Store::entries).
    ///
    /// # Errors
    /// [`DriverError::Store`].
    pub async fn entries(&mut self, from: u64, limit: usize) -> Result<Vec<Entry>, DriverError> {
        Ok(self.store.entries(from, limit).await?)
    }

    /// Looks for words in the frames that have left the context: see
    /// [`Driver::search`](crate::Driver::search).
    ///
    /// # Errors
    /// [`DriverError::Store`].
    pub async fn search(&mut self, words: &str, limit: usize) -> Result<Vec<Match>, DriverError> {
        let search = Search::of(self.session(), limit);
        let (side, words) = (self.side().clone(), words.to_owned());
        let found = self
            .store
            .ask(move |store| search.look(store, &side, &words));
        Ok(found.await?)
    }

    /// Reads the values of the references in a frame: see [`Driver::with_values`](crate::Driver::with_values).
    ///
    /// # Errors
    /// The errors of [`Driver::with_values`](crate::Driver::with_values).
    pub async fn with_values(&mut self, inbound: &Inbound) -> Result<Option<Inbound>, DriverError> {
        let mut values = FrameValues::of(inbound);
        self.run_lookup(&mut values).await?;
        Ok(values.put_into(inbound, &self.session().options().registry))
    }

    /// Reads the frames that left hot state with the last checkpoint: see
    /// [`Driver::frames_to_sum_up`](crate::Driver::frames_to_sum_up).
    ///
    /// # Errors
    /// The errors of [`Driver::frames_to_sum_up`](crate::Driver::frames_to_sum_up).
    pub async fn frames_to_sum_up(&mut self) -> Result<Vec<DynamicFrame<'static>>, DriverError> {
        let mut frames = SummaryFrames::of(self.session());
        self.run_lookup(&mut frames).await?;
        Ok(frames.into_messages(&self.session().options().registry))
    }

    /// Supplies a late summary: see [`Driver::supply_summary`](crate::Driver::supply_summary).
    ///
    /// # Errors
    /// The errors of [`Driver::supply_summary`](crate::Driver::supply_summary).
    pub async fn supply_summary(
        &mut self,
        checkpoint: u64,
        text: &str,
        now: Time,
    ) -> Result<(), DriverError> {
        let frames = self.frames_to_sum_up().await?;
        self.machine.supply_summary(checkpoint, text, frames, now)
    }

    /// Submits a request of the machine to the committer.
    fn submit(&mut self, request: Request) {
        self.under_way.push_back(match request {
            Request::Commit(batch) => UnderWay::Commit(self.store.commit(batch)),
            Request::Read(read) => {
                let side = self.side().clone();
                let answer = move |store: &mut dyn Store| Answer::read(store, &side, read);
                UnderWay::Read(self.store.ask(answer))
            }
        });
    }

    /// Awaits the first answer that is under way, and hands it to the machine.
    async fn step(&mut self, now: Time) -> Result<(), DriverError> {
        // The request stays in the queue until it is answered, so that a later call finds it.
        let answer = match self.under_way.front_mut() {
            None => return Ok(()),
            Some(UnderWay::Commit(pending)) => pending.await.map(Answer::Committed),
            Some(UnderWay::Read(pending)) => pending.await,
        };
        self.under_way.pop_front();
        for frame in self.machine.answer(answer, now)? {
            self.link.send(frame);
        }
        Ok(())
    }

    /// Reads from the store what `lookup` needs, until it needs nothing more.
    async fn run_lookup(&mut self, lookup: &mut impl Lookup) -> Result<(), DriverError> {
        let mut found = None;
        while let Some(need) = lookup.next(&mut self.machine, found.take())? {
            let (side, is_host) = (self.side().clone(), self.session().is_host());
            let find = move |store: &mut dyn Store| look_up(store, &side, is_host, &need);
            match self.store.ask(find).await {
                Ok(answer) => found = Some(answer),
                Err(error) if error.is_damage() && lookup.pass_over() => {
                    self.machine.report_damage(&error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl<L: fmt::Debug, T: ?Sized + 'static> fmt::Debug for AsyncDriver<L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncDriver")
            .field("machine", &self.machine)
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}

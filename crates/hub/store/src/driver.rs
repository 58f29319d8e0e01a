//! A driver, which runs a session with its store and its link.

mod ask;
mod async_driver;
mod error;
mod link;
mod look_up;
mod machine;
mod rows;
mod summaries;
mod values;

use std::collections::VecDeque;

use accp_frame::{AgentId, Value};
use accp_session::{
    Batch, Event, Inbound, Input, MemberId, Mid, Options, Outbound, Reference, Rules, Session,
    Time, Transmit,
};

use crate::error::StoreError;
use crate::search::Match;
use crate::side::SideId;
use crate::store::Store;
use look_up::{Search, look_up};
use machine::{Answer, Machine, Request, side_of};
use values::{FrameValues, Lookup, ReferenceValue};

pub use ask::{AskError, Question};
pub use async_driver::AsyncDriver;
pub use error::{DriverError, Handled};
pub use link::Link;
pub use machine::Outcome;

/// While the first frame waits for its values, the driver asks for the values of at most this many frames behind it.
const AHEAD: usize = 8;

/// Runs one [`Session`] on a [`Store`] and a [`Link`]. It has no thread, no socket and no clock.
///
/// # Contract
///
/// - Opening loads the session from the store, or begins it.
/// - Frames that have arrived go to `receive`. Other inputs, such as frames to send and marks of
///   handled frames, go to the session ([`session_mut`](Self::session_mut)). Inputs may be
///   collected, and are then committed together.
/// - [`carry_out`](Self::carry_out) does the work that follows: it tells the session the time, commits, and only then
///   sends. It returns the frames to be handled and the events. Call it right after opening, after inputs, and at
///   [`Session::next_timeout`]. An input takes effect only when it was carried out. [`serve`](Self::serve) does the
///   same with a handler.
/// - Only the driver may take the outputs of the session ([`Session::poll`]).
/// - When the store fails, the driver sends no frame of a batch that was not kept. The driver is then put aside:
///   every later call fails. [`into_parts`](Self::into_parts) gives the store back, to open the session again
///   from it. The session then sends again the frames that were not acknowledged, and delivers again the frames
///   that were not handled.
///
/// The store keeps each side under the id of the session and the side's own agent, so that the
/// sides of a session can share one store.
///
/// The driver reports every frame as an event of `tracing` of the level `DEBUG` with the target `accp::frames` (draft
/// section 9, item 1). The event has `session`, `agent`, `way` and `frame`, the text of the frame. `way` is
/// `receives`, `keeps` or `sends`. The driver reports `keeps` and `sends` once the frame is durable.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
/// use accp_runtime::session::{MemberId, Options, Outbound, Rules, Time};
/// use accp_runtime::{AgentId, Registry};
/// use accp_store::{Driver, MemoryStore};
///
/// # let now = Time::from_secs(1_714_000_000);
/// # let registry = Arc::new(Registry::standard());
/// # let (planner, dev) = (AgentId::new("planner")?, AgentId::new("dev")?);
/// # let task = ScheduleReq {
/// #     assignee: dev.clone(),
/// #     task: "impl_auth".into(),
/// #     priority: "high".into(),
/// #     deadline: None,
/// #     deps: vec![],
/// #     status: None,
/// #     progress: None,
/// # };
/// # let mut answers = Vec::new();
/// let store = Arc::new(Mutex::new(MemoryStore::new())); // or a SqliteStore, which stays
/// let options = |agent: &AgentId<'static>| Options::new("lunch", agent.clone(), registry.clone());
/// let host = || Driver::open_host(store.clone(), vec![], options(&planner), Rules::default(), now);
/// let member = || Driver::open_member(store.clone(), vec![], options(&dev), now);
/// let (mut planner, mut worker) = (host()?, member()?);
/// let id = planner.join(&dev, now)?;
/// planner.send(&Outbound::frame(&task), now)?;
/// for round in 0..9 {
///     planner.serve(now, |answer| {
///         answers.push(answer.decode::<ScheduleDone>()?.frame.task.to_string());
///         Ok(vec![])
///     })?;
///     worker.receive_all(MemberId::HOST, planner.link_mut().drain(..), now)?;
///     if round == 2 {
///         worker = member()?; // it was killed, and goes on where its store stands
///     }
///     worker.serve(now, |request| {
///         let task = request.decode::<ScheduleReq>()?.frame.task;
///         let done = ScheduleDone { task, status: None, progress: None };
///         Ok(vec![Outbound::owned(done)]) // committed with the mark of the request
///     })?;
///     planner.receive_all(id, worker.link_mut().drain(..), now)?;
/// }
/// assert_eq!(answers, ["impl_auth"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Driver<S, L> {
    machine: Machine,
    store: S,
    link: L,
    /// Frames that [`serve`](Self::serve) has not handled yet.
    inbox: VecDeque<Inbound>,
    /// Events of calls of [`serve`](Self::serve) that failed.
    events: Vec<Event>,
}

impl<S: Store, L: Link> Driver<S, L> {
    /// Opens the session as its host: loads it from the store, or begins it.
    ///
    /// # Errors
    /// [`DriverError::Store`], [`DriverError::Restore`].
    pub fn open_host(
        store: S,
        link: L,
        options: Options,
        rules: Rules,
        now: Time,
    ) -> Result<Self, DriverError> {
        Self::open(store, link, options, Some(rules), now)
    }

    /// Opens the session as a member: loads it from the store, or joins it.
    ///
    /// # Errors
    /// [`DriverError::Store`], [`DriverError::Restore`].
    pub fn open_member(
        store: S,
        link: L,
        options: Options,
        now: Time,
    ) -> Result<Self, DriverError> {
        Self::open(store, link, options, None, now)
    }

    fn open(
        mut store: S,
        link: L,
        options: Options,
        rules: Option<Rules>,
        now: Time,
    ) -> Result<Self, DriverError> {
        let stored = store.open(&side_of(&options))?;
        Ok(Self {
            machine: Machine::open(options, rules, stored.as_ref(), now)?,
            store,
            link,
            inbox: VecDeque::new(),
            events: Vec::new(),
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

    /// Gives back the store and the link. Inputs that were not carried out are lost.
    pub fn into_parts(self) -> (S, L) {
        (self.store, self.link)
    }

    /// Hands a frame that has arrived to the session; see
    /// [`Input::Frame`](accp_session::Input::Frame).
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn receive(&mut self, from: MemberId, frame: &[u8], now: Time) -> Result<(), DriverError> {
        self.machine.receive(from, frame, now)
    }

    /// Hands frames to the session that have arrived from one sender, such as the frames that a link has collected in
    /// a vector.
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn receive_all(
        &mut self,
        from: MemberId,
        frames: impl IntoIterator<Item = Transmit>,
        now: Time,
    ) -> Result<(), DriverError> {
        let mut frames = frames.into_iter();
        frames.try_for_each(|frame| self.receive(from, frame.text.as_bytes(), now))
    }

    /// Makes an agent join the session, and returns the number of its member; see [`Session::join`]. Only for a host.
    ///
    /// # Errors
    /// [`DriverError::Input`], [`DriverError::Failed`].
    pub fn join(&mut self, agent: &AgentId<'_>, now: Time) -> Result<MemberId, DriverError> {
        self.machine.join(agent, now)
    }

    /// Sends a frame, and returns its message id; see [`Session::send`]. The frame leaves with the
    /// next [`carry_out`](Self::carry_out) or [`serve`](Self::serve).
    ///
    /// # Errors
    /// [`DriverError::Input`], [`DriverError::Failed`].
    pub fn send(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<Mid, DriverError> {
        self.machine.send(outbound, now)
    }

    /// Tells the session the time, commits its batches, sends the frames that may then leave, and reads from the store
    /// for the session.
    ///
    /// # Errors
    /// [`DriverError::Store`] when the store fails. Frames that were kept before the failure may
    /// have left. Every later call returns [`DriverError::Failed`].
    pub fn carry_out(&mut self, now: Time) -> Result<Outcome, DriverError> {
        self.carry_out_by(now, |store, side, batch| store.commit(&[(side, batch)]))
    }

    /// Carries out as [`carry_out`](Self::carry_out) does, and hands each frame to the handler. The mark of the
    /// frame is committed together with the frames that the handler returns in answer. Returns the events.
    ///
    /// A frame whose handler fails is not marked. The next call begins with that frame, and also
    /// returns the events of the call that failed.
    ///
    /// A frame whose values are on their way to this side waits for them, and so do the frames behind
    /// it ([`with_values`](Self::with_values)). If nobody supplies a value
    /// ([`Event::Unavailable`]), the handler gets the frame without it.
    ///
    /// A frame whose `ttl` is over is marked, and no handler gets it ([`Event::Lapsed`]).
    ///
    /// # Errors
    /// [`DriverError::Handler`] with the error of the handler, [`DriverError::Input`] when an
    /// answer cannot be sent, and the errors of [`carry_out`](Self::carry_out).
    pub fn serve(
        &mut self,
        now: Time,
        mut handler: impl for<'i> FnMut(&'i Inbound) -> Handled<'i>,
    ) -> Result<Vec<Event>, DriverError> {
        self.take_in(now)?;
        while let Some(inbound) = self.first(now)? {
            let answers = handler(&inbound).map_err(DriverError::Handler)?;
            self.machine.handled(&inbound, answers, now)?;
        }
        self.take_in(now)?;
        Ok(std::mem::take(&mut self.events))
    }

    /// Returns the first frame that waits for its handler, once its values are here. Drops frames whose time is
    /// over, and frames that were marked meanwhile, for example through `session_mut`.
    fn first(&mut self, now: Time) -> Result<Option<Inbound>, DriverError> {
        while let Some(inbound) = self.inbox.front() {
            let waits = self.machine.session().waits(inbound.position());
            if waits && !self.machine.session_mut()?.lapse(inbound, now) {
                let whole = self.with_values(&inbound.clone())?;
                if whole.is_none() {
                    self.fetch_ahead()?;
                }
                return Ok(whole);
            }
            self.inbox.pop_front();
        }
        Ok(None)
    }

    /// Asks for the values of the frames behind the first frame, while the first frame waits for its own values.
    fn fetch_ahead(&mut self) -> Result<(), DriverError> {
        let next = self.inbox.iter().skip(1).take(AHEAD).cloned();
        let next: Vec<_> = next.collect();
        next.iter()
            .try_for_each(|inbound| self.with_values(inbound).map(drop))
    }

    /// Calls [`carry_out`](Self::carry_out), and keeps the frames and the events for [`serve`](Self::serve).
    fn take_in(&mut self, now: Time) -> Result<(), DriverError> {
        let outcome = self.carry_out(now)?;
        self.keep(outcome);
        Ok(())
    }

    fn keep(&mut self, outcome: Outcome) {
        self.inbox.extend(outcome.inbound);
        self.events.extend(outcome.events);
    }

    /// Takes the events of calls of [`serve`](Self::serve) that failed, for a program that does not call `serve`
    /// again. Otherwise the next call of `serve` that succeeds returns these events.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Reads the value that a reference names. Returns `None` while its bytes are on their way here;
    /// [`Event::Supplied`] tells that they have come. On a member, [`carry_out`](Self::carry_out) asks the host
    /// for the bytes. [`Resolver`](accp_session::Resolver) has the rules.
    ///
    /// # Errors
    /// [`DriverError::Reference`], also when nobody supplies the bytes ([`Event::Unavailable`]). A member returns
    /// that error once, and its next call asks for the bytes again. A host goes on asking by itself, and returns
    /// the error until the bytes come. [`DriverError::Store`], after which the session is not put aside.
    pub fn read(
        &mut self,
        reference: &Reference<'_>,
    ) -> Result<Option<Value<'static>>, DriverError> {
        let mut lookup = ReferenceValue::of(reference);
        self.run_lookup(&mut lookup)?;
        Ok(lookup.value)
    }

    /// Looks for words in what a model can no longer see: in the frames that have left hot state and still have
    /// their texts, and in the values that these frames refer to. Returns at most `limit` frames, the best first
    /// ([`Store::search`]).
    ///
    /// # Errors
    /// [`DriverError::Store`], after which the session is not put aside.
    pub fn search(&mut self, words: &str, limit: usize) -> Result<Vec<Match>, DriverError> {
        let search = Search::of(self.session(), limit);
        Ok(search.look(&mut self.store, self.machine.side(), words)?)
    }

    /// Reads the values of the references in a frame, so that [`Inbound::decode`] reads whole fields. Returns
    /// `None` while bytes are on their way here. If a value cannot be read, or is damaged in the store, its reference
    /// stays, and `decode` says which field lacks the value. [`serve`](Self::serve) does this for each frame.
    ///
    /// # Errors
    /// [`DriverError::Store`], after which the session is not put aside.
    pub fn with_values(&mut self, inbound: &Inbound) -> Result<Option<Inbound>, DriverError> {
        let mut values = FrameValues::of(inbound);
        self.run_lookup(&mut values)?;
        Ok(values.put_into(inbound, &self.session().options().registry))
    }

    fn carry_out_by(
        &mut self,
        now: Time,
        mut commit: impl FnMut(&mut S, &SideId, &Batch) -> Result<(), StoreError>,
    ) -> Result<Outcome, DriverError> {
        self.machine.handle(Input::Timeout, now)?;
        while let Some(request) = self.machine.next() {
            let side = self.machine.side();
            let answer = match request {
                Request::Commit(batch) => {
                    commit(&mut self.store, side, &batch).map(|()| Answer::Committed(batch))
                }
                Request::Read(read) => Answer::read(&mut self.store, side, read),
            };
            for frame in self.machine.answer(answer, now)? {
                self.link.send(frame);
            }
        }
        Ok(self.machine.take_outcome())
    }

    /// Reads from the store what `lookup` needs, until it needs nothing more.
    fn run_lookup(&mut self, lookup: &mut impl Lookup) -> Result<(), DriverError> {
        let mut found = None;
        while let Some(need) = lookup.next(&mut self.machine, found.take())? {
            let is_host = self.session().is_host();
            match look_up(&mut self.store, self.machine.side(), is_host, &need) {
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

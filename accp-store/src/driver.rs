//! A session, its store and its link, run together.

mod awaiting;
mod course;
mod error;
mod link;
mod look_up;

use std::collections::VecDeque;

use accp_runtime::session::{
    Event, Inbound, Input, MemberId, Mid, Options, Outbound, Reference, Rules, Session, Time,
    Transmit,
};
use accp_runtime::{AgentId, Value};
use accp_session::{Batch, Output, Read, Resolver};

use crate::{SideId, Store, StoreError, Transactional, Write, WriteRows};
use course::{Course, Reading, side_of};
use look_up::look_up;

pub use awaiting::AsyncDriver;
pub use course::Outcome;
pub use error::{DriverError, Handled};
pub use link::Link;

/// Runs one [`Session`] on a [`Store`] and a [`Link`], and nothing else: it has no thread, no
/// socket and no clock.
///
/// # Contract
///
/// - Opening loads what the store has of the session, or begins one.
/// - What has arrived goes to `receive`, other inputs to the session
///   ([`session_mut`](Self::session_mut)): what is to be sent, what was handled. They may be
///   collected; what is collected is committed together.
/// - [`carry_out`](Self::carry_out) does all that follows: it lets time pass, commits, and
///   only then sends, and gives back the frames to be handled and what happened. It is due
///   right after opening, after inputs, and at [`Session::next_timeout`]. An input counts once
///   it was carried out, and not before. [`serve`](Self::serve) does the same with a handler.
/// - The session's outputs ([`Session::poll`]) are the driver's alone.
/// - When the store fails, nothing of what it did not keep leaves, and the driver is put
///   aside: every later call fails. [`into_parts`](Self::into_parts) gives the store back, to
///   open the session again from what it kept. What was not acknowledged is then sent again, and
///   what was not handled delivered again.
///
/// The store keeps each side under the id of the session and its own agent, so that the sides of
/// a session can share one store.
///
/// Every frame is told as an event of `tracing` of the level `DEBUG` with the target
/// `accp::frames` (draft section 9, item 1): `session`, `agent`, `way` (`receives`, `keeps` or
/// `sends`, the last two when they are durable) and `frame`, its text.
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
    course: Course,
    store: S,
    link: L,
    /// What [`serve`](Self::serve) has not handled yet.
    inbox: VecDeque<Inbound>,
    /// What happened in a call of it that failed.
    events: Vec<Event>,
}

impl<S: Store, L: Link> Driver<S, L> {
    /// Opens a session that the store has, or begins it, as its host.
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

    /// Opens a session that the store has, or joins it, as a member.
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
        let stored = store.load(&side_of(&options))?;
        Ok(Self {
            course: Course::open(options, rules, stored.as_ref(), now)?,
            store,
            link,
            inbox: VecDeque::new(),
            events: Vec::new(),
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

    /// Gives back the store and the link. What was not carried out is forgotten.
    pub fn into_parts(self) -> (S, L) {
        (self.store, self.link)
    }

    /// A frame has arrived; see [`Input::Frame`](accp_runtime::session::Input::Frame).
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn receive(&mut self, from: MemberId, frame: &[u8], now: Time) -> Result<(), DriverError> {
        self.course.receive(from, frame, now)
    }

    /// Frames have arrived, which the link of their sender has collected.
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

    /// Host: lets an agent in, and gives the number of its member; see [`Session::join`].
    ///
    /// # Errors
    /// [`DriverError::Input`], [`DriverError::Failed`].
    pub fn join(&mut self, agent: &AgentId<'_>, now: Time) -> Result<MemberId, DriverError> {
        self.course.join(agent, now)
    }

    /// Sends a frame, and gives the id it goes by; see [`Session::send`]. It leaves with the next
    /// [`carry_out`](Self::carry_out) or [`serve`](Self::serve).
    ///
    /// # Errors
    /// [`DriverError::Input`], [`DriverError::Failed`].
    pub fn send(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<Mid, DriverError> {
        self.course.send(outbound, now)
    }

    /// Lets time pass, commits what the session wants kept, sends what may leave then, and
    /// reads what it asks for.
    ///
    /// # Errors
    /// [`DriverError::Store`] when the store fails; frames that were kept before it did may
    /// have left. [`DriverError::Failed`] from then on.
    pub fn carry_out(&mut self, now: Time) -> Result<Outcome, DriverError> {
        self.carry_out_by(now, |store, side, batch| store.commit(&[(side, batch)]))
    }

    /// Carries out, hands each frame to the handler, and commits its mark together with the frames
    /// that the handler gives in answer to it. Gives what happened.
    ///
    /// A frame whose handler fails is not marked: the next call begins with it, and gives what
    /// happened before as well.
    ///
    /// # Errors
    /// [`DriverError::Handler`] with what the handler says, [`DriverError::Input`] when an answer
    /// cannot be sent, and the errors of [`carry_out`](Self::carry_out).
    pub fn serve(
        &mut self,
        now: Time,
        mut handler: impl for<'i> FnMut(&'i Inbound) -> Handled<'i>,
    ) -> Result<Vec<Event>, DriverError> {
        self.take_in(now)?;
        while let Some(inbound) = self.inbox.front() {
            // Somebody may have marked it by hand.
            if self.course.session().waits(inbound.position()) {
                let answers = handler(inbound).map_err(DriverError::Handler)?;
                self.course.handled(inbound, answers, now)?;
            }
            self.inbox.pop_front();
        }
        self.take_in(now)?;
        Ok(std::mem::take(&mut self.events))
    }

    /// Carries out, and keeps what came of it for [`serve`](Self::serve).
    fn take_in(&mut self, now: Time) -> Result<(), DriverError> {
        let outcome = self.carry_out(now)?;
        self.inbox.extend(outcome.inbound);
        self.events.extend(outcome.events);
        Ok(())
    }

    /// Reads what a reference names; `None` while its bytes are on their way here, until
    /// [`Event::Supplied`] says that they have come. On a member,
    /// [`carry_out`](Self::carry_out) asks the host for them. [`Resolver`] has the rules.
    ///
    /// # Errors
    /// [`DriverError::Reference`]; [`DriverError::Store`], which does not put the session
    /// aside here.
    pub fn read(
        &mut self,
        reference: &Reference<'_>,
    ) -> Result<Option<Value<'static>>, DriverError> {
        let mut resolver = Resolver::new(reference);
        let mut found = None;
        loop {
            match self.course.read(&mut resolver, found)? {
                Reading::Done(value) => return Ok(value),
                Reading::Need(need) => {
                    let is_host = self.session().is_host();
                    let found_now = look_up(&mut self.store, self.course.side(), is_host, &need);
                    found = Some(found_now?);
                }
            }
        }
    }

    fn carry_out_by(
        &mut self,
        now: Time,
        mut commit: impl FnMut(&mut S, &SideId, &Batch) -> Result<(), StoreError>,
    ) -> Result<Outcome, DriverError> {
        let mut outcome = Outcome::default();
        self.course.handle(Input::Timeout, now)?;
        while let Some(output) = self.course.next() {
            let side = self.course.side();
            match output {
                Output::Batch(batch) => {
                    let kept = commit(&mut self.store, side, &batch).map(|()| batch);
                    self.course.kept(kept, &mut self.link, &mut outcome)?;
                }
                Output::Read(Read::Entries { from, limit }) => {
                    let entries = self.store.entries(side, from, limit);
                    self.course.entries(from, entries, now)?;
                }
                Output::Read(Read::Cold { key }) => {
                    let kept = self.store.cold(side, &key);
                    self.course.cold(&key, kept, now)?;
                }
                _ => {}
            }
        }
        Ok(outcome)
    }
}

impl<S: Transactional, L: Link> Driver<S, L> {
    /// As [`carry_out`](Self::carry_out), with rows of the application that join the first commit:
    /// that of everything that was handed to the session before, such as the mark of a frame and
    /// its replies. See [`Transactional`].
    ///
    /// # Errors
    /// As [`carry_out`](Self::carry_out); when the rows cannot be written, the session is put aside.
    pub fn carry_out_with(
        &mut self,
        now: Time,
        rows: &mut WriteRows<'_, S::Transaction>,
    ) -> Result<Outcome, DriverError> {
        let mut rows = Some(rows);
        let outcome = self.carry_out_by(now, |store, side, batch| {
            let write = Write {
                rows: rows.take().map(|rows| rows as &mut WriteRows<'_, _>),
                ..Write::new(side, batch)
            };
            store.commit_with(&mut [write])
        })?;
        if let Some(rows) = rows {
            // There was nothing else to commit.
            let nothing = Batch::default();
            let write = Write::new(self.course.side(), &nothing).with(rows);
            let written = self.store.commit_with(&mut [write]);
            self.course.survive(written)?;
        }
        Ok(outcome)
    }
}

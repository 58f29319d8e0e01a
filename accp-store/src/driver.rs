//! A session, its store and its link, run together.

mod error;
mod link;
mod read;
#[cfg(test)]
mod tests;

use accp_runtime::session::{
    Batch, Event, Inbound, Input, MemberId, Options, Output, Read, Rules, Session, Stored, Time,
};

use crate::{SideId, Store, StoreError, StoreErrorKind, conflict};

pub use error::DriverError;
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
///   it was carried out, and not before.
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
/// use accp_runtime::session::{MemberId, Options, Outbound, Rules, Time, Transmit};
/// use accp_runtime::{AgentId, Registry};
/// use accp_store::{Driver, MemoryStore};
///
/// let now = Time::from_secs(1_714_000_000);
/// let registry = Arc::new(Registry::standard());
/// let options = |agent| Ok::<_, accp_runtime::EncodeError>(Options::new(
///     "lunch", AgentId::new(agent)?, Arc::clone(&registry)));
/// let store = Arc::new(Mutex::new(MemoryStore::new()));
///
/// // A vector is the simplest link: it collects what leaves.
/// let link = Vec::<Transmit>::new;
/// let rules = Rules::default();
/// let mut host = Driver::open_host(Arc::clone(&store), link(), options("planner")?, rules, now)?;
/// let mut member = Driver::open_member(store, link(), options("dev")?, now)?;
/// let dev = host.session_mut()?.join(&AgentId::new("dev")?, now)?;
///
/// let task = ScheduleReq {
///     assignee: AgentId::new("dev")?,
///     task: "impl_auth".into(),
///     priority: "high".into(),
///     deadline: None,
///     deps: vec![],
///     status: None,
///     progress: None,
/// };
/// host.session_mut()?.send(&Outbound::frame(&task), now)?;
///
/// let mut answers = Vec::new();
/// for _ in 0..8 {
///     for answer in host.carry_out(now)?.inbound {
///         answers.push(answer.decode::<ScheduleDone>()?.frame.task.to_string());
///         host.session_mut()?.handled(answer.position(), &[], now)?;
///     }
///     for frame in host.link_mut().drain(..) {
///         member.receive(MemberId::HOST, frame.text.as_bytes(), now)?;
///     }
///     for request in member.carry_out(now)?.inbound {
///         let task = request.decode::<ScheduleReq>()?.frame.task;
///         let done = ScheduleDone { task, status: Some("done".into()), progress: None };
///         let reply = Outbound::frame(&done).answering(&request)?;
///         // The mark and the reply are committed together.
///         member.session_mut()?.handled(request.position(), &[reply], now)?;
///     }
///     for frame in member.link_mut().drain(..) {
///         host.receive(dev, frame.text.as_bytes(), now)?;
///     }
/// }
/// assert_eq!(answers, ["impl_auth"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Driver<S, L> {
    session: Session,
    /// Where the store keeps it.
    side: SideId,
    store: S,
    link: L,
    /// What the store said when it failed.
    failed: Option<String>,
}

/// What came of [`Driver::carry_out`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// Frames to be handled, each until [`Session::handled`] says that it is. They come again
    /// when the session is opened again.
    pub inbound: Vec<Inbound>,
    /// What happened, for whoever wants to know.
    pub events: Vec<Event>,
}

impl<S: Store, L: Link> Driver<S, L> {
    /// Opens a session that the store has, or begins it, as its host.
    ///
    /// # Errors
    /// [`DriverError::Store`], [`DriverError::Restore`].
    pub fn open_host(
        mut store: S,
        link: L,
        options: Options,
        rules: Rules,
        now: Time,
    ) -> Result<Self, DriverError> {
        let (side, stored) = find(&mut store, &options, true)?;
        let session = match stored {
            Some(stored) => Session::restore_host(options, rules, &stored, now)
                .map_err(|error| DriverError::Restore(side.clone(), error))?,
            None => Session::host(options, rules, now),
        };
        Ok(Self::new(session, side, store, link))
    }

    /// Opens a session that the store has, or joins it, as a member.
    ///
    /// # Errors
    /// [`DriverError::Store`], [`DriverError::Restore`].
    pub fn open_member(
        mut store: S,
        link: L,
        options: Options,
        now: Time,
    ) -> Result<Self, DriverError> {
        let (side, stored) = find(&mut store, &options, false)?;
        let session = match stored {
            Some(stored) => Session::restore_member(options, &stored, now)
                .map_err(|error| DriverError::Restore(side.clone(), error))?,
            None => Session::member(options, now),
        };
        Ok(Self::new(session, side, store, link))
    }

    /// A frame has arrived; see [`Input::Frame`].
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn receive(&mut self, from: MemberId, frame: &[u8], now: Time) -> Result<(), DriverError> {
        self.check()?;
        self.tell("receives", &String::from_utf8_lossy(frame));
        self.session.receive(from, frame, now);
        Ok(())
    }

    fn new(session: Session, side: SideId, store: S, link: L) -> Self {
        Self {
            session,
            side,
            store,
            link,
            failed: None,
        }
    }

    /// The session, to look at.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, to hand inputs to.
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn session_mut(&mut self) -> Result<&mut Session, DriverError> {
        self.check()?;
        Ok(&mut self.session)
    }

    /// The name under which the store keeps this side of the session.
    pub fn side(&self) -> &SideId {
        &self.side
    }

    /// The link.
    pub fn link_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// Gives back the store and the link. What was not carried out is forgotten.
    pub fn into_parts(self) -> (S, L) {
        (self.store, self.link)
    }

    /// Lets time pass, commits what the session wants kept, sends what may leave then, and
    /// reads what it asks for.
    ///
    /// # Errors
    /// [`DriverError::Store`] when the store fails; frames that were kept before it did may
    /// have left. [`DriverError::Failed`] from then on.
    pub fn carry_out(&mut self, now: Time) -> Result<Outcome, DriverError> {
        self.check()?;
        self.session.handle(Input::Timeout, now)?;
        let mut outcome = Outcome::default();
        while let Some(output) = self.session.poll() {
            match output {
                Output::Batch(batch) => self.commit(*batch, &mut outcome)?,
                Output::Read(Read::Entries { from, limit }) => {
                    let entries = self.store.entries(&self.side, from, limit);
                    let entries = &self.survive(entries)?;
                    self.session.handle(Input::Entries { from, entries }, now)?;
                }
                Output::Read(Read::Cold { key }) => {
                    let kept = self.store.cold(&self.side, &key);
                    let value = self.survive(kept)?.map(|kept| kept.value);
                    self.session.handle(Input::Cold { key: &key, value }, now)?;
                }
                _ => {}
            }
        }
        Ok(outcome)
    }

    fn commit(&mut self, batch: Batch, outcome: &mut Outcome) -> Result<(), DriverError> {
        let kept = self.store.commit(&[(&self.side, &batch)]);
        self.survive(kept)?;
        for entry in batch.entries {
            self.tell("keeps", &entry.text);
        }
        for frame in batch.sends {
            self.tell("sends", &frame.text);
            self.link.send(frame);
        }
        outcome.inbound.extend(batch.inbound);
        outcome.events.extend(batch.events);
        Ok(())
    }

    fn tell(&self, way: &str, frame: &str) {
        let options = self.session.options();
        let (session, agent) = (options.session.as_str(), options.agent.as_str());
        tracing::debug!(target: "accp::frames", session, agent, way, frame);
    }

    fn check(&self) -> Result<(), DriverError> {
        match &self.failed {
            Some(failure) => Err(DriverError::Failed(failure.clone())),
            None => Ok(()),
        }
    }

    /// After a failure the session is ahead of its store.
    fn survive<T>(&mut self, result: Result<T, StoreError>) -> Result<T, DriverError> {
        result.map_err(|error| {
            self.failed = Some(error.to_string());
            DriverError::Store(error)
        })
    }
}

/// What the store has of a side, which must be the host's or a member's.
fn find(
    store: &mut impl Store,
    options: &Options,
    host: bool,
) -> Result<(SideId, Option<Stored>), StoreError> {
    let side = SideId::new(&options.session, &options.agent);
    let stored = store.load(&side)?;
    if stored.as_ref().is_some_and(|stored| stored.host != host) {
        let text = conflict::host(!host);
        return Err(StoreError::new(StoreErrorKind::Conflict, text).in_side(&side));
    }
    Ok((side, stored))
}

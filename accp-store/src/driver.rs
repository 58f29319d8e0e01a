//! A session, its store and its link, run together.

mod error;
mod link;
mod read;
mod sharing;
#[cfg(test)]
mod tests;

use accp_runtime::session::{
    Batch, Event, Host, Inbound, Member, MemberId, Options, Read, Role, Rules, Session, Time,
};

use crate::{Store, StoreError};

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
/// - The session's own outputs (`poll_*`, `supply_*`) are the driver's alone.
/// - When the store fails, nothing of what it did not keep leaves, and the driver is put
///   aside: every later call fails. [`into_parts`](Self::into_parts) gives the store back, to
///   open the session again from what it kept. What was not acknowledged is then sent again, and
///   what was not handled delivered again.
///
/// The store keeps a host's session under its [`id`](Session::id), and a member's under
/// `id@agent`, so that the sides of a session can share one store.
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
/// let mut member = Driver::open_member(store, link(), options("dev")?)?;
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
///         member.receive(frame.text.as_bytes(), now)?;
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
pub struct Driver<R, S, L> {
    session: Session<R>,
    /// Where the store keeps it.
    name: String,
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

impl<S: Store, L: Link> Driver<Host, S, L> {
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
        let name = options.session.clone();
        let session = match store.load(&name)? {
            Some(stored) => Session::restore_host(options, rules, &stored, now)
                .map_err(|error| DriverError::Restore(name.clone(), error))?,
            None => Session::host(options, rules, now),
        };
        Ok(Self::new(session, name, store, link))
    }

    /// A frame has arrived from a member; see [`Session::receive`].
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn receive(&mut self, from: MemberId, frame: &[u8], now: Time) -> Result<(), DriverError> {
        self.check()?;
        self.tell_bytes(frame);
        self.session.receive(from, frame, now);
        Ok(())
    }
}

impl<S: Store, L: Link> Driver<Member, S, L> {
    /// Opens a session that the store has, or joins it, as a member.
    ///
    /// # Errors
    /// [`DriverError::Store`], [`DriverError::Restore`].
    pub fn open_member(mut store: S, link: L, options: Options) -> Result<Self, DriverError> {
        let name = format!("{}@{}", options.session, options.agent);
        let session = match store.load(&name)? {
            Some(stored) => Session::restore_member(options, &stored)
                .map_err(|error| DriverError::Restore(name.clone(), error))?,
            None => Session::member(options),
        };
        Ok(Self::new(session, name, store, link))
    }

    /// A frame has arrived from the host; see [`Session::receive`].
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn receive(&mut self, frame: &[u8], now: Time) -> Result<(), DriverError> {
        self.check()?;
        self.tell_bytes(frame);
        self.session.receive(frame, now);
        Ok(())
    }
}

impl<R: Role, S: Store, L: Link> Driver<R, S, L> {
    fn new(session: Session<R>, name: String, store: S, link: L) -> Self {
        Self {
            session,
            name,
            store,
            link,
            failed: None,
        }
    }

    /// The session, to look at.
    pub fn session(&self) -> &Session<R> {
        &self.session
    }

    /// The session, to hand inputs to.
    ///
    /// # Errors
    /// [`DriverError::Failed`].
    pub fn session_mut(&mut self) -> Result<&mut Session<R>, DriverError> {
        self.check()?;
        Ok(&mut self.session)
    }

    /// The name under which the store keeps this side of the session.
    pub fn name(&self) -> &str {
        &self.name
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
        if self.session.next_timeout().is_some_and(|due| due <= now) {
            self.session.handle_timeout(now);
        }
        let mut outcome = Outcome::default();
        self.commit(now, &mut outcome)?;
        // What is read is what was committed just now. What a peer far behind is sent is read
        // bit by bit: it acknowledges the one before the next is asked for here.
        while let Some(read) = self.session.poll_read() {
            let answered = self.answer(read, now);
            self.survive(answered)?;
        }
        self.commit(now, &mut outcome)?;
        let events = std::iter::from_fn(|| self.session.poll_event());
        outcome.events.extend(events);
        Ok(outcome)
    }

    fn commit(&mut self, now: Time, outcome: &mut Outcome) -> Result<(), DriverError> {
        while let Some(batch) = self.session.poll_batch(now) {
            let kept = self.store.commit(&[(&self.name, &batch)]);
            self.survive(kept)?;
            let Batch {
                entries,
                sends,
                inbound,
                ..
            } = batch;
            for entry in entries {
                self.tell("keeps", &entry.text);
            }
            for frame in sends {
                self.tell("sends", &frame.text);
                self.link.send(frame);
            }
            outcome.inbound.extend(inbound);
        }
        Ok(())
    }

    fn answer(&mut self, read: Read, now: Time) -> Result<(), StoreError> {
        match read {
            Read::Entries { from, limit } => {
                let entries = self.store.entries(&self.name, from, limit)?;
                self.session.supply_entries(from, &entries);
            }
            Read::Cold { key } => {
                let kept = self.store.cold(&self.name, &key)?;
                let value = kept.map(|kept| kept.value);
                self.session.supply_cold(&key, value, now);
            }
            _ => {}
        }
        Ok(())
    }

    fn tell(&self, way: &str, frame: &str) {
        let options = self.session.options();
        let (session, agent) = (options.session.as_str(), options.agent.as_str());
        tracing::debug!(target: "accp::frames", session, agent, way, frame);
    }

    fn tell_bytes(&self, frame: &[u8]) {
        self.tell("receives", &String::from_utf8_lossy(frame));
    }

    fn check(&self) -> Result<(), DriverError> {
        match &self.failed {
            Some(failure) => Err(DriverError::Failed(failure.clone())),
            None => Ok(()),
        }
    }

    /// After a failure the session is ahead of its store.
    fn survive(&mut self, result: Result<(), StoreError>) -> Result<(), DriverError> {
        result.map_err(|error| {
            self.failed = Some(error.to_string());
            DriverError::Store(error)
        })
    }
}

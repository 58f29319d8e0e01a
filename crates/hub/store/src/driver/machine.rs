//! The state machine of a driver, without IO. A driver carries out the requests of the machine, and hands
//! in the answers of its store.

use std::collections::BTreeSet;

use accp_frame::{AgentId, DynamicFrame, Value};
use accp_registry::Change;
use accp_session::{
    Batch, Cold, Entry, Event, Found, Inbound, Input, InputError, LogKey, MemberId, Mid, Need,
    Options, Outbound, Output, Read, ReadError, Resolved, Resolver, Rules, Session, Stored, Time,
    Transmit,
};

use super::error::DriverError;
use crate::conflict;
use crate::error::{StoreError, StoreErrorKind};
use crate::side::SideId;
use crate::store::Store;

/// A session, what its driver has to report, and the error of its store once the store has failed.
#[derive(Debug)]
pub(super) struct Machine {
    session: Session,
    side: SideId,
    /// The text of the error with which the store failed.
    failed: Option<String>,
    /// The keys of values that nobody supplies. Reading them fails.
    unavailable: BTreeSet<String>,
    /// What has happened since the driver last took the outcome.
    outcome: Outcome,
}

/// The result of [`Driver::carry_out`](crate::Driver::carry_out).
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// Entries of the log that are durable now, in their order.
    pub entries: Vec<Entry>,
    /// Frames to be handled. Each stays due until [`Session::handled`] marks it. Due frames come
    /// again when the session is opened again.
    pub inbound: Vec<Inbound>,
    /// Events, for a program that wants to follow them.
    pub events: Vec<Event>,
}

/// A request of the machine to the store. Each request has one [`Answer`], in the order of the requests.
pub(super) enum Request {
    Commit(Box<Batch>),
    Read(Read),
}

/// The answer of a store to a request.
pub(super) enum Answer {
    Committed(Box<Batch>),
    Entries(u64, Vec<Entry>),
    Entry(u64, Option<Entry>),
    Cold(String, Option<Cold>),
    /// The data of this value is damaged. Only those who read the value notice.
    Damaged(String, StoreError),
    /// There is no answer, because this version does not know the kind of the request.
    Nothing,
}

impl Answer {
    /// Reads from the store what a request asks for.
    pub(super) fn read(
        store: &mut (impl Store + ?Sized),
        side: &SideId,
        read: Read,
    ) -> Result<Self, StoreError> {
        Ok(match read {
            Read::Entries { from, limit } => Self::Entries(from, store.entries(side, from, limit)?),
            Read::Entry { at } => Self::Entry(at, store.entry(side, at)?),
            Read::Cold { key } => match store.cold(side, &key) {
                Ok(kept) => Self::Cold(key, kept.map(|kept| kept.value)),
                Err(error) if error.is_damage() => Self::Damaged(key, error),
                Err(error) => return Err(error),
            },
            _ => Self::Nothing,
        })
    }
}

/// The state of the work of reading a reference.
pub(super) enum Resolution {
    Value(Value<'static>),
    /// The bytes of the value are on their way.
    OnItsWay,
    /// The driver has to look this up.
    Need(Need),
}

/// Returns the name under which the store keeps the side of these options.
pub(super) fn side_of(options: &Options) -> SideId {
    SideId::new(&options.session, &options.agent)
}

impl Machine {
    /// Restores the session from the stored state, or begins it. With `rules` the side is the host.
    pub(super) fn open(
        options: Options,
        rules: Option<Rules>,
        stored: Option<&Stored>,
        now: Time,
    ) -> Result<Self, DriverError> {
        let side = side_of(&options);
        if let Some(stored) = stored.filter(|stored| stored.host != rules.is_some()) {
            let text = conflict::host(stored.host);
            let error = StoreError::new(StoreErrorKind::Conflict, text);
            return Err(error.in_side(&side).into());
        }
        let session = match (rules, stored) {
            (Some(rules), Some(stored)) => Session::restore_host(options, rules, stored, now),
            (Some(mut rules), None) => {
                if rules.key.is_none() {
                    rules.key = Some(draw_key().map_err(|error| error.in_side(&side))?);
                }
                Ok(Session::host(options, rules, now))
            }
            (None, Some(stored)) => Session::restore_member(options, stored, now),
            (None, None) => Ok(Session::member(options, now)),
        };
        Ok(Self {
            session: session.map_err(|error| DriverError::Restore(side.clone(), error))?,
            side,
            failed: None,
            unavailable: BTreeSet::new(),
            outcome: Outcome::default(),
        })
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    pub(super) fn session_mut(&mut self) -> Result<&mut Session, DriverError> {
        self.check()?;
        Ok(&mut self.session)
    }

    pub(super) fn side(&self) -> &SideId {
        &self.side
    }

    /// Hands a frame that has arrived to the session.
    pub(super) fn receive(
        &mut self,
        from: MemberId,
        frame: &[u8],
        now: Time,
    ) -> Result<(), DriverError> {
        self.check()?;
        self.trace("receives", &String::from_utf8_lossy(frame));
        self.session.receive(from, frame, now);
        Ok(())
    }

    /// Hands an input to the session, such as an answer of a store.
    pub(super) fn handle(&mut self, input: Input<'_>, now: Time) -> Result<(), DriverError> {
        self.check()?;
        self.session.handle(input, now)?;
        Ok(())
    }

    /// Returns the next request.
    pub(super) fn next(&mut self) -> Option<Request> {
        loop {
            match self.session.poll()? {
                Output::Batch(batch) => return Some(Request::Commit(batch)),
                Output::Read(read) => return Some(Request::Read(read)),
                _ => {}
            }
        }
    }

    /// Takes the answer to a request. Returns frames that may leave, because their batch is durable.
    pub(super) fn answer(
        &mut self,
        answer: Result<Answer, StoreError>,
        now: Time,
    ) -> Result<Vec<Transmit>, DriverError> {
        match self.check_answer(answer)? {
            Answer::Committed(batch) => return Ok(self.committed(*batch)),
            Answer::Entries(from, entries) => {
                let entries = &entries;
                self.handle(Input::Entries { from, entries }, now)?;
            }
            Answer::Entry(at, entry) => self.handle(Input::Entry { at, entry }, now)?,
            Answer::Cold(key, value) => self.handle(Input::Cold { key: &key, value }, now)?,
            Answer::Damaged(key, error) => {
                self.report_damage(&error);
                self.handle(Input::DamagedCold { key: &key }, now)?;
            }
            Answer::Nothing => {}
        }
        Ok(Vec::new())
    }

    /// Takes a batch that is durable, and returns its frames to send.
    fn committed(&mut self, batch: Batch) -> Vec<Transmit> {
        for entry in &batch.entries {
            self.trace("keeps", &entry.text);
        }
        for frame in &batch.sends {
            self.trace("sends", &frame.text);
        }
        for event in &batch.events {
            match event {
                Event::Unavailable(key) => self.unavailable.insert(key.clone()),
                Event::Supplied(key) => self.unavailable.remove(key),
                Event::SchemasDiffer(peer, changes) => {
                    self.warn_of(*peer, changes);
                    false
                }
                _ => false,
            };
        }
        self.outcome.entries.extend(batch.entries);
        self.outcome.inbound.extend(batch.inbound);
        self.outcome.events.extend(batch.events);
        batch.sends
    }

    /// Takes the outcome since the last call.
    pub(super) fn take_outcome(&mut self) -> Outcome {
        std::mem::take(&mut self.outcome)
    }

    /// Makes an agent join the session.
    pub(super) fn join(&mut self, agent: &AgentId<'_>, now: Time) -> Result<MemberId, DriverError> {
        Ok(self.session_mut()?.join(agent, now)?)
    }

    /// Gives the log a new identity.
    pub(super) fn fork(&mut self, now: Time) -> Result<(), DriverError> {
        let fork = Input::Fork(draw_key()?);
        self.session_mut()?.handle(fork, now)?;
        Ok(())
    }

    /// Sends a frame.
    pub(super) fn send(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<Mid, DriverError> {
        let sent = self.session_mut()?.send(outbound, now);
        Ok(sent.map_err(InputError::from)?)
    }

    /// Marks a frame as handled, with these answers to it. Returns the id of the last answer.
    pub(super) fn handled(
        &mut self,
        inbound: &Inbound,
        answers: Vec<Outbound<'_>>,
        now: Time,
    ) -> Result<Option<Mid>, DriverError> {
        let answers = answers.into_iter().map(|answer| answer.answering(inbound));
        let answers = answers.collect::<Result<Vec<_>, _>>();
        let answers = answers.map_err(|error| InputError::Send(error.into()))?;
        let session = self.session_mut()?;
        let handled = session.replied(inbound.position(), &answers, now);
        Ok(handled.map_err(InputError::from)?)
    }

    /// Hands a late summary to the session. `frames` are the frames of the summary, with values in the place of
    /// references.
    pub(super) fn supply_summary(
        &mut self,
        checkpoint: u64,
        text: &str,
        frames: Vec<DynamicFrame<'static>>,
        now: Time,
    ) -> Result<(), DriverError> {
        let payloads = frames.into_iter().map(|frame| Value::Map(frame.payload));
        let summary = Input::Summary {
            checkpoint,
            text,
            values: &payloads.collect::<Vec<_>>(),
        };
        self.handle(summary, now)
    }

    /// Continues the work of a resolver with the data that the store found for it.
    pub(super) fn resolve(
        &mut self,
        resolver: &mut Resolver,
        found: Option<Found>,
    ) -> Result<Resolution, DriverError> {
        self.check()?;
        let answer = resolver.next(&self.session, found);
        let unreadable = |error| DriverError::Reference(resolver.key().into(), error);
        Ok(match answer.map_err(unreadable)? {
            Resolved::Value(value) => Resolution::Value(value),
            Resolved::Need(need) => Resolution::Need(need),
            Resolved::Fetch { key, .. } if self.is_unavailable(&key) => {
                return Err(unreadable(ReadError::Unavailable));
            }
            Resolved::Fetch { key, announced } => {
                let (key, now) = (&*key, self.session.now());
                self.handle(Input::Fetch { key, announced }, now)?;
                Resolution::OnItsWay
            }
        })
    }

    /// Returns whether nobody supplies a value. On a member, this call also forgets that fact, so the next read asks
    /// the host again. A host remembers it until the value comes, because the host goes on asking by itself, and all
    /// its guests may read the value.
    fn is_unavailable(&mut self, key: &str) -> bool {
        if self.session.is_host() {
            self.unavailable.contains(key)
        } else {
            self.unavailable.remove(key)
        }
    }

    fn check(&self) -> Result<(), DriverError> {
        match &self.failed {
            Some(failure) => Err(DriverError::Failed(failure.clone())),
            None => Ok(()),
        }
    }

    /// If the store has failed, puts the session aside, because the state of the session is then ahead of the store.
    pub(super) fn check_answer<T>(
        &mut self,
        answer: Result<T, StoreError>,
    ) -> Result<T, DriverError> {
        answer.map_err(|error| {
            self.failed = Some(error.to_string());
            DriverError::Store(error)
        })
    }

    /// Logs that the data of a value is damaged in the store.
    pub(super) fn report_damage(&self, error: &StoreError) {
        let session = self.session.options().session.as_str();
        tracing::error!(session, %error, "a value is damaged in the store");
    }

    /// Logs those differences between the registries of a peer and of this side that would break a reader.
    fn warn_of(&self, peer: MemberId, changes: &[Change]) {
        let session = self.session.options().session.as_str();
        let state = self.session.state();
        let mut members = state.members();
        let party = members.find(|(member, _)| *member == peer);
        let peer = party.and_then(|(_, party)| party.agents.first());
        let peer = peer.map(String::as_str).unwrap_or_default();
        for change in changes {
            // A log has one line for each change.
            let change = change.to_string().replace("\n    ", "; ");
            tracing::warn!(target: "accp::schemas", session, peer, %change, "the registry of a peer differs");
        }
    }

    fn trace(&self, way: &str, frame: &str) {
        let options = self.session.options();
        let (session, agent) = (options.session.as_str(), options.agent.as_str());
        tracing::debug!(target: "accp::frames", session, agent, way, frame);
    }
}

/// Draws the secret of a new log.
fn draw_key() -> Result<LogKey, StoreError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        let text = format!("the system gives no random bytes for the secret of the log: {error}");
        StoreError::new(StoreErrorKind::Io, text)
    })?;
    Ok(LogKey::new(bytes))
}

//! The decisions that all drivers share: how to open a session, and how to act on its outputs.

use std::collections::BTreeSet;

use accp_frame::{AgentId, Value};
use accp_session::{
    Batch, Entry, Event, Found, Inbound, Input, InputError, LogKey, MemberId, Mid, Need, Options,
    Outbound, Output, ReadError, Resolved, Resolver, Rules, Session, Stored, Time,
};

use super::error::DriverError;
use super::link::Link;
use crate::conflict;
use crate::error::{StoreError, StoreErrorKind};
use crate::side::SideId;
use crate::store::Kept;

/// A session, with the error of its store once the store has failed.
#[derive(Debug)]
pub(super) struct Course {
    session: Session,
    side: SideId,
    /// The text of the error with which the store failed.
    failed: Option<String>,
    /// The keys of values that nobody supplies. Reading them fails.
    unavailable: BTreeSet<String>,
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

/// State of reading a reference.
pub(super) enum Reading {
    /// The reading has ended; `None` while bytes are on their way.
    Done(Option<Value<'static>>),
    /// The driver has to look this up.
    Need(Need),
}

/// Returns the name under which the store keeps the side of these options.
pub(super) fn side_of(options: &Options) -> SideId {
    SideId::new(&options.session, &options.agent)
}

impl Course {
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
        self.tell("receives", &String::from_utf8_lossy(frame));
        self.session.receive(from, frame, now);
        Ok(())
    }

    /// Hands an input to the session, such as an answer of a store.
    pub(super) fn handle(&mut self, input: Input<'_>, now: Time) -> Result<(), DriverError> {
        self.check()?;
        self.session.handle(input, now)?;
        Ok(())
    }

    /// Returns the next output of the session.
    pub(super) fn next(&mut self) -> Option<Output> {
        self.session.poll()
    }

    /// Acts on the answer to a commit. Once the batch is durable, its frames leave, and the frames
    /// that it delivers go to the handlers.
    pub(super) fn kept(
        &mut self,
        kept: Result<Box<Batch>, StoreError>,
        link: &mut impl Link,
        outcome: &mut Outcome,
    ) -> Result<(), DriverError> {
        let batch = self.survive(kept)?;
        for entry in &batch.entries {
            self.tell("keeps", &entry.text);
        }
        outcome.entries.extend(batch.entries);
        for frame in batch.sends {
            self.tell("sends", &frame.text);
            link.send(frame);
        }
        for event in &batch.events {
            match event {
                Event::Unavailable(key) => self.unavailable.insert(key.clone()),
                Event::Supplied(key) => self.unavailable.remove(key),
                _ => false,
            };
        }
        outcome.inbound.extend(batch.inbound);
        outcome.events.extend(batch.events);
        Ok(())
    }

    /// Hands entries that were read from the log to the session.
    pub(super) fn entries(
        &mut self,
        from: u64,
        entries: Result<Vec<Entry>, StoreError>,
        now: Time,
    ) -> Result<(), DriverError> {
        let entries = &self.survive(entries)?;
        self.handle(Input::Entries { from, entries }, now)
    }

    /// Hands an entry that was read to the session.
    pub(super) fn entry(
        &mut self,
        at: u64,
        entry: Result<Option<Entry>, StoreError>,
        now: Time,
    ) -> Result<(), DriverError> {
        let entry = self.survive(entry)?;
        self.handle(Input::Entry { at, entry }, now)
    }

    /// Hands a value that was read to the session.
    pub(super) fn cold(
        &mut self,
        key: &str,
        kept: Result<Option<Kept>, StoreError>,
        now: Time,
    ) -> Result<(), DriverError> {
        let value = self.survive(kept)?.map(|kept| kept.value);
        self.handle(Input::Cold { key, value }, now)
    }

    /// Lets an agent in.
    pub(super) fn join(&mut self, agent: &AgentId<'_>, now: Time) -> Result<MemberId, DriverError> {
        Ok(self.session_mut()?.join(agent, now)?)
    }

    /// Sends a frame.
    pub(super) fn send(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<Mid, DriverError> {
        let sent = self.session_mut()?.send(outbound, now);
        Ok(sent.map_err(InputError::from)?)
    }

    /// Marks a frame as handled, with these answers to it. Returns the id of the last one.
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

    /// Goes on to read a reference.
    pub(super) fn read(
        &mut self,
        resolver: &mut Resolver,
        found: Option<Found>,
    ) -> Result<Reading, DriverError> {
        self.check()?;
        let step = resolver.next(&self.session, found);
        let step = step.map_err(|error| DriverError::Reference(resolver.key().into(), error))?;
        Ok(match step {
            Resolved::Value(value) => Reading::Done(Some(value)),
            Resolved::Need(need) => Reading::Need(need),
            Resolved::Fetch { key, .. } if self.is_unavailable(&key) => {
                return Err(DriverError::Reference(
                    resolver.key().into(),
                    ReadError::Unavailable,
                ));
            }
            Resolved::Fetch { key, announced } => {
                let (key, now) = (&*key, self.session.now());
                self.handle(Input::Fetch { key, announced }, now)?;
                Reading::Done(None)
            }
        })
    }

    /// Returns whether nobody supplies a value. A member asks for it anew with the next reading. A host asks
    /// on by itself, and all its guests may read the value, so it stays so until the value comes.
    fn is_unavailable(&mut self, key: &str) -> bool {
        if self.session.is_host() {
            self.unavailable.contains(key)
        } else {
            self.unavailable.remove(key)
        }
    }

    pub(super) fn check(&self) -> Result<(), DriverError> {
        match &self.failed {
            Some(failure) => Err(DriverError::Failed(failure.clone())),
            None => Ok(()),
        }
    }

    /// Puts the session aside when the store has failed, because the session is then ahead of it.
    pub(super) fn survive<T>(&mut self, result: Result<T, StoreError>) -> Result<T, DriverError> {
        result.map_err(|error| {
            self.failed = Some(error.to_string());
            DriverError::Store(error)
        })
    }

    fn tell(&self, way: &str, frame: &str) {
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

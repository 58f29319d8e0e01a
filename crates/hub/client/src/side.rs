//! The task of a side: it owns the driver of a session, and carries out the commands of the handles.

mod catch_up;
mod delivery;
mod guest;
mod guests;
mod open_question;
mod outgoing;
mod peers;
mod restored;
mod sender;
mod work;

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Weak;

use accp_frame::{AgentId, Value};
use accp_session::{
    Event, Inbound, Input, MemberId, Options, Posted, ReadError, Reference, Supplied, Transmit,
};
use accp_store::{AsyncDriver, Committer, DriverError, SideId};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::clock::{instant, now};
use crate::command::{Command, Look, refuse};
use crate::error::{Done, Error, OnDurable};
use crate::handle::{End, SIDE};
use crate::wire::{Frame, Wire};
use guest::Guest;
use sender::SessionSender;
use work::{Takes, Work};

/// The error of calls on an agent or a hub that was closed.
const CLOSED: &str = "it was closed";
/// The most frames, and the most commands, that share a commit.
const AT_ONCE: usize = 256;

pub(crate) struct Side {
    driver: AsyncDriver<Vec<Transmit>>,
    /// The number of this side.
    me: MemberId,
    commands: UnboundedReceiver<(u64, Command)>,
    frames: mpsc::Receiver<Frame>,
    peers: BTreeMap<MemberId, Wire>,
    /// Of a member: the work of its agent.
    work: Work,
    /// Frames that are to be handed out, in the order of the session.
    inbox: Vec<Inbound>,
    /// Frames that no handler takes. None of them answers an open question, because an answer comes after
    /// its question.
    unclaimed: Vec<Inbound>,
    /// Calls that read a value, while the bytes of the value are on their way here.
    readings: Vec<(String, Done<Value<'static>>)>,
    /// Calls that look at the session, until the inputs before them are durable.
    looks: Vec<Look>,
    /// True until a side that was just opened has caught up with its session.
    begins: bool,
    /// True until a side with a new link has caught up with its session.
    is_back: bool,
    /// True once the host was told that this side leaves.
    has_said_bye: bool,
    joining: Vec<Done<()>>,
    /// Of a host: the agents in its process, by the numbers of their handles.
    guests: BTreeMap<u64, Guest>,
    /// The reasons why guests have ended, by the numbers of handles that still exist.
    ended: BTreeMap<u64, Error>,
    /// Of a host: its store.
    committer: Option<Committer>,
    /// Sides in the store whose agents have become guests. They are deleted once the inboxes are durable.
    leaving: Vec<SideId>,
    /// Called once the inputs are durable.
    durable: Vec<OnDurable>,
    posted: Vec<(Posted, Done<Posted>)>,
    supplied: Vec<(Supplied, Done<Supplied>)>,
    /// Calls that wait until a host whose store is an old copy has its lost entries back.
    recovering: Vec<Done<RangeInclusive<u64>>>,
    /// How far the log is durable.
    last: watch::Sender<u64>,
}

impl Side {
    pub(crate) fn new(
        driver: AsyncDriver<Vec<Transmit>>,
        me: MemberId,
        end: End,
        frames: mpsc::Receiver<Frame>,
    ) -> Self {
        let End { commands, last } = end;
        let session = driver.session();
        let begins = !session.is_host() && session.position() == 0;
        let work = Work::new(session.options().agent.as_str(), Weak::<()>::new());
        Self {
            driver,
            me,
            commands,
            frames,
            peers: BTreeMap::new(),
            work,
            inbox: Vec::new(),
            unclaimed: Vec::new(),
            readings: Vec::new(),
            looks: Vec::new(),
            begins,
            is_back: false,
            has_said_bye: false,
            joining: Vec::new(),
            guests: BTreeMap::new(),
            ended: BTreeMap::new(),
            committer: None,
            leaving: Vec::new(),
            durable: Vec::new(),
            posted: Vec::new(),
            supplied: Vec::new(),
            recovering: Vec::new(),
            last,
        }
    }

    /// Makes this the side of a host, whose guests have no sides of their own in the store.
    pub(crate) fn hosting(mut self, committer: Committer) -> Self {
        self.committer = Some(committer);
        self
    }

    /// Makes this the side of a member, which reaches its host on a wire.
    pub(crate) fn of(mut self, agent: Weak<dyn Any + Send + Sync>, host: Wire) -> Self {
        self.work = Work::new(&self.work.name, agent);
        self.peers.insert(MemberId::HOST, host);
        self
    }

    /// Runs until the last handle is dropped, or the store fails.
    pub(crate) async fn run(mut self) {
        let failure = loop {
            match self.turn().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error @ (Error::Ended(_) | Error::Removed(_) | Error::Damaged(_))) => {
                    break error;
                }
                Err(error) => break Error::Ended(error.to_string()),
            }
        };
        tracing::debug!(side = ?self.driver.side(), %failure, "a side has ended");
        let ended = || failure.clone();
        self.work.end(ended);
        for guest in self.guests.values_mut() {
            guest.work.end(ended);
        }
        for on_durable in self.durable.drain(..) {
            on_durable(Err(ended()));
        }
        for (_, done) in self.posted.drain(..) {
            let _ = done.send(Err(ended()));
        }
        for (_, done) in self.supplied.drain(..) {
            let _ = done.send(Err(ended()));
        }
        for done in self.recovering.drain(..) {
            let _ = done.send(Err(ended()));
        }
        for done in self.joining.drain(..) {
            let _ = done.send(Err(ended()));
        }
        for (_, done) in self.readings.drain(..) {
            let _ = done.send(Err(ended()));
        }
        for look in self.looks.drain(..) {
            look(Err(ended()));
        }
        // Handles must learn that this side has ended before the other sides do. Otherwise a link would end while its
        // host still seems to run, as if another link of the agent had replaced it.
        drop(self.last);
        drop(self.frames);
        self.peers.clear();
        self.guests.clear();
        while let Some((_, command)) = self.commands.recv().await {
            refuse(command, ended());
        }
    }

    /// Does the work that is due, waits for the next event, and handles it. Returns false when the side ends.
    async fn turn(&mut self) -> Result<bool, Error> {
        self.tell_takes()?;
        let outcome = self.driver.carry_out(now()).await?;
        self.delete_sides().await?;
        for on_durable in self.durable.drain(..) {
            on_durable(Ok(()));
        }
        self.work.settle(false, &outcome.entries, &outcome.events);
        if self.has_drained() && self.has_left(&outcome.events)? {
            self.work.tell_drained();
            return Err(Error::Ended(CLOSED.to_owned()));
        }
        for (posted, done) in self.posted.drain(..) {
            let _ = done.send(Ok(posted));
        }
        for (supplied, done) in self.supplied.drain(..) {
            let _ = done.send(Ok(supplied));
        }
        let position = self.driver.session().position();
        self.last.send_if_modified(|last| {
            let is_news = *last != position;
            *last = position;
            is_news
        });
        for guest in self.guests.values() {
            guest.tell(position);
        }
        for look in self.looks.drain(..) {
            look(Ok(self.driver.session()));
        }
        let has_lost = self.send_out()?;
        let (driver, durable) = (&mut self.driver, &mut self.durable);
        let mut own = SessionSender {
            driver,
            guest: None,
            durable,
        };
        let has_cancelled = self.work.follow(&mut own, &outcome.events)?
            | self.work.make_up_for_replies(&mut own, &outcome.events)?;
        let has_sent = self.work.send_early(&mut own)? | has_cancelled;
        self.inbox.extend(outcome.inbound);
        self.catch_up().await?;
        self.tell_refused(&outcome.events)?;
        self.tell_restored(&outcome.events);
        let is_news = |event| matches!(event, &Event::Supplied(_) | &Event::Unavailable(_));
        if outcome.events.iter().any(is_news) {
            for (key, done) in std::mem::take(&mut self.readings) {
                self.read(key, done).await?;
            }
        }
        let (entries, events) = (&outcome.entries, &outcome.events);
        let has_served = self.serve_guests(entries, events, position).await?;
        let has_handed = self.hand_out().await?;
        if self.mark_late()? | has_handed | has_served | has_sent | has_lost {
            return Ok(true);
        }
        let due = self.driver.session().next_timeout().map(instant);
        let works = self.guests.values().map(|guest| &guest.work);
        let works = works.chain([&self.work]).filter_map(Work::wakes);
        let wakes = due.into_iter().chain(works).min();
        let host = self.peers.get(&MemberId::HOST).cloned();
        let gone = async {
            match &host {
                Some(host) => host.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Commands come first, because a command may bring the reason why the host has ended.
            biased;
            command = self.commands.recv() => {
                let Some((by, command)) = command else {
                    self.leaves();
                    return Ok(false);
                };
                self.obey(by, command).await?;
            }
            Some(frame) = self.frames.recv() => self.receive(&frame)?,
            () = gone => return Err(Error::Ended("the host of the session has ended".to_owned())),
            () = sleep_until(wakes.unwrap_or_else(Instant::now)), if wakes.is_some() => {}
        }
        // Inputs that have already arrived share the next commit.
        for _ in 0..AT_ONCE {
            let Ok(frame) = self.frames.try_recv() else {
                break;
            };
            self.receive(&frame)?;
        }
        for _ in 0..AT_ONCE {
            let Ok((by, command)) = self.commands.try_recv() else {
                break;
            };
            self.obey(by, command).await?;
        }
        Ok(true)
    }

    /// Returns whether nothing is left to do on a side that was closed.
    fn has_drained(&self) -> bool {
        let is_done = self.work.has_drained() && self.guests.is_empty();
        is_done && self.driver.session().outbox_len() == 0
    }

    /// Tells the session which requests the agents of this side take.
    pub(super) fn tell_takes(&mut self) -> Result<(), Error> {
        let session = self.driver.session();
        if let Some(heads) = self.work.untold(session, session.me()) {
            let told = self
                .driver
                .session_mut()?
                .handle(Input::Takes(&heads), now());
            // A host that was rolled back refuses this, so the side tries again later.
            if told.is_err() {
                self.work.takes = Takes::News;
            }
        }
        for guest in self.guests.values_mut() {
            if let Some(heads) = guest.work.untold(self.driver.session(), guest.member) {
                let session = self.driver.session_mut()?;
                let told = session.takes_as(guest.member, &heads, now());
                if told.is_err() {
                    guest.work.takes = Takes::News;
                }
            }
        }
        Ok(())
    }

    /// Returns whether a side that has done its work may end. A side that leaves its session says goodbye to the
    /// host, and waits until the host has taken it out.
    fn has_left(&mut self, events: &[Event]) -> Result<bool, Error> {
        if !self.work.leaves || events.contains(&Event::Left) {
            return Ok(true);
        }
        if !std::mem::replace(&mut self.has_said_bye, true) {
            self.input(Input::Bye)?;
        }
        Ok(false)
    }

    /// Warns if the last handle of an agent was dropped before the hub has all of its frames.
    fn leaves(&self) {
        let waiting = self.driver.session().outbox_len() + self.work.early.len();
        if waiting > 0 {
            tracing::warn!(
                side = ?self.driver.side(),
                waiting,
                "an agent is dropped before its hub has all that it has sent: await `Agent::close` first. Frames in \
                 a store that is kept go out when the agent is opened again"
            );
        }
    }

    async fn obey(&mut self, by: u64, command: Command) -> Result<(), Error> {
        if by != SIDE {
            return self.obey_guest(by, command).await;
        }
        let mut own = SessionSender {
            driver: &mut self.driver,
            guest: None,
            durable: &mut self.durable,
        };
        match command {
            Command::Send(posting) => self.work.tell(&mut own, posting)?,
            Command::Ask(asking) => self.work.ask(&mut own, asking)?,
            Command::Abandon(number) => self.work.abandon(&mut own, number)?,
            Command::Leave(number) => self.work.leave(number),
            Command::Taken { position, is_taken } => self.taken(position, is_taken)?,
            Command::Serve(add) => {
                self.work.serve(add);
                self.inbox.append(&mut self.unclaimed);
                self.inbox.sort_by_key(Inbound::position);
            }
            Command::Handled(marked) => {
                let me = own.driver.session().me();
                self.work.ended(&mut own, me, marked)?;
            }
            Command::Join {
                agent,
                wire,
                number,
            } => self.join(&agent, wire, number)?,
            Command::Unlink { member, wire } => self.unlink(member, wire)?,
            Command::Post { agent, text, done } => self.post(&agent, &text, done)?,
            Command::Check { agent, first, done } => self.check(&agent, &first, done)?,
            Command::Supply {
                agent,
                key,
                bytes,
                done,
            } => self.supply(&agent, &key, &bytes, done)?,
            Command::Phase(done) => self.end_phase(done)?,
            Command::Register { schemas, done } => self.register(&schemas, done)?,
            Command::Remove { agent, done } => self.remove(&agent, done)?,
            Command::Recover(done) => self.recover(done)?,
            Command::Fork(done) => self.fork(done)?,
            Command::Ping(member) => self.input(Input::Ping(member))?,
            Command::Connected => {
                self.input(Input::Connected(MemberId::HOST))?;
                self.is_back = true;
            }
            Command::Joined(done) => {
                self.joining.push(done);
                self.tell_joined();
            }
            Command::Drain { leaves, done } => {
                self.guests
                    .values_mut()
                    .for_each(|guest| guest.work.drain(None));
                self.work.leaves |= leaves;
                self.work.drain(Some(done));
            }
            Command::End(reason) => return Err(Error::Ended(reason)),
            Command::Open { .. } | Command::Close => {}
            other => self.look_up(other).await?,
        }
        Ok(())
    }

    /// Carries out a command that every handle may send.
    async fn look_up(&mut self, command: Command) -> Result<(), Error> {
        match command {
            // Nobody sees what a crash could take back.
            Command::Look(look) => self.looks.push(look),
            Command::Read { key, done } => self.read(key, done).await?,
            Command::Search { words, limit, done } => {
                let found = self.driver.search(&words, limit).await;
                answer_read(done, found.map_err(Error::from))?;
            }
            other => refuse(other, Error::ended()),
        }
        Ok(())
    }

    fn input(&mut self, input: Input<'_>) -> Result<(), DriverError> {
        self.driver.session_mut()?.handle(input, now())?;
        Ok(())
    }

    /// Reads a value, at once or as soon as its bytes have arrived.
    async fn read(&mut self, key: String, done: Done<Value<'static>>) -> Result<(), Error> {
        if done.is_closed() {
            return Ok(());
        }
        let Some(reference) = Reference::parse(&key) else {
            let _ = done.send(Err(Error::Reference(key, ReadError::NotFound)));
            return Ok(());
        };
        match self.driver.read(&reference).await {
            Ok(Some(value)) => drop(done.send(Ok(value))),
            Ok(None) => self.readings.push((key, done)),
            Err(DriverError::Reference(key, error)) => {
                let _ = done.send(Err(Error::Reference(key, error)));
            }
            Err(error) => answer_read(done, Err(error.into()))?,
        }
        Ok(())
    }
}

/// Answers a call that has read from the store. Damaged data that only the call wants does not end the side.
fn answer_read<T>(done: Done<T>, read: Result<T, Error>) -> Result<(), Error> {
    match read {
        Err(error) if !matches!(error, Error::Damaged(_)) => Err(error),
        read => {
            let _ = done.send(read);
            Ok(())
        }
    }
}

/// Returns the options of a member's side.
pub(crate) fn member(mut options: Options, agent: AgentId<'static>) -> Options {
    options.agent = agent;
    // The backlog has no limit, so that frames without a handler do not hold up answers.
    options.backlog = usize::MAX;
    options
}

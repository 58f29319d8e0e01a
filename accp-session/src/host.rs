//! The side that judges.
mod accept;
mod serve;
mod turn;

use std::collections::BTreeMap;

use accp_registry::{Hash, Problems, Schema};

use crate::delivery::relay::Relays;
use crate::gate::judge::{Judge, Numbers, last_checks};
use crate::gate::scan::Scanned;
use crate::host::turn::Turn;
use crate::options::Rules;
use crate::role::{Frames, Role};
use crate::side::Side;
use crate::wire::control::Control;
use crate::wire::link::Piece;
use crate::{
    Checkpoint, CheckpointHooks, Cold, Entry, EntryKind, MemberId, Mid, Options, Read,
    RestoreError, SendError, Session, Stored, Time, Trigger,
};
use accp_frame::{AgentId, EncodeError, Envelope, Message, Registry};

/// What a host does beyond what both sides do.
pub struct Host {
    pub(crate) rules: Rules,
    pub(crate) judge: Judge,
    pub(crate) relays: Relays,
    /// Who asked for which value, from which byte on, while it is being read.
    pub(crate) serving: BTreeMap<String, Vec<(MemberId, u64)>>,
    /// Pieces that go out with the next batch.
    pub(crate) pieces: Vec<(MemberId, Piece)>,
    pub(crate) turn: Turn,
    pub(crate) hooks: Box<dyn CheckpointHooks + Send>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("rules", &self.rules)
            .field("relays", &self.relays)
            .finish_non_exhaustive()
    }
}

/// Why a member cannot join.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// The session has all the members that there are numbers for.
    Full,
    /// The name is the host's own.
    Taken(String),
}

impl std::fmt::Display for JoinError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Full => write!(
                f,
                "the session has {} members, which is all that there are numbers for",
                MemberId::LAST.number() - MemberId::HOST.number()
            ),
            Self::Taken(agent) => write!(f, "{agent} is an agent of another member"),
        }
    }
}

impl std::error::Error for JoinError {}

impl Session<Host> {
    /// Opens a session, as its host.
    pub fn host(options: Options, rules: Rules, now: Time) -> Self {
        let side = Side::new(options, MemberId::HOST, 0);
        let retry = side.options.retry;
        let mut session = Self {
            side,
            role: Host {
                rules,
                judge: Judge::default(),
                relays: Relays::new(0, retry),
                serving: BTreeMap::new(),
                pieces: Vec::new(),
                turn: Turn::default(),
                hooks: Box::new(()),
            },
        };
        let counter = session.side.options.counter.as_deref();
        let open = Control::Open {
            agent: session.side.options.agent.to_string(),
            scope: session.role.rules.scope,
            tokenizer: counter.map(|counter| counter.name().into()),
        };
        session.control(&open, now);
        session.announce_schemas(now);
        session
    }

    /// Goes on with a session that its store holds.
    ///
    /// # Errors
    /// When what the store gave cannot be read.
    pub fn restore_host(
        options: Options,
        rules: Rules,
        stored: &Stored,
        now: Time,
    ) -> Result<Self, RestoreError> {
        let mut side = Side::new(options, MemberId::HOST, stored.epoch);
        let mut judge = Judge::default();
        if let Some(snapshot) = &stored.snapshot {
            let numbers = side.restore(snapshot)?;
            judge.numbers = serde_json::from_value::<Numbers>(numbers)
                .map_err(|error| RestoreError::new(snapshot.position, &error))?;
        }
        for entry in &stored.entries {
            side.replay(entry)?;
            judge.fold(entry);
            judge.fold_text(entry, &rules);
        }
        judge.restore_seen(&stored.seen);
        // They may have come since the snapshot.
        for key in judge.numbers.missing.keys() {
            side.reads.push_back(Read::Cold { key: key.clone() });
        }
        let late = stored.entries.iter().filter(|entry| entry.due);
        for entry in stored.due.iter().chain(late) {
            side.redeliver(entry)?;
        }
        side.last_put = stored.last_put;
        let relays = Relays::new(side.state.position, side.options.retry);
        let mut session = Self {
            side,
            role: Host {
                rules,
                judge,
                relays,
                serving: BTreeMap::new(),
                pieces: Vec::new(),
                turn: Turn::default(),
                hooks: Box::new(()),
            },
        };
        // Members learn that their host is back, and say what they hold.
        let members: Vec<_> = session.side.state.members().map(|(id, _)| id).collect();
        for member in members.into_iter().filter(|id| *id != MemberId::HOST) {
            session.role.relays.cursor(member).greeting = true;
        }
        session.restore_schemas(&stored.registries);
        session.announce_schemas(now);
        Ok(session)
    }

    /// Schemas that were registered in an earlier life stay, unless the registry of this one
    /// says otherwise.
    pub(crate) fn restore_schemas(&mut self, kept: &[(Hash, String)]) {
        let Some(hash) = self.side.state.schemas() else {
            return;
        };
        let json = kept.iter().find(|(kept, _)| *kept == hash);
        let before = json.and_then(|(_, json)| Registry::from_json(json).ok());
        let mut merged = (*self.side.options.registry).clone();
        if before.is_some_and(|before| merged.merge(before).is_ok()) {
            self.side.set_registry(merged);
        }
    }

    /// Says which schemas are in force, when that is news.
    pub(crate) fn announce_schemas(&mut self, now: Time) {
        let hash = self.side.schemas;
        if self.side.state.schemas() != Some(hash) {
            let json = self.side.options.registry.to_json();
            self.side
                .batch
                .get()
                .registries
                .push((hash, json.to_string()));
            self.control(&Control::Schemas { hash }, now);
        }
    }

    /// Registers a schema for the session, while it runs (`RegisterSchema`, draft section
    /// 7.1). Members fetch it.
    ///
    /// # Errors
    /// Every mistake in the schema, and a clash with one that is there; nothing is changed
    /// then.
    pub fn register_schema(&mut self, schema: Schema, now: Time) -> Result<(), Problems> {
        let mut registry = (*self.side.options.registry).clone();
        registry.register(schema)?;
        self.side.set_registry(registry);
        self.announce_schemas(now);
        Ok(())
    }

    /// Asks `hooks` before each checkpoint from now on.
    pub fn set_hooks(&mut self, hooks: impl CheckpointHooks + Send + 'static) {
        self.role.hooks = Box::new(hooks);
    }

    /// Takes a checkpoint, because a phase of the work is over (draft section 5.2, item 4).
    /// `None` when none was taken: without a token counter there are none, and a hook may
    /// object.
    pub fn phase_boundary(&mut self, now: Time) -> Option<Checkpoint> {
        self.role.turn.triggers.push(Trigger::Phase);
        self.end_turn(now)
    }

    /// Lets an agent in, and gives the number of its member; the same number when it is in
    /// already. Whoever calls this has made sure that it is this agent.
    ///
    /// # Errors
    /// When there are no numbers left, or the agent is the host's own.
    pub fn join(&mut self, agent: &AgentId<'_>, now: Time) -> Result<MemberId, JoinError> {
        self.join_as(&[agent.as_str()], false, now)
    }

    /// As [`Session::join`], for a member that speaks for several agents, or that may cancel
    /// what others started.
    ///
    /// # Errors
    /// As [`Session::join`]; and when the agents belong to several members.
    pub fn join_as(
        &mut self,
        agents: &[&str],
        supervisor: bool,
        now: Time,
    ) -> Result<MemberId, JoinError> {
        let state = &self.side.state;
        let known = agents.iter().find_map(|agent| state.member_of(agent));
        let last = state.members().map(|(id, _)| id.number()).max();
        let next = MemberId::new(last.unwrap_or(MemberId::HOST.number()) + 1);
        let member = known.or(next).ok_or(JoinError::Full)?;
        let others = agents.iter().find(|agent| {
            state.member_of(agent).is_some_and(|other| other != member) || member == MemberId::HOST
        });
        if let Some(agent) = others {
            return Err(JoinError::Taken((*agent).to_string()));
        }
        let agents: Vec<_> = agents.iter().map(|agent| (*agent).to_string()).collect();
        let is_news = state.members.get(member).is_none_or(|party| {
            !party.present || party.agents != agents || party.supervisor != supervisor
        });
        if is_news {
            let join = Control::Join {
                member,
                agents,
                supervisor,
            };
            self.control(&join, now);
        }
        self.role.relays.cursor(member);
        Ok(member)
    }

    /// The last position up to which every member has the log, as far as all of them have
    /// said so since this host was started; 0 while one has not. Up to there the log may be
    /// let go of.
    pub fn replicated(&self) -> u64 {
        let members = self.side.state.members();
        let others = members.filter(|(id, party)| *id != MemberId::HOST && party.present);
        let held = others.map(|(id, _)| self.role.relays.held(id));
        held.min().unwrap_or(self.side.position)
    }

    /// Takes a member out of the session.
    pub fn leave(&mut self, member: MemberId, now: Time) {
        if member != MemberId::HOST && self.side.state.members.get(member).is_some() {
            self.control(&Control::Leave { member }, now);
            self.role.relays.disconnected(member);
        }
    }

    /// The connection to a member is gone; nothing goes out to it until it is heard again.
    pub fn disconnected(&mut self, member: MemberId) {
        self.role.relays.disconnected(member);
    }

    /// Allows references to a cold key of another session, `*` for all of them.
    pub fn grant(&mut self, session: impl Into<String>, key: impl Into<String>, now: Time) {
        let grant = Control::Grant {
            session: session.into(),
            key: key.into(),
        };
        self.control(&grant, now);
    }

    /// Lets the bytes under these keys go: from now on they are E2002.
    pub fn expire(&mut self, keys: &[&str], now: Time) {
        let known = keys.iter().filter(|key| self.side.state.is_put(key));
        let keys: Vec<_> = known.map(|key| (*key).to_string()).collect();
        if !keys.is_empty() {
            self.side.batch.get().expired.extend(keys.iter().cloned());
            for key in &keys {
                self.role.judge.numbers.missing.remove(key);
                self.side.transfers.forget(key);
            }
            self.control(&Control::Expire { keys }, now);
        }
    }

    /// An entry of the host's own about the session.
    pub(crate) fn control(&mut self, control: &Control, now: Time) {
        let mut message = control.to_message(&self.side.options.agent);
        let mid = self.side.next_control_mid();
        message.envelope = Envelope::new(mid.to_string(), self.side.position).at(now.as_secs());
        // What the host says of itself is within every limit.
        let _ = self.control_message(&message, mid, now);
    }

    pub(crate) fn control_message(
        &mut self,
        message: &Message<'_>,
        mid: Mid,
        now: Time,
    ) -> Result<(), EncodeError> {
        let options = accp_frame::EncodeOptions {
            inline: true,
            ..accp_frame::EncodeOptions::default()
        };
        let text = message.encode_with(accp_frame::Registry::shared(), options)?;
        let frame = Scanned::of_entry(&text)
            .map_err(|error| EncodeError::new(error.code(), error.to_string()))?;
        self.append(EntryKind::Control, MemberId::HOST, &frame, mid, 0, now);
        Ok(())
    }

    /// Whether every member that can be reached has all that was accepted, and the host the
    /// bytes of all that was put.
    pub fn is_quiet(&self) -> bool {
        self.role.relays.is_quiet()
            && self.role.judge.numbers.missing.is_empty()
            && !self.side.batch.is_durable()
    }
}

impl Role for Host {
    fn next_sequence(session: &Session<Self>) -> u64 {
        let scope = session.side.state.scope;
        session.role.judge.numbers.next(scope, MemberId::HOST)
    }

    fn takes_parts(_session: &Session<Self>) -> bool {
        // Its frames are in the log as they are; what is too large goes by reference.
        false
    }

    fn submit(session: &mut Session<Self>, frames: Frames, now: Time) -> Result<Mid, SendError> {
        let mut last = None;
        for composed in frames.frames {
            let mut mid = session.side.next_mid();
            // A member may have used it, against all custom.
            while session.role.judge.seen.get(&mid).is_some() {
                mid = session.side.next_mid();
            }
            let sequence = Self::next_sequence(session);
            let text = composed.text(&mid, sequence, None);
            let frame = Scanned::of_entry(&text)?;
            session.enter(MemberId::HOST, &frame, mid.clone(), sequence, now);
            last = Some(mid);
        }
        session.end_turn(now);
        last.ok_or(SendError::NotJoined)
    }

    fn check(session: &Session<Self>, frames: &Frames) -> Result<(), SendError> {
        let puts = Some(frames.last_put);
        for composed in &frames.frames {
            let text = composed.text(&Mid::parse("100000000001"), 1, None);
            let frame = Scanned::new(&text, session.side.options.limits)?;
            last_checks(&session.side, MemberId::HOST, &frame, puts).map_err(|refusal| {
                SendError::Refused {
                    code: refusal.code,
                    expected: refusal.expected.into_owned(),
                }
            })?;
        }
        Ok(())
    }

    fn flush(session: &mut Session<Self>, now: Time) {
        let acks: Vec<_> = session
            .role
            .relays
            .cursors
            .iter_mut()
            .filter_map(|(member, cursor)| Some((member, cursor.ack.take()?)))
            .collect();
        for (member, (mid, at)) in acks {
            let text = session.side.stamp(now).ack(Some((&mid, at)));
            session.side.send(member, text);
        }
        for member in session.role.relays.take_greetings(now) {
            session.greet(member, None, now);
        }
        for (member, piece) in std::mem::take(&mut session.role.pieces) {
            session.send_piece(member, &piece, now);
        }
        let (sends, reads) = session.role.relays.take_due(now);
        if !sends.is_empty() {
            session.side.batch.get().sends.extend(sends);
        }
        session.side.reads.extend(reads);
        let Session { side, role } = session;
        side.snapshot(|| serde_json::to_value(&role.judge.numbers).unwrap_or_default());
    }

    fn rest(session: &mut Session<Self>) {
        session.role.relays.rest();
    }

    fn next_timeout(session: &Session<Self>) -> Option<Time> {
        session.role.relays.next_timeout()
    }

    fn timeout(session: &mut Session<Self>, now: Time) {
        session.role.relays.timeout(now);
    }

    fn entries(session: &mut Session<Self>, from: u64, entries: &[Entry]) {
        session.answer_frame(from, entries);
        let sends = session.role.relays.supply(from, entries);
        if !sends.is_empty() {
            session.side.batch.get().sends.extend(sends);
        }
    }

    fn cold(session: &mut Session<Self>, key: &str, cold: Option<Cold>, now: Time) {
        let numbers = &mut session.role.judge.numbers;
        if let Some(cold) = cold.filter(|cold| cold.bytes.is_some()) {
            numbers.missing.remove(key);
            session.side.transfers.forget(key);
            session.answer_wants(&cold, now);
            return;
        }
        // The bytes are not here yet; who wants them asks again.
        session.role.serving.remove(key);
        if let Some(missing) = numbers.missing.get(key) {
            let announced = Some((missing.digest, missing.length));
            session.side.transfers.want(key, missing.from, announced);
        }
    }
}

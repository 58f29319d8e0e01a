//! Data and functions that a host and a member have in common.

pub(crate) mod fold;
mod ids;
mod schemas;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use accp_registry::{ErrorCode, Hash};

use self::fold::Schedule;
use crate::delivery::clock::Clock;
use crate::delivery::transfer::Transfers;
use crate::interface::cancel::CancelToken;
use crate::interface::event::Event;
use crate::interface::inbound::Inbound;
use crate::interface::outbound::{Outbound, SendError, asks};
use crate::interface::output::{Batch, Read, Transmit};
use crate::log::entry::{Due, Entry, EntryKind, is_for};
use crate::log::mid::{MemberId, Mid, MidSource};
use crate::options::Options;
use crate::send::encode::{Encoded, Encoder, Peer, last_put_of};
use crate::state::effect::Effect;
use crate::state::{Applied, State, chain};
use crate::wire::control::Control;
use crate::wire::link::{Hello, Link, want};
use crate::wire::relayed::Relayed;
use crate::wire::scan::Scanned;
use crate::wire::stamp::{About, Stamp};
use accp_context::Time;
use accp_frame::{AgentId, DecodeError, EncodeError, EncodeFrame, Intent};

/// The extensions of this implementation that this side understands.
pub(crate) const EXTENSIONS: [&str; 5] = ["marks", "log", "bytes", "parts", PROOF];
/// The extension by which a host vouches for its log.
pub(crate) const PROOF: &str = "proof";

/// The smallest number of cancel tokens at which unused ones are removed.
const FEW: usize = 64;

/// The next batch. It takes no memory until there is something in it.
#[derive(Debug, Default)]
pub(crate) struct Pending(Option<Box<Batch>>);

impl Pending {
    pub(crate) fn take(&mut self) -> Option<Box<Batch>> {
        self.0.take().filter(|batch| !batch.is_empty())
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.0.as_ref().is_some_and(|batch| batch.is_durable())
    }

    pub(crate) fn get(&mut self) -> &mut Batch {
        self.0.get_or_insert_default()
    }

    /// Returns `outbox_sequence` of the next batch, if the batch sets it.
    pub(crate) fn outbox_sequence(&mut self) -> Option<&mut u64> {
        self.0.as_mut()?.outbox_sequence.as_mut()
    }
}

#[derive(Debug)]
pub(crate) struct Side {
    pub options: Options,
    /// The time of the last input.
    pub clock: Clock,
    /// The hash of the registry in the options.
    pub schemas: Hash,
    pub state: State,
    pub mids: MidSource,
    /// The content of the next batch.
    pub batch: Pending,
    pub reads: VecDeque<Read>,
    /// The last position of the log on this side.
    pub position: u64,
    /// The running hash at the last relayed entry; `None` if the host does not vouch for its log.
    pub hash: Option<Hash>,
    /// The last position whose frames may have been delivered before the session was restored.
    pub again: u64,
    pub transfers: Transfers,
    /// The number of the last value that this side has put.
    pub last_put: u64,
    /// Whether the epoch of this side still has to be committed, together with its first id.
    pub owes_epoch: bool,
    /// Positions of frames that wait to be handled.
    due: BTreeSet<u64>,
    /// The requests in `due` for which the host chose this side as the taker, by id, with their positions.
    given: BTreeMap<Mid, u64>,
    /// Cancel tokens, by the chain of their frame and the chain of its cause.
    tokens: BTreeMap<[Option<Mid>; 2], CancelToken>,
    /// The number of tokens at which unused ones are removed next.
    many: usize,
    schedule: Schedule,
}

/// The key of a whole registry.
pub(crate) const ALL_SCHEMAS: &str = "reg_all";
/// The key of a whole registry that a host compares with its own registry and does not take over.
pub(crate) const COMPARED_SCHEMAS: &str = "reg_compared";

impl Side {
    pub(crate) fn new(options: Options, member: MemberId, epoch: u32, now: Time) -> Self {
        let mids = MidSource::new(member, epoch);
        let schemas = options.registry.hash();
        let transfers = Transfers::new(options.retry);
        let mut side = Self {
            options,
            clock: Clock::new(now),
            schemas,
            state: State::default(),
            batch: Pending::default(),
            reads: VecDeque::new(),
            position: 0,
            hash: None,
            again: 0,
            transfers,
            last_put: 0,
            owes_epoch: false,
            due: BTreeSet::new(),
            given: BTreeMap::new(),
            tokens: BTreeMap::new(),
            many: FEW,
            schedule: Schedule::default(),
            mids,
        };
        side.batch.get().epoch = Some(side.mids.epoch()).filter(|new| *new > epoch);
        side
    }

    /// Returns the number of this side.
    pub(crate) fn me(&self) -> MemberId {
        self.mids.member()
    }

    /// Frees the memory of empty collections. Most sessions are idle most of the time, and trees and
    /// queues would keep their memory.
    pub(crate) fn rest(&mut self, has_guests: bool) {
        if self.reads.is_empty() {
            self.reads = VecDeque::new();
        }
        if self.due.is_empty() {
            self.due = BTreeSet::new();
        }
        // A token that no handler holds is made again when it is needed. If many frames wait for handlers,
        // the tokens are searched again only when their number has doubled.
        let is_idle = self.due.is_empty() && !has_guests;
        if is_idle || self.tokens.len() >= self.many {
            self.tokens.retain(|_, token| !token.is_alone());
            self.many = FEW.max(2 * self.tokens.len());
        }
        if self.tokens.is_empty() {
            self.tokens = BTreeMap::new();
        }
        self.state.chains.rest();
        self.transfers.rest();
    }

    /// Returns whether so many frames wait to be handled that this side takes no more.
    pub(crate) fn is_busy(&self) -> bool {
        self.due.len() >= self.options.backlog
    }

    /// Returns whether an entry like this goes to the handlers of this side.
    pub(crate) fn due(
        &self,
        kind: EntryKind,
        sender: MemberId,
        to: Option<MemberId>,
        frame: &Scanned<'_>,
    ) -> Due {
        let me = self.me();
        // A request that comes back to this side before its handler has had it waits already.
        let waits = || {
            let mid = frame.mid().filter(|_| kind == EntryKind::Repeat);
            mid.is_some_and(|mid| self.given.contains_key(mid))
        };
        if is_for(me, kind, sender, to, frame.intent) && self.options.handles && !waits() {
            Due::Yes
        } else {
            Due::No
        }
    }

    /// Appends an entry to the log, and folds it unless the fold has it already.
    pub(crate) fn append(&mut self, entry: Entry, frame: &Scanned<'_>, effect: Effect) -> Applied {
        let applied = if entry.position > self.state.position {
            self.state.apply(&entry, frame, effect)
        } else {
            Applied::default()
        };
        self.position = entry.position;
        self.hash = entry.hash.or(self.hash);
        self.schedule.count(&entry);
        if entry.is_due() {
            let again = entry.position <= self.again || self.is_handed_on(&entry, frame);
            self.deliver(&entry, frame, again);
        }
        if entry.kind == EntryKind::Repeat && entry.to.is_some_and(|to| to != self.me()) {
            // Another member has the request now.
            if let Some(at) = self.given.remove(&entry.mid) {
                self.batch.get().inbound.retain(|one| one.position() != at);
                self.mark_handled(at);
            }
        }
        if applied.cancelled {
            self.fire();
        }
        if let Some(id) = applied.checkpoint {
            self.emit(Event::Checkpoint(id));
        }
        self.batch.get().entries.push(entry);
        applied
    }

    /// Returns the effect of an entry that another side has checked.
    ///
    /// # Errors
    /// When the entry cannot be read. Entries that a host has made can always be read.
    pub(crate) fn effect(
        &self,
        position: u64,
        kind: EntryKind,
        frame: &Scanned<'_>,
    ) -> Result<Effect, DecodeError> {
        if !kind.is_relayed() || kind == EntryKind::Repeat {
            return Ok(Effect::Void(kind));
        }
        // The fold that a member started from may hold the entry already. Then the entry is not
        // judged again.
        if position <= self.state.position && kind == EntryKind::Frame {
            return Ok(Effect::Frame);
        }
        let effect = Effect::of_judged(frame, &self.state.shared);
        effect.map_err(|refusal| {
            let at = refusal.at.and_then(|at| usize::try_from(at).ok());
            DecodeError::new(refusal.code, at.unwrap_or_default(), refusal.expected)
        })
    }

    /// Returns the entry of a relay, with its effect; `None` if it cannot be read.
    pub(crate) fn entry_of(
        &self,
        relayed: Relayed,
        frame: &Scanned<'_>,
        now: Time,
    ) -> Option<(Entry, Effect)> {
        let kind = match (relayed.repeat, Control::is(frame)) {
            (true, _) => EntryKind::Repeat,
            (_, true) => EntryKind::Control,
            _ => EntryKind::Frame,
        };
        let effect = self.effect(relayed.position, kind, frame).ok()?;
        // Copies of answers take no number, and neither do requests that are handed on and control frames of the host.
        let is_copy = relayed.repeat && (relayed.to.is_some() || frame.intent != Intent::REQ);
        let takes_one = !is_copy && !Control::is_host_s(frame);
        let sequence = frame.envelope.sequence.filter(|_| takes_one);
        let entry = Entry {
            position: relayed.position,
            at: now,
            kind,
            sender: relayed.sender,
            to: relayed.to,
            mid: frame.mid()?.clone(),
            sequence: sequence.unwrap_or_default(),
            tokens: relayed.tokens,
            cut: relayed.cut,
            due: self.due(kind, relayed.sender, relayed.to, frame),
            text: relayed.text,
            hash: relayed.hash,
        };
        Some((entry, effect))
    }

    /// Returns whether the entry is a request that a member had before. It may have been handled there.
    pub(crate) fn is_handed_on(&self, entry: &Entry, frame: &Scanned<'_>) -> bool {
        let is_again = entry.kind == EntryKind::Repeat && entry.to.is_some();
        is_again && self.state.chains.was_had(frame)
    }

    /// Hands a frame to the handlers of this side. `again` says that they may have had it before.
    pub(crate) fn deliver(&mut self, entry: &Entry, frame: &Scanned<'_>, again: bool) {
        self.due.insert(entry.position);
        if entry.to.is_some() && asks(frame.intent) {
            self.given.insert(entry.mid.clone(), entry.position);
        }
        let inbound = self.inbound(entry, frame, again);
        self.batch.get().inbound.push(inbound);
    }

    /// Returns a frame as a handler gets it. `again` says that the handler may have had it before.
    pub(crate) fn inbound(&mut self, entry: &Entry, frame: &Scanned<'_>, again: bool) -> Inbound {
        let chains = &self.state.chains;
        let cause = frame.aid().map(|aid| chains.chain_of(&aid).clone());
        let ids = [chain::of(frame).cloned(), cause];
        let reached = ids.iter().flatten().any(|chain| chains.reaches(chain));
        let token = self.tokens.entry(ids).or_default().clone();
        if reached {
            token.cancel();
        }
        Inbound::new(entry.position, entry.sender, entry.text.clone(), token)
            .again(again)
            .taken_at(entry.at)
    }

    /// Fires the tokens of the cancelled chains.
    pub(crate) fn fire(&mut self) {
        for (ids, token) in &self.tokens {
            if ids
                .iter()
                .flatten()
                .any(|chain| self.state.chains.reaches(chain))
            {
                token.cancel();
            }
        }
    }

    /// Returns whether the frame waits to be handled.
    pub(crate) fn waits(&self, position: u64) -> bool {
        self.due.contains(&position)
    }

    pub(crate) fn mark_handled(&mut self, position: u64) {
        if self.due.remove(&position) {
            self.given.retain(|_, at| *at != position);
            self.batch.get().handled.push(position);
        }
    }

    /// Marks the frame as lapsed, if it waits to be handled. Returns whether it did.
    pub(crate) fn mark_lapsed(&mut self, position: u64) -> bool {
        let waited = self.due.remove(&position);
        self.given.retain(|_, at| *at != position);
        if waited {
            self.batch.get().lapsed.push(position);
        }
        waited
    }

    /// Returns whether the chain of the message, or the chain of its cause, was cancelled.
    pub(crate) fn is_cancelled(&self, outbound: &Outbound<'_>) -> bool {
        let chains = &self.state.chains;
        let [chain, cause] = [&outbound.cid, &outbound.aid].map(|id| id.as_deref().map(Mid::parse));
        let below = |cause: &Mid| chains.reaches(chains.chain_of(cause));
        chain.is_some_and(|chain| chains.reaches(&chain)) || cause.as_ref().is_some_and(below)
    }

    /// Encodes a message of this agent into frames without `mid` and `seq`. Values that leave the frames belong to
    /// this side.
    pub(crate) fn encode_as(
        &self,
        agent: &AgentId<'static>,
        outbound: &Outbound<'_>,
        last_put: u64,
        peer: Peer,
        now: Time,
    ) -> Result<Encoded, SendError> {
        let (intent, operation) = outbound.kind();
        if Link::is_reserved(intent, operation) {
            return Err(SendError::Refused {
                code: ErrorCode::POLICY_DENIED,
                expected: format!(
                    "a frame of the session; {intent}:{operation} speaks about the link"
                ),
            });
        }
        if let Some(instead) = Control::instead_of(intent, operation) {
            return Err(SendError::Refused {
                code: ErrorCode::POLICY_DENIED,
                expected: format!(
                    "a frame of an application; {intent}:{operation} is about the session itself, {instead}"
                ),
            });
        }
        if outbound.addressee().is_some() && !asks(intent) {
            return Err(SendError::Refused {
                code: ErrorCode::INVALID_TYPE,
                expected: format!(
                    "a req or a qry: only these are for one agent, and {intent}:{operation} is for all"
                ),
            });
        }
        if self.is_cancelled(outbound) {
            return Err(SendError::Cancelled);
        }
        let encoder = Encoder {
            registry: &self.options.registry,
            limits: self.options.limits,
            frame_tokens: self.options.frame_tokens,
            counter: self.options.counter.as_deref().map(|counter| counter as _),
            agent,
            announcer: Some(&self.options.agent).filter(|own| *own != agent),
            session: &self.options.session,
            member: self.me(),
            last_put,
            peer,
            now,
        };
        encoder.encode(outbound)
    }

    /// Encodes messages that are sent together.
    pub(crate) fn encode_all<'o>(
        &self,
        outbound: impl IntoIterator<Item = &'o Outbound<'o>>,
        peer: Peer,
        now: Time,
    ) -> Result<Vec<Encoded>, SendError> {
        let mut all = Vec::new();
        for outbound in outbound {
            let last = last_put_of(&all, self.last_put);
            all.push(self.encode_as(&self.options.agent, outbound, last, peer, now)?);
        }
        Ok(all)
    }

    /// Keeps the values of frames that were sent, and reports the parts of a frame that are over their
    /// soft limits. `mid` is the id of the last frame.
    pub(crate) fn keep(&mut self, encoded: Vec<Encoded>, last_put: u64, mid: &Mid) {
        if last_put > self.last_put {
            self.last_put = last_put;
            self.batch.get().last_put = Some(last_put);
        }
        for encoded in encoded {
            self.batch.get().cold.extend(encoded.values);
            for (part, tokens, limit) in encoded.over_soft {
                self.emit(Event::OverSoftLimit {
                    mid: mid.clone(),
                    part,
                    tokens,
                    limit,
                });
            }
        }
    }

    pub(crate) fn stamp(&mut self, now: Time) -> Stamp<'_> {
        Stamp {
            mid: self.mids.next_link(),
            agent: &self.options.agent,
            held: self.position,
            draft: false,
            now,
        }
    }

    /// Tells the caller about an event.
    pub(crate) fn emit(&mut self, event: Event) {
        self.batch.get().events.push(event);
    }

    pub(crate) fn send(&mut self, to: MemberId, text: String) {
        self.batch.get().sends.push(Transmit { to, text });
    }

    /// Returns the `sync:registry` of this side.
    pub(crate) fn hello(&self) -> Hello {
        let registry = &self.options.registry;
        Hello {
            version: registry.version,
            hash: self.schemas.short(6),
            position: self.position,
            extensions: EXTENSIONS.iter().map(|&name| name.to_owned()).collect(),
            ..Hello::default()
        }
    }

    /// Sends a link frame. Reports a frame that could not be written, because something in it is over
    /// the limits of a frame.
    pub(crate) fn send_link(&mut self, to: MemberId, text: Result<String, EncodeError>) {
        match text {
            Ok(text) => self.send(to, text),
            Err(error) => self.emit(Event::NotWritten(error.to_string())),
        }
    }

    /// Sends a frame about the link.
    pub(crate) fn send_frame(&mut self, to: MemberId, frame: impl EncodeFrame, now: Time) {
        let text = self.stamp(now).frame(frame, About::Nothing);
        self.send_link(to, text);
    }

    /// Asks the peers for the wanted bytes.
    pub(crate) fn ask(&mut self, now: Time) {
        for (to, key, at) in self.transfers.take_due(self.clock.timers()) {
            self.send_frame(to, want(&key, at), now);
        }
    }
}

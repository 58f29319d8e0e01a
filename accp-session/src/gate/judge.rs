//! The checks of a frame, in their order, and what the host remembers for them.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use accp_registry::{ErrorCode, Hash};
use serde::{Deserialize, Serialize};

use crate::gate::scan::Scanned;
use crate::gate::seen::{Place, SeenSet};
use crate::log::by_member::ByMember;
use crate::options::{Rules, Scope};
use crate::refs::reference;
use crate::side::Side;
use crate::wire::control;
use crate::wire::control::Control;
use crate::{
    Entry, EntryKind, Groups, MemberId, Mid, Part, ReadError, Reference, Seen, SharedState,
    StateError, StateUpdate, Target, Time,
};
use accp_frame::{DecodeError, DecodeOptions, Intent};

/// Refusals that are remembered of one member.
const REFUSED: usize = 256;
/// Pairs of the metadata that only a host writes.
const RESERVED: [&str; 5] = ["pos", "prev", "tok", "cut", "by"];

/// What the host remembers of message ids and numbers.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    pub seen: SeenSet,
    pub numbers: Numbers,
}

/// The numbers of a session, as a snapshot keeps them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Numbers {
    /// The last `seq` of all senders, with shared numbering.
    shared: u64,
    senders: ByMember<Sender>,
    /// Values that members have announced and whose bytes are not here yet.
    pub(crate) missing: BTreeMap<String, Missing>,
    /// Frames that have come in part.
    pub(crate) groups: Groups,
}

/// A value that has to be fetched from the member that put it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Missing {
    pub from: MemberId,
    pub digest: Hash,
    pub length: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Sender {
    /// The last `seq` that was consumed, and by which frame.
    last: u64,
    last_mid: Option<Mid>,
    /// What was refused for good, the newest last.
    refused: VecDeque<(Mid, u16)>,
}

/// A refusal, as the sender of the frame is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub code: ErrorCode,
    pub expected: Cow<'static, str>,
    pub at: Option<u64>,
    pub expected_sequence: Option<u64>,
    pub version: Option<u64>,
    pub held: Option<Place>,
}

/// What to do with a frame.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// It takes its place, silently.
    Drop,
    /// Nothing changes and nothing is said.
    Ignore,
    Refuse(Refusal),
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, expected: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            expected: expected.into(),
            at: None,
            expected_sequence: None,
            version: None,
            held: None,
        }
    }

    /// Whether the frame can never be accepted: its sender gives it up, and so must no copy
    /// of it be that is under way still.
    pub(crate) fn is_for_good(&self) -> bool {
        self.code != ErrorCode::DUPLICATE && !self.code.is_retryable().unwrap_or(false)
    }
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        Self {
            at: Some(error.at() as u64),
            ..Self::new(error.code(), String::from(error.expected()))
        }
    }
}

impl Numbers {
    fn sender(&mut self, member: MemberId) -> &mut Sender {
        self.senders.or_insert_with(member, Sender::default)
    }

    /// The number that is due from this member.
    pub(crate) fn next(&self, scope: Scope, member: MemberId) -> u64 {
        1 + match scope {
            Scope::Shared => self.shared,
            Scope::Sender => self.senders.get(member).map_or(0, |sender| sender.last),
        }
    }

    /// The last frame of this member that was consumed.
    pub(crate) fn last(&self, member: MemberId) -> Option<(&Mid, u64)> {
        let sender = self.senders.get(member)?;
        Some((sender.last_mid.as_ref()?, sender.last))
    }

    fn refused(&self, member: MemberId, mid: &Mid) -> Option<ErrorCode> {
        let refused = &self.senders.get(member)?.refused;
        let (_, code) = refused.iter().rev().find(|(refused, _)| refused == mid)?;
        ErrorCode::new(*code)
    }
}

impl Judge {
    /// Takes an entry into account: what it consumed, or that it was refused.
    pub(crate) fn fold(&mut self, entry: &Entry) {
        match entry.kind {
            // It goes by numbers that were counted already, or by none.
            EntryKind::Control | EntryKind::Frame if entry.sequence == 0 => {}
            EntryKind::Refused(code) => {
                let refused = &mut self.numbers.sender(entry.sender).refused;
                if refused.len() == REFUSED {
                    refused.pop_front();
                }
                refused.push_back((entry.mid.clone(), code.number()));
            }
            kind => {
                let place = Place {
                    sender: entry.sender,
                    sequence: entry.sequence,
                    dropped: kind == EntryKind::Dropped,
                };
                self.seen.insert(&entry.mid, place);
                self.numbers.shared = self.numbers.shared.max(entry.sequence);
                let sender = self.numbers.sender(entry.sender);
                sender.last = entry.sequence;
                sender.last_mid = Some(entry.mid.clone());
            }
        }
    }

    /// Takes an entry into account that was kept: what it announces, and what it is a part
    /// of.
    pub(crate) fn fold_text(&mut self, entry: &Entry, rules: &Rules) {
        let has_effect = [EntryKind::Control, EntryKind::Part, EntryKind::Dropped];
        if !has_effect.contains(&entry.kind) {
            return;
        }
        let Ok(frame) = Scanned::of_entry(&entry.text) else {
            return;
        };
        if let Ok(Some(part)) = Part::read(&frame.envelope, frame.end) {
            let groups = &mut self.numbers.groups;
            if entry.kind == EntryKind::Dropped {
                groups.forget(entry.sender, &part.of);
            } else {
                // What the last part led to is an entry of its own.
                let _ = groups.accept(entry.sender, &part, frame.text, entry.at, &rules.groups);
            }
            return;
        }
        match Control::read(&frame) {
            Ok(Control::Put { values }) => self.note_puts(entry.sender, &values),
            Ok(Control::Expire { keys }) => {
                for key in &keys {
                    self.numbers.missing.remove(key);
                }
            }
            _ => {}
        }
    }

    /// Notes the values that a member announces.
    pub(crate) fn note_puts(&mut self, from: MemberId, values: &[(String, Hash, u64)]) {
        for (key, digest, length) in values.iter().filter(|_| from != MemberId::HOST) {
            let missing = Missing {
                from,
                digest: *digest,
                length: *length,
            };
            self.numbers.missing.insert(key.clone(), missing);
        }
    }

    /// Whether the id was consumed, or refused for good.
    pub(crate) fn knows(&self, from: MemberId, mid: &Mid) -> bool {
        self.seen.get(mid).is_some() || self.numbers.refused(from, mid).is_some()
    }

    pub(crate) fn restore_seen(&mut self, seen: &[Seen]) {
        self.seen = SeenSet::from_stored(seen);
    }

    /// The checks that need no schema, in the order that keeps a frame from being consumed
    /// twice or out of turn: who speaks, the envelope, the id, the number; then, silently,
    /// whether it comes too late.
    pub(crate) fn first_checks(
        &self,
        side: &Side,
        rules: &Rules,
        from: MemberId,
        frame: &Scanned<'_>,
        now: Time,
    ) -> Result<(Mid, u64), Ruling> {
        let refuse = |refusal| Err(Ruling::Refuse(refusal));
        if let Some(refusal) = speaker(side, from, frame) {
            return refuse(refusal);
        }
        let (mid, sequence) = match envelope(rules, frame, now) {
            Ok(ids) => ids,
            Err(refusal) => return refuse(refusal),
        };
        if let Some(place) = self.seen.get(&mid) {
            // Whoever asks after a dropped frame must learn nothing.
            return Err(match place {
                Place { dropped: true, .. } => Ruling::Ignore,
                place => Ruling::Refuse(Refusal {
                    held: Some(place),
                    ..Refusal::new(
                        ErrorCode::DUPLICATE,
                        "a message id that was not used before",
                    )
                }),
            });
        }
        if let Some(code) = self.numbers.refused(from, &mid) {
            let expected = "another frame: this one was refused before";
            return refuse(Refusal::new(code, expected));
        }
        let next = self.numbers.next(side.state.scope, from);
        if sequence != next {
            return refuse(Refusal {
                expected_sequence: Some(next),
                ..Refusal::new(ErrorCode::SEQUENCE_GAP, "the next sequence number")
            });
        }
        let expired = has_expired(rules, frame, now);
        let cancelled = side.state.chains.is_cancelled(frame);
        if expired | cancelled {
            return Err(Ruling::Drop);
        }
        Ok((mid, sequence))
    }
}

fn speaker(side: &Side, from: MemberId, frame: &Scanned<'_>) -> Option<Refusal> {
    let party = side.state.members.get(from).filter(|party| party.present);
    let speaks = party.is_some_and(|party| party.agents.iter().any(|a| a == frame.header.agent));
    if !speaks {
        let expected = "an agent that this member speaks for";
        return Some(Refusal::new(ErrorCode::POLICY_DENIED, expected));
    }
    let foreign = frame.envelope.session_id.as_deref();
    if foreign.is_some_and(|sid| sid != side.options.session) {
        let expected = "the session of this connection";
        return Some(Refusal::new(ErrorCode::UNAUTHORIZED_REF, expected));
    }
    if Control::is_host_s(frame) {
        let expected = "an operation that is not the host's own";
        return Some(Refusal::new(ErrorCode::POLICY_DENIED, expected));
    }
    None
}

fn envelope(rules: &Rules, frame: &Scanned<'_>, now: Time) -> Result<(Mid, u64), Refusal> {
    let shape = |expected: &'static str| Refusal::new(ErrorCode::PARSE_ERROR, expected);
    let wrong = |expected: &'static str| Refusal::new(ErrorCode::INVALID_TYPE, expected);
    let mid = frame.mid().cloned().ok_or_else(|| shape("a mid"))?;
    if !mid.is_hex() && !rules.any_mid {
        return Err(shape("a mid of 12 hexadecimal digits"));
    }
    let sequence = frame.envelope.sequence;
    let sequence = sequence.ok_or_else(|| shape("a seq, an integer from 1"))?;
    if RESERVED
        .iter()
        .any(|key| frame.envelope.extra.get(key).is_some())
    {
        return Err(shape(
            "none of pos, prev, tok, cut and by, which a host adds",
        ));
    }
    let ts = frame.envelope.timestamp;
    if frame.envelope.ttl.is_some_and(|ttl| ttl < 0) {
        return Err(wrong("a ttl of 0 or more seconds"));
    }
    if frame.envelope.ttl.is_some_and(|ttl| ttl > 0) && ts.is_none() {
        return Err(wrong("a ts beside the ttl"));
    }
    let latest = (now + rules.skew).as_secs();
    if ts.is_some_and(|ts| ts > latest) {
        return Err(wrong("a ts that is not in the future"));
    }
    Ok((mid, sequence))
}

/// `ttl > 0` and `ts + ttl < now - skew`.
fn has_expired(rules: &Rules, frame: &Scanned<'_>, now: Time) -> bool {
    let (ts, ttl) = (frame.envelope.timestamp, frame.envelope.ttl);
    let ttl = ttl.unwrap_or(0);
    let end = ts.unwrap_or(i64::MAX).saturating_add(ttl);
    let skew = i64::try_from(rules.skew.as_secs()).unwrap_or(i64::MAX);
    (ttl > 0) & (end < now.as_secs().saturating_sub(skew))
}

/// The checks that need to know what the frame says, of one that is in its turn.
///
/// `own_puts` is the number of the last value that is announced together with the frame,
/// when that is one of this side's own.
pub(crate) fn last_checks(
    side: &Side,
    from: MemberId,
    frame: &Scanned<'_>,
    own_puts: Option<u64>,
) -> Result<(), Refusal> {
    let options = DecodeOptions {
        limits: side.options.limits,
        marks: true,
    };
    frame.sound().check(&side.options.registry, &options)?;
    references(side, from, frame, own_puts)?;
    match frame.intent {
        Intent::CANCEL => may_cancel(side, from, frame),
        // The host numbers its own as it makes them.
        Intent::SYNC if frame.header.operation == "put" && from != MemberId::HOST => {
            puts(side, from, frame)
        }
        Intent::SYNC if frame.header.operation == "state" => delta(side, frame),
        _ => Ok(()),
    }
}

fn may_cancel(side: &Side, from: MemberId, frame: &Scanned<'_>) -> Result<(), Refusal> {
    let Some(cid) = frame.cid() else {
        let expected = "the cid of the chain to cancel";
        return Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
    };
    let supervises = side
        .state
        .members
        .get(from)
        .is_some_and(|party| party.supervisor);
    let starter = side.state.chains.starter(cid);
    // Of a chain that is not open, the id may tell whose it is, or will be.
    let owner = starter.or_else(|| {
        cid.maker()
            .filter(|maker| side.state.members.get(*maker).is_some())
    });
    if from == MemberId::HOST || supervises || owner.is_none_or(|owner| owner == from) {
        return Ok(());
    }
    let expected = "a cancellation by who started the chain, the host or a supervisor";
    Err(Refusal::new(ErrorCode::POLICY_DENIED, expected))
}

/// A member numbers its values from 1, without a gap, so that a key is used once.
fn puts(side: &Side, from: MemberId, frame: &Scanned<'_>) -> Result<(), Refusal> {
    let Control::Put { values } = Control::read(frame)? else {
        return Ok(());
    };
    let last = side.state.puts.get(from).copied().unwrap_or_default();
    for (number, (key, _, _)) in (last + 1..).zip(&values) {
        if control::put_key(key) != Some((from, number)) {
            let expected = format!("the key k{from}_{number}");
            return Err(Refusal::new(ErrorCode::POLICY_DENIED, expected));
        }
    }
    Ok(())
}

fn delta(side: &Side, frame: &Scanned<'_>) -> Result<(), Refusal> {
    let update = StateUpdate::decode(frame.text)?;
    let mut shared = side.state.shared.clone();
    shared
        .apply(update, SharedState::MAX_BYTES)
        .map_err(|error| Refusal {
            version: match error {
                StateError::Version { held, .. } => Some(held),
                _ => None,
            },
            ..Refusal::new(error.code(), error.text())
        })
}

/// References are carried, and resolved when they are read; here it only counts that they
/// lead somewhere and that they may be followed.
fn references(
    side: &Side,
    from: MemberId,
    frame: &Scanned<'_>,
    own_puts: Option<u64>,
) -> Result<(), Refusal> {
    let own = own_puts.map(|last| (from, last));
    for key in reference::references(frame.head()) {
        let Some(reference) = Reference::parse(key) else {
            continue;
        };
        if let Err(error) = side.state.locate_with(&reference, own) {
            // What a path finds in a checkpoint is a matter of reading.
            if matches!(reference.target, Target::Warm(id) if side.state.has_checkpoint(id)) {
                continue;
            }
            let expected = match error {
                ReadError::NotFound => "a reference to something that the session holds",
                ReadError::Expired => "a reference to something that has not expired",
                ReadError::Unauthorized => "a reference to this session, or to one that granted it",
            };
            return Err(Refusal::new(error.code(), expected));
        }
    }
    Ok(())
}

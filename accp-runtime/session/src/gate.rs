//! The checks of a frame, in order, before the frame takes its place in the log.
//!
//! The host checks the speaker, the envelope, the message id and the `seq`. Then it silently drops
//! a frame that comes too late or belongs to a cancelled chain. That order keeps a frame from being
//! consumed twice or out of turn. The host checks the content last ([`content`]), and a frame that
//! passes becomes an [`Effect`](crate::state::effect::Effect).

pub(crate) mod address;
pub(crate) mod content;
pub(crate) mod envelope;
pub(crate) mod numbers;
pub(crate) mod profile;
pub(crate) mod summary;
pub(crate) mod transactions;
pub(crate) mod verbatim;

use accp_frame::Registry;
use accp_registry::{ErrorCode, Hash};

use crate::delivery::parts::Part;
use crate::gate::envelope::{ids, is_not_early};
use crate::gate::numbers::{Missing, Numbers};
use crate::gate::summary::WantedSummary;
use crate::log::entry::{Entry, EntryKind};
use crate::log::mid::{MemberId, Mid};
use crate::options::{Rules, ValueLimits};
use crate::side::Side;
use crate::state::State;
use crate::state::seen::{ConsumedId, SeenSet};
use crate::wire::control::Control;
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_context::Time;

/// The greatest number of chain names that the host remembers of each member. Message ids do not
/// count.
const NAMES: usize = 1024;

/// The message ids and numbers that the host remembers, and the limits for values.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub values: ValueLimits,
    pub seen: SeenSet,
    pub numbers: Numbers,
}

impl Gate {
    /// Does the checks that need no schema. Returns the id and the `seq` of a frame whose turn it is.
    pub(crate) fn first_checks(
        &self,
        side: &Side,
        rules: &Rules,
        from: MemberId,
        frame: &Scanned<'_>,
        now: Time,
    ) -> Result<(Mid, u64), Ruling> {
        let place = frame.mid().and_then(|mid| self.seen.get(mid));
        if let Some(place) = place.filter(|place| place.sender == from) {
            return Err(again(place));
        }
        speaker(side, from, frame)?;
        let (mid, sequence) = ids(rules, frame)?;
        // An id in the range of a member belongs to that member even before it is used. So the host
        // refuses a frame of another sender under this id, and does not remember that frame.
        let is_taken =
            |owner: &MemberId| *owner != from && side.state.members.get(*owner).is_some();
        if let Some(owner) = mid.maker().filter(is_taken) {
            return Err(Refusal::foreign(owner).into());
        }
        if let Some(place) = place {
            return Err(again(place));
        }
        if let Some(code) = self.numbers.refused(from, &mid) {
            let expected = "another frame: this one was refused before";
            return Err(Refusal::new(code, expected).into());
        }
        let next = self.numbers.next(side.state.scope, from);
        if sequence != next {
            return Err(Refusal::out_of_turn(next).into());
        }
        is_not_early(rules, frame, now)?;
        // If a member has announced many values and not sent their bytes, the host ignores its
        // control frames until some of the bytes arrive.
        if Control::is(frame) && self.numbers.missing_of(from) >= rules.values.missing {
            return Err(Ruling::Ignore);
        }
        let expired = frame.has_expired(rules.skew, now);
        let chains = &side.state.chains;
        // The host does not look up the chain of an expired frame: the time that this takes would
        // reveal the depth of the chain.
        let (is_dropped, looks) = if expired {
            (true, 0)
        } else {
            chains.look_up(frame)
        };
        if is_dropped {
            chains.look_on(frame, looks);
            return Err(Ruling::Drop);
        }
        Ok((mid, sequence))
    }

    /// Returns the member that the chain with this name belongs to. A message id that no accepted frame has used
    /// belongs to the member whose generator makes such ids. `None` for any other name that no accepted frame has used,
    /// or that was forgotten.
    pub(crate) fn owner(&self, chain: &Mid) -> Option<MemberId> {
        let started = self.seen.get(chain).filter(|place| !place.dropped);
        started
            .map(|place| place.sender)
            .or_else(|| chain.maker())
            .or_else(|| self.numbers.names.owner(chain))
    }

    /// Returns the last epoch among the consumed and the refused ids of a member. The host accepts no other frame
    /// under these ids, so the member must not make them again. Other members may have used ids of its range before
    /// the member joined. Such ids count only in the lower half of the range, so that nobody can use up the ids of
    /// another member.
    pub(crate) fn last_epoch(&self, member: MemberId) -> Option<u32> {
        let ids = member.ids();
        let middle = ids.start().midpoint(*ids.end());
        let is_own = |id: &u64| {
            let place = self.seen.get(&Mid::parse(&id.to_string()));
            place.is_some_and(|place| place.sender == member)
        };
        let last = self.seen.last_within(ids.clone()).filter(is_own);
        let last = last.or_else(|| self.seen.last_within(*ids.start()..=middle));
        let last = last.map(|id| member.epoch_of(id));
        last.max(self.numbers.last_refused_epoch(member))
    }

    /// Takes the id of an entry into the set of consumed ids.
    pub(crate) fn see(&mut self, entry: &Entry) {
        let is_seen = !matches!(entry.kind, EntryKind::Refused(_)) && entry.sequence > 0;
        if is_seen {
            let place = ConsumedId {
                sender: entry.sender,
                sequence: entry.sequence,
                dropped: entry.kind == EntryKind::Dropped,
            };
            self.seen.insert(&entry.mid, place);
        }
    }

    /// Takes an entry into account: the `seq` that it consumed, or its refusal, and the name of its
    /// chain.
    pub(crate) fn fold(&mut self, registry: &Registry, entry: &Entry, frame: &Scanned<'_>) {
        self.numbers.transactions.fold(registry, entry, frame);
        self.numbers.streams.fold(registry, entry, frame);
        if let (EntryKind::Frame, Some(chain)) = (entry.kind, frame.cid())
            && self.owner(chain).is_none()
        {
            let names = &mut self.numbers.names;
            names.bind(chain, entry.sender, NAMES);
        }
        match entry.kind {
            // The entry took no `seq`, or only its parts took numbers.
            EntryKind::Control | EntryKind::Frame | EntryKind::Repeat if entry.sequence == 0 => {}
            EntryKind::Lost => {}
            EntryKind::Refused(code) => self.numbers.refuse(entry.sender, &entry.mid, code),
            _ => {
                let numbers = &mut self.numbers;
                numbers.consume(entry.sender, &entry.mid, entry.sequence);
            }
        }
        if matches!(entry.kind, EntryKind::Refused(_) | EntryKind::Dropped) {
            self.end_parts(entry, frame);
        }
    }

    /// Forgets the parts of a frame that can never be whole, because one part was refused or dropped. The sender
    /// gives up the other parts, too, but the first part may still be under way.
    fn end_parts(&mut self, entry: &Entry, frame: &Scanned<'_>) {
        let Ok(Some(part)) = Part::of(frame) else {
            return;
        };
        let (sender, of) = (entry.sender, &part.of);
        self.numbers.groups.forget(sender, of);
        if let EntryKind::Refused(code) = entry.kind
            && !of.is_too_long()
            && !self.knows(sender, of)
        {
            self.numbers.remember(sender, of, code);
        }
    }

    /// Takes the text of a part into account when a host starts again. The whole frame is an entry
    /// of its own.
    pub(crate) fn fold_part(&mut self, entry: &Entry, frame: &Scanned<'_>, rules: &Rules) {
        let Ok(Some(part)) = Part::of(frame) else {
            return;
        };
        let groups = &mut self.numbers.groups;
        let mut take = || groups.accept(entry.sender, &part, frame.text, entry.at, &rules.groups);
        if entry.kind == EntryKind::Part && take().is_err() {
            groups.forget(entry.sender, &part.of);
        }
    }

    /// Notes the values that a member announces. The host fetches their bytes.
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

    /// Takes a control entry into account when a host starts again, or takes a checkpoint. `before`
    /// is the state without the entry.
    pub(crate) fn fold_control(
        &mut self,
        from: MemberId,
        control: &Control,
        before: &State,
        rules: &Rules,
    ) {
        match control {
            Control::Put { values } => self.note_puts(from, values),
            Control::Expire { keys } => {
                for key in keys {
                    self.numbers.missing.remove(key);
                }
            }
            Control::Join { member, .. } if !before.is_in(*member) => self.numbers.joins(*member),
            Control::Checkpoint(checkpoint) => {
                let wanted = rules
                    .late_summaries
                    .then(|| WantedSummary::of(checkpoint, before));
                self.numbers.summary = wanted.flatten();
            }
            _ => {}
        }
    }

    /// Returns whether the id was consumed, or refused for good.
    pub(crate) fn knows(&self, from: MemberId, mid: &Mid) -> bool {
        self.seen.get(mid).is_some() || self.numbers.refused(from, mid).is_some()
    }

    /// Returns whether the log has a frame of this member; `None` if the frame took no number.
    pub(crate) fn has(&self, member: MemberId, mid: &Mid) -> Option<bool> {
        let place = self.seen.get(mid);
        let place = place.filter(|place| place.sender == member)?;
        Some(!place.dropped)
    }
}

/// A ruling on a frame.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// The frame consumes its `seq` and gets an entry, but no answer.
    Drop,
    /// Nothing changes, and the host sends nothing. The sender may send the frame again.
    Ignore,
    /// Nothing changes, and the host sends nothing: it has dropped the frame before.
    Again,
    Refuse(Refusal),
}

impl From<Refusal> for Ruling {
    fn from(refusal: Refusal) -> Self {
        Self::Refuse(refusal)
    }
}

/// Returns the ruling on an id that was consumed before. A sender that repeats a dropped frame learns
/// nothing from the answer.
fn again(place: ConsumedId) -> Ruling {
    if place.dropped {
        Ruling::Again
    } else {
        Ruling::Refuse(Refusal::duplicate(place.sender, place.sequence))
    }
}

fn speaker(side: &Side, from: MemberId, frame: &Scanned<'_>) -> Result<(), Refusal> {
    let party = side.state.members.get(from).filter(|party| party.present);
    let speaks = party.is_some_and(|party| party.agents.iter().any(|a| a == frame.header.agent));
    if !speaks {
        let expected = "an agent that this member speaks for";
        return Err(Refusal::new(ErrorCode::POLICY_DENIED, expected));
    }
    let foreign = frame.envelope.session_id.as_deref();
    if foreign.is_some_and(|sid| sid != side.options.session) {
        let expected = "the session of this connection";
        return Err(Refusal::new(ErrorCode::UNAUTHORIZED_REF, expected));
    }
    if Control::is_host_s(frame) {
        let expected = "an operation that is not the host's own";
        return Err(Refusal::new(ErrorCode::POLICY_DENIED, expected));
    }
    Ok(())
}

//! The checks of a frame, in their order, before it takes its place in the log.
//!
//! Who speaks, the envelope, the message id, the number; then, silently, whether the frame
//! comes too late or belongs to a cancelled chain. That order keeps a frame from being
//! consumed twice or out of turn. What the frame says is checked last
//! ([`content`]), and what passes is an [`Effect`](crate::log::effect::Effect).

pub(crate) mod content;
pub(crate) mod envelope;
pub(crate) mod numbers;
pub(crate) mod refusal;
pub(crate) mod seen;

use accp_registry::{ErrorCode, Hash};

use crate::gate::envelope::{has_expired, ids};
use crate::gate::numbers::{Missing, Numbers};
use crate::gate::refusal::{Refusal, Ruling};
use crate::gate::seen::{Place, SeenSet};
use crate::options::Rules;
use crate::side::Side;
use crate::wire::control::Control;
use crate::wire::scan::Scanned;
use crate::{Entry, EntryKind, MemberId, Mid, Part, Seen, Time};

/// What the host remembers of message ids and numbers.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub seen: SeenSet,
    pub numbers: Numbers,
}

impl Gate {
    /// The checks that need no schema; the id and the number of a frame that is in its turn.
    pub(crate) fn first_checks(
        &self,
        side: &Side,
        rules: &Rules,
        from: MemberId,
        frame: &Scanned<'_>,
        now: Time,
    ) -> Result<(Mid, u64), Ruling> {
        speaker(side, from, frame)?;
        let (mid, sequence) = ids(rules, frame, now)?;
        if let Some(place) = self.seen.get(&mid) {
            // Whoever asks after a dropped frame must learn nothing.
            return Err(if place.dropped {
                Ruling::Ignore
            } else {
                Ruling::Refuse(Refusal::duplicate(place))
            });
        }
        if let Some(code) = self.numbers.refused(from, &mid) {
            let expected = "another frame: this one was refused before";
            return Err(Refusal::new(code, expected).into());
        }
        let next = self.numbers.next(side.state.scope, from);
        if sequence != next {
            return Err(Refusal::out_of_turn(next).into());
        }
        let expired = has_expired(rules, frame, now);
        let cancelled = side.state.chains.is_cancelled(frame);
        if expired | cancelled {
            return Err(Ruling::Drop);
        }
        Ok((mid, sequence))
    }

    /// Takes an entry into account: what it consumed, or that it was refused.
    pub(crate) fn fold(&mut self, entry: &Entry) {
        match entry.kind {
            // It goes by numbers that were counted already, or by none.
            EntryKind::Control | EntryKind::Frame if entry.sequence == 0 => {}
            EntryKind::Refused(code) => self.numbers.refuse(entry.sender, &entry.mid, code),
            kind => {
                let place = Place {
                    sender: entry.sender,
                    sequence: entry.sequence,
                    dropped: kind == EntryKind::Dropped,
                };
                self.seen.insert(&entry.mid, place);
                self.numbers
                    .consume(entry.sender, &entry.mid, entry.sequence);
            }
        }
    }

    /// Takes the text of an entry into account, when a host starts again: what it is a part
    /// of. What a part led to is an entry of its own.
    pub(crate) fn fold_part(&mut self, entry: &Entry, frame: &Scanned<'_>, rules: &Rules) {
        let Ok(Some(part)) = Part::read(&frame.envelope, frame.end) else {
            return;
        };
        let groups = &mut self.numbers.groups;
        let (sender, limits) = (entry.sender, &rules.groups);
        let is_taken = entry.kind == EntryKind::Part
            && groups
                .accept(sender, &part, frame.text, entry.at, limits)
                .is_ok();
        if !is_taken {
            // A part that was dropped, or that no longer fits: the frame can never be whole.
            groups.forget(sender, &part.of);
        }
    }

    /// Notes the values that a member announces, whose bytes are fetched.
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

    /// Takes into account what a control entry says, when a host starts again.
    pub(crate) fn fold_control(&mut self, from: MemberId, control: &Control) {
        match control {
            Control::Put { values } => self.note_puts(from, values),
            Control::Expire { keys } => {
                for key in keys {
                    self.numbers.missing.remove(key);
                }
            }
            _ => {}
        }
    }

    /// Whether the id was consumed, or refused for good.
    pub(crate) fn knows(&self, from: MemberId, mid: &Mid) -> bool {
        self.seen.get(mid).is_some() || self.numbers.refused(from, mid).is_some()
    }

    pub(crate) fn restore_seen(&mut self, seen: &[Seen]) {
        self.seen = SeenSet::from_stored(seen);
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

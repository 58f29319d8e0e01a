//! Checks of the content of a frame whose turn it is.

use accp_frame::{DecodeOptions, Intent};
use accp_registry::{ErrorCode, Hash};

use crate::gate::{Gate, address, profile};
use crate::log::entry::EntryKind;
use crate::log::mid::MemberId;
use crate::options::ValueLimits;
use crate::reference::{Reference, Target, references};
use crate::side::Side;
use crate::state::effect::Effect;
use crate::state::locate::ReadError;
use crate::state::puts::Puts;
use crate::state::shared::StateError;
use crate::wire::control::{Control, put_key};
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;

/// The greatest number of versions that a full state may skip. So no member can use up the versions.
const FURTHEST: u64 = 1_000_000;
/// The greatest number of values in an announcement.
const ANNOUNCED: usize = 64;

/// A frame that has passed the checks.
#[derive(Debug)]
pub(crate) struct Checked {
    pub effect: Effect,
    /// The member that the frame is for; `None` if it is for all.
    pub to: Option<MemberId>,
}

impl From<Effect> for Checked {
    fn from(effect: Effect) -> Self {
        Self { effect, to: None }
    }
}

/// Returns the effect of the frame on the session, and the member that it is for, if the frame passes the checks.
///
/// For a frame of this side or of a guest, `own_puts` is the member that announces values together
/// with the frame, and the number of the last value.
pub(crate) fn check(
    side: &Side,
    gate: &Gate,
    from: MemberId,
    frame: &Scanned<'_>,
    own_puts: Option<(MemberId, u64)>,
) -> Result<Checked, Refusal> {
    let options = DecodeOptions {
        limits: side.options.limits,
        marks: true,
    };
    frame.checked().check(&side.options.registry, &options)?;
    check_references(side, frame, own_puts)?;
    if frame.intent == Intent::CANCEL {
        may_cancel(side, gate, from, frame)?;
    }
    let (registry, chains) = (&side.options.registry, &side.state.chains);
    let answers = side.options.handles;
    let to = address::addressee(registry, &side.state, answers, from, frame)?;
    address::may_answer(&side.state, from, frame)?;
    profile::check(registry, &gate.numbers.streams, from, frame)?;
    let transactions = &gate.numbers.transactions;
    if transactions.is_repeat(registry, chains, from, frame)? {
        return Ok(Effect::Void(EntryKind::Repeat).into());
    }
    let effect = Effect::of(frame, &side.state.shared)?;
    if let Effect::State(change) = &effect {
        let (held, offered) = (side.state.shared.version(), change.version);
        if offered.saturating_sub(held) > FURTHEST {
            return Err(StateError::Version { held, offered }.into());
        }
    }
    // The host numbers its own values when it makes them, so only those of members are checked.
    if let Effect::Control(Control::Put { values }) = &effect
        && from != MemberId::HOST
    {
        puts(side, &gate.values, from, values)?;
    }
    Ok(Checked { effect, to })
}

fn may_cancel(
    side: &Side,
    gate: &Gate,
    from: MemberId,
    frame: &Scanned<'_>,
) -> Result<(), Refusal> {
    let Some(cid) = frame.cid() else {
        let expected = "the cid of the chain to cancel";
        return Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
    };
    let party = side.state.members.get(from);
    let supervises = party.is_some_and(|party| party.supervisor);
    let owner = gate.owner(cid);
    if from == MemberId::HOST || supervises || owner.is_none_or(|owner| owner == from) {
        return Ok(());
    }
    let expected = "a cancellation by who started the chain, the host or a supervisor";
    Err(Refusal::new(ErrorCode::POLICY_DENIED, expected))
}

/// Checks that a member numbers its values upwards, so that a key is used once. Numbers of an
/// announcement that was refused may be missing.
fn puts(
    side: &Side,
    limits: &ValueLimits,
    from: MemberId,
    values: &[(String, Hash, u64)],
) -> Result<(), Refusal> {
    if values.len() > ANNOUNCED {
        let expected = format!("at most {ANNOUNCED} values in an announcement");
        return Err(Refusal::new(ErrorCode::BUDGET_EXCEEDED, expected));
    }
    let puts = side.state.puts.get(from);
    let mut last = puts.map_or(0, Puts::last);
    for (key, _, length) in values {
        let number = put_key(key).filter(|(owner, _)| *owner == from);
        let Some((_, number)) = number.filter(|(_, number)| *number > last) else {
            let next = last.saturating_add(1);
            let expected = format!("the key k{from}_{next}, or one with a greater number");
            return Err(Refusal::new(ErrorCode::POLICY_DENIED, expected));
        };
        if *length > limits.bytes {
            let expected = format!("values of at most {} bytes", limits.bytes);
            return Err(Refusal::new(ErrorCode::BUDGET_EXCEEDED, expected));
        }
        last = number;
    }
    Ok(())
}

/// Checks that each reference of the frame names something that the session has, and that the frame may refer to it.
/// A reference gets its value later, when it is read.
fn check_references(
    side: &Side,
    frame: &Scanned<'_>,
    own: Option<(MemberId, u64)>,
) -> Result<(), Refusal> {
    for key in references(frame.head()) {
        let Some(reference) = Reference::parse(key) else {
            continue;
        };
        if let Err(error) = side.state.locate_with(&reference, own) {
            // The path into a checkpoint is checked when the reference is read.
            if matches!(reference.target, Target::Warm(id) if side.state.has_checkpoint(id)) {
                continue;
            }
            let expected = match error {
                ReadError::NotFound | ReadError::Unavailable => {
                    "a reference to something that the session holds"
                }
                ReadError::Expired => "a reference to something that has not expired",
                ReadError::Unauthorized => "a reference to this session, or to one that granted it",
            };
            return Err(Refusal::new(error.code(), expected));
        }
    }
    Ok(())
}

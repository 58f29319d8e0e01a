//! Checks of the content of a frame whose turn it is.

use accp_frame::{DecodeOptions, Intent};
use accp_registry::{ErrorCode, Hash};

use crate::gate::refusal::Refusal;
use crate::log::effect::Effect;
use crate::refs::reference::references;
use crate::side::Side;
use crate::wire::control::{Control, put_key};
use crate::wire::scan::Scanned;
use crate::{MemberId, ReadError, Reference, Target};

/// Returns the effect of the frame on the session, if the frame passes the checks.
///
/// For a frame of this side, `own_puts` is the number of the last value that is announced together
/// with the frame.
pub(crate) fn check(
    side: &Side,
    from: MemberId,
    frame: &Scanned<'_>,
    own_puts: Option<u64>,
) -> Result<Effect, Refusal> {
    let options = DecodeOptions {
        limits: side.options.limits,
        marks: true,
    };
    frame.sound().check(&side.options.registry, &options)?;
    check_references(side, from, frame, own_puts)?;
    if frame.intent == Intent::CANCEL {
        may_cancel(side, from, frame)?;
    }
    let effect = Effect::of(frame, &side.state.shared)?;
    // The host numbers its own values when it makes them.
    if let Effect::Control(Control::Put { values }) = &effect
        && from != MemberId::HOST
    {
        puts(side, from, values)?;
    }
    Ok(effect)
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
    // If the chain is not open, its id may name the member that started it, or will start it.
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

/// Checks that a member numbers its values from 1, without a gap, so that a key is used once.
fn puts(side: &Side, from: MemberId, values: &[(String, Hash, u64)]) -> Result<(), Refusal> {
    let last = side.state.puts.get(from).copied().unwrap_or_default();
    for (number, (key, _, _)) in (last + 1..).zip(values) {
        if put_key(key) != Some((from, number)) {
            let expected = format!("the key k{from}_{number}");
            return Err(Refusal::new(ErrorCode::POLICY_DENIED, expected));
        }
    }
    Ok(())
}

/// Checks that the references lead somewhere and may be followed. They are resolved later, when
/// they are read.
fn check_references(
    side: &Side,
    from: MemberId,
    frame: &Scanned<'_>,
    own_puts: Option<u64>,
) -> Result<(), Refusal> {
    let own = own_puts.map(|last| (from, last));
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
                ReadError::NotFound => "a reference to something that the session holds",
                ReadError::Expired => "a reference to something that has not expired",
                ReadError::Unauthorized => "a reference to this session, or to one that granted it",
            };
            return Err(Refusal::new(error.code(), expected));
        }
    }
    Ok(())
}

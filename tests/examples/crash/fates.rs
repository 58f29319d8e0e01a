//! Checks the ends of the frames that members have sent against the log.

use std::collections::BTreeSet;

use accp_runtime::session::{MemberId, Mid};
use accp_session::EntryKind;

use super::fact::Fate;
use super::world::World;

type Result<T = ()> = std::result::Result<T, String>;

/// Checks that each end that a member has reported agrees with the log.
pub(crate) fn agree(world: &World<'_>) -> Result {
    for (member, ledger) in &world.ledgers {
        for (mid, told) in &ledger.fates {
            let logged = world.log.fate(mid);
            // A frame of a cancelled chain may have been withdrawn before it went out. The chain of
            // an answer is not known here, so every answer may have been withdrawn.
            let is_request = ledger.said.values().any(|said| said == mid);
            let is_cut = world.log.is_cut(mid) || !is_request;
            let is_withdrawn = *told == Fate::Cancelled && logged.is_none() && is_cut;
            if logged != Some(*told) && !is_withdrawn {
                return Err(format!(
                    "{member} was told that {mid} is {told}, and the log says {logged:?}"
                ));
            }
        }
    }
    Ok(())
}

/// Checks that no frame of the process waits to be sent although the process has reported its end. Returns the
/// frames that have come to an end which the process has not reported. There can be such frames, because a kill may
/// lose the last lines of the process.
pub(crate) fn untold(world: &World<'_>, waiting: &BTreeSet<Mid>) -> Result<BTreeSet<Mid>> {
    let mut untold = BTreeSet::new();
    let Some(ledger) = world.ledgers.get(&world.own) else {
        return Ok(untold);
    };
    for (n, mid) in ledger.said.iter().filter(|_| world.own != MemberId::HOST) {
        match (ledger.fates.get(mid), waiting.contains(mid)) {
            (Some(fate), true) => return Err(format!("{n} is {fate} and waits to be sent")),
            (None, false) => {
                if !has_end(world, mid) {
                    return Err(format!("{n} was said, and has no end"));
                }
                untold.insert(mid.clone());
            }
            _ => {}
        }
    }
    Ok(untold)
}

/// Checks, at rest, that every frame that a member has sent has come to one end.
pub(crate) fn complete(world: &World<'_>) -> Result {
    for (member, ledger) in &world.ledgers {
        for (n, mid) in &ledger.said {
            let is_told = ledger.fates.contains_key(mid) || *member == MemberId::HOST;
            if !is_told && *member != world.own {
                return Err(format!("{member} was not told the end of {n}"));
            }
            if !has_end(world, mid) {
                return Err(format!("{n} of {member} has no end"));
            }
        }
    }
    Ok(())
}

/// Returns whether the log shows that a frame has come to an end.
fn has_end(world: &World<'_>, mid: &Mid) -> bool {
    world.log.fate(mid).is_some() || world.log.is_cut(mid)
}

/// Checks that the log has every frame that the host has dropped.
pub(crate) fn dropped(world: &World<'_>) -> Result {
    let is_dropped = |mid: &&Mid| {
        let entries = world.log.entries.iter().rev();
        let mut dropped = entries.filter(|entry| entry.kind == EntryKind::Dropped);
        dropped.any(|entry| entry.mid == **mid)
    };
    match world.told.dropped.iter().find(|mid| !is_dropped(mid)) {
        Some(mid) => Err(format!("{mid} was dropped, and the log does not say so")),
        None => Ok(()),
    }
}

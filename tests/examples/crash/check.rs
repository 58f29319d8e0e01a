//! Checks the file of the killed process against the promises that the process had sent before the kill.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::{MemberId, Mid};
use accp_session::{Entry, EntryKind, Outgoing};

use super::file::Contents;
use super::frames::{chain, is_request, number};
use super::log::Log;
use super::side::Kind;
use super::world::World;
use super::{fates, fold, values};

type Result<T = ()> = std::result::Result<T, String>;

/// Checks the rules that hold at every instant. Returns the number of values whose bytes were
/// compared.
pub(crate) fn after_a_kill(world: &mut World<'_>, contents: &Contents) -> Result<u64> {
    grown(&world.before, contents)?;
    world.copy_log(contents)?;
    match world.plan.side {
        Kind::Host => acknowledged(world)?,
        Kind::Member => copied(world, contents)?,
    }
    said(world, contents)?;
    handled(world, contents)?;
    fates::agree(world)?;
    fates::dropped(world)?;
    let waiting = waiting(contents);
    world.untold = fates::untold(world, &waiting)?;
    if contents.stored.last > 0 {
        let state = fold::state(world, contents)?;
        if state.warm().last() < world.told.checkpoint {
            let id = world.told.checkpoint;
            return Err(format!("checkpoint {id} was told and is not kept"));
        }
    }
    values::check(world, contents)
}

/// Checks the rules that hold when no side has anything left to do.
pub(crate) fn at_rest(world: &mut World<'_>, contents: &Contents) -> Result {
    let mut logs = vec![contents.entries.clone()];
    for peer in world.peers.values() {
        logs.push(world.log_of(peer.inner.driver.side())?);
    }
    if let Some(entry) = logs.iter().flatten().find(|entry| entry.is_due()) {
        return Err(format!("nobody has handled {}", entry.position));
    }
    if let Some(frame) = contents.stored.outbox.first() {
        return Err(format!("{} still waits to be sent", frame.mid));
    }
    fates::complete(world)?;
    answered(&world.log)?;
    values::complete(world, contents)?;
    let state = fold::state(world, contents)?;
    let mut peers = world.peers.values().map(|peer| &peer.inner);
    match peers.find(|peer| *peer.session().state() != state) {
        Some(peer) => Err(format!(
            "the state of {} differs from the killed side's",
            peer.driver.side()
        )),
        None => Ok(()),
    }
}

fn is_others(entry: &Entry, own: MemberId) -> bool {
    entry.kind == EntryKind::Frame && entry.sender != own
}

/// Checks that the log has kept its entries, except for those whose texts retention has deleted, and that every
/// entry that was marked as handled still is.
fn grown(before: &Contents, after: &Contents) -> Result {
    let first = before.first.max(after.first);
    let mut left = after.entries.iter();
    for before in before.entries.iter().filter(|e| e.position >= first) {
        let position = before.position;
        let Some(after) = left.find(|after| after.position == position) else {
            return Err(format!("{position} is not in the log any more"));
        };
        let mut kept = after.clone();
        // An entry that was marked as handled before must still be marked.
        if !before.is_due() {
            kept.due = before.due;
        }
        if kept != *after {
            return Err(format!("{position} has lost its mark"));
        }
        kept.due = before.due;
        if kept != *before {
            return Err(format!("{position} has changed"));
        }
    }
    Ok(())
}

/// Checks that the log has every frame that the killed host has acknowledged or relayed.
fn acknowledged(world: &World<'_>) -> Result {
    let mut told = world.told.acknowledged.iter();
    if let Some(mid) = told.find(|mid| !world.log.knows(mid)) {
        return Err(format!("{mid} was acknowledged and is not in the log"));
    }
    let log = &world.log.entries;
    let last = log.len() as u64;
    if world.told.position > last {
        return Err(format!(
            "{} was relayed, and the log ends at {last}",
            world.told.position
        ));
    }
    for peer in world.peers.values() {
        let id = peer.inner.driver.side();
        for copy in world.log_of(id)? {
            let entry = log.get(copy.position as usize - 1);
            if entry.is_none_or(|entry| entry.text != copy.text || entry.sender != copy.sender) {
                return Err(format!("{id} has another {}", copy.position));
            }
        }
    }
    Ok(())
}

/// Checks that the log of the killed member has every entry that the member has acknowledged, and that this log
/// equals the host's log without a gap.
fn copied(world: &World<'_>, contents: &Contents) -> Result {
    let last = contents.stored.last;
    if world.told.position > last {
        return Err(format!(
            "{} was acknowledged, and the log ends at {last}",
            world.told.position
        ));
    }
    let first = contents.entries.first().map_or(last + 1, |e| e.position);
    let theirs = world.log.entries.iter();
    let theirs = theirs.filter(|entry| entry.kind.is_relayed());
    let theirs = theirs.filter(|entry| (first..=last).contains(&entry.position));
    let text = |entry: &Entry| (entry.position, entry.sender, entry.text.to_string());
    if !contents.entries.iter().map(text).eq(theirs.map(text)) {
        return Err(format!("{first} to {last} differ from the log of the host"));
    }
    Ok(())
}

/// Checks that every frame that the process has reported as sent is kept exactly once. A frame of a member may also
/// have come to an end without being kept.
fn said(world: &World<'_>, contents: &Contents) -> Result {
    let words = times(world, contents, "n");
    let Some(ledger) = world.ledgers.get(&world.own) else {
        return Ok(());
    };
    for (n, mid) in &ledger.said {
        let has_ended = world.log.fate(mid).is_some() || world.log.is_cut(mid);
        match words.get(n) {
            Some(1) => {}
            None if has_ended && world.own != MemberId::HOST => {}
            None => return Err(format!("{n} was said and is not kept")),
            Some(times) => return Err(format!("{n} was said and is kept {times} times")),
        }
    }
    Ok(())
}

/// Checks that each handled request has exactly one answer and each request that is still due has none. No frame
/// that the process has reported as handled may be due. A frame that retention has deleted counts as handled.
fn handled(world: &World<'_>, contents: &Contents) -> Result {
    let replies = times(world, contents, "re");
    let due = contents.entries.iter().filter(|entry| entry.is_due());
    let due: BTreeSet<u64> = due.map(|entry| entry.position).collect();
    let told = world.ledgers.get(&world.own).map(|ledger| &ledger.handled);
    if let Some(position) = told.and_then(|told| told.intersection(&due).next()) {
        return Err(format!("{position} was handled and is due again"));
    }
    let last = contents.stored.last;
    let here = world.log.entries.iter();
    let here = here.take_while(|entry| entry.position <= last);
    for entry in here.filter(|entry| is_others(entry, world.own)) {
        let position = entry.position;
        let due = due.contains(&position);
        let chain = chain(&entry.text);
        let is_cut = chain.is_some_and(|chain| world.log.is_cut(&chain));
        if world.told.stopped.contains(&position) && !is_cut {
            return Err(format!("the handler of {position} was stopped by nobody"));
        }
        let replies = replies.get(&position).copied().unwrap_or(0);
        let is_fine = replies == u32::from(!due) || is_cut && replies == 0;
        if is_request(&entry.text) && !is_fine {
            let marked = if due { "not handled" } else { "handled" };
            return Err(format!("{position} is {marked} and has {replies} replies"));
        }
    }
    Ok(())
}

/// Counts the process's own frames for each number that they have under a key. These are the frames in the host's
/// log and the frames that wait in the outbox. All parts of a frame count as one frame.
fn times(world: &World<'_>, contents: &Contents, key: &str) -> BTreeMap<u64, u32> {
    let accepted = world.log.entries.iter();
    let accepted = accepted.filter(|entry| entry.kind == EntryKind::Frame);
    let accepted = accepted.filter(|entry| entry.sender == world.own);
    let accepted = accepted.map(|entry| (entry.mid.clone(), &*entry.text));
    let waiting = contents.stored.outbox.iter();
    let waiting = waiting.map(|frame| (name(frame), &*frame.head));
    let own = waiting.chain(accepted);
    let own = own.filter_map(|(name, text)| Some((name, number(text, key)?)));
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    for (_, number) in own.collect::<BTreeSet<_>>() {
        *times.entry(number).or_default() += 1;
    }
    times
}

/// Returns the id by which the session names a waiting frame: the id of its first part.
fn name(frame: &Outgoing) -> Mid {
    let mut pairs = frame.tail.split(',');
    let of = pairs.find_map(|pair| pair.strip_prefix("of:"));
    of.map_or_else(|| frame.mid.clone(), Mid::parse)
}

/// Returns the ids of the frames that wait in the outbox. A frame in parts has the id of its first
/// part.
fn waiting(contents: &Contents) -> BTreeSet<Mid> {
    contents.stored.outbox.iter().map(name).collect()
}

/// Checks that every side has answered each request of another side once. A request that was
/// cancelled needs no answer.
fn answered(log: &Log) -> Result {
    let mut answers: BTreeMap<(MemberId, u64), u32> = BTreeMap::new();
    let frames = || {
        let entries = log.entries.iter();
        entries.filter(|entry| entry.kind == EntryKind::Frame)
    };
    for entry in frames() {
        if let Some(re) = number(&entry.text, "re") {
            *answers.entry((entry.sender, re)).or_default() += 1;
        }
    }
    let senders: BTreeSet<MemberId> = answers.keys().map(|(sender, _)| *sender).collect();
    for entry in frames().filter(|entry| is_request(&entry.text)) {
        let is_cut = chain(&entry.text).is_some_and(|chain| log.is_cut(&chain));
        for sender in senders.iter().filter(|sender| **sender != entry.sender) {
            let times = answers.remove(&(*sender, entry.position)).unwrap_or(0);
            if times != 1 && !(is_cut && times == 0) {
                return Err(format!(
                    "{sender} has answered {} {times} times",
                    entry.position
                ));
            }
        }
    }
    match answers.first_key_value() {
        Some(((sender, position), _)) => Err(format!("{sender} has answered {position}")),
        None => Ok(()),
    }
}

//! Checks of the file of the killed process.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::{MemberId, Scope, Session};
use accp_session::{Entry, EntryKind};

use super::file::Contents;
use super::side::{AGENTS, Kind, is_request, number, options, rules, said};
use super::world::World;

type Result<T = ()> = std::result::Result<T, String>;

/// Checks the rules that hold at every instant.
pub(crate) fn after_a_kill(world: &mut World<'_>, contents: &Contents) -> Result {
    grown(&world.before.entries, &contents.entries)?;
    let log = world.host_log(contents)?;
    numbered(&log, world.plan.scope)?;
    match world.plan.side {
        Kind::Host => acknowledged(world, &log)?,
        Kind::Member => copied(world, contents, &log)?,
    }
    let own = own(world, contents, &log);
    let times = |key: &str| {
        let mut times: BTreeMap<u64, u32> = BTreeMap::new();
        for number in own.values().filter_map(|text| number(text, key)) {
            *times.entry(number).or_default() += 1;
        }
        times
    };
    let (words, replies) = (times("n"), times("re"));
    for n in &world.told.said {
        match words.get(n) {
            Some(1) => {}
            None => return Err(format!("{n} was said and is not kept")),
            Some(times) => return Err(format!("{n} was said and is kept {times} times")),
        }
    }
    for entry in contents
        .entries
        .iter()
        .filter(|entry| is_others(entry, world.own))
    {
        let Entry { position, due, .. } = *entry;
        if due && world.told.handled.contains(&position) {
            return Err(format!("{position} was handled and is due again"));
        }
        let replies = replies.get(&position).copied().unwrap_or(0);
        if is_request(&entry.text) && replies != u32::from(!due) {
            let marked = if due { "not handled" } else { "handled" };
            return Err(format!("{position} is {marked} and has {replies} replies"));
        }
    }
    Ok(())
}

/// Checks the rules that hold when no side has anything left to do.
pub(crate) fn at_rest(world: &mut World<'_>, contents: &Contents) -> Result {
    let log = world.host_log(contents)?;
    let mut logs = vec![contents.entries.clone()];
    for peer in world.peers.values() {
        logs.push(world.log_of(peer.side.driver.side())?);
    }
    if let Some(entry) = logs.iter().flatten().find(|entry| entry.due) {
        return Err(format!("nobody has handled {}", entry.position));
    }
    let mut all = world.said.clone();
    all.insert(world.own, world.told.said.clone());
    for (member, numbers) in all {
        let own = log.iter().filter(|entry| entry.sender == member);
        let found: BTreeSet<u64> = own.filter_map(said).collect();
        if let Some(n) = numbers.difference(&found).next() {
            return Err(format!("{n} of {member} is not in the log"));
        }
    }
    answered(&log)?;
    if world.plan.side == Kind::Host && contents.values.1 > 0 {
        return Err(format!("{} values have no bytes", contents.values.1));
    }
    let state = match world.plan.side {
        Kind::Host => {
            let (options, rules) = (options(AGENTS[0])?, rules(world.plan.scope));
            Session::restore_host(options, rules, &contents.stored, world.now)
                .map(|session| session.state().clone())
        }
        Kind::Member => Session::restore_member(options(AGENTS[1])?, &contents.stored, world.now)
            .map(|session| session.state().clone()),
    };
    let state = state.map_err(|error| error.to_string())?;
    let mut peers = world.peers.values().map(|peer| &peer.side);
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

/// Checks that the log has kept its entries and its marks.
fn grown(before: &[Entry], after: &[Entry]) -> Result {
    if after.len() < before.len() {
        return Err(format!(
            "of {} entries, {} are left",
            before.len(),
            after.len()
        ));
    }
    for (before, after) in before.iter().zip(after) {
        let mut kept = after.clone();
        kept.due = before.due && after.due;
        if kept != *after {
            return Err(format!("{} has lost its mark", after.position));
        }
        kept.due = before.due;
        if kept != *before {
            return Err(format!("{} has changed", before.position));
        }
    }
    Ok(())
}

/// Checks that positions and numbers have no gap, that no id comes twice, and that each sender's
/// words are in order.
fn numbered(log: &[Entry], scope: Scope) -> Result {
    let mut mids = BTreeSet::new();
    let mut numbers: BTreeMap<MemberId, u64> = BTreeMap::new();
    let mut words: BTreeMap<MemberId, u64> = BTreeMap::new();
    for (entry, position) in log.iter().zip(1..) {
        if entry.position != position {
            return Err(format!("{} stands at {position}", entry.position));
        }
        if !mids.insert(&entry.mid) {
            return Err(format!("{} is there twice", entry.mid));
        }
        if entry.sequence > 0 {
            let counted = match scope {
                Scope::Shared => MemberId::HOST,
                Scope::Sender => entry.sender,
            };
            let last = numbers.entry(counted).or_default();
            if entry.sequence != *last + 1 {
                return Err(format!("seq {} after {last}", entry.sequence));
            }
            *last += 1;
        }
        if let Some(n) = said(entry) {
            let last = words.insert(entry.sender, n).unwrap_or(0);
            if n <= last {
                return Err(format!("{n} of {} after {last}", entry.sender));
            }
        }
    }
    Ok(())
}

/// Checks that the log has every frame that the killed host has acknowledged or relayed.
fn acknowledged(world: &World<'_>, log: &[Entry]) -> Result {
    let mids: BTreeSet<_> = log.iter().map(|entry| &entry.mid).collect();
    let told = world.told.acknowledged.iter();
    if let Some(mid) = told.clone().find(|mid| !mids.contains(mid)) {
        return Err(format!("{mid} was acknowledged and is not in the log"));
    }
    let last = log.last().map_or(0, |entry| entry.position);
    if world.told.position > last {
        return Err(format!(
            "{} was relayed, and the log ends at {last}",
            world.told.position
        ));
    }
    for peer in world.peers.values() {
        let id = peer.side.driver.side();
        for copy in world.log_of(id)? {
            let entry = log.get(copy.position as usize - 1);
            if entry.is_none_or(|entry| entry.text != copy.text || entry.sender != copy.sender) {
                return Err(format!("{id} has another {}", copy.position));
            }
        }
    }
    Ok(())
}

/// Checks that the killed member's log has every entry that it has acknowledged, and that it equals
/// the host's log without a gap.
fn copied(world: &World<'_>, contents: &Contents, log: &[Entry]) -> Result {
    let last = contents.stored.last;
    if world.told.position > last {
        return Err(format!(
            "{} was acknowledged, and the log ends at {last}",
            world.told.position
        ));
    }
    let first = contents.entries.first().map_or(1, |entry| entry.position);
    let theirs = log.iter().filter(|entry| entry.kind.is_relayed());
    let theirs = theirs.filter(|entry| (first..=last).contains(&entry.position));
    let text = |entry: &Entry| (entry.position, entry.sender, entry.text.to_string());
    if !contents.entries.iter().map(text).eq(theirs.map(text)) {
        return Err(format!("{first} to {last} differ from the log of the host"));
    }
    Ok(())
}

/// Returns the frames of the process by their ids: the frames in the host's log, and the frames
/// that wait in its outbox.
fn own(world: &World<'_>, contents: &Contents, log: &[Entry]) -> BTreeMap<String, String> {
    let accepted = log.iter().filter(|entry| entry.kind == EntryKind::Frame);
    let accepted = accepted.filter(|entry| entry.sender == world.own);
    let accepted = accepted.map(|entry| (entry.mid.to_string(), entry.text.to_string()));
    let waiting = contents.stored.outbox.iter();
    let waiting = waiting.map(|frame| (frame.mid.to_string(), frame.head.clone()));
    waiting.chain(accepted).collect()
}

/// Checks that every side has answered each request of another side once.
fn answered(log: &[Entry]) -> Result {
    let mut answers: BTreeMap<(MemberId, u64), u32> = BTreeMap::new();
    for entry in log.iter().filter(|entry| entry.kind == EntryKind::Frame) {
        if let Some(re) = number(&entry.text, "re") {
            *answers.entry((entry.sender, re)).or_default() += 1;
        }
    }
    let senders: BTreeSet<MemberId> = answers.keys().map(|(sender, _)| *sender).collect();
    for entry in log.iter().filter(|entry| is_request(&entry.text)) {
        for sender in senders.iter().filter(|sender| **sender != entry.sender) {
            let times = answers.remove(&(*sender, entry.position)).unwrap_or(0);
            if times != 1 {
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

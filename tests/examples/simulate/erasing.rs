//! Erases texts from a copy of a store, at the end of a run. The chosen texts must be gone everywhere, and nothing
//! else may be gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use accp_runtime::session::{MemberId, Session};
use accp_session::{Entry, EntryKind};
use accp_store::{EraseError, ErasurePlan, ErasureRequest, Log, SideId, Store};

use super::World;
use super::disks::Disks;
use super::node::{Result, SESSION, said};
use super::rights::changes;
use super::text::{CHECKPOINT, field, head};

/// In the bytes of a file, this many of the erased frames are looked for, if they have fewer bytes than [`SHORT`].
const READ: usize = 5;
const SHORT: usize = 300;

/// The frames or the value that an erasure chooses.
struct Choice {
    request: ErasureRequest,
    sender: Option<MemberId>,
}

impl Choice {
    fn names(&self, entry: &Entry) -> bool {
        let mut ranges = self.request.positions.iter();
        self.sender == Some(entry.sender) || ranges.any(|range| range.contains(&entry.position))
    }
}

/// Returns whether a text must go if it is chosen. The host's own frames about the session may stay.
fn must_go(entry: &Entry) -> bool {
    !matches!(entry.kind, EntryKind::Control | EntryKind::Repeat)
}

/// Returns whether an erasure may remove a text that it does not choose, because the text repeats what other texts
/// contain.
fn may_go(entry: &Entry) -> bool {
    match entry.kind {
        EntryKind::Part | EntryKind::Repeat => true,
        EntryKind::Control => entry.text.contains(CHECKPOINT),
        EntryKind::Frame => entry.sequence == 0,
        _ => false,
    }
}

fn texts(store: &mut dyn Store, side: &SideId) -> Result<BTreeMap<u64, Arc<str>>> {
    let log = Log::new(store, side, 1);
    let entries = log.map(|entry| entry.map(|entry| (entry.position, entry.text)));
    entries.collect::<std::result::Result<_, _>>().map_err(said)
}

/// Returns what stands around a text, if bytes have the text.
fn found(bytes: &[u8], text: &str) -> Option<String> {
    let mut windows = bytes.windows(text.len().max(1));
    let at = windows.position(|window| window == text.as_bytes())?;
    let around = &bytes[at.saturating_sub(SHORT)..bytes.len().min(at + SHORT)];
    Some(String::from_utf8_lossy(around).into_owned())
}

impl World {
    /// Erases frames of an agent, a stretch of the log, or a value, from a copy of the store of a side.
    pub(super) fn judge_erasure(&mut self) -> Result {
        let who = self.rng.below(2) as usize;
        let has_side = self.nodes.get(who).is_some_and(|node| !node.plain);
        if !self.rng.per_mille(250) || !has_side || self.room.host.session().rolled_back().is_some()
        {
            return Ok(());
        }
        let Some(mut store) = self.disks.copy(who) else {
            return Ok(());
        };
        let choice = self.choose();
        self.erases(&mut store, &[who], &choice).map(drop)
    }

    /// Erases from the file that has the stores of all sides. The erased texts must be gone from the bytes of the
    /// file. Returns whether something was erased. Then the sessions hold more than their stores, so this must be the
    /// last use of the stores.
    pub(super) fn judge_file_erasure(&mut self) -> Result<bool> {
        // A schema that only one side knows is not in its store.
        let is_file = matches!(self.disks, Disks::Sqlite(..)) && !self.plan.brings;
        let is_stopped = self.room.host.session().rolled_back().is_some();
        if !is_file || is_stopped || !self.rng.per_mille(500) {
            return Ok(false);
        }
        let sides: Vec<_> = (0..self.nodes.len())
            .filter(|who| !self.nodes[*who].plain)
            .collect();
        let choice = self.choose();
        let mut store = Arc::clone(&self.room.host.store);
        let Some(gone) = self.erases(&mut store, &sides, &choice)? else {
            return Ok(false);
        };
        for who in &sides {
            let side = SideId::new(SESSION, self.nodes[*who].agent);
            store
                .verify(&side)
                .map_err(|error| format!("{side} after an erasure: {error}"))?;
        }
        // A fold may still have a frame whose text was discarded before the erasure.
        if let Some(bytes) = self.disks.file_bytes()?.filter(|_| self.plan.discards == 0) {
            self.judge_file(&bytes, &gone)?;
        }
        Ok(true)
    }

    /// Checks that the bytes of a file have none of the frames that are gone.
    fn judge_file(&self, bytes: &[u8], gone: &[u64]) -> Result {
        let log = &self.observer.log;
        for at in gone.iter().take(READ) {
            let said = head(&log[*at as usize - 1].text);
            let is_said_again = |entry: &&Entry| {
                entry.kind.is_relayed() && !gone.contains(&entry.position)
                    || matches!(entry.kind, EntryKind::Refused(_) | EntryKind::Dropped)
            };
            let mut others = log.iter().filter(is_said_again);
            let is_its_own = field(said, "n").is_some() && said.len() < SHORT;
            let is_its_own = is_its_own && !said.contains("schema:TX}");
            let is_its_own = is_its_own && !others.any(|entry| entry.text.contains(said));
            if let Some(around) = found(bytes, said).filter(|_| is_its_own) {
                return Err(format!(
                    "{at} is erased, and the file has {said}: {around:?}"
                ));
            }
        }
        Ok(())
    }

    /// Carries out an erasure, and checks these sides. Returns the positions of the frames that the host has lost;
    /// `None` if nothing was erased.
    fn erases(
        &mut self,
        store: &mut dyn Store,
        sides: &[usize],
        choice: &Choice,
    ) -> Result<Option<Vec<u64>>> {
        let first = sides.first().copied().unwrap_or_default();
        let options = self.nodes[first].options(&self.plan)?;
        let request = &choice.request;
        let plan = ErasurePlan::make(store, SESSION, request, &options, &self.rules);
        let plan = match plan {
            // The log of a member ends with the last relayed entry.
            Err(EraseError::Position { named, last }) if *named.start() > last => return Ok(None),
            Err(EraseError::Agent { .. } | EraseError::Key(_) | EraseError::Outbox(_)) => {
                return Ok(None);
            }
            plan => plan.map_err(said)?,
        };
        let mut before = Vec::new();
        for who in sides {
            let side = SideId::new(SESSION, self.nodes[*who].agent);
            before.push(texts(store, &side)?);
        }
        plan.carry_out(store).map_err(said)?;
        self.counts.erased += 1;
        let mut all = Vec::new();
        for (who, before) in sides.iter().zip(&before) {
            let gone = self.judge_side_erased(store, *who, choice, before)?;
            if *who == first {
                all = gone;
            }
        }
        Ok(Some(all))
    }

    /// Checks what an erasure has done to a side. Returns the positions of the frames that are gone.
    fn judge_side_erased(
        &self,
        store: &mut dyn Store,
        who: usize,
        choice: &Choice,
        before: &BTreeMap<u64, Arc<str>>,
    ) -> Result<Vec<u64>> {
        let request = &choice.request;
        let side = SideId::new(SESSION, self.nodes[who].agent);
        let after = texts(store, &side)?;
        let what = |what: &str, at: u64| Err(format!("{who} erases {request:?}: {at} {what}"));
        let mut gone = Vec::new();
        for (at, text) in before {
            let Some(entry) = self.observer.log.get(*at as usize - 1) else {
                continue;
            };
            let is_chosen = choice.names(entry);
            match after.get(at) {
                Some(_) if is_chosen && must_go(entry) => return what("stays", *at),
                Some(kept) if kept != text => return what("has another text", *at),
                None if !is_chosen && !may_go(entry) => return what("goes too", *at),
                _ => {}
            }
            if is_chosen && entry.kind == EntryKind::Frame {
                gone.push(*at);
            }
        }
        for key in &request.keys {
            let kept = store.cold(&side, key).map_err(said)?;
            if kept.is_some_and(|kept| !kept.expired || kept.value.bytes.is_some()) {
                return Err(format!("{who} erases {key}, which stays"));
            }
        }
        let Some(stored) = store.load(&side).map_err(said)? else {
            let is_empty = before.is_empty();
            return is_empty
                .then_some(gone)
                .ok_or_else(|| format!("{who} has erased its side"));
        };
        let (options, now) = (self.nodes[who].options(&self.plan)?, self.room.now);
        let session = if who == 0 {
            Session::restore_host(options, self.rules.clone(), &stored, now)
        } else {
            Session::restore_member(options, &stored, now)
        };
        if who > 0 && self.observer.has_discarded {
            // A member's log may have a gap, and its checkpoints may have facts of frames before the gap
            // (docs/design/next.md).
            return Ok(gone);
        }
        self.judge_forgotten(&session.map_err(said)?, &gone, &after)
            .map_err(|error| format!("{who} erases {request:?}: {error}"))?;
        Ok(gone)
    }

    fn choose(&mut self) -> Choice {
        let mut choice = Choice {
            request: ErasureRequest {
                lapses: true,
                ..ErasureRequest::default()
            },
            sender: None,
        };
        let last = self.observer.log.len() as u64;
        match self.rng.below(5) {
            0 | 1 => {
                let who = self.rng.below(1 + self.plan.members as u64) as usize;
                choice.sender = Some(self.nodes[who].id);
                choice.request.from = Some(self.nodes[who].agent.to_owned());
            }
            2 | 3 => {
                let from = 1 + self.rng.below(last);
                let to = (from + self.rng.below(12)).min(last);
                choice.request.positions.push(from..=to);
            }
            _ => {
                let keys = self.observer.keys();
                let at = self.rng.below(keys.len() as u64) as usize;
                choice.request.keys.extend(keys.get(at).cloned());
                choice.request.positions.push(last..=last);
            }
        }
        choice
    }

    /// Checks that a side which starts again knows nothing of frames that are gone.
    fn judge_forgotten(
        &self,
        session: &Session,
        gone: &[u64],
        after: &BTreeMap<u64, Arc<str>>,
    ) -> Result {
        let state = session.state();
        let hot: BTreeSet<u64> = state.hot().positions().collect();
        if let Some(at) = gone.iter().find(|at| hot.contains(at)) {
            return Err(format!("{at} is hot"));
        }
        let context = session.context();
        let told = &self.observer.content.told;
        for at in gone {
            let entry = &self.observer.log[*at as usize - 1];
            for (key, value) in changes(&entry.text).1 {
                let held = state.shared().get(key).map(ToString::to_string);
                if value.is_some() && held.as_deref() == value {
                    return Err(format!("{at} has set {key}, which is still {value:?}"));
                }
            }
            let Some(fact) = told.get(at) else { continue };
            let mut others = told.iter().filter(|(other, _)| !gone.contains(other));
            if others.any(|(_, other)| other.1.contains(&fact.1)) {
                continue;
            }
            if let Some(line) = context.lines().find(|line| says(line, &fact.1)) {
                return Err(format!(
                    "{at} has told {fact:?}, and the context says {line}"
                ));
            }
            let mut texts = after.iter();
            if let Some((kept, _)) = texts.find(|(_, text)| says(text, &fact.1)) {
                return Err(format!("{at} has told {fact:?}, and {kept} says so, too"));
            }
        }
        Ok(())
    }
}

/// Returns whether the text has the value, and not only at the beginning of a longer one.
fn says(text: &str, value: &str) -> bool {
    let mut places = text.match_indices(value);
    places.any(|(at, _)| {
        let after = text[at + value.len()..].chars().next();
        after.is_none_or(|next| !next.is_alphanumeric())
    })
}

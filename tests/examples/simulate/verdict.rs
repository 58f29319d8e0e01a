//! Checks of the context at any time, and of everything at the end of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use accp_runtime::context::Checkpoint;
use accp_runtime::session::{Event, Input, MemberId, Mid};
use accp_runtime::{DynamicFrame, EncodeOptions, Value};
use accp_session::{Batch, Cold, Entry, EntryKind};
use accp_store::Store;
use accp_testkit::Room;

use super::World;
use super::deferring::VETO;
use super::node::{REGISTRY, Result, SESSION, said};
use super::rights::changes;
use super::tape::Kept;
use super::text::{CHECKPOINT, field, head, is_a, meta, mid_in};

/// The number of values that each member fetches at the end.
const FETCHED: u64 = 3;

impl World {
    /// Checks that the context of a side is within its budgets.
    pub(super) fn judge_context(&self, who: usize, batch: &Batch) -> Result {
        let side = self.room.sides().nth(who);
        let is_empty = batch.entries.is_empty() || self.nodes[who].plain;
        let Some(side) = side.filter(|_| !is_empty) else {
            return Ok(());
        };
        let side = side.session();
        let state = side.state();
        let (hot, warm) = (state.hot().tokens(), state.warm().tokens());
        let shown: usize = state.hot().lines().map(|line| line.len().div_ceil(4)).sum();
        if hot > 500 || shown > 500 || warm > 2000 {
            return Err(format!(
                "{who} has {hot} tokens in hot and {warm} in warm state"
            ));
        }
        let last = batch.entries.iter().rfind(|entry| entry.kind.is_relayed());
        let last = last.filter(|last| last.position == state.position());
        if let Some(last) = last.filter(|last| last.text.contains(CHECKPOINT)) {
            let kept = Checkpoint::decode(&last.text).map_err(said)?;
            let tokens: u32 = kept.kept().iter().map(|kept| kept.tokens).sum();
            if tokens != hot {
                return Err(format!(
                    "{who} has {hot} hot tokens, and {tokens} were kept"
                ));
            }
        }
        let newest = self.observer.log.iter().rev();
        let mut behind = newest.take_while(|entry| entry.kind != EntryKind::Frame);
        // The session may be ahead of this batch: an input can fill several batches.
        let is_ahead = state.position() > self.observer.log.len() as u64;
        let is_over = who == 0 && hot > side.options().context.trigger && !is_ahead;
        let is_one = |text: &str| text.contains(CHECKPOINT) || is_a(text, VETO);
        let takes = |entry: &Entry| entry.kind == EntryKind::Control && is_one(&entry.text);
        if is_over && !behind.any(takes) {
            return Err(format!("{hot} tokens are hot and no checkpoint was taken"));
        }
        Ok(())
    }

    /// Lets members fetch values of other members, and frames that they may never have held.
    pub(super) fn read_back(&mut self) -> Result {
        if self.rng.per_mille(100) {
            self.fetch_nothing()?;
        }
        for who in 1..self.nodes.len() {
            if self.nodes[who].plain {
                continue;
            }
            let keys = self.observer.keys();
            for _ in 0..FETCHED.min(keys.len() as u64) {
                let key = &keys[self.rng.below(keys.len() as u64) as usize];
                // `k101_7` was put by member 101.
                let owner = key.get(1..4).and_then(|owner| owner.parse::<usize>().ok());
                let owner = owner.map_or(0, |number| number - 100);
                // A member with an old copy of its store may have lost the bytes. The host has
                // them.
                let original = self.cold(owner, key)?.and_then(|cold| cold.bytes);
                let original = match original {
                    None => self.cold(0, key)?.and_then(|cold| cold.bytes),
                    some => some,
                };
                self.fetch(who, key, original.as_deref())?;
            }
            let log = &self.observer.log;
            let entry_at = self.rng.below(log.len() as u64) as usize;
            let is_kept = self.is_kept(entry_at as u64 + 1)?;
            let log = &self.observer.log;
            let entry = &log[entry_at];
            if is_kept && entry.kind.is_relayed() {
                let (key, text) = (format!("p{}", entry.position), Arc::clone(&entry.text));
                self.fetch(who, &key, Some(text.as_bytes()))?;
            }
        }
        Ok(())
    }

    /// Lets a member fetch a value that nobody has, and waits until the member is told so.
    fn fetch_nothing(&mut self) -> Result {
        const KEY: &str = "k100_99999";
        let last = self.nodes.iter().rposition(|node| !node.plain);
        let Some(who) = last.filter(|who| *who > 0) else {
            return Ok(());
        };
        if let Some((side, now)) = self.session(who)? {
            let fetch = Input::Fetch {
                key: KEY,
                announced: None,
            };
            side.handle(fetch, now).map_err(said)?;
            self.set_alarm(who)?;
        }
        for _ in 0..400 {
            self.rest(Duration::from_millis(500))?;
            let side = self.room.side(self.nodes[who].id);
            let is_it = |event: &Event| matches!(event, Event::Unavailable(key) if key == KEY);
            if side.is_some_and(|side| side.events.iter().any(is_it)) {
                return Ok(());
            }
        }
        Err(format!("{who} is not told that nobody has {KEY}"))
    }

    /// Returns whether the store of the host has the text of an entry.
    pub(super) fn is_kept(&mut self, position: u64) -> Result<bool> {
        let host = &mut self.room.host;
        let entries = host.store.entries(host.driver.side(), position, 1);
        let entries = entries.map_err(said)?;
        Ok(entries
            .first()
            .is_some_and(|entry| entry.position == position))
    }

    /// Returns the cold state value that a side holds under a key.
    pub(super) fn cold(&mut self, who: usize, key: &str) -> Result<Option<Cold>> {
        cold(&mut self.room, self.nodes[who].id, key)
    }

    fn fetch(&mut self, who: usize, key: &str, original: Option<&[u8]>) -> Result {
        let agent = self.nodes[who].agent;
        let mut here = self.cold(who, key)?;
        if here.as_ref().is_none_or(|cold| cold.bytes.is_none()) {
            // Values from before a member joined were not announced to it.
            let announced = here.as_ref().map(|cold| (cold.digest, cold.length));
            if let Some((side, now)) = self.session(who)? {
                let fetch = Input::Fetch { key, announced };
                side.handle(fetch, now).map_err(said)?;
            }
            for _ in 0..20 {
                self.rest(Duration::from_millis(500))?;
                here = self.cold(who, key)?;
                if here.as_ref().is_some_and(|cold| cold.bytes.is_some()) {
                    break;
                }
            }
            self.counts.fetched += 1;
        }
        let bytes = here.and_then(|cold| cold.bytes);
        if bytes.is_none() || bytes.as_deref() != original {
            return Err(format!("@{agent} cannot read {key}"));
        }
        Ok(())
    }

    /// Checks everything once all sides are quiet.
    pub(super) fn judge(&mut self) -> Result {
        self.counts.fewest = Some(self.counts.frames);
        self.judge_sides()?;
        self.judge_replicas()?;
        self.observer.judge_plain()?;
        self.judge_plain_state()?;
        self.judge_view()?;
        self.judge_manifests()?;
        self.judge_warm()?;
        self.judge_parts()?;
        self.judge_shared()?;
        self.judge_values()?;
        self.judge_stores()?;
        self.judge_streams()?;
        self.observer.judge_payments()?;
        if !self.observer.is_flooded {
            self.observer.chains.judge_waiting()?;
        }
        self.judge_words()?;
        self.judge_refusals_of_stores()?;
        if self.judge_file_erasure()? {
            return Ok(());
        }
        self.judge_damage()
    }

    /// Checks that no side waits for anything, and that the host knows that all members hold the whole log.
    fn judge_sides(&self) -> Result {
        let relayed = self.observer.log.iter().rev().find(|e| e.kind.is_relayed());
        let last = relayed.map_or(0, |entry| entry.position);
        for (node, seen) in self.nodes.iter().zip(&self.observer.sides) {
            let agent = node.agent;
            if let Some(position) = seen.due.first() {
                return Err(format!("@{agent} has not handled {position}"));
            }
            if let Some((mid, frame)) = seen.outbox.first_key_value() {
                return Err(format!(
                    "@{agent} still has {mid} in its outbox: {}",
                    frame.head
                ));
            }
            if seen.last < last && !node.plain {
                return Err(format!("@{agent} is at {} and not at {last}", seen.last));
            }
        }
        match self.room.host.session().replicated() {
            replicated if replicated < last => Err(format!(
                "all members have the log up to {last}, and the host says {replicated}"
            )),
            _ => Ok(()),
        }
    }

    /// Checks that all sides have the same state and the same schemas.
    fn judge_replicas(&self) -> Result {
        let host = self.room.host.session();
        let plain = |id| self.observer.is_plain(id);
        for side in self.room.members.iter().filter(|side| !plain(side.id)) {
            let (agent, side) = (&side.options.agent, side.session());
            if side.state() != host.state() {
                let [own, other] = [host, side].map(|side| format!("{:?}", side.state()));
                let at = own.bytes().zip(other.bytes()).position(|(a, b)| a != b);
                let from = at.unwrap_or_default().saturating_sub(60);
                let [own, other] = [own, other]
                    .map(|state| -> String { state.chars().skip(from).take(160).collect() });
                return Err(format!(
                    "the state of @{agent} is not the state of the host: {other} instead of {own}"
                ));
            }
            if side.id() != SESSION || side.context() != host.context() {
                return Err(format!("@{agent} has another session or context"));
            }
            // A host that has lost schemas may get them back from the members too late, so its schemas may differ.
            let may_differ =
                self.observer.timeline.has_lost() && (self.plan.learns || self.plan.brings);
            let is_same = side.options().registry.hash() == host.options().registry.hash();
            if !is_same && !may_differ {
                return Err(format!("the schemas of @{agent} are not those of the host"));
            }
        }
        Ok(())
    }

    /// Checks that the context of the host shows the lines of hot state.
    fn judge_view(&self) -> Result {
        let host = self.room.host.session();
        let shown = host.context();
        for line in host.state().hot().lines() {
            let agent = line.split('>').next().unwrap_or_default();
            if !shown.contains(agent) {
                return Err(format!("the context does not show {line}"));
            }
        }
        Ok(())
    }

    /// Checks that each frame is in the context, or that a checkpoint lists it as left.
    fn judge_manifests(&self) -> Result {
        if !self.plan.counted {
            return Ok(());
        }
        let host = self.room.host.session();
        let context: BTreeSet<u64> = host.state().hot().positions().collect();
        let mut left: Vec<(u64, u64)> = Vec::new();
        for entry in &self.observer.log {
            if entry.kind == EntryKind::Control && entry.text.contains(CHECKPOINT) {
                left.extend(Checkpoint::decode(&entry.text).map_err(said)?.left());
            }
        }
        let frames = self
            .observer
            .log
            .iter()
            .filter(|entry| entry.kind == EntryKind::Frame);
        for at in frames.map(|entry| entry.position) {
            let has_left = left.iter().any(|(from, to)| (*from..=*to).contains(&at));
            if has_left == context.contains(&at) {
                let where_it_is = if has_left {
                    "both in hot and out of it"
                } else {
                    "nowhere"
                };
                return Err(format!("{at} is {where_it_is}"));
            }
        }
        Ok(())
    }

    /// Checks that a frame is in the log if all its parts are in the log.
    fn judge_parts(&self) -> Result {
        let mut groups: BTreeMap<Mid, u64> = BTreeMap::new();
        let mut wholes = BTreeSet::new();
        let log = self.observer.log.iter();
        for entry in log.filter(|entry| Some(entry.sender) != self.observer.enemy) {
            match entry.kind {
                EntryKind::Part => {
                    let of = mid_in(&entry.text, "of").unwrap_or_else(|| entry.mid.clone());
                    let total = meta(&entry.text, "pt").and_then(|pt| pt.split('/').nth(1));
                    let total = total.and_then(|total| total.parse().ok());
                    let missing = groups.entry(of).or_insert(total.unwrap_or_default());
                    *missing = missing.saturating_sub(1);
                }
                EntryKind::Frame => drop(wholes.insert(&entry.mid)),
                _ => {}
            }
        }
        let mut complete = groups.iter().filter(|(_, missing)| **missing == 0);
        match complete.find(|(of, _)| !wholes.contains(of)) {
            Some((of, _)) => Err(format!("{of} is there in parts, but not as a whole")),
            None => Ok(()),
        }
    }

    /// Checks that each shared key has the value that was set last.
    fn judge_shared(&self) -> Result {
        let host = self.room.host.session();
        let mut wanted = accp_runtime::Map::new();
        for entry in self
            .observer
            .log
            .iter()
            .filter(|e| e.kind == EntryKind::Frame)
        {
            if Some(entry.sender) == self.observer.enemy {
                for (key, value) in changes(&entry.text).1 {
                    wanted.insert(
                        key.to_owned(),
                        Value::from(value.unwrap_or_default().to_owned()),
                    );
                }
            }
            let who = usize::from(entry.sender.number() - MemberId::HOST.number());
            let said = field(&entry.text, "n").and_then(|n| self.said.get(&(who, n)));
            let payload = said.map(|message| &message.payload);
            if let Some(Value::Map(state)) = payload.and_then(|payload| payload.get("state")) {
                wanted = state.clone();
            }
            if let Some(Value::Map(delta)) = payload.and_then(|payload| payload.get("delta")) {
                for (key, value) in delta.iter() {
                    if *value == Value::Null {
                        wanted.remove(key);
                    } else {
                        wanted.insert(key.to_owned(), value.clone());
                    }
                }
            }
        }
        if host.state().shared().version() != self.observer.rights.version {
            let version = self.observer.rights.version;
            return Err(format!("the shared state is not at version {version}"));
        }
        if host.state().shared().entries() != &wanted {
            return Err(format!("the shared state is not {wanted}"));
        }
        Ok(())
    }

    /// Checks that the host has the bytes of every value that has not expired.
    fn judge_values(&mut self) -> Result {
        for key in self.observer.keys() {
            let kept = self.cold(0, &key)?;
            if kept.is_none_or(|cold| cold.bytes.is_none()) {
                return Err(format!("the bytes of {key} are gone"));
            }
        }
        Ok(())
    }

    /// Checks that each frame has the content that its sender gave it, perhaps by reference.
    fn judge_words(&mut self) -> Result {
        for entry in self
            .observer
            .log
            .iter()
            .filter(|e| e.kind == EntryKind::Frame)
        {
            let who = usize::from(entry.sender.number() - MemberId::HOST.number());
            let said_here = field(&entry.text, "n").and_then(|n| self.said.get(&(who, n)));
            let Some(wanted) = said_here.filter(|message| message.intent.as_str() != "sync") else {
                continue;
            };
            let message = DynamicFrame::decode(&entry.text, &REGISTRY).map_err(said)?;
            for (name, value) in wanted.payload.iter() {
                let is_same = match message.payload.get(name) {
                    Some(Value::Ref(key)) if !matches!(value, Value::Ref(_)) => {
                        let key = key.strip_prefix("cold.").unwrap_or(key);
                        let bytes =
                            cold(&mut self.room, entry.sender, key)?.and_then(|cold| cold.bytes);
                        bytes.is_none_or(|bytes| *bytes == *value.to_string().as_bytes())
                    }
                    other => other == Some(value),
                };
                if !is_same {
                    return Err(format!("{} has another value of {name}", entry.mid));
                }
            }
            let (here, there) = (&message.envelope, &wanted.envelope);
            let is_same = here.ttl == there.ttl
                && here.correlation_id == there.correlation_id
                && here.causation_id == there.causation_id
                && here.timestamp <= there.timestamp;
            if !is_same {
                return Err(format!(
                    "{} has another envelope: {here:?}, {there:?}",
                    entry.mid
                ));
            }
            let options = EncodeOptions {
                inline: self.observer.is_plain(entry.sender),
                ..EncodeOptions::default()
            };
            let again = message.encode_with(&REGISTRY, options).map_err(said)?;
            if message.payload.len() != wanted.payload.len() || head(&again) != head(&entry.text) {
                return Err(format!(
                    "{} is not what was said: {}",
                    entry.mid, entry.text
                ));
            }
        }
        Ok(())
    }
}

fn cold(room: &mut Room<Kept>, id: MemberId, key: &str) -> Result<Option<Cold>> {
    let Some(side) = room.side(id) else {
        return Ok(None);
    };
    let kept = side.store.cold(side.driver.side(), key).map_err(said)?;
    Ok(kept.map(|kept| kept.value))
}

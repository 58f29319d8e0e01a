//! Checks who asks for bytes and who gets them. Every member that waits for a value must get it, and no side may ask
//! for more values at a time than docs/limits.md allows.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::Hash;
use accp_runtime::session::MemberId;
use accp_session::{Batch, Entry};

use super::node::{Node, Result};
use super::observer::Observer;
use super::seen::Seen;
use super::text::params;

/// The most values that a side may ask another side for at a time.
const AT_ONCE: usize = 8;
/// Of the requests for values that a member sends between two turns of the host, the host surely notes this many.
const NOTED: usize = 12;

/// Returns the key in a frame about bytes.
fn key_in<'t>(text: &'t str, operation: &str) -> Option<&'t str> {
    let params = params(text, operation)?;
    let at = params.find("key:")?;
    params[at + 4..].split(['|', '}']).next()
}

impl Observer {
    /// Takes note of a member that asks for a value that was announced and whose bytes the host does not have.
    pub(super) fn hears_a_wish(&mut self, from: MemberId, text: &str) {
        let Some(key) = key_in(text, ">qry:bytes{") else {
            return;
        };
        let noted = self.serving.heard.entry(from).or_default();
        *noted += 1;
        let is_noted = *noted <= NOTED
            && Some(from) != self.enemy
            && !self.left.contains_key(&from)
            && !self.is_plain(from);
        let lacks = !self.bounds.supplied.contains(key) && !self.expired.contains(key);
        if is_noted && lacks && self.is_put(key) && !self.timeline.has_lost() {
            let waiting = self.serving.waiting.entry(key.to_owned()).or_default();
            waiting.insert(from);
        }
    }

    fn is_put(&self, key: &str) -> bool {
        let parts = key.strip_prefix('k').and_then(|key| key.split_once('_'));
        let parts = parts.and_then(|(member, number)| {
            let member = MemberId::new(member.parse().ok()?)?;
            Some((member, number.parse::<u64>().ok()?))
        });
        let puts = parts.and_then(|(member, number)| Some((self.senders.get(&member)?, number)));
        puts.is_some_and(|(sender, number)| sender.puts.contains(&number))
    }

    /// Takes note of the values whose bytes come to the host with a batch.
    pub(super) fn hears_of_bytes(&mut self, batch: &Batch) {
        let here = batch.cold.iter().filter(|cold| cold.bytes.is_some());
        self.serving.came.extend(here.map(|cold| cold.key.clone()));
    }

    /// Takes note of the values that an entry announces.
    pub(super) fn announces(&mut self, text: &str) {
        for value in text.split("[k").skip(1) {
            let mut words = value.split([',', ']']);
            let (Some(key), Some(digest)) = (words.next(), words.next()) else {
                continue;
            };
            let length = words.next().and_then(|length| length.parse().ok());
            let announced = (digest.to_owned(), length.unwrap_or_default());
            let known = &mut self.serving.announced;
            known.entry(format!("k{key}")).or_insert(announced);
        }
    }

    /// Checks that the bytes of each value match the digest and the length that were announced.
    pub(super) fn judge_bytes(&self, batch: &Batch) -> Result {
        if self.timeline.has_lost()
            || self
                .sides
                .iter()
                .any(|side| self.timeline.was_put_back(side.id))
        {
            return Ok(());
        }
        for cold in &batch.cold {
            let announced = self.serving.announced.get(&cold.key);
            let (Some(bytes), Some((digest, length))) = (&cold.bytes, announced) else {
                continue;
            };
            if Hash::of(bytes).to_string() != *digest || bytes.len() != *length {
                return Err(format!("the bytes of {} are not those announced", cold.key));
            }
        }
        Ok(())
    }

    /// Checks that the host asks for no bytes that it has. Call this before the bytes of the batch count.
    pub(super) fn judge_errands(&self, batch: &Batch) -> Result {
        let has_lost = self.timeline.has_lost();
        for send in batch.sends.iter().filter(|_| !has_lost) {
            let key = key_in(&send.text, ">qry:bytes{");
            if let Some(key) = key.filter(|key| self.bounds.supplied.contains(*key)) {
                return Err(format!("the host asks {} for {key}, and has it", send.to));
            }
        }
        Ok(())
    }

    /// Checks that the host asks a member only for values that this member has announced and that have not expired.
    pub(super) fn judge_owners(&self, batch: &Batch) -> Result {
        let has_lost = self.timeline.has_lost();
        for send in batch.sends.iter().filter(|_| !has_lost) {
            let Some(key) = key_in(&send.text, ">qry:bytes{").filter(|key| key.starts_with('k'))
            else {
                continue;
            };
            let is_its = key.starts_with(&format!("k{}_", send.to));
            if !is_its || !self.is_put(key) || self.expired.contains(key) {
                return Err(format!("the host asks {} for {key}", send.to));
            }
        }
        Ok(())
    }

    /// Notes that the host sends a member the bytes of a value. Checks that the bytes are of an entry that members
    /// get, or of a value that was announced.
    pub(super) fn serves(&mut self, to: MemberId, text: &str) -> Result {
        let Some(key) = key_in(text, ">sync:bytes{") else {
            return Ok(());
        };
        if let Some(waiting) = self.serving.waiting.get_mut(key) {
            waiting.remove(&to);
        }
        let was_put_back = |side: &Seen| self.timeline.was_put_back(side.id);
        if self.timeline.has_lost() || self.sides.iter().any(was_put_back) {
            return Ok(());
        }
        let word = |name: &str| {
            let rest = params(text, ">sync:bytes{")?.split_once(name)?.1;
            rest.split(['|', '}']).next()
        };
        let (digest, length) = (
            word("|sha:"),
            word("|len:").and_then(|len| len.parse().ok()),
        );
        let place = key
            .strip_prefix('p')
            .and_then(|at| at.parse::<usize>().ok());
        let wanted = match place {
            Some(at) => {
                let entry = self.log.get(at.wrapping_sub(1));
                let Some(entry) = entry.filter(|entry| entry.kind.is_relayed()) else {
                    return Err(format!("{to} gets {key}, which is for nobody"));
                };
                let bytes = entry.text.as_bytes();
                Some((Hash::of(bytes).to_string(), bytes.len()))
            }
            None => self.serving.announced.get(key).cloned(),
        };
        match wanted {
            Some((hash, len)) if digest != Some(&*hash) || length != Some(len) => Err(format!(
                "{to} gets other bytes of {key}: {digest:?}, {length:?}"
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a member has said hello before the host takes its frame: only a hello shows that the member holds
    /// the log of this host.
    pub(super) fn judge_hello(&self, entry: &Entry) -> Result {
        let sender = entry.sender;
        let is_side = self.sides.iter().any(|side| side.id == sender) && !self.is_plain(sender);
        let is_taken = entry.sequence > 0 && sender != MemberId::HOST && self.is_keyed;
        let is_told = self.timeline.is_replayed || self.timeline.has_lost();
        if !is_taken || !is_side || is_told || self.serving.greeted.contains(&sender) {
            return Ok(());
        }
        Err(format!("{} of {sender} is taken before a hello", entry.mid))
    }

    /// Checks, at the end of a turn of the host, that every member that waits for a value has got it.
    pub(super) fn judge_served(&mut self) -> Result {
        self.serving.heard.clear();
        for key in std::mem::take(&mut self.serving.came) {
            let waiting = self.serving.waiting.remove(&key).unwrap_or_default();
            if let Some(member) = waiting.first() {
                return Err(format!("{key} has come, and {member} waits for it"));
            }
        }
        Ok(())
    }
}

/// Checks that a side asks only for values that its caller wants, and not for too many values at a time.
pub(super) fn judge_wishes(who: usize, node: &Node, batch: &Batch) -> Result {
    let mut asked: BTreeMap<MemberId, BTreeSet<&str>> = BTreeMap::new();
    for send in &batch.sends {
        let key = key_in(&send.text, ">qry:bytes{");
        // A member asks for values only if its caller does.
        let wanted = &node.wanted;
        let is_value = |key: &&str| key.starts_with('k') && who > 0 && !node.plain;
        if let Some(key) = key.filter(is_value)
            && !wanted.is_over
            && !wanted.told.contains_key(key)
        {
            return Err(format!("{who} asks for {key}, and nobody wants it"));
        }
        if let Some(key) = key.filter(|key| key.starts_with(['k', 'p'])) {
            asked.entry(send.to).or_default().insert(key);
        }
    }
    match asked.iter().find(|(_, keys)| keys.len() > AT_ONCE) {
        Some((of, keys)) => Err(format!("{who} asks {of} for {} values at once", keys.len())),
        None => Ok(()),
    }
}

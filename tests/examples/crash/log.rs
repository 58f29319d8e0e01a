//! The log of the host, as this program has copied it after each kill.
//!
//! The copy stays whole when retention shortens the log in the file. Each entry is checked once,
//! when it is copied.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::{MemberId, Mid, Scope};
use accp_session::{Entry, EntryKind};

use super::fact::Fate;
use super::frames::{LongText, chain, is_cancel, long_text, metadata, number, number_in};

type Result<T = ()> = std::result::Result<T, String>;

/// The copy, and the decisions of the host about each frame.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: Vec<Entry>,
    /// The decisions about each frame, with their positions. All parts of a frame are under the id of its first
    /// part.
    frames: BTreeMap<Mid, Vec<(EntryKind, u64)>>,
    /// The last `seq` of each sender. With shared numbering, the entry of the host holds the last `seq` of all
    /// senders.
    numbers: BTreeMap<MemberId, u64>,
    /// The last number that each sender has sent in a frame.
    words: BTreeMap<MemberId, u64>,
    /// The position at which each chain was cancelled.
    cancelled: BTreeMap<Mid, u64>,
    /// The long texts under the keys that frames refer to.
    pub(crate) texts: BTreeMap<String, String>,
    pub(crate) expired: BTreeSet<String>,
}

impl Log {
    /// Copies the entries that the host has now, from position `first` to position `last`.
    ///
    /// # Errors
    /// If the log has lost or changed an entry, or if a new entry breaks a rule.
    pub(crate) fn grow(&mut self, found: &[Entry], last: u64, scope: Scope) -> Result {
        let held = self.entries.len() as u64;
        if last < held {
            return Err(format!("of {held} entries, {last} are left"));
        }
        let first = found.first().map_or(last + 1, |entry| entry.position);
        for (entry, position) in found.iter().zip(first..) {
            if entry.position != position {
                return Err(format!("{} stands at {position}", entry.position));
            }
            match self.entries.get(position as usize - 1) {
                Some(kept) if is_same(kept, entry) => {}
                Some(_) => return Err(format!("{position} has changed")),
                None => self.take(entry, scope)?,
            }
        }
        if self.entries.len() as u64 != last {
            return Err(format!("{last} is the last position and is not there"));
        }
        Ok(())
    }

    /// Checks the next entry, and adds it to the copy.
    fn take(&mut self, entry: &Entry, scope: Scope) -> Result {
        let (position, text) = (entry.position, &entry.text);
        if position != self.entries.len() as u64 + 1 {
            return Err(format!("{position} stands behind {}", self.entries.len()));
        }
        self.identify(entry)?;
        self.count(entry, scope)?;
        let is_late = is_late(entry);
        let cut = chain(text).is_some_and(|chain| self.cancelled.contains_key(&chain));
        match entry.kind {
            EntryKind::Frame | EntryKind::Part if is_late => {
                return Err(format!("{position} is accepted and had expired"));
            }
            EntryKind::Frame if cut && !is_cancel(text) => {
                return Err(format!("{position} is accepted in a cancelled chain"));
            }
            EntryKind::Dropped if !is_late && !self.is_cancelled(entry) => {
                return Err(format!("{position} is dropped for no reason"));
            }
            EntryKind::Frame if is_cancel(text) => {
                let chain = chain(text).ok_or("a cancellation of nothing")?;
                self.cancelled.entry(chain).or_insert(position);
            }
            EntryKind::Frame => {
                let long = long_text(text);
                self.texts
                    .extend(long.map(|LongText { key, text }| (key, text)));
            }
            EntryKind::Control => self.expired.extend(expired(text).map(String::from)),
            _ => {}
        }
        self.entries.push(entry.clone());
        Ok(())
    }

    /// Checks that no id occurs twice. A frame that came in parts has the id of its first part.
    fn identify(&mut self, entry: &Entry) -> Result {
        let (mid, kind) = (&entry.mid, entry.kind);
        let before = self.frames.entry(name(entry)).or_default();
        let is_known = |kind: EntryKind| before.iter().any(|(known, _)| *known == kind);
        let is_fine = match kind {
            EntryKind::Frame if entry.sequence == 0 => {
                is_known(EntryKind::Part) && !is_known(EntryKind::Frame)
            }
            _ if is_part(entry) => !is_known(EntryKind::Frame) || kind == EntryKind::Part,
            _ => before.is_empty(),
        };
        if !is_fine {
            return Err(format!("{mid} is there twice"));
        }
        before.push((kind, entry.position));
        Ok(())
    }

    /// Checks that the numbers of frames have no gap, and that the messages of each sender are in order.
    fn count(&mut self, entry: &Entry, scope: Scope) -> Result {
        if entry.sequence > 0 {
            let counted = match scope {
                Scope::Shared => MemberId::HOST,
                Scope::Sender => entry.sender,
            };
            let last = self.numbers.entry(counted).or_default();
            if entry.sequence != *last + 1 {
                return Err(format!("seq {} after {last}", entry.sequence));
            }
            *last += 1;
        }
        if let Some(n) = said(entry) {
            let last = self.words.insert(entry.sender, n).unwrap_or(0);
            if n <= last {
                return Err(format!("{n} of {} after {last}", entry.sender));
            }
        }
        Ok(())
    }

    /// Returns whether the log has an entry with this id.
    pub(crate) fn knows(&self, mid: &Mid) -> bool {
        self.frames.contains_key(mid) || self.entries.iter().any(|entry| entry.mid == *mid)
    }

    /// Returns whether the chain with this id was cancelled.
    pub(crate) fn is_cut(&self, chain: &Mid) -> bool {
        self.cancelled.contains_key(chain)
    }

    /// Returns whether the chain of this frame was cancelled. A part belongs to the chain of its frame.
    fn is_cancelled(&self, entry: &Entry) -> bool {
        chain(&entry.text).is_some_and(|chain| self.is_cut(&chain)) || self.is_cut(&name(entry))
    }

    /// Returns the end of a frame according to the log, or `None` if the log has no end for the frame.
    pub(crate) fn fate(&self, mid: &Mid) -> Option<Fate> {
        let known = self.frames.get(mid)?;
        let find = |is_kind: fn(EntryKind) -> bool| known.iter().find(|(kind, _)| is_kind(*kind));
        if find(|kind| matches!(kind, EntryKind::Frame | EntryKind::Control)).is_some() {
            return Some(Fate::Acknowledged);
        }
        if let Some((_, position)) = find(|kind| kind == EntryKind::Dropped) {
            let entry = &self.entries[*position as usize - 1];
            let is_cancelled = self.is_cancelled(entry);
            let fates = [Fate::Expired, Fate::Cancelled];
            return Some(fates[usize::from(is_cancelled)]);
        }
        find(|kind| matches!(kind, EntryKind::Refused(_))).map(|_| Fate::Refused)
    }

    /// Returns the number of complete frames that came in parts.
    pub(crate) fn wholes(&self) -> usize {
        let frames = self.entries.iter();
        let frames = frames.filter(|entry| entry.kind == EntryKind::Frame);
        frames.filter(|entry| entry.sequence == 0).count()
    }

    /// Returns the number of frames of which the host has only some parts and waits for the rest. A cancelled frame
    /// does not count, because the rest of its parts do not come any more.
    pub(crate) fn halves(&self) -> usize {
        let is_part = |(kind, _): &(EntryKind, u64)| *kind == EntryKind::Part;
        let all = self.frames.iter();
        let open = all.filter(|(mid, known)| known.iter().all(is_part) && !self.is_cut(mid));
        open.count()
    }

    /// Returns the keys of the values that were announced and have not expired.
    pub(crate) fn keys(&self) -> Vec<String> {
        let keys = self.texts.keys();
        keys.filter(|key| !self.expired.contains(*key))
            .cloned()
            .collect()
    }
}

/// Returns the number `n` of an accepted frame; `None` for other entries.
pub(crate) fn said(entry: &Entry) -> Option<u64> {
    number(&entry.text, "n").filter(|_| entry.kind == EntryKind::Frame)
}

/// Returns the keys that a control entry lets expire.
fn expired(text: &str) -> impl Iterator<Item = &str> {
    let keys = text
        .split_once(">sync:expire{")
        .map_or("", |(_, keys)| keys);
    let keys = keys.split_once("}[").map_or("", |(keys, _)| keys);
    keys.split(['[', ']', ',', ':', '|'])
        .filter(|word| word.starts_with('k') && word.contains('_'))
}

fn is_same(kept: &Entry, found: &Entry) -> bool {
    let mut kept = kept.clone();
    kept.due = found.due;
    kept == *found
}

fn is_part(entry: &Entry) -> bool {
    metadata(&entry.text, "pt").is_some()
}

/// Returns the id by which the session names the frame of this entry.
fn name(entry: &Entry) -> Mid {
    let of = metadata(&entry.text, "of").filter(|_| is_part(entry));
    of.map_or_else(|| entry.mid.clone(), Mid::parse)
}

/// Returns whether the frame had expired when it arrived at the host. All sides have the same clock.
fn is_late(entry: &Entry) -> bool {
    let at = entry.at.as_secs().unsigned_abs();
    let [ttl, ts] = ["ttl", "ts"].map(|key| number_in(&entry.text, key).unwrap_or_default());
    ttl > 0 && ts + ttl < at
}

//! The bounds of docs/limits.md, checked at every step, as far as the log, the link and the snapshots of a side show
//! them.

use accp_runtime::session::MemberId;
use accp_session::{Entry, EntryKind, Snapshot};
use serde_json::Value as Json;

use super::folds::judge_counts;
use super::node::{Result, said};
use super::observer::Observer;
use super::text::{changes_of, field, intent, is_a, number_in};

/// The most entries under way to a member, and their most bytes. A single entry may have more bytes.
const WINDOW: usize = 64;
const WINDOW_BYTES: usize = 128 << 10;
/// The most entries that the host keeps in memory for members, and their most bytes.
const AT_HAND: usize = 1024;
const AT_HAND_BYTES: usize = 1 << 20;
/// Additional bytes for texts on the link, which are longer than their entries, and for one entry beyond the bound.
const SLACK: usize = 128 << 10;
/// The most bytes of a refused frame in the log, and the most refused frames of a member that has left.
const REFUSED_BYTES: usize = 1 << 10;
const REFUSED: usize = 256;
/// The most kinds of requests that a member can say it takes, and the most bytes of a kind.
const TAKES: usize = 64;
const TAKES_BYTES: usize = 256;
/// The most versions of the shared state that a frame may skip.
const FURTHEST: u64 = 1_000_000;
/// The most values that a member has announced and not sent, plus the values of one more announcement.
const MISSING: usize = 256 + 64;
/// The most frames that a member asks about in a hello.
const ASKS: usize = 32;

/// Returns the length of a list or a map, or the value of a number, in a snapshot.
fn length(value: &Json) -> usize {
    match value {
        Json::Array(items) => items.len(),
        Json::Object(map) => map.len(),
        Json::Number(number) => number.as_u64().unwrap_or_default() as usize,
        _ => 0,
    }
}

/// The collections in a snapshot that have a bound for each member. For each collection: its path, the path inside
/// the part of a member, the bound for a member, and the bound for the host.
const IN_SNAPSHOTS: [(&str, &str, usize, usize); 7] = [
    ("/state/chains/order", "", 256, 4096),
    ("/state/chains/cancelled/order", "", 1024, 1024),
    ("/state/chains/known", "", 1024, 1024),
    ("/state/puts", "/gaps", 64, 64),
    ("/judge/names/order", "", 1024, 1024),
    ("/judge/senders", "/refused", 256, 256),
    ("/judge/streams/order", "", 256, 256),
];

impl Observer {
    /// Checks an entry that the host has given a position.
    pub(super) fn judge_bounds_of(&mut self, entry: &Entry) -> Result {
        let (text, mid, sender) = (&*entry.text, &entry.mid, entry.sender);
        let bytes = text.len();
        match entry.kind {
            EntryKind::Refused(_) => {
                let refused = self.bounds.refused.entry(sender).or_default();
                *refused += 1;
                if self.left.contains_key(&sender) && *refused > REFUSED {
                    return Err(format!("{mid} is the refused frame {refused} of {sender}"));
                }
                if bytes > REFUSED_BYTES {
                    return Err(format!(
                        "{mid} is refused, and {bytes} bytes are in the log"
                    ));
                }
            }
            EntryKind::Control if is_a(text, ">sync:takes{") => {
                let heads = text.split_once("heads:[").map_or("", |(_, rest)| rest);
                let heads = heads.split(']').next().unwrap_or_default();
                let is_long = |head: &str| head.replace('\\', "").len() > TAKES_BYTES;
                if heads.split(',').count() > TAKES || heads.split(',').any(is_long) {
                    return Err(format!("{mid} names too much that a member takes"));
                }
            }
            EntryKind::Control if is_a(text, ">sync:put{") => {
                let missing = self.missing_of(sender);
                if sender != MemberId::HOST && missing > MISSING && !self.timeline.has_lost() {
                    return Err(format!(
                        "{sender} has announced {missing} values and not sent"
                    ));
                }
            }
            EntryKind::Frame if changes_of(text).is_some() => {
                let version = field(text, "v").unwrap_or_default();
                if version.saturating_sub(self.rights.version) > FURTHEST {
                    return Err(format!("{mid} skips to version {version}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns how many values of a member the host has never got.
    fn missing_of(&self, member: MemberId) -> usize {
        let puts = self.senders.get(&member).map(|sender| &sender.puts);
        let keys = puts.into_iter().flatten().map(|n| format!("k{member}_{n}"));
        let is_missing =
            |key: &String| !self.bounds.supplied.contains(key) && !self.expired.contains(key);
        keys.filter(is_missing).count()
    }

    /// Checks that the entries under way to a member stay within the window, and that the host reads its store for
    /// entries that it does not keep in memory. `reads` counts the reads of the store in this turn.
    pub(super) fn judge_window(&self, to: MemberId, text: &str, reads: u64) -> Result {
        let Some(position) = number_in::<u64>(text, "pos") else {
            return Ok(());
        };
        let held = self.bounds.held.get(&to).copied().unwrap_or_default();
        let texts = |from: u64, upto: u64| {
            let range = from as usize..(upto as usize).max(from as usize);
            let entries = self.log.get(range).unwrap_or_default().iter();
            let entries = entries.filter(|entry| entry.kind.is_relayed());
            entries.map(|entry| entry.text.len())
        };
        let count = texts(held, position).count();
        let bytes: usize = texts(held, position).sum();
        if count > WINDOW || bytes > WINDOW_BYTES && count > 1 {
            return Err(format!(
                "{to} holds {held}, and {count} entries of {bytes} bytes are under way"
            ));
        }
        let end = self.log.len() as u64;
        let behind = texts(position, end).count();
        let is_far = || texts(position, end).sum::<usize>() > AT_HAND_BYTES + SLACK;
        if reads == 0 && (behind > AT_HAND + WINDOW || behind > 8 && is_far()) {
            return Err(format!(
                "{position} goes to {to} from memory, {behind} entries before the end"
            ));
        }
        Ok(())
    }

    /// Checks that the data which a side keeps is within the bounds.
    pub(super) fn judge_room(&self, who: usize, snapshot: Option<&Snapshot>) -> Result {
        let side = &self.sides[who];
        let id = side.id;
        if let Some(snapshot) = snapshot {
            self.judge_snapshot(snapshot)
                .map_err(|what| format!("{id}: {what}"))?;
        }
        if self.timeline.has_lost() || self.timeline.was_put_back(id) {
            return Ok(());
        }
        let outbox = side.outbox.keys();
        let waiting = outbox
            .filter(|mid| !self.consumed.contains_key(*mid))
            .count();
        let most = self.bounds.outbox;
        if waiting > most {
            return Err(format!(
                "{waiting} frames wait in the outbox of {id}, {most} may"
            ));
        }
        // One answer may end several requests, and each request that waits for one of them gets a copy of the answer. The
        // host makes all of these copies at once.
        let is_copy = |at: u64| {
            let entry = self.log.get(at as usize - 1);
            let entry = entry.filter(|entry| entry.kind == EntryKind::Repeat);
            entry.is_some_and(|entry| !matches!(intent(&entry.text), "req" | "qry"))
        };
        let due = side.due.iter().filter(|at| !is_copy(**at)).count();
        let most = self.bounds.backlog;
        // A member that speaks the draft alone keeps taking frames while its outbox is full (docs/limits.md).
        if due > most && side.plain.is_none() {
            return Err(format!(
                "{due} frames wait for handlers of {id}, {most} may"
            ));
        }
        Ok(())
    }

    fn judge_snapshot(&self, snapshot: &Snapshot) -> Result {
        let fold: Json = serde_json::from_str(&snapshot.text).map_err(said)?;
        for (path, inner, most, of_host) in IN_SNAPSHOTS {
            let members = fold.pointer(path).and_then(Json::as_object);
            for (member, has) in members.into_iter().flatten() {
                let has = has.pointer(inner).map_or(0, length);
                let most = if *member == MemberId::HOST.to_string() {
                    of_host
                } else {
                    most
                };
                if has > most {
                    return Err(format!("{member} has {has} of {path}, {most} at most"));
                }
            }
        }
        judge_counts(&fold)?;
        let groups = fold.pointer("/judge/groups").and_then(Json::as_object);
        let groups = groups
            .into_iter()
            .flatten()
            .map(|(_, groups)| length(groups));
        match groups.max().filter(|count| *count > self.bounds.groups) {
            Some(count) => Err(format!("{count} frames in parts of a member wait")),
            None => Ok(()),
        }
    }
}

/// Checks that a hello of a member does not ask about too many frames.
pub(super) fn judge_asks(who: usize, text: &str) -> Result {
    let asks = text.split_once("asks:[").map(|(_, rest)| rest);
    let asks = asks.and_then(|asks| asks.split(']').next());
    let count = asks.map_or(0, |asks| asks.split(',').count());
    if intent(text) == "sync" && count > ASKS {
        return Err(format!("{who} asks about {count} frames"));
    }
    Ok(())
}

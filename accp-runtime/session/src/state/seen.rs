//! The message ids that a session has consumed.
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::interface::output::Seen;
use crate::log::by_member::ByMember;
use crate::log::mid::{MemberId, Mid, decimal};

/// The sender and the `seq` of a consumed message id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConsumedId {
    pub sender: MemberId,
    pub sequence: u64,
    pub dropped: bool,
}

/// The set of consumed ids (draft section 3.7, item 1). It is exact and forgets nothing.
///
/// Ids that count up, as those of this crate do, are kept in runs: a million of them take less than
/// a megabyte. Any other id stands by itself, in 16 bytes and the overhead of a tree.
#[derive(Debug, Default)]
pub(crate) struct SeenSet {
    /// The newest run of each sender. Only this run grows.
    open: ByMember<(u64, Run)>,
    /// The first ids of the runs in `open`, ascending, each with its sender.
    starts: Vec<(u64, MemberId)>,
    /// All other runs, by their first id.
    runs: BTreeMap<u64, Run>,
    /// Runs of one id.
    singles: BTreeMap<u64, Packed>,
    names: BTreeMap<Box<str>, ConsumedId>,
}

/// Consecutive ids of one sender, whose numbers (`seq`) have a constant distance: 1 where each sender has its own
/// numbers, 2 where two senders share a numbering and take turns.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(from = "RunParts", into = "RunParts")]
struct Run {
    sequence: u64,
    length: u32,
    /// The distance between the numbers; 0 for one id.
    step: u32,
    sender: MemberId,
    dropped: bool,
}

/// A run as a snapshot holds it: as a list of values, without the names of the fields.
type RunParts = (u64, u32, u32, MemberId, bool);

impl From<Run> for RunParts {
    fn from(run: Run) -> Self {
        (run.sequence, run.length, run.step, run.sender, run.dropped)
    }
}

impl From<RunParts> for Run {
    fn from((sequence, length, step, sender, dropped): RunParts) -> Self {
        Self {
            sequence,
            length,
            step,
            sender,
            dropped,
        }
    }
}

/// The most runs of ids that a snapshot holds. Each takes about 30 bytes.
const MOST_RUNS: usize = 1024;

/// All consumed ids, as a snapshot holds them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ids {
    /// The newest run of each sender, by its first id.
    open: Vec<(u64, Run)>,
    /// The other runs, by their first id.
    runs: Vec<(u64, Run)>,
}

/// A consumed id packed into 64 bits.
#[derive(Debug, Clone, Copy)]
struct Packed(u64);

impl Packed {
    /// Returns `None` for a number that no session reaches.
    fn new(place: ConsumedId) -> Option<Self> {
        let flags = u64::from(place.sender.number()) << 1 | u64::from(place.dropped);
        (place.sequence < 1 << 47).then_some(Self(place.sequence << 17 | flags))
    }

    fn place(self) -> Option<ConsumedId> {
        Some(ConsumedId {
            sender: MemberId::new((self.0 >> 1) as u16)?,
            sequence: self.0 >> 17,
            dropped: self.0 & 1 == 1,
        })
    }
}

/// Returns the key of an id. An id that has only decimal digits becomes their decimal number, so that ids which count
/// up have consecutive keys.
fn key(bits: u64) -> u64 {
    decimal(bits).unwrap_or(bits | 1 << 48)
}

impl Run {
    fn one(place: ConsumedId) -> Self {
        Self {
            sequence: place.sequence,
            length: 1,
            step: 0,
            sender: place.sender,
            dropped: place.dropped,
        }
    }

    fn get(&self, offset: u64) -> Option<ConsumedId> {
        (offset < u64::from(self.length)).then(|| ConsumedId {
            sender: self.sender,
            sequence: self.sequence + offset * u64::from(self.step),
            dropped: self.dropped,
        })
    }

    /// Extends the run by this id if it is the next one of the run, and returns whether it was.
    fn grow(&mut self, offset: u64, place: ConsumedId) -> bool {
        if offset != u64::from(self.length) || self.length == u32::MAX {
            return false;
        }
        let mut grown = *self;
        grown.length += 1;
        if self.length == 1 {
            let step = place.sequence.checked_sub(self.sequence);
            let Some(step) = step.and_then(|step| u32::try_from(step).ok()) else {
                return false;
            };
            grown.step = step;
        }
        let fits = grown.get(offset) == Some(place);
        if fits {
            *self = grown;
        }
        fits
    }
}

impl SeenSet {
    pub(crate) fn get(&self, mid: &Mid) -> Option<ConsumedId> {
        let Some(bits) = mid.as_bits() else {
            return self.names.get(mid.to_string().as_str()).copied();
        };
        let key = key(bits);
        let place = |(start, run): (&u64, &Run)| run.get(key.checked_sub(*start)?);
        let before = self.starts.partition_point(|(start, _)| *start <= key);
        let open = before
            .checked_sub(1)
            .and_then(|at| self.open.get(self.starts[at].1));
        open.and_then(|(start, run)| place((start, run)))
            .or_else(|| self.runs.range(..=key).next_back().and_then(place))
            .or_else(|| self.singles.get(&key)?.place())
    }

    /// Adds an id that is not in the set.
    pub(crate) fn insert(&mut self, mid: &Mid, place: ConsumedId) {
        let Some(bits) = mid.as_bits() else {
            self.names.insert(mid.to_string().into(), place);
            return;
        };
        let key = key(bits);
        let new = (key, Run::one(place));
        let Some((start, run)) = self.open.get_mut(place.sender) else {
            self.open.insert(place.sender, new);
            return self.begin(key, place.sender);
        };
        if run.grow(key.wrapping_sub(*start), place) {
            return;
        }
        let (start, run) = std::mem::replace(self.open.or_insert_with(place.sender, || new), new);
        self.starts.retain(|(_, sender)| *sender != place.sender);
        self.begin(key, place.sender);
        self.keep(start, run);
    }

    /// Keeps a run that grows no more.
    fn keep(&mut self, start: u64, run: Run) {
        let single = run.get(0).filter(|_| run.length == 1);
        if let Some(single) = single.and_then(Packed::new) {
            self.singles.insert(start, single);
        } else {
            self.runs.insert(start, run);
        }
    }

    /// Notes the first id of the newest run of a sender.
    fn begin(&mut self, key: u64, sender: MemberId) {
        let at = self.starts.partition_point(|(start, _)| *start < key);
        self.starts.insert(at, (key, sender));
    }

    /// Returns the greatest of the ids from `first` to `last` that were consumed.
    pub(crate) fn last_within(&self, ids: RangeInclusive<u64>) -> Option<u64> {
        let (first, last) = ids.into_inner();
        let end = |(start, run): (u64, &Run)| (start + u64::from(run.length) - 1).min(last);
        let open = self.open.iter().map(|(_, (start, run))| (*start, run));
        let open = open.filter(|(start, _)| *start <= last).map(end).max();
        let run = self.runs.range(..=last).next_back();
        let single = self.singles.range(..=last).next_back();
        let all = [
            open,
            run.map(|(start, run)| end((*start, run))),
            single.map(|(id, _)| *id),
        ];
        all.into_iter().flatten().filter(|id| *id >= first).max()
    }

    /// Returns the ids for a snapshot. `None` if the ids take too many runs, because many agents made them or because
    /// they do not count up. A snapshot with them could be as long as the log.
    pub(crate) fn to_ids(&self) -> Option<Ids> {
        let all = self.starts.len() + self.runs.len() + self.singles.len();
        if all > MOST_RUNS || !self.names.is_empty() {
            return None;
        }
        let runs = self.runs.iter().map(|(start, run)| (*start, *run));
        let single = |(start, single): (&u64, &Packed)| Some((*start, Run::one(single.place()?)));
        let singles = self.singles.iter().map(single);
        Some(Ids {
            open: self.open.iter().map(|(_, open)| *open).collect(),
            runs: runs.map(Some).chain(singles).collect::<Option<_>>()?,
        })
    }

    /// Returns the set of the ids in a snapshot.
    pub(crate) fn from_ids(ids: Ids) -> Self {
        let mut set = Self::default();
        for (start, run) in ids.open {
            set.open.insert(run.sender, (start, run));
            set.begin(start, run.sender);
        }
        for (start, run) in ids.runs {
            set.keep(start, run);
        }
        set
    }

    /// Adds the ids that a store has. Some of them may be in the set, because a store may give all ids.
    pub(crate) fn add_stored(&mut self, seen: &[Seen]) {
        for seen in seen {
            let place = ConsumedId {
                sender: seen.sender,
                sequence: seen.sequence,
                dropped: seen.dropped,
            };
            if self.get(&seen.mid).is_none() {
                self.insert(&seen.mid, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn mid() -> impl Strategy<Value = Mid> {
        prop_oneof![
            (0u64..40).prop_map(|n| Mid::parse(&format!("{n:012x}"))),
            any::<u64>().prop_map(|n| Mid::parse(&format!("{:012x}", n >> 16))),
            "m[0-9]".prop_map(|name| Mid::parse(&name)),
        ]
    }

    proptest! {
        #[test]
        fn is_the_map_it_stands_for(
            ids in prop::collection::vec((mid(), 100u16..103, any::<bool>()), 0..200),
            first in 0u64..40,
            length in 0u64..40,
            restarts in prop::collection::vec(any::<bool>(), 1..20),
        ) {
            let mut set = SeenSet::default();
            let mut model = BTreeMap::new();
            for (sequence, (mid, sender, dropped)) in ids.iter().enumerate() {
                prop_assert_eq!(set.get(mid), model.get(mid).copied());
                if model.contains_key(mid) {
                    continue;
                }
                let sender = MemberId::new(*sender).unwrap();
                let place = ConsumedId { sender, sequence: sequence as u64, dropped: *dropped };
                set.insert(mid, place);
                model.insert(mid.clone(), place);
                // At some places, the set is restored from a snapshot, if a snapshot can hold the ids.
                if restarts[sequence % restarts.len()] && let Some(ids) = set.to_ids() {
                    let text = serde_json::to_string(&ids).unwrap();
                    set = SeenSet::from_ids(serde_json::from_str(&text).unwrap());
                }
            }
            for (mid, _, _) in &ids {
                prop_assert_eq!(set.get(mid), model.get(mid).copied());
            }
            let ids = first..=first + length;
            let keys = model.keys().filter_map(|mid| Some(key(mid.as_bits()?)));
            let last = keys.filter(|key| ids.contains(key)).max();
            prop_assert_eq!(set.last_within(ids), last);
        }
    }
}

//! The message ids that a session has consumed.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::ToString as _;

use super::{MemberId, Mid, Seen};

/// Where a consumed message id stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub sender: MemberId,
    pub sequence: u64,
    pub dropped: bool,
}

/// The set of consumed ids (draft section 3.7, item 1), exact and never forgotten.
///
/// Ids that are counted up, as ours are, stand in runs, so that a million of them take a few
/// megabytes; an id from elsewhere is a run of one.
#[derive(Debug, Default)]
pub(crate) struct SeenSet {
    runs: BTreeMap<u64, Run>,
    names: BTreeMap<Box<str>, Place>,
}

#[derive(Debug)]
struct Run {
    length: u32,
    first: Place,
}

impl SeenSet {
    pub(crate) fn get(&self, mid: &Mid) -> Option<Place> {
        let Some(bits) = mid.as_bits() else {
            return self.names.get(mid.to_string().as_str()).copied();
        };
        let (start, run) = self.runs.range(..=bits).next_back()?;
        let offset = bits - start;
        (offset < u64::from(run.length)).then(|| Place {
            sequence: run.first.sequence + offset,
            ..run.first
        })
    }

    /// Adds an id that is not in the set.
    pub(crate) fn insert(&mut self, mid: &Mid, place: Place) {
        let Some(bits) = mid.as_bits() else {
            self.names.insert(mid.to_string().into(), place);
            return;
        };
        if let Some((start, run)) = self.runs.range_mut(..bits).next_back() {
            let next = Place {
                sequence: run.first.sequence + u64::from(run.length),
                ..run.first
            };
            if *start + u64::from(run.length) == bits && next == place && run.length < u32::MAX {
                run.length += 1;
                return;
            }
        }
        let run = Run {
            length: 1,
            first: place,
        };
        self.runs.insert(bits, run);
    }

    pub(crate) fn from_stored(seen: &[Seen]) -> Self {
        let mut set = Self::default();
        for seen in seen {
            let place = Place {
                sender: seen.sender,
                sequence: seen.sequence,
                dropped: seen.dropped,
            };
            set.insert(&seen.mid, place);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::format;

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
        fn is_the_map_it_stands_for(ids in prop::collection::vec((mid(), 100u16..103, any::<bool>()), 0..200)) {
            let mut set = SeenSet::default();
            let mut model = BTreeMap::new();
            for (sequence, (mid, sender, dropped)) in ids.iter().enumerate() {
                prop_assert_eq!(set.get(mid), model.get(mid).copied());
                if model.contains_key(mid) {
                    continue;
                }
                let sender = MemberId::new(*sender).unwrap();
                let place = Place { sender, sequence: sequence as u64, dropped: *dropped };
                set.insert(mid, place);
                model.insert(mid.clone(), place);
            }
            for (mid, _, _) in &ids {
                prop_assert_eq!(set.get(mid), model.get(mid).copied());
            }
        }
    }
}

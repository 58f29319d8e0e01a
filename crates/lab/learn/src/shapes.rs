//! Shapes: sets of keys that are nearly equal.

use std::collections::{BTreeMap, BTreeSet};

use accp_frame::TokenCounter;
use accp_registry::lexical::is_key;

use crate::declared::Kind;
use crate::names::words;
use crate::places::{KeySet, Places, Step};
use crate::traces::Part;

/// The most fields of a record that a reader can read by position.
const MOST_FIELDS: usize = 64;

/// The shapes, and the shape of each set of keys.
#[derive(Debug)]
pub(crate) struct Shapes {
    pub(crate) list: Vec<Shape>,
    /// The shape of each set of keys, by the index of the set.
    of_set: Vec<Option<usize>>,
}

/// The shape of similar records, which may become a schema.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The keys, in the order that the tool declares or the records have. Keys that most records
    /// lack come last.
    pub(crate) keys: Vec<String>,
    /// The number of records.
    pub(crate) seen: usize,
    pub(crate) conversations: BTreeSet<usize>,
    /// The number of records in each place. Places where a tool declares the shape are included.
    pub(crate) places: BTreeMap<usize, usize>,
}

impl Shapes {
    pub(crate) fn of(places: &Places, counter: &impl TokenCounter) -> Self {
        let mut merger = Merger {
            places,
            groups: Vec::new(),
            at: BTreeMap::new(),
        };
        let sets = &places.sets;
        let mut order: Vec<usize> = (0..sets.len())
            .filter(|set| fits(&sets[*set].keys))
            .collect();
        // Declared sets come first, then the most frequent sets.
        order.sort_by(|a, b| {
            let key = |set: &KeySet| (set.declared.is_empty(), usize::MAX - set.seen);
            let (a, b) = (&sets[*a], &sets[*b]);
            (key(a), b.keys.len(), &a.keys).cmp(&(key(b), a.keys.len(), &b.keys))
        });
        for set in order {
            merger.take(set);
        }
        merger.absorb(counter);
        let mut of_set = vec![None; sets.len()];
        let mut list = Vec::new();
        for group in merger.groups.iter().filter(|group| !group.sets.is_empty()) {
            for set in &group.sets {
                of_set[*set] = Some(list.len());
            }
            list.push(group.shape(places));
        }
        Self { list, of_set }
    }

    /// Returns the shape of a set of keys.
    pub(crate) fn of_set(&self, set: usize) -> Option<usize> {
        self.of_set[set]
    }
}

/// Returns whether these keys can be the fields of one schema and of one struct.
fn fits(keys: &[String]) -> bool {
    let names: BTreeSet<Vec<String>> = keys.iter().map(|key| words(key)).collect();
    let joined: BTreeSet<String> = names.iter().map(|words| words.concat()).collect();
    (1..=MOST_FIELDS).contains(&keys.len())
        && keys.iter().all(|key| is_key(key) && key != "schema")
        && joined.len() == keys.len()
        && !joined.contains("")
}

/// Sets of keys that belong together.
struct Group {
    keys: BTreeSet<String>,
    sets: Vec<usize>,
    seen: usize,
    /// The number of keys of all records together.
    cells: usize,
    conversations: BTreeSet<usize>,
    places: BTreeSet<usize>,
    is_declared: bool,
    /// Whether the group holds the arguments of a tool.
    is_call: bool,
}

struct Merger<'p> {
    places: &'p Places,
    groups: Vec<Group>,
    /// The groups of each place.
    at: BTreeMap<usize, BTreeSet<usize>>,
}

impl Merger<'_> {
    /// Puts a set of keys into the group of its places that shares most keys with the set, or
    /// into a group of its own.
    fn take(&mut self, set: usize) {
        let new = self.alone(set);
        let mut candidates: BTreeSet<usize> = BTreeSet::new();
        for place in &new.places {
            candidates.extend(self.at.get(place).into_iter().flatten());
        }
        let shared = |group: &Group| group.keys.intersection(&new.keys).count();
        let best = candidates
            .into_iter()
            .filter(|group| belongs(&new, &self.groups[*group]))
            .max_by_key(|group| {
                let other = &self.groups[*group];
                let union = new.keys.len() + other.keys.len() - shared(other);
                (shared(other) * 1_000 / union, std::cmp::Reverse(*group))
            });
        let into = best.unwrap_or(self.groups.len());
        for place in &new.places {
            self.at.entry(*place).or_default().insert(into);
        }
        match best {
            Some(group) => self.groups[group].merge(new),
            None => self.groups.push(new),
        }
    }

    fn alone(&self, set: usize) -> Group {
        let keys = &self.places.sets[set];
        let places: BTreeSet<usize> = keys.places.keys().chain(&keys.declared).copied().collect();
        let is_call = |place: &usize| {
            let step = &self.places.get(*place).step;
            matches!(step, Step::Root(root) if root.part == Part::Arguments)
        };
        Group {
            keys: keys.keys.iter().cloned().collect(),
            sets: vec![set],
            seen: keys.seen,
            cells: keys.seen * keys.keys.len(),
            conversations: keys.conversations.clone(),
            is_call: places.iter().any(is_call),
            places,
            is_declared: !keys.declared.is_empty(),
        }
    }

    /// Merges a group into a group of other places that has all its keys, if one definition for both groups costs
    /// less than two definitions.
    fn absorb(&mut self, counter: &impl TokenCounter) {
        let cost = |keys: &BTreeSet<String>| -> usize {
            2 + keys
                .iter()
                .map(|key| counter.count(&format!(",{key}")))
                .sum::<usize>()
        };
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        order.sort_by_key(|group| (self.groups[*group].keys.len(), *group));
        for (at, &small) in order.iter().enumerate() {
            let mut best: Option<(i64, usize)> = None;
            for &large in &order[at + 1..] {
                let (a, b) = (&self.groups[small], &self.groups[large]);
                if !a.keys.is_subset(&b.keys) {
                    continue;
                }
                // Groups with equal keys are the same shape, so they are always merged.
                let gain = if a.keys == b.keys {
                    i64::MAX
                } else if a.is_call || b.is_call || a.keys.len() * 2 < b.keys.len() {
                    continue;
                } else {
                    let both = a.conversations.intersection(&b.conversations).count();
                    let alone = a.conversations.len() - both;
                    let (of_a, of_b) = (cost(&a.keys), cost(&b.keys));
                    // An absent field costs about half a token.
                    let gaps = a.seen * (b.keys.len() - a.keys.len()) / 2;
                    (both * of_a) as i64 - (alone * (of_b - of_a) + gaps) as i64
                };
                if gain > best.map_or(0, |(gain, _)| gain) {
                    best = Some((gain, large));
                }
            }
            if let Some((_, large)) = best {
                let group = std::mem::replace(&mut self.groups[small], Group::none());
                self.groups[large].merge(group);
            }
        }
    }
}

/// Returns whether a set of keys is the shape of a group in the same place, with some fields
/// absent or added.
fn belongs(new: &Group, group: &Group) -> bool {
    let shared = group.keys.intersection(&new.keys).count();
    let (small, large) = (
        new.keys.len().min(group.keys.len()),
        new.keys.len().max(group.keys.len()),
    );
    let union = new.keys.len() + group.keys.len() - shared;
    if union > MOST_FIELDS || !fits(&new.keys.union(&group.keys).cloned().collect::<Vec<_>>()) {
        return false;
    }
    if group.is_declared && new.keys.is_subset(&group.keys) {
        return true;
    }
    let is_dense = (group.cells + new.cells) * 2 >= (group.seen + new.seen) * union;
    shared * 2 >= small && (shared == small || shared * 3 >= large) && is_dense
}

impl Group {
    fn none() -> Self {
        Self {
            keys: BTreeSet::new(),
            sets: Vec::new(),
            seen: 0,
            cells: 0,
            conversations: BTreeSet::new(),
            places: BTreeSet::new(),
            is_declared: false,
            is_call: false,
        }
    }

    fn merge(&mut self, other: Self) {
        self.keys.extend(other.keys);
        self.sets.extend(other.sets);
        self.seen += other.seen;
        self.cells += other.cells;
        self.conversations.extend(other.conversations);
        self.places.extend(other.places);
        self.is_declared |= other.is_declared;
        self.is_call |= other.is_call;
    }

    fn shape(&self, places: &Places) -> Shape {
        let mut counts: BTreeMap<usize, usize> =
            self.places.iter().map(|place| (*place, 0)).collect();
        // For each key: the number of records with it, and the sum of its positions in them.
        let mut keys: BTreeMap<&String, (usize, f64)> =
            self.keys.iter().map(|key| (key, (0, 0.0))).collect();
        for set in self.sets.iter().map(|set| &places.sets[*set]) {
            for (place, seen) in &set.places {
                *counts.entry(*place).or_default() += seen;
            }
            for (key, sum) in set.keys.iter().zip(&set.positions) {
                let (seen, total) = keys.entry(key).or_default();
                *seen += set.seen;
                *total += sum;
            }
        }
        let declared: Vec<&String> = self.declared_order(places);
        let mut order: Vec<&String> = keys.keys().copied().collect();
        order.sort_by(|a, b| {
            let place = |key: &String| {
                let (seen, total) = keys.get(key).copied().unwrap_or_default();
                let declared = declared.iter().position(|name| *name == key);
                let is_rare = seen * 2 < self.seen;
                let mean = total / seen.max(1) as f64;
                (is_rare, declared.unwrap_or(usize::MAX), mean)
            };
            let (first, second) = (place(a), place(b));
            let said = (first.0, first.1).cmp(&(second.0, second.1));
            said.then(first.2.total_cmp(&second.2)).then(a.cmp(b))
        });
        Shape {
            keys: order.into_iter().cloned().collect(),
            seen: self.seen,
            conversations: self.conversations.clone(),
            places: counts,
        }
    }

    /// Returns the keys in the order in which the first tool declares them.
    fn declared_order<'p>(&self, places: &'p Places) -> Vec<&'p String> {
        let declared = self
            .places
            .iter()
            .filter_map(|place| places.get(*place).declared.as_ref());
        let mut objects = declared.filter_map(|declared| match &declared.kind {
            Kind::Object { fields, .. } => Some(fields),
            _ => None,
        });
        let first = objects.next();
        first.into_iter().flatten().map(|(name, _)| name).collect()
    }
}

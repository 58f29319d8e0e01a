//! Tier 2, the first half: an instruction with the same words as a stored instruction, perhaps with other values
//! (draft section 6.3).
//!
//! Another wording costs a call of the model, and a wrong packet costs more. So two instructions share
//! a packet only if all their words are the same, in the same order.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::Entry;
use super::lexicon::{is_neutral, is_read};
use super::reading::{Piece, Reading};
use super::value::Value;

/// How many values of an instruction this tier compares at most.
const VALUES: usize = 64;

/// The stored entry that an instruction fits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fit {
    /// The part of the keywords that both instructions have, from 0 to 1.
    pub(super) score: f64,
    /// The fields of the entry, with the values of the instruction.
    pub(super) fields: Vec<(String, String)>,
}

/// Compares an instruction with a stored entry of its domain.
pub(super) fn fit(entry: &Entry, asked: &Reading, threshold: f64) -> Option<Fit> {
    let stored = Reading::of(entry.instruction().text());
    let pairs = paired(&stored, asked)?;
    let (before, now) = (stored.keywords(), asked.keywords());
    let mut gone = before.difference(&now);
    if gone.any(|word| leaves_trace(word, entry.fields())) {
        return None;
    }
    let shared = before.intersection(&now).count() + pairs.len();
    let all = before.union(&now).count() + pairs.len();
    let score = shared as f64 / all.max(1) as f64;
    if score < threshold {
        return None;
    }
    let fields = replaced(entry, &pairs, asked)?;
    Some(Fit { score, fields })
}

/// Pairs each value of a stored instruction with the value at the same place of the new instruction; `None` if the
/// words differ, or a value has another kind. If the task only reads, neutral words may differ.
fn paired<'r>(stored: &'r Reading, asked: &'r Reading) -> Option<Vec<(&'r Value, &'r Value)>> {
    // An instruction without words, or with only polite words, matches nothing.
    let verb = stored.pieces.first()?.word();
    let may_differ = verb.is_some_and(is_read);
    let counts = |piece: &&'r Piece| !(may_differ && piece.word().is_some_and(is_neutral));
    let mut asked = asked.pieces.iter().filter(counts);
    let mut pairs = Vec::new();
    for old in stored.pieces.iter().filter(counts) {
        let new = asked.next().filter(|new| new.gap == old.gap)?;
        match (old.value(), new.value()) {
            (Some(old), Some(new)) if old.is_like(new) => pairs.push((old, new)),
            (None, None) if old.what == new.what => {}
            _ => return None,
        }
    }
    let is_whole = asked.next().is_none() && pairs.len() <= VALUES;
    is_whole.then_some(pairs)
}

/// Returns whether the packet contains a word of its instruction, as `res:salary_data` contains "data".
fn leaves_trace(word: &str, fields: &[(String, String)]) -> bool {
    let is_break = |c: char| !c.is_alphanumeric();
    let mut parts = fields
        .iter()
        .flat_map(|(key, value)| value.split(is_break).chain(key.split(is_break)));
    parts.any(|part| {
        let part = part.to_lowercase();
        let (short, long) = if part.len() < word.len() {
            (&part[..], word)
        } else {
            (word, &part[..])
        };
        part == word || short.len() >= 3 && long.starts_with(short)
    })
}

/// Returns the fields of the entry, in which the values of the new instruction replace the stored values; `None` if a
/// value differs and cannot be replaced with certainty.
fn replaced(
    entry: &Entry,
    pairs: &[(&Value, &Value)],
    asked: &Reading,
) -> Option<Vec<(String, String)>> {
    let mut changes: BTreeMap<&Value, &Value> = BTreeMap::new();
    let mut kept: BTreeSet<&Value> = BTreeSet::new();
    for (old, new) in pairs {
        if old == new {
            kept.insert(old);
        } else if changes
            .insert(old, new)
            .is_some_and(|before| before != *new)
        {
            return None;
        }
    }
    if changes.is_empty() {
        return Some(entry.fields().to_vec());
    }
    if changes.keys().any(|old| kept.contains(old)) {
        return None;
    }
    exchange(entry.fields(), &changes, asked)
}

/// Replaces values in the fields. The fields must have each old value as a whole item, and in no other form.
fn exchange(
    fields: &[(String, String)],
    changes: &BTreeMap<&Value, &Value>,
    asked: &Reading,
) -> Option<Vec<(String, String)>> {
    let mut spelt: BTreeMap<String, Vec<(&Value, String)>> = BTreeMap::new();
    for (old, new) in changes {
        for (before, after) in old.spellings().into_iter().zip(new.spellings()) {
            let places = spelt.entry(before).or_default();
            if !places.iter().any(|(value, _)| value == old) {
                places.push((*old, after));
            }
        }
    }
    let mut places: BTreeMap<&Value, usize> = BTreeMap::new();
    let mut found = Vec::with_capacity(fields.len());
    // The items of the fields that stay as they are. No old value may occur in them.
    let mut rest = BTreeSet::new();
    for (key, value) in fields {
        let mut text = String::with_capacity(value.len());
        for piece in value.split_inclusive([',', '=']) {
            let item = piece.trim_end_matches([',', '=']);
            let end = piece.get(item.len()..).unwrap_or_default();
            match spelt.get(item).map(Vec::as_slice) {
                Some([(old, new)]) if !new.is_empty() && !new.contains(['|', ',', '=']) => {
                    *places.entry(old).or_default() += 1;
                    text.push_str(new);
                }
                None => {
                    text.push_str(item);
                    rest.insert(item.to_lowercase());
                }
                Some(_) => return None,
            }
            text.push_str(end);
        }
        found.push((key.clone(), text));
    }
    let is_placed = changes.keys().all(|old| match (old, places.get(*old)) {
        // The same digits in two places may have two meanings, so a number must stand in one place
        // only.
        (Value::Number(_), Some(count)) => *count == 1,
        (_, count) => count.is_some(),
    });
    let leaves = |old: &&Value| {
        let traces = old.traces();
        rest.iter()
            .any(|item| traces.iter().any(|trace| stands_in(item, trace)))
    };
    // A model may have written the old value with other digits: as a quarter, or as the days of a
    // month. So the packet must have no digits that the new instruction does not have.
    let known = asked.values().flat_map(Value::spellings);
    let known: BTreeSet<String> = known.map(|text| text.to_lowercase()).collect();
    let is_derived =
        |item: &String| item.contains(|c: char| c.is_ascii_digit()) && !known.contains(item);
    let is_whole = is_placed && !changes.keys().any(leaves) && !rest.iter().any(is_derived);
    is_whole.then_some(found)
}

/// Returns whether a text occurs in another with no letter or digit beside it.
fn stands_in(text: &str, part: &str) -> bool {
    let mut places = text.match_indices(part).filter(|_| !part.is_empty());
    places.any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text
            .get(at + part.len()..)
            .and_then(|after| after.chars().next());
        let is_open = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
        is_open(before) && is_open(after)
    })
}

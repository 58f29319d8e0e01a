//! Tier 2, the first half: an instruction that says the same as a stored one in other words, or the
//! same with other values (draft section 6.3).
//!
//! Another wording costs a call of the model, and a wrong packet costs more. So everything that is not
//! known to be the same is taken to differ.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::Entry;
use super::lexicon::{is_neutral, stem};
use super::reading::Reading;
use super::value::Value;

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
    let is_same = !asked.verbs.is_empty()
        && asked.verbs == stored.verbs
        && asked.qualifiers == stored.qualifiers
        && asked.receivers == stored.receivers
        && asked.sources == stored.sources;
    if !is_same {
        return None;
    }
    let score = overlap(&stored, asked).filter(|score| *score >= threshold)?;
    let counts = |word: &&String| !is_neutral(word);
    let mut gone = stored.keywords.difference(&asked.keywords).filter(counts);
    let mut come = asked.keywords.difference(&stored.keywords).filter(counts);
    // A word in the place of another is another thing, such as "bonus" in the place of "salary".
    let is_exchanged = gone.clone().next().is_some() && come.next().is_some();
    if is_exchanged || gone.any(|word| leaves_trace(word, entry.fields())) {
        return None;
    }
    let fields = replaced(entry, &stored, asked)?;
    Some(Fit { score, fields })
}

/// Returns the part of the keywords that two instructions share, of all that one of them has. Their
/// values are compared by [`replaced`], so each counts as shared.
fn overlap(stored: &Reading, asked: &Reading) -> Option<f64> {
    if stored.values.len() != asked.values.len() {
        return None;
    }
    let values = asked.values.len();
    let shared = stored.keywords.intersection(&asked.keywords).count() + values;
    let all = stored.keywords.union(&asked.keywords).count() + values;
    (all > 0).then(|| shared as f64 / all as f64)
}

/// Returns whether the packet has taken up a word of its instruction, as `res:emp_salary` does with
/// "salary".
fn leaves_trace(word: &str, fields: &[(String, String)]) -> bool {
    let mut parts = fields
        .iter()
        .flat_map(|(key, value)| parts(value).chain(parts(key)));
    parts.any(|part| {
        let part = stem(part);
        let (short, long) = if part.len() < word.len() {
            (&part[..], word)
        } else {
            (word, &part[..])
        };
        part == word || short.len() >= 3 && long.starts_with(short)
    })
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !part.is_empty())
}

/// Returns the fields of the entry with the values of the instruction in the places of the entry's; `None`
/// if a value differs and cannot be replaced with certainty.
fn replaced(entry: &Entry, stored: &Reading, asked: &Reading) -> Option<Vec<(String, String)>> {
    let mut changes: BTreeMap<&Value, &Value> = BTreeMap::new();
    let mut kept: BTreeSet<&Value> = BTreeSet::new();
    for value in &stored.values {
        if stored.like(value).count() != asked.like(value).count() {
            return None;
        }
        for (old, new) in stored.like(value).zip(asked.like(value)) {
            if old == new {
                kept.insert(old);
            } else if changes.insert(old, new).is_some_and(|before| before != new) {
                return None;
            }
        }
    }
    if changes.is_empty() {
        return Some(entry.fields().to_vec());
    }
    if changes.keys().any(|old| kept.contains(old)) {
        return None;
    }
    exchange(entry.fields(), &changes, &asked.values)
}

/// Exchanges values in the fields. Each has to stand there as a whole, and may leave no other trace.
fn exchange(
    fields: &[(String, String)],
    changes: &BTreeMap<&Value, &Value>,
    known: &[Value],
) -> Option<Vec<(String, String)>> {
    let mut places: BTreeMap<&Value, usize> = BTreeMap::new();
    let mut found = Vec::with_capacity(fields.len());
    // What stays of the fields: the old values may not be in it.
    let mut rest = Vec::new();
    for (key, value) in fields {
        let mut text = String::with_capacity(value.len());
        for piece in value.split_inclusive([',', '=']) {
            let item = piece.trim_end_matches([',', '=']);
            let end = piece.get(item.len()..).unwrap_or_default();
            let mut spelt = changes.iter().filter_map(|(old, new)| {
                let at = old
                    .spellings()
                    .iter()
                    .position(|spelling| spelling == item)?;
                Some((*old, new.spellings().into_iter().nth(at)?))
            });
            match (spelt.next(), spelt.next()) {
                (Some((old, new)), None) if !new.contains(['|', ',', '=']) => {
                    *places.entry(old).or_default() += 1;
                    text.push_str(&new);
                }
                (None, None) => {
                    text.push_str(item);
                    rest.push(item.to_lowercase());
                }
                _ => return None,
            }
            text.push_str(end);
        }
        found.push((key.clone(), text));
    }
    let is_placed = changes.keys().all(|old| match (old, places.get(*old)) {
        // The same digits may stand in two places for two reasons.
        (Value::Number(_), Some(count)) => *count == 1,
        (_, count) => count.is_some(),
    });
    let leaves = |old: &&Value| {
        let traces = old.traces();
        rest.iter()
            .any(|item| traces.iter().any(|trace| stands_in(item, trace)))
    };
    // A model may have made other digits of the old value: a quarter, or the days of a month.
    let is_derived = |item: &String| {
        item.contains(|c: char| c.is_ascii_digit())
            && !known.iter().any(|value| {
                value
                    .spellings()
                    .iter()
                    .any(|text| text.to_lowercase() == *item)
            })
    };
    let is_whole = is_placed && !changes.keys().any(leaves) && !rest.iter().any(is_derived);
    is_whole.then_some(found)
}

/// Returns whether a text stands in another with no letter or digit beside it.
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

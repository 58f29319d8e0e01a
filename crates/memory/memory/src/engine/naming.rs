//! The names of results in marks.

use std::collections::HashSet;

use super::known::Known;

/// The most bytes of a call's id that can be the name of its result in marks.
const ID: usize = 12;

/// The names of results in marks.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// Returns the names of all results of these messages.
    pub(super) fn of(messages: &[Known]) -> Self {
        let results = messages.iter().flat_map(|known| &known.results);
        Self(results.map(|result| result.name.clone()).collect())
    }

    /// Returns a new name for a result: the id of its call, or else its number among all results of the list, from 1.
    /// The number is used if another result has this id, or if the id is long: providers make ids of twenty tokens. An
    /// id with a space, a bracket or a quote would break a mark.
    pub(super) fn take(&mut self, id: &str, mut number: usize) -> String {
        let mut name = id.to_owned();
        while !is_name(&name) || self.0.contains(&name) {
            name = number.to_string();
            number += 1;
        }
        self.0.insert(name.clone());
        name
    }
}

/// Returns whether an id can stand in a mark as it is.
fn is_name(id: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.:/".contains(c);
    (1..=ID).contains(&id.len()) && id.chars().all(is_plain)
}

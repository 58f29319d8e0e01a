//! Who may do what in a session, as the log says.

use std::collections::{BTreeMap, BTreeSet};

use super::text::is_a;
use accp_runtime::session::{MemberId, Mid};

/// The most bytes of the shared state.
const SHARED: usize = 64 * 1024;

/// Facts from the log about who may do what.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    pub(super) supervisors: BTreeSet<MemberId>,
    /// For each name of a chain, the member that used the name first.
    pub(super) names: BTreeMap<Mid, MemberId>,
    /// The session and the key of each value of another session that may be read. The key `*` stands for all keys.
    pub(super) granted: BTreeSet<(String, String)>,
    /// The version of the shared state.
    pub(super) version: u64,
    /// The bytes of each key of the shared state with its value.
    pub(super) shared: BTreeMap<String, usize>,
}

impl Rights {
    /// Records a change of the shared state.
    pub(super) fn change(&mut self, text: &str) {
        let (replaces, changes) = changes(text);
        if replaces {
            self.shared.clear();
        }
        for (key, value) in changes {
            match value {
                Some(value) => self.shared.insert(key.into(), key.len() + value.len()),
                None => self.shared.remove(key),
            };
        }
    }

    /// Returns whether the shared state has room for a change.
    pub(super) fn has_room(&self, text: &str) -> bool {
        let (replaces, changes) = changes(text);
        let is_kept = |other: &String| !replaces && changes.iter().all(|(key, _)| key != other);
        let others = self.shared.iter().filter(|(other, _)| is_kept(other));
        let others: usize = others.map(|(_, bytes)| bytes).sum();
        let set = changes
            .iter()
            .filter_map(|(key, value)| Some(key.len() + (*value)?.len()));
        others + set.sum::<usize>() <= SHARED
    }
}

/// Returns whether a frame replaces the shared state, and the keys that it sets or removes.
pub(super) fn changes(text: &str) -> (bool, Vec<(&str, Option<&str>)>) {
    let replaces = is_a(text, ">sync:state{") && text.contains("|state:{");
    let key = if replaces { "|state:{" } else { "delta:{" };
    let rest = text
        .split(">sync:state{")
        .nth(1)
        .and_then(|rest| rest.split(key).nth(1));
    let map = rest
        .and_then(|rest| rest.split('}').next())
        .unwrap_or_default();
    let pairs = map.split(',').filter_map(|pair| pair.split_once(':'));
    let pairs = pairs.map(|(key, value)| (key, Some(value).filter(|value| *value != "~")));
    (replaces, pairs.collect())
}

/// Returns whether the version of a change of the shared state may follow the held version.
pub(super) fn follows(text: &str, held: u64, version: Option<u64>) -> bool {
    let (replaces, _) = changes(text);
    version == Some(held + 1) || replaces && version.is_some_and(|version| version > held)
}

//! Restores the state from the file of the killed process, and compares this state with the log.

use std::collections::BTreeMap;

use accp_runtime::session::{Session, State};
use accp_session::{Entry, EntryKind, Stored};
use serde_json::json;

use super::file::Contents;
use super::frames::{number, param};
use super::side::{AGENTS, Kind, fault, options, rules};
use super::world::World;

type Result<T = ()> = std::result::Result<T, String>;

/// The parts of a state that a simple reader finds in the log.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plain {
    checkpoints: u64,
    version: u64,
    shared: BTreeMap<String, String>,
    grants: Vec<String>,
}

/// Checks that the state in the file equals the fold of the log from its beginning, and that both have the
/// checkpoints, the shared state and the grants that are in the log. Returns the state.
pub(crate) fn state(world: &World<'_>, contents: &Contents) -> Result<State> {
    let side = restore(world, world.plan.side, &contents.stored)?;
    let state = side.state();
    let folded = world.log.entries.iter();
    let folded: Vec<Entry> = folded
        .take_while(|entry| entry.position <= state.position())
        .cloned()
        .collect();
    let plain = Plain::of(&folded);
    let mut from_the_beginning = Stored::new(true);
    from_the_beginning.last = folded.last().map_or(0, |entry| entry.position);
    from_the_beginning.entries = folded;
    let whole = restore(world, Kind::Host, &from_the_beginning)?;
    if state != whole.state() {
        return Err(format!(
            "the state at {} differs from the fold of the log",
            state.position()
        ));
    }
    let found = Plain::in_state(state);
    if found != plain {
        return Err(format!("the log says {plain:?}, and the state {found:?}"));
    }
    Ok(state.clone())
}

fn restore(world: &World<'_>, kind: Kind, stored: &Stored) -> Result<Session> {
    let restored = match kind {
        Kind::Host => {
            let (options, rules) = (options(AGENTS[0])?, rules(world.plan.scope));
            Session::restore_host(options, rules, stored, world.now)
        }
        Kind::Member => Session::restore_member(options(AGENTS[1])?, stored, world.now),
    };
    restored.map_err(fault)
}

impl Plain {
    fn of(entries: &[Entry]) -> Self {
        let mut plain = Self::default();
        for entry in entries {
            let text = &entry.text;
            match entry.kind {
                EntryKind::Control if text.contains(">sync:checkpoint{") => plain.checkpoints += 1,
                EntryKind::Control if text.contains(">sync:grant{") => {
                    plain.grants.extend(param(text, "sid").map(String::from));
                }
                EntryKind::Frame if text.contains(">sync:state{") => plain.change(text),
                _ => {}
            }
        }
        plain.grants.sort_unstable();
        plain.grants.dedup();
        plain
    }

    /// Makes the changes of a frame such as `@dev>sync:state{v:3|delta:{k1:dev_3,k2:~}|n:3}`.
    fn change(&mut self, text: &str) {
        self.version = number(text, "v").unwrap_or_default();
        let delta = text.split_once("delta:{").map_or("", |(_, delta)| delta);
        let delta = delta.split_once('}').map_or("", |(delta, _)| delta);
        for (key, value) in delta.split(',').filter_map(|pair| pair.split_once(':')) {
            if value == "~" {
                self.shared.remove(key);
            } else {
                self.shared.insert(key.into(), value.into());
            }
        }
    }

    fn in_state(state: &State) -> Self {
        let shared = state.shared();
        let entries = shared.entries().iter();
        let grants = json!(state)["grants"].as_array().cloned();
        let grants = grants.unwrap_or_default().into_iter();
        let session = |grant: serde_json::Value| grant[0].as_str().map(String::from);
        Self {
            checkpoints: state.warm().last(),
            version: shared.version(),
            shared: entries
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .collect(),
            grants: grants.filter_map(session).collect(),
        }
    }
}

//! Who may do what, according to an observer that only reads the log: who speaks, who is in the session, and what
//! the operator has asked of the host.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::{MemberId, Mid};

use super::node::SESSION;
use super::text::{intent, meta, params};

/// Operations of `sync` that only the host may use.
const OF_THE_HOST: [&str; 10] = [
    "open",
    "join",
    "leave",
    "grant",
    "expire",
    "takes",
    "schemas",
    "level",
    "veto",
    "checkpoint",
];

/// What the log says of who may do what.
#[derive(Debug, Default)]
pub(crate) struct Authority {
    /// The agents that each member speaks for.
    pub(super) agents: BTreeMap<MemberId, BTreeSet<String>>,
    /// The ids that frames have consumed, each under its text.
    pub(super) ids: BTreeMap<String, Mid>,
    pub(super) wishes: Wishes,
}

/// What the operator has asked of the host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    /// Keys of other sessions that may be read.
    pub(super) grants: BTreeSet<(String, String)>,
    /// Keys whose bytes may expire.
    pub(super) expiries: BTreeSet<String>,
}

/// Returns the agent in the header.
fn speaker(text: &str) -> &str {
    let header = text.strip_prefix('@').unwrap_or_default();
    header.split('>').next().unwrap_or_default()
}

/// Returns the names of the agents of a `sync:open` or a `sync:join`.
pub(super) fn agents_in(text: &str) -> impl Iterator<Item = &str> {
    let names = text
        .split_once("agents:[")
        .and_then(|(_, rest)| rest.split(']').next());
    let one = || text.split_once("agent:")?.1.split(['|', '}']).next();
    names.or_else(one).unwrap_or_default().split(',')
}

/// Returns whether only the host may write a frame.
pub(super) fn is_host_s(text: &str) -> bool {
    let operation = params(text, ">sync:");
    let operation = operation.and_then(|rest| rest.split('{').next());
    intent(text) == "sync" && operation.is_some_and(|name| OF_THE_HOST.contains(&name))
}

/// Returns whether a frame names a session other than its own.
pub(super) fn is_of_another_session(text: &str) -> bool {
    meta(text, "sid").is_some_and(|sid| sid != SESSION)
}

impl Authority {
    /// Records the agents of the host or of a member that joins.
    pub(super) fn joins(&mut self, member: MemberId, text: &str) {
        let agents = agents_in(text).map(String::from).collect();
        self.agents.insert(member, agents);
    }

    pub(super) fn speaks(&self, member: MemberId, text: &str) -> bool {
        let agents = self.agents.get(&member);
        agents.is_some_and(|agents| agents.contains(speaker(text)))
    }
}

/// Returns the key of a value.
pub(super) fn value_key(member: MemberId, number: u64) -> String {
    format!("k{member}_{number}")
}

/// Returns the session and the key of a grant.
pub(super) fn grant_in(text: &str) -> Option<(String, String)> {
    let grant = params(text, ">sync:grant{")?;
    let word = |name: &str| {
        let word = grant.split_once(name)?.1.split(['|', '}']).next()?;
        Some(word.to_owned())
    };
    Some((word("sid:")?, word("key:")?))
}

/// Returns the keys that expire with a frame.
pub(super) fn expired_in(text: &str) -> impl Iterator<Item = &str> {
    let keys = params(text, ">sync:expire{keys:[").and_then(|rest| rest.split(']').next());
    keys.into_iter().flat_map(|keys| keys.split(','))
}

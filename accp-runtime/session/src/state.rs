//! The state that the log of a session folds to.

pub(crate) mod chain;
pub(crate) mod effect;
pub(crate) mod locate;
pub(crate) mod names;
pub(crate) mod puts;
pub(crate) mod seen;
pub(crate) mod shared;
pub(crate) mod takers;

use std::collections::BTreeSet;

use accp_registry::Hash;
use serde::{Deserialize, Serialize};

use crate::log::by_member::ByMember;
use crate::log::entry::Entry;
use crate::log::mid::MemberId;
use crate::options::Scope;
use crate::reference::ColdKey;
use crate::state::chain::Chains;
use crate::state::effect::Effect;
use crate::state::puts::Puts;
use crate::state::shared::SharedState;
use crate::wire::control::{self, Control};
use crate::wire::scan::Scanned;
use accp_context::{Hot, Shown, Warm};
use accp_frame::Intent;

/// The fold of the entries of a session: its members, hot and warm state, the shared state, and the
/// keys of cold values.
///
/// The state depends on the entries alone and on nothing that differs between two sides. So the
/// replicas of a host and its members are equal once they have the same entries.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    /// The last position that was folded.
    pub(crate) position: u64,
    pub(crate) scope: Scope,
    /// The name of the tokenizer; without it no tokens are counted and there is no context.
    pub(crate) tokenizer: Option<String>,
    /// The highest level of the draft that the settings of the host allow; `None` if they allow every level.
    pub(crate) level: Option<u8>,
    /// True once a hook has deferred a checkpoint.
    pub(crate) vetoed: bool,
    pub(crate) members: ByMember<Party>,
    pub(crate) chains: Chains,
    /// The values that each member has put.
    pub(crate) puts: ByMember<Puts>,
    /// Keys whose bytes are gone.
    pub(crate) expired: BTreeSet<String>,
    /// Keys of other sessions that may be read here; `*` stands for all keys of a session.
    pub(crate) grants: BTreeSet<(String, String)>,
    /// The hash of the registry in force.
    pub(crate) schemas: Option<Hash>,
    pub(crate) hot: Hot,
    pub(crate) warm: Warm,
    pub(crate) shared: SharedState,
}

/// A member of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// The agents that the member speaks for, its own name first.
    pub agents: Vec<String>,
    /// The position at which the member joined, for the first time or after it had left. The member handles the frames
    /// after it.
    pub joined: u64,
    /// True until the member leaves.
    pub present: bool,
    /// True if the member may cancel chains that others started.
    pub supervisor: bool,
    /// The requests that the member takes (`req:note:NOTE`; `*` for all requests that the list does not name).
    /// `None` until the member has said what it takes ([`Input::Takes`](crate::Input::Takes)). The list stays when
    /// the member leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<Vec<String>>,
}

/// The changes of an entry that the session has to act on.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub cancelled: bool,
    pub schemas: Option<Hash>,
    pub checkpoint: Option<u64>,
}

impl State {
    /// Returns the last position that was folded.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the numbering of the session's frames.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns the members by their numbers.
    pub fn members(&self) -> impl Iterator<Item = (MemberId, &Party)> {
        self.members.iter()
    }

    /// Returns the member that speaks for this agent.
    pub fn member_of(&self, agent: &str) -> Option<MemberId> {
        self.members
            .iter()
            .find(|(_, party)| party.agents.iter().any(|name| name == agent))
            .map(|(id, _)| id)
    }

    /// Returns the hash of the registry in force; `None` until one is announced.
    pub fn schemas(&self) -> Option<Hash> {
        self.schemas
    }

    /// Returns whether a value was put under this key, even if its bytes are gone.
    pub(crate) fn is_put(&self, key: &str) -> bool {
        control::put_key(key).is_some_and(|(member, number)| self.holds_put(member, number))
    }

    /// Returns whether a member has put a value with this number.
    pub(crate) fn holds_put(&self, member: MemberId, number: u64) -> bool {
        let puts = self.puts.get(member);
        puts.is_some_and(|puts| puts.contains(number))
    }

    /// Returns the greatest number of the values that a member has put: `12` for the key `k101_12`.
    pub fn last_put(&self, member: MemberId) -> Option<u64> {
        self.puts.get(member).map(Puts::last)
    }

    pub(crate) fn has_checkpoint(&self, id: u64) -> bool {
        id > 0 && id <= self.warm.last()
    }

    /// Returns hot state: the recent frames.
    pub fn hot(&self) -> &Hot {
        &self.hot
    }

    /// Returns warm state: the checkpoints.
    pub fn warm(&self) -> &Warm {
        &self.warm
    }

    /// Returns the state that the agents share by `sync:state`.
    pub fn shared(&self) -> &SharedState {
        &self.shared
    }

    /// Returns the name of the tokenizer for the budgets; `None` when no tokens are counted.
    pub fn tokenizer(&self) -> Option<&str> {
        self.tokenizer.as_deref()
    }

    /// Returns whether this cold key of another session may be read here.
    pub(crate) fn is_granted(&self, session: &str, key: ColdKey<'_>) -> bool {
        let key = key.to_string();
        let mut grants = self.grants.iter();
        grants.any(|(sid, granted)| sid == session && (granted == "*" || *granted == key))
    }

    /// Returns the level of the draft (section 8) that the session keeps to: 3, or less if the
    /// settings of its host ([`Options::level`](crate::Options::level)) allow no more, and 1 once a
    /// hook has put off a checkpoint that the draft asks for.
    pub fn level(&self) -> u8 {
        match (&self.tokenizer, self.vetoed) {
            (Some(_), false) => self.level.unwrap_or(3),
            _ => 1,
        }
    }

    /// Folds one entry with its effect.
    pub(crate) fn apply(&mut self, entry: &Entry, frame: &Scanned<'_>, effect: Effect) -> Applied {
        let mut applied = Applied::default();
        match effect {
            // The host does not relay this entry. It changes no state, so that members have the
            // host's state.
            Effect::Void(kind) if !kind.is_relayed() => return applied,
            Effect::Void(_) => {
                if let Some(to) = entry.to {
                    self.chains.hand_on(frame, to, entry.position);
                }
            }
            Effect::Control(control) => self.control(control, entry, &mut applied),
            Effect::Frame => self.frame(entry, frame, &mut applied),
            Effect::State(change) => {
                self.shared.make(change);
                self.frame(entry, frame, &mut applied);
            }
        }
        self.position = entry.position;
        applied
    }

    /// Returns whether a member has joined and has not left since.
    pub(crate) fn is_in(&self, member: MemberId) -> bool {
        let party = self.members.get(member);
        party.is_some_and(|party| party.present)
    }

    fn frame(&mut self, entry: &Entry, frame: &Scanned<'_>, applied: &mut Applied) {
        if self.tokenizer.is_some() {
            let (tokens, cut) = (entry.tokens, entry.cut);
            let shown = Shown { tokens, cut };
            self.hot.place(entry.position, frame.head(), shown);
        }
        self.chains.apply(frame, entry);
        applied.cancelled = frame.intent == Intent::CANCEL;
    }

    fn control(&mut self, control: Control, entry: &Entry, applied: &mut Applied) {
        match control {
            Control::Open {
                agent,
                scope,
                tokenizer,
            } => {
                self.scope = scope;
                self.tokenizer = tokenizer;
                let host = Party {
                    agents: vec![agent],
                    joined: entry.position,
                    present: true,
                    supervisor: true,
                    takes: None,
                };
                self.members.insert(MemberId::HOST, host);
            }
            Control::Join {
                member,
                agents,
                supervisor,
            } => {
                let before = self.members.get_mut(member);
                // An entry for a member that is in the session changes its agents or its rights. The member still
                // handles the frames since it came in.
                let joined = match &before {
                    Some(party) if party.present => party.joined,
                    _ => entry.position,
                };
                let party = Party {
                    agents,
                    joined,
                    present: true,
                    supervisor,
                    takes: before.and_then(|party| party.takes.take()),
                };
                self.members.insert(member, party);
            }
            Control::Takes { member, heads } => {
                if let Some(party) = self.members.get_mut(member) {
                    party.takes = Some(heads);
                }
            }
            Control::Leave { member } => {
                if let Some(party) = self.members.get_mut(member) {
                    party.present = false;
                }
            }
            Control::Grant { session, key } => {
                self.grants.insert((session, key));
            }
            Control::Expire { keys } => self.expired.extend(keys),
            Control::Put { values } => {
                let numbers = values
                    .iter()
                    .filter_map(|(key, _, _)| control::put_key(key));
                for (member, number) in numbers {
                    let puts = self.puts.or_insert_with(member, Puts::default);
                    puts.add(number);
                }
            }
            Control::Schemas { hash } => {
                self.schemas = Some(hash);
                applied.schemas = Some(hash);
            }
            Control::Veto { .. } => self.vetoed = true,
            Control::Level { level } => self.level = Some(level),
            Control::Checkpoint(checkpoint) => {
                self.hot.apply(&checkpoint);
                self.warm.apply(&checkpoint);
                applied.checkpoint = Some(checkpoint.id());
            }
        }
    }
}

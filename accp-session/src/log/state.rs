//! What the log of a session folds to.

use std::collections::BTreeSet;

use accp_registry::Hash;
use serde::{Deserialize, Serialize};

use crate::log::by_member::ByMember;
use crate::log::chain::Chains;
use crate::log::effect::Effect;
use crate::wire::control::{self, Control};
use crate::wire::scan::Scanned;
use crate::{ColdKey, Entry, MemberId, Scope, SharedState};
use accp_context::{Hot, Shown, Warm};
use accp_frame::Intent;

/// The fold of the entries of a session: who is there, what was said and is hot or warm,
/// what is shared, which values there are.
///
/// It depends on the entries alone and on nothing that differs between two sides, so that
/// the replicas of a host and its members are equal once they have the same entries.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    /// The last position that was folded.
    pub(crate) position: u64,
    pub(crate) scope: Scope,
    /// What tokens are counted with; without it nothing is counted and there is no context.
    pub(crate) tokenizer: Option<String>,
    pub(crate) members: ByMember<Party>,
    pub(crate) chains: Chains,
    /// The number of the last value that each member has put.
    pub(crate) puts: ByMember<u64>,
    /// Keys whose bytes are gone.
    pub(crate) expired: BTreeSet<String>,
    /// Keys of other sessions that may be read here, `*` for all of one.
    pub(crate) grants: BTreeSet<(String, String)>,
    /// The registry in force, by its hash.
    pub(crate) schemas: Option<Hash>,
    pub(crate) hot: Hot,
    pub(crate) warm: Warm,
    pub(crate) shared: SharedState,
}

/// A member of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// The agents it speaks for, itself first.
    pub agents: Vec<String>,
    /// The position at which it joined: what comes later is for it to handle.
    pub joined: u64,
    /// Whether it has not left.
    pub present: bool,
    /// Whether it may cancel what others started.
    pub supervisor: bool,
}

/// What an entry changed that the session has to act on.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub cancelled: bool,
    pub schemas: Option<Hash>,
    pub checkpoint: Option<u64>,
}

impl State {
    /// The last position that was folded.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// How the frames of the session are numbered.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The members by their numbers.
    pub fn members(&self) -> impl Iterator<Item = (MemberId, &Party)> {
        self.members.iter()
    }

    /// The member that speaks for this agent.
    pub fn member_of(&self, agent: &str) -> Option<MemberId> {
        self.members
            .iter()
            .find(|(_, party)| party.agents.iter().any(|name| name == agent))
            .map(|(id, _)| id)
    }

    /// The registry in force, by its hash; `None` until one is announced.
    pub fn schemas(&self) -> Option<Hash> {
        self.schemas
    }

    /// Whether a value was put under this key, whatever became of its bytes.
    pub(crate) fn is_put(&self, key: &str) -> bool {
        control::put_key(key).is_some_and(|(member, number)| {
            self.puts.get(member).is_some_and(|last| number <= *last)
        })
    }

    pub(crate) fn has_checkpoint(&self, id: u64) -> bool {
        id > 0 && id <= self.warm.last()
    }

    /// Hot state: what was said lately.
    pub fn hot(&self) -> &Hot {
        &self.hot
    }

    /// Warm state: the checkpoints.
    pub fn warm(&self) -> &Warm {
        &self.warm
    }

    /// What the agents share by `sync:state`.
    pub fn shared(&self) -> &SharedState {
        &self.shared
    }

    /// The name of the tokenizer that budgets are counted with; `None` when nothing is.
    pub fn tokenizer(&self) -> Option<&str> {
        self.tokenizer.as_deref()
    }

    /// Whether this cold key of another session may be read here.
    pub(crate) fn is_granted(&self, session: &str, key: ColdKey<'_>) -> bool {
        let key = key.to_string();
        let mut grants = self.grants.iter();
        grants.any(|(sid, granted)| sid == session && (granted == "*" || *granted == key))
    }

    /// Folds one entry, which has this effect.
    pub(crate) fn apply(&mut self, entry: &Entry, frame: &Scanned<'_>, effect: Effect) -> Applied {
        let mut applied = Applied::default();
        match effect {
            Effect::Void(_) => return applied,
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

    fn frame(&mut self, entry: &Entry, frame: &Scanned<'_>, applied: &mut Applied) {
        if self.tokenizer.is_some() {
            let (tokens, cut) = (entry.tokens, entry.cut);
            let shown = Shown { tokens, cut };
            self.hot.place(entry.position, frame.head(), shown);
        }
        self.chains.apply(frame, entry.sender, entry.position);
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
                };
                self.members.insert(MemberId::HOST, host);
            }
            Control::Join {
                member,
                agents,
                supervisor,
            } => {
                let party = Party {
                    agents,
                    joined: entry.position,
                    present: true,
                    supervisor,
                };
                self.members.insert(member, party);
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
                    let last = self.puts.or_insert_with(member, u64::default);
                    *last = number.max(*last);
                }
            }
            Control::Schemas { hash } => {
                self.schemas = Some(hash);
                applied.schemas = Some(hash);
            }
            Control::Veto { .. } => {}
            Control::Checkpoint(checkpoint) => {
                self.hot.apply(&checkpoint);
                self.warm.apply(&checkpoint);
                applied.checkpoint = Some(checkpoint.id());
            }
        }
    }
}

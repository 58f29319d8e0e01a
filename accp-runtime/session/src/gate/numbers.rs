//! The numbers (`seq`) that senders have used and that a host expects next, and other data that the host remembers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use accp_registry::{ErrorCode, Hash};
use serde::{Deserialize, Serialize};

use crate::delivery::groups::Groups;
use crate::gate::profile::OpenStreams;
use crate::gate::summary::WantedSummary;
use crate::gate::transactions::Transactions;
use crate::log::by_member::ByMember;
use crate::log::mid::{MemberId, Mid};
use crate::options::Scope;
use crate::state::names::Names;

/// The greatest number of refusals that the host remembers for one member.
pub(crate) const REFUSED: usize = 256;

/// The numbers of a session, as a snapshot keeps them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Numbers {
    /// The last `seq` of all senders, with shared numbering.
    shared: u64,
    senders: ByMember<Sender>,
    /// Values that members have announced, but whose bytes the host does not have yet.
    pub(crate) missing: BTreeMap<String, Missing>,
    /// Frames that still lack some of their parts.
    pub(crate) groups: Groups,
    /// The names of chains that are not message ids.
    pub(crate) names: Names,
    /// Frames in parts that the host has recovered from a member. The host does not know the ids of their later
    /// parts.
    #[serde(default)]
    pub(crate) wholes: BTreeSet<Mid>,
    #[serde(default, skip_serializing_if = "Transactions::is_empty")]
    pub(crate) transactions: Transactions,
    #[serde(default, skip_serializing_if = "OpenStreams::is_empty")]
    pub(crate) streams: OpenStreams,
    /// The late summary that the host wants for the last checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<Box<WantedSummary>>,
}

/// A value to fetch from the member that put it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Missing {
    pub from: MemberId,
    pub digest: Hash,
    pub length: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Sender {
    /// The last consumed `seq`, and the frame that consumed it.
    last: u64,
    last_mid: Option<Mid>,
    /// Frames that were refused for good, the newest last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[expect(
        clippy::box_collection,
        reason = "most members have none, and many rest"
    )]
    refused: Option<Box<VecDeque<(Mid, u16)>>>,
    /// The number of frames that were refused for good since the member joined.
    since_join: usize,
    /// The last `seq` of all senders when the member joined, with shared numbering.
    #[serde(default)]
    joined: u64,
}

impl Numbers {
    fn sender(&mut self, member: MemberId) -> &mut Sender {
        self.senders.or_insert_with(member, Sender::default)
    }

    /// Returns the `seq` that is due from this member.
    pub(crate) fn next(&self, scope: Scope, member: MemberId) -> u64 {
        1 + match scope {
            Scope::Shared => self.shared,
            Scope::Sender => self.senders.get(member).map_or(0, |sender| sender.last),
        }
    }

    /// Returns the last consumed frame of this member, and its `seq`.
    pub(crate) fn last(&self, member: MemberId) -> Option<(&Mid, u64)> {
        let sender = self.senders.get(member)?;
        Some((sender.last_mid.as_ref()?, sender.last))
    }

    /// Returns how many values of this member the host does not have yet.
    pub(crate) fn missing_of(&self, member: MemberId) -> usize {
        let (first, end) = (format!("k{member}_"), format!("k{member}`"));
        self.missing.range(first..end).count()
    }

    /// Returns how many frames of this member were refused for good since it joined.
    pub(crate) fn refusals(&self, member: MemberId) -> usize {
        let sender = self.senders.get(member);
        sender.map_or(0, |sender| sender.since_join)
    }

    /// Notes that this member joins, for the first time or after it has left.
    pub(crate) fn joins(&mut self, member: MemberId) {
        let joined = self.shared;
        let sender = self.sender(member);
        (sender.since_join, sender.joined) = (0, joined);
    }

    /// Returns the last `seq` of all senders when this member joined, with shared numbering.
    pub(crate) fn joined(&self, member: MemberId) -> u64 {
        self.senders.get(member).map_or(0, |sender| sender.joined)
    }

    pub(crate) fn refused(&self, member: MemberId, mid: &Mid) -> Option<ErrorCode> {
        let refused = self.senders.get(member)?.refused.as_ref()?;
        let (_, code) = refused.iter().rev().find(|(refused, _)| refused == mid)?;
        ErrorCode::new(*code)
    }

    /// Returns the last epoch among the ids of this member that were refused for good, as far as they are remembered.
    pub(crate) fn last_refused_epoch(&self, member: MemberId) -> Option<u32> {
        let refused = self.senders.get(member)?.refused.as_ref()?;
        refused
            .iter()
            .filter_map(|(mid, _)| mid.epoch_by(member))
            .max()
    }

    /// Notes that a frame of this member was refused for good.
    pub(crate) fn refuse(&mut self, member: MemberId, mid: &Mid, code: ErrorCode) {
        let sender = self.sender(member);
        sender.since_join = sender.since_join.saturating_add(1);
        self.remember(member, mid, code);
    }

    /// Makes the host refuse this frame of the member with this code when the frame arrives.
    pub(crate) fn remember(&mut self, member: MemberId, mid: &Mid, code: ErrorCode) {
        let refused = self.sender(member).refused.get_or_insert_default();
        if refused.len() == REFUSED {
            refused.pop_front();
        }
        refused.push_back((mid.clone(), code.number()));
    }

    /// Where each sender has its own numbers, makes this `seq` the one that is due from the member, because the
    /// member named it as its next. The host has lost its record of earlier frames: it had accepted them, or dropped
    /// them.
    pub(crate) fn jump(&mut self, member: MemberId, next: u64) {
        let sender = self.sender(member);
        if next > sender.last + 1 && next < 1 << 47 {
            sender.last = next - 1;
            sender.last_mid = None;
        }
    }

    /// Notes that a frame of this member took this `seq`.
    pub(crate) fn consume(&mut self, member: MemberId, mid: &Mid, sequence: u64) {
        self.shared = self.shared.max(sequence);
        let sender = self.sender(member);
        sender.last = sequence;
        sender.last_mid = Some(mid.clone());
    }
}

//! The facts about a run that the checks of the bounds in docs/limits.md need.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::MemberId;
use accp_session::Batch;

use super::plan::RunPlan;
use super::text::{field, meta, number_in};

/// The facts about a run that the checks of its bounds need.
#[derive(Debug)]
pub(super) struct Bounds {
    /// The most frames in an outbox. `backlog` is the most frames that wait for their handlers.
    pub(super) outbox: usize,
    pub(super) backlog: usize,
    pub(super) groups: usize,
    /// The last position that each member has said it holds, since the host has started.
    pub(super) held: BTreeMap<MemberId, u64>,
    /// How many frames of each member were refused since the member joined.
    pub(super) refused: BTreeMap<MemberId, usize>,
    /// The keys of values whose bytes the host has had.
    pub(super) supplied: BTreeSet<String>,
}

impl Bounds {
    pub(super) fn new(plan: &RunPlan) -> Self {
        let (outbox, backlog) = plan.room();
        Self {
            outbox,
            backlog,
            groups: plan.groups,
            held: BTreeMap::new(),
            refused: BTreeMap::new(),
            supplied: BTreeSet::new(),
        }
    }

    /// Notes that the host has started again. The host does not know any more what members hold.
    pub(super) fn starts_again(&mut self) {
        self.held.clear();
    }

    pub(super) fn joins(&mut self, member: MemberId) {
        self.refused.remove(&member);
    }

    /// Records the position that a member says it holds, or the position at which the host has told the member to
    /// begin.
    pub(super) fn holds(&mut self, member: MemberId, text: &str) {
        let is_link = meta(text, "mid").is_some_and(|mid| mid.starts_with('9'));
        let said = number_in::<u64>(text, "seq").filter(|_| is_link);
        let said = said.max(field(text, "pos")).max(field(text, "from"));
        let held = self.held.entry(member).or_default();
        *held = said.unwrap_or_default().max(*held);
    }

    pub(super) fn supplies(&mut self, batch: &Batch) {
        let here = batch.cold.iter().filter(|cold| cold.bytes.is_some());
        self.supplied.extend(here.map(|cold| cold.key.clone()));
    }
}

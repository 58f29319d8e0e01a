//! The counts of all runs.

use std::fmt;

use accp_testkit::Faulted;

use super::kinds::Kinds;
use super::plan::RunPlan;

/// The number of times that each event has happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) runs: u64,
    pub(crate) frames: u64,
    pub(crate) fewest: Option<u64>,
    /// The most bytes that the session of a host has taken.
    pub(crate) heaviest: u64,
    pub(crate) handled: u64,
    pub(crate) faulted: Faulted,
    pub(crate) partitions: u64,
    /// Entries that did not reach their member, because the member heard no entries for a while.
    pub(crate) unheard: u64,
    pub(crate) skewed: u64,
    pub(crate) host_restarts: u64,
    pub(crate) member_restarts: u64,
    pub(crate) batches_lost: u64,
    pub(crate) sends_lost: u64,
    pub(crate) dropped: u64,
    pub(crate) refused: u64,
    pub(crate) cancels: u64,
    pub(crate) withdrawn: u64,
    /// Requests for one agent.
    pub(crate) addressed: u64,
    pub(crate) said_takes: u64,
    pub(crate) handed_on: u64,
    pub(crate) told_expired: u64,
    /// Frames of a hostile member.
    pub(crate) forged: u64,
    pub(crate) clock_steps: u64,
    pub(crate) copies_back: u64,
    pub(crate) rolled_back: u64,
    pub(crate) recovered: u64,
    pub(crate) forks: u64,
    pub(crate) removed: u64,
    pub(crate) tokens_fired: u64,
    pub(crate) values: u64,
    pub(crate) fetched: u64,
    /// Requests of members for a value for which all members have asked at the same time.
    pub(crate) wanted: u64,
    /// Values and frames that one member has asked for at the same time.
    pub(crate) wanted_alone: u64,
    pub(crate) expired: u64,
    pub(crate) host_snapshots: u64,
    pub(crate) snapshots: u64,
    pub(crate) checkpoints: u64,
    pub(crate) merges: u64,
    pub(crate) parts: u64,
    pub(crate) deltas: u64,
    pub(crate) schemas: u64,
    pub(crate) steps: u64,
    pub(crate) left: u64,
    /// Entries that stores have discarded.
    pub(crate) discarded: u64,
    /// Gaps in the logs of members that the members were told of.
    pub(crate) missed: u64,
    pub(crate) in_sqlite: u64,
    pub(crate) queued: u64,
    pub(crate) awaited: u64,
    /// Requests of transactions that went to handlers. `asked_again` counts the requests for a known transaction,
    /// and `answered_again` the copies of answers for these requests.
    pub(crate) payments: u64,
    pub(crate) asked_again: u64,
    pub(crate) answered_again: u64,
    /// Pieces and ends of streams that the host refuses, because they contradict their stream.
    pub(crate) contradictions: u64,
    /// Chunks of streams that handlers took.
    pub(crate) chunks: u64,
    /// Chunks that handlers refuse, because they contradict other chunks or are too many.
    pub(crate) odd_chunks: u64,
    pub(crate) references: u64,
    /// Reads of a store that failed.
    pub(crate) misread: u64,
    /// Pieces of values, folds and schemas that the link has changed.
    pub(crate) damaged: u64,
    /// Sides that were restored from their store and compared with the running side.
    pub(crate) restored: u64,
    /// Erasures in copies of stores.
    pub(crate) erased: u64,
    /// Rows of files that were changed or lost at the end.
    pub(crate) rows_damaged: u64,
    pub(crate) kinds: Kinds,
}

impl Counts {
    /// Returns the counts of a run at its beginning.
    pub(super) fn of(plan: &RunPlan) -> Self {
        Self {
            runs: 1,
            in_sqlite: u64::from(plan.sqlite),
            queued: u64::from(plan.queued),
            awaited: u64::from(plan.awaited),
            skewed: plan.skew.iter().filter(|skew| **skew != 0).count() as u64,
            ..Self::default()
        }
    }

    pub(crate) fn rows(&mut self) -> [(&'static str, &mut u64); 64] {
        let Faulted {
            sent,
            delivered,
            lost,
            duplicated,
            delayed,
            reordered,
            partitioned,
            ..
        } = &mut self.faulted;
        [
            ("runs", &mut self.runs),
            ("frames accepted", &mut self.frames),
            ("frames handled", &mut self.handled),
            ("texts on the link", sent),
            ("  delivered", delivered),
            ("  lost", lost),
            ("  duplicated", duplicated),
            ("  delayed", delayed),
            ("  out of order", reordered),
            ("  kept by a partition", partitioned),
            ("partitions", &mut self.partitions),
            ("entries for deaf members", &mut self.unheard),
            ("clocks out of step", &mut self.skewed),
            ("host restarts", &mut self.host_restarts),
            ("member restarts", &mut self.member_restarts),
            ("  batches lost", &mut self.batches_lost),
            ("  sends lost", &mut self.sends_lost),
            ("dropped silently", &mut self.dropped),
            ("refused", &mut self.refused),
            ("cancellations", &mut self.cancels),
            ("  told to their sender", &mut self.withdrawn),
            ("expiries concluded", &mut self.told_expired),
            ("requests for one agent", &mut self.addressed),
            ("words of what an agent takes", &mut self.said_takes),
            ("requests that are handed on", &mut self.handed_on),
            ("frames of a hostile member", &mut self.forged),
            ("steps of clocks", &mut self.clock_steps),
            ("old copies put back", &mut self.copies_back),
            ("  hosts that were rolled back", &mut self.rolled_back),
            ("  recovered", &mut self.recovered),
            ("  forked", &mut self.forks),
            ("  members removed", &mut self.removed),
            ("  tokens fired", &mut self.tokens_fired),
            ("values put", &mut self.values),
            ("  fetched by members", &mut self.fetched),
            ("  wanted by all at once", &mut self.wanted),
            ("  wanted with many others", &mut self.wanted_alone),
            ("  expired", &mut self.expired),
            ("snapshots of hosts", &mut self.host_snapshots),
            ("snapshots of members", &mut self.snapshots),
            ("checkpoints", &mut self.checkpoints),
            ("  merges", &mut self.merges),
            ("parts", &mut self.parts),
            ("state deltas", &mut self.deltas),
            ("schemas registered", &mut self.schemas),
            ("members that left", &mut self.left),
            ("entries discarded", &mut self.discarded),
            ("  gaps told to members", &mut self.missed),
            ("runs in SQLite", &mut self.in_sqlite),
            ("runs behind a committer", &mut self.queued),
            ("runs of AsyncDriver", &mut self.awaited),
            ("reads that failed", &mut self.misread),
            ("pieces that were damaged", &mut self.damaged),
            ("sides restored aside", &mut self.restored),
            ("erasures", &mut self.erased),
            ("rows that were damaged", &mut self.rows_damaged),
            ("references read", &mut self.references),
            ("transactions", &mut self.payments),
            ("  asked for again", &mut self.asked_again),
            ("  answered again", &mut self.answered_again),
            ("chunks of streams", &mut self.chunks),
            ("  refused by the host", &mut self.contradictions),
            ("  refused by handlers", &mut self.odd_chunks),
            ("steps", &mut self.steps),
        ]
    }

    /// Returns the name of a count that differs, except for the counts of stores and drivers.
    pub(super) fn other_than(&self, other: &Self) -> Option<&'static str> {
        let same = |counts: &Self| Self {
            in_sqlite: 0,
            queued: 0,
            awaited: 0,
            // A side is restored for comparison only if its store is in memory.
            restored: 0,
            erased: 0,
            rows_damaged: 0,
            ..counts.clone()
        };
        let are_other = self.kinds != other.kinds;
        let (mut own, mut other) = (same(self), same(other));
        let rows = own.rows().into_iter().zip(other.rows());
        let mut differ = rows.filter(|(own, other)| own.1 != other.1);
        let name = differ.next().map(|(own, _)| own.0.trim());
        name.or(are_other.then_some("entries or events"))
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let mut other = other.clone();
        for ((_, sum), (_, count)) in self.rows().into_iter().zip(other.rows()) {
            *sum += *count;
        }
        self.kinds.add(&other.kinds);
        self.heaviest = self.heaviest.max(other.heaviest);
        self.fewest = [self.fewest, other.fewest].into_iter().flatten().min();
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in self.clone().rows() {
            writeln!(f, "{name:<24}{count:>14}")?;
            if name == "frames accepted" {
                let fewest = self.fewest.unwrap_or_default();
                writeln!(f, "{:<24}{fewest:>14}", "  fewest in a run")?;
            }
        }
        Ok(())
    }
}

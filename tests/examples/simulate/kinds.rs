//! The kinds of entries, refusals and events that occurred, and the kinds that must occur.

use std::collections::BTreeMap;
use std::fmt;

use accp_runtime::session::Event;
use accp_session::{Batch, EntryKind};

use super::moves::cells;

/// Kinds that must occur in every thousand runs. Kinds with `draft` are events of a member that speaks the draft
/// alone.
const EXPECTED: [&str; 80] = [
    "draft Acknowledged",
    "draft AtLeastOnce",
    "draft Cancelled",
    "draft Expired",
    "draft Joined",
    "draft Missed",
    "draft PeerError E1004",
    "draft PeerError E2001",
    "draft PeerError E5001",
    "draft Refused E1004",
    "draft Refused E2001",
    "draft Refused E5001",
    "draft Retried E3001",
    "draft Schemas",
    "entry Control",
    "entry Dropped",
    "entry Frame",
    "entry Lost",
    "entry Part",
    "entry Repeat",
    "entry Refused E1001",
    "entry Refused E1004",
    "entry Refused E2001",
    "entry Refused E2002",
    "entry Refused E2003",
    "entry Refused E5001",
    "entry Refused E5002",
    "forged answer, chosen taker",
    "forged answer, named taker",
    "guest Denied E2001",
    "guest Denied E5001",
    "guest answers",
    "host AtLeastOnce",
    "host Checkpoint",
    "host CheckpointDeferred",
    "host Dropped",
    "host Lapsed",
    "host RolledBack",
    "host NotRecovered",
    "host OverSoftLimit",
    "host PeerError E3003",
    "host Recovered",
    "host Rejected E1001",
    "host Rejected E1004",
    "host Rejected E2001",
    "host Rejected E2002",
    "host Rejected E2003",
    "host Rejected E5001",
    "host Rejected E5002",
    "host Removed",
    "host SchemasUnavailable",
    "host SummaryWanted",
    "host Supplied",
    "host Tampered",
    "host Unavailable",
    "member Acknowledged",
    "member Cancelled",
    "member Checkpoint",
    "member Expired",
    "member Joined",
    "member Lapsed",
    "member Missed",
    "member OverSoftLimit",
    "member PeerError E2001",
    "member PeerError E2002",
    "member PeerError E5001",
    "member PeerError E5002",
    "member Refused E1004",
    "member Refused E2001",
    "member Refused E2002",
    "member Refused E5001",
    "member Refused E5002",
    "member Retried E3001",
    "member Schemas",
    "member SchemasUnavailable",
    "member Supplied",
    "post Accepted",
    "post Refused E2001",
    "post Refused E3003",
    "post supplies",
];

/// The number of times that each kind has occurred.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kinds(BTreeMap<String, u64>);

impl Kinds {
    /// Counts what is in a batch of a side.
    pub(super) fn note(&mut self, side: &str, batch: &Batch) {
        for entry in batch.entries.iter().filter(|_| side == "host") {
            self.count(match entry.kind {
                EntryKind::Refused(code) => format!("entry Refused {code}"),
                kind => format!("entry {kind:?}"),
            });
        }
        for event in &batch.events {
            let (name, code) = name(event);
            let code = code.map(|code| format!(" {code}")).unwrap_or_default();
            self.count(format!("{side} {name}{code}"));
        }
    }

    pub(super) fn count(&mut self, kind: String) {
        *self.0.entry(kind).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            *self.0.entry(kind.clone()).or_default() += count;
        }
    }

    /// Returns the kinds that must occur in many runs and did not occur. Some kinds occur only with `drafts`, which
    /// means that some members speak the draft alone.
    pub(crate) fn missing(&self, drafts: bool) -> impl Iterator<Item = String> {
        let is_of_drafts = |kind: &str| kind.starts_with("draft ") || kind == "host AtLeastOnce";
        EXPECTED
            .into_iter()
            .filter(move |kind| drafts || !is_of_drafts(kind))
            .map(String::from)
            .chain(cells())
            .filter(|kind| !self.0.contains_key(kind))
    }
}

/// Returns the name of an event, and the code of a refusal.
fn name(event: &Event) -> (&'static str, Option<accp_runtime::ErrorCode>) {
    let name = match event {
        Event::Refused(_, error) => return ("Refused", Some(error.code)),
        Event::Retried { code, .. } => return ("Retried", Some(*code)),
        Event::PeerError(_, error) => return ("PeerError", Some(error.code)),
        Event::Rejected(_, _, code) => return ("Rejected", Some(*code)),
        Event::Joined(_) => "Joined",
        Event::AtLeastOnce(_) => "AtLeastOnce",
        Event::Acknowledged(_) => "Acknowledged",
        Event::Cancelled(_) => "Cancelled",
        Event::Expired(_) => "Expired",
        Event::Dropped(_) => "Dropped",
        Event::Lapsed(_) => "Lapsed",
        Event::OverSoftLimit { .. } => "OverSoftLimit",
        Event::Checkpoint(_) => "Checkpoint",
        Event::SummaryWanted { .. } => "SummaryWanted",
        Event::CheckpointDeferred(_) => "CheckpointDeferred",
        Event::Missed(_) => "Missed",
        Event::RolledBack { .. } => "RolledBack",
        Event::Recovered(_) => "Recovered",
        Event::NotRecovered(_) => "NotRecovered",
        Event::Removed(_) => "Removed",
        Event::Supplied(_) => "Supplied",
        Event::Unavailable(_) => "Unavailable",
        Event::Tampered(_) => "Tampered",
        Event::Schemas(_) => "Schemas",
        Event::SchemasUnavailable(_) => "SchemasUnavailable",
        Event::SchemasDiffer(..) => "SchemasDiffer",
        Event::NotWritten(_) => "NotWritten",
        _ => "another event",
    };
    (name, None)
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds = self.0.iter();
        kinds.try_for_each(|(kind, count)| writeln!(f, "{kind:<32}{count:>14}"))
    }
}

//! The plan for a file, and the counts.

use std::fmt;
use std::time::Duration;

use accp_runtime::session::Scope;

use super::plant::Plant;
use super::side::Kind;

/// The plan for one file.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// The side that is killed.
    pub(crate) side: Kind,
    pub(crate) scope: Scope,
    pub(crate) kills: u64,
    /// The longest time between a line and the kill.
    pub(crate) delay: Duration,
    pub(crate) plant: Option<Plant>,
}

/// The counts of all files.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) kills: u64,
    pub(crate) files: u64,
    pub(crate) opening: u64,
    pub(crate) in_hand: u64,
    pub(crate) untold: u64,
    pub(crate) output_lost: u64,
    pub(crate) frames: u64,
    pub(crate) acknowledged: u64,
    pub(crate) handled: u64,
    pub(crate) said: u64,
    pub(crate) values: u64,
    pub(crate) snapshots: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("kills", self.kills),
            ("  before it had opened", self.opening),
            ("  with frames in hand that were not kept", self.in_hand),
            ("  with kept frames not yet sent", self.untold),
            ("  with lost last lines", self.output_lost),
            ("files", self.files),
            ("  with snapshots", self.snapshots),
            ("frames accepted", self.frames),
            ("acknowledgements that had left", self.acknowledged),
            ("frames that the killed side handled", self.handled),
            ("frames that the killed side sent", self.said),
            ("values", self.values),
        ];
        for (name, count) in rows {
            writeln!(f, "{name:<46}{count:>9}")?;
        }
        Ok(())
    }
}

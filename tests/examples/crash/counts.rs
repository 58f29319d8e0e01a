//! The counts of a run.

use std::fmt;

use accp_session::EntryKind;
use accp_tests::program;

use super::fact::Fate;
use super::file::Contents;
use super::world::World;

/// The counts of a run, over all its files.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) kills: u64,
    pub(crate) opening: u64,
    pub(crate) in_hand: u64,
    pub(crate) untold: u64,
    pub(crate) output_lost: u64,
    /// Kills after which the host had some parts of a frame, and waited for the others.
    pub(crate) halves: u64,
    /// Kills after which retention had shortened the log in the file.
    pub(crate) shortened: u64,
    /// Kills after which the file had checkpoints.
    pub(crate) with_checkpoints: u64,
    /// Comparisons of a value in the file with the text that its sender put.
    pub(crate) compared: u64,
    files: u64,
    snapshots: u64,
    frames: u64,
    wholes: u64,
    cancels: u64,
    deltas: u64,
    checkpoints: u64,
    grants: u64,
    acknowledged: u64,
    handled: u64,
    stopped: u64,
    said: u64,
    /// The ends that members have reported, in the order of [`Fate::ALL`].
    fates: [u64; 4],
    swallowed: u64,
    values: u64,
    read: u64,
    expired: u64,
    texts_freed: u64,
    bytes_freed: u64,
}

impl Counts {
    /// Adds the results of a file.
    pub(crate) fn add(&mut self, world: &World<'_>, contents: &Contents) {
        let log = &world.log;
        let count = |kind: EntryKind, word: &str| {
            let entries = log.entries.iter().filter(|entry| entry.kind == kind);
            entries.filter(|entry| entry.text.contains(word)).count() as u64
        };
        self.files += 1;
        self.snapshots += u64::from(contents.stored.snapshot.is_some());
        self.frames += count(EntryKind::Frame, "");
        self.wholes += log.wholes() as u64;
        self.cancels += count(EntryKind::Frame, ">cancel:task{");
        self.deltas += count(EntryKind::Frame, ">sync:state{");
        self.checkpoints += count(EntryKind::Control, ">sync:checkpoint{");
        self.grants += count(EntryKind::Control, ">sync:grant{");
        self.values += contents.values.len() as u64;
        self.expired += log.expired.len() as u64;
        self.swallowed += world.untold.len() as u64;
        let told = &world.told;
        self.acknowledged += told.acks;
        self.stopped += told.stopped.len() as u64;
        self.read += told.read;
        self.texts_freed += told.freed.0;
        self.bytes_freed += told.freed.1;
        if let Some(own) = world.ledgers.get(&world.own) {
            self.handled += own.handled.len() as u64;
            self.said += own.said.len() as u64;
        }
        for (fate, sum) in Fate::ALL.into_iter().zip(&mut self.fates) {
            *sum += world.ledgers.values().map(|l| l.count(fate)).sum::<u64>();
        }
    }

    fn rows(&self) -> [(&'static str, u64); 31] {
        let [acknowledged, refused, expired, cancelled] = self.fates;
        [
            ("kills", self.kills),
            ("  before it had opened", self.opening),
            ("  with frames in hand that were not kept", self.in_hand),
            ("  with kept frames not yet sent", self.untold),
            ("  with lost last lines", self.output_lost),
            ("  between the parts of a frame", self.halves),
            ("  with checkpoints in the file", self.with_checkpoints),
            ("  with a log that retention had shortened", self.shortened),
            ("files", self.files),
            ("  with snapshots", self.snapshots),
            ("frames accepted", self.frames),
            ("  that came in parts", self.wholes),
            ("  that cancel a chain", self.cancels),
            ("  that change the shared state", self.deltas),
            ("checkpoints", self.checkpoints),
            ("grants", self.grants),
            ("acknowledgements that had left", self.acknowledged),
            ("frames that the killed side handled", self.handled),
            ("  whose token fired meanwhile", self.stopped),
            ("frames that the killed side sent", self.said),
            ("ends that members were told: acknowledged", acknowledged),
            ("  refused", refused),
            ("  expired", expired),
            ("  cancelled", cancelled),
            ("  ends that a kill swallowed", self.swallowed),
            ("values", self.values),
            ("  whose bytes expired", self.expired),
            ("  whose bytes the killed side's handlers read", self.read),
            ("comparisons of bytes after a kill", self.compared),
            ("texts that retention deleted", self.texts_freed),
            ("bytes that retention deleted", self.bytes_freed),
        ]
    }

    /// Returns the names of the counts that are still 0. A long run must reach all of them.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let rows = self.rows().into_iter();
        let missing = rows.filter(|(_, count)| *count == 0);
        missing.map(|(name, _)| name.trim_start()).collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        program::write_counts(f, &self.rows())
    }
}

//! The message ids that a side makes, and the epoch that it commits for them.

use super::Side;
use crate::interface::outbound::SendError;
use crate::log::mid::{Mid, MidSource};

impl Side {
    /// Fails when only the reserved ids of this side are left, which the session itself needs.
    pub(crate) fn check_ids(&self) -> Result<(), SendError> {
        self.mids.has(1).then_some(()).ok_or(SendError::IdsUsedUp)
    }

    /// Returns a new id. The epoch of the id is committed before the id leaves.
    pub(crate) fn next_mid(&mut self) -> Result<Mid, SendError> {
        let mut mid = self.make_mid(MidSource::next)?;
        // Another member may have begun a chain under an id before this side made it, and the chain
        // may be cancelled by now.
        while self.state.chains.reaches(&mid) {
            mid = self.make_mid(MidSource::next)?;
        }
        Ok(mid)
    }

    /// As [`Side::next_mid`], for a control frame of the host.
    pub(crate) fn next_control_mid(&mut self) -> Result<Mid, SendError> {
        self.make_mid(MidSource::next_control)
    }

    fn make_mid(&mut self, next: fn(&mut MidSource) -> Option<Mid>) -> Result<Mid, SendError> {
        let epoch = self.mids.epoch();
        let mid = next(&mut self.mids);
        if self.mids.epoch() != epoch || self.owes_epoch {
            self.commit_epoch();
        }
        mid.ok_or(SendError::IdsUsedUp)
    }

    /// Makes ids of a later epoch than `last` from now on.
    pub(crate) fn raise_epoch(&mut self, last: u32) {
        self.mids.raise(last);
        self.commit_epoch();
    }

    /// Commits the epoch with the next batch. A store takes each epoch once.
    fn commit_epoch(&mut self) {
        self.owes_epoch = false;
        self.batch.get().epoch = Some(self.mids.epoch());
    }
}

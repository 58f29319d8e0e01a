//! The right to call the model for a new instruction: one caller has it at a time, and the others wait.
//!
//! The caller has the right for the time of a lease. If the caller hangs or is killed, the lease ends, and one of the
//! waiting callers takes over. This file decides who calls; registries store the rows.

use super::model::ModelError;

/// The longest lease, in milliseconds. A lease that seems to be longer comes from a clock that was set
/// back, and counts as ended.
pub(super) const LONGEST: u64 = 15 * 60 * 1000;

/// A request for the right to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimRequest {
    /// A random number of the caller. No two callers have the same.
    pub holder: u64,
    /// The number of the call that the caller has waited for.
    pub waited: Option<u64>,
    /// The time, in milliseconds since 1970.
    pub now: u64,
    /// How long the caller needs the right, in milliseconds.
    pub lease: u64,
}

/// The row of an instruction for which the model is called, or the call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The number of the call, counted from 1.
    pub number: u64,
    /// The random number of the caller.
    pub holder: u64,
    /// When the lease ends, in milliseconds since 1970; 0 when nobody calls.
    pub until: u64,
    /// The number of the last call that failed; 0 if none did.
    pub failed: u64,
    /// The error of the last call that failed.
    pub failure: Option<ModelError>,
}

/// What a caller has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimDecision {
    /// Call the model. This row has been written.
    Call(Claim),
    /// Wait for the call of this number, whose lease ends at this time.
    Wait {
        /// The number of the call.
        number: u64,
        /// The end of the lease of this call, in milliseconds since 1970.
        until: u64,
    },
    /// The caller has waited for a call, and that call failed with this error.
    Failed(ModelError),
}

/// Decides what a caller has to do. The registry writes the row of [`ClaimDecision::Call`] in the same
/// transaction.
pub fn decide(row: Option<&Claim>, ask: &ClaimRequest) -> ClaimDecision {
    if let Some(row) = row {
        let waited = ask.waited.filter(|waited| *waited <= row.failed);
        if let (Some(_), Some(failure)) = (waited, &row.failure) {
            return ClaimDecision::Failed(failure.clone());
        }
        let is_live = row.until > ask.now && row.until <= ask.now.saturating_add(LONGEST);
        if is_live {
            let (number, until) = (row.number, row.until);
            return ClaimDecision::Wait { number, until };
        }
    }
    ClaimDecision::Call(Claim {
        number: row.map_or(0, |row| row.number).saturating_add(1),
        holder: ask.holder,
        until: ask.now.saturating_add(ask.lease.min(LONGEST)),
        failed: row.map_or(0, |row| row.failed),
        failure: row.and_then(|row| row.failure.clone()),
    })
}

impl Claim {
    /// Returns the row after its call failed. The row tells the failure to the callers that waited for this call.
    #[must_use]
    pub fn into_failed(self, failure: ModelError) -> Self {
        Self {
            until: 0,
            failed: self.number,
            failure: Some(failure),
            ..self
        }
    }

    /// Returns whether another row belongs to the same call.
    pub fn is_same_call(&self, other: &Self) -> bool {
        (self.number, self.holder) == (other.number, other.holder)
    }
}

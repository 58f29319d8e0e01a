//! The shifts of a team of clerks. This crate has the same registry as the team, and takes the types of its frames
//! from the crate `frames`.
//!
//! This crate also has its own registry. `build.rs` makes a module from each registry: `team` and `own`.

use accp_runtime::AccpFrame;

include!(concat!(env!("OUT_DIR"), "/registries.rs"));

/// The number of a case.
#[derive(AccpFrame, Debug, Clone, PartialEq, Eq, Hash)]
#[accp(transparent)]
pub struct CaseNumber(pub String);

/// Makes the frame for a closed case. The frame can hold the refunds as they are, because their type is that of the
/// crate `frames`.
pub fn closed(number: CaseNumber, refunds: Vec<frames::Refund>) -> team::CaseDone {
    team::CaseDone::new(number, team::CaseState::Closed).refunds(refunds)
}

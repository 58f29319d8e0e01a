//! The shifts of a team of clerks. This crate has the same registry as the team, and takes the types of its frames
//! from the crate `frames`.
//!
//! It also has a registry of its own. `build.rs` makes a module of each registry: `team` and `own`.

use accp_runtime::AccpFrame;

include!(concat!(env!("OUT_DIR"), "/registries.rs"));

/// The number of a case.
#[derive(AccpFrame, Debug, Clone, PartialEq, Eq, Hash)]
#[accp(transparent)]
pub struct CaseNumber(pub String);

/// Makes the frame for a closed case. It holds the refunds of the crate `frames` unchanged.
pub fn closed(number: CaseNumber, refunds: Vec<frames::Refund>) -> team::CaseDone {
    team::CaseDone::new(number, team::CaseState::Closed).refunds(refunds)
}

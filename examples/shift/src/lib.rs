//! The shifts of a team of clerks: this crate shares the frames of the team, with the types of the crate `frames` and the
//! same registry.
//!
//! It also has a registry of its own. `build.rs` makes a module of each registry: `team` and `own`.

use accp_runtime::AccpFrame;

include!(concat!(env!("OUT_DIR"), "/registries.rs"));

/// The number of a case.
#[derive(AccpFrame, Debug, Clone, PartialEq, Eq, Hash)]
#[accp(transparent)]
pub struct CaseNumber(pub String);

/// Says how a case stands. The refunds are those of the team, as they are.
pub fn closed(number: CaseNumber, refunds: Vec<frames::Refund>) -> team::CaseDone {
    team::CaseDone::new(number, team::CaseState::Closed).refunds(refunds)
}

//! The state machine, as one table: what may be appended in which phase, by whom, and what follows.
//!
//! [`State`](crate::State) folds a log by [`ROWS`], and the command and the documentation print them.
//!
//! ```
//! use accp_collab::EventName;
//! use accp_collab::table::{self, By, Phase};
//!
//! let row = table::row(Phase::Reviewing, EventName::ReviewSubmitted).expect("a row");
//! assert_eq!((row.by, row.to), (By::Asked, Phase::Revising));
//! assert!(table::row(Phase::Completed, EventName::Blocked).is_none());
//! ```

pub mod rendered;

use crate::event::EventName;
use crate::names::names;
use EventName as E;
use Phase as P;

names! {
    /// A phase of a collaboration.
    Phase {
        /// There is no event yet.
        New = "new",
        /// The owner drafts the primary deliverable.
        Drafting = "drafting",
        /// The other participants review the proposal and the deliverable.
        Reviewing = "reviewing",
        /// The owner revises the proposal and the deliverable.
        Revising = "revising",
        /// The owner classifies the open questions, and all accept the decisions.
        DecisionReview = "decision_review",
        /// The owner freezes the deliverable, and checks the gates.
        ReadinessCheck = "readiness_check",
        /// The collaboration is over, with a conclusion.
        Completed = "completed",
        /// The collaboration is over, without a conclusion.
        Blocked = "blocked",
    }
}

impl Phase {
    /// Returns whether nothing may follow.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Blocked)
    }
}

names! {
    /// Who may append an event.
    By {
        /// The owner of the proposal.
        Owner = "owner",
        /// A participant that has the turn.
        Asked = "asked",
        /// Any participant.
        Any = "any",
    }
}

names! {
    /// A condition besides the phase and the participant.
    Need {
        /// The primary deliverable has been drafted.
        Drafted = "drafted",
        /// There is a participant besides the owner.
        Reviewer = "reviewer",
        /// The questions were classified after the last `proposal_revised` and the last `decision_proposed`.
        Classified = "classified",
        /// The primary deliverable is not frozen.
        NotFrozen = "not-frozen",
        /// The primary deliverable is frozen.
        Frozen = "frozen",
        /// The readiness has been passed.
        Ready = "ready",
    }
}

names! {
    /// Who is asked after an event: these participants have the turn.
    Asks {
        /// Nobody.
        Nobody = "nobody",
        /// The owner.
        Owner = "owner",
        /// All participants but the owner.
        Others = "others",
        /// All participants.
        All = "all",
        /// The participants that had the turn, except the participant that answers now. After the last answer, the
        /// owner.
        Rest = "rest",
        /// The participants that had the turn before the event.
        Same = "same",
    }
}

names! {
    /// The mark that an event leaves for the conditions.
    Mark {
        /// Nothing.
        Nothing = "nothing",
        /// The primary deliverable has been drafted.
        Drafted = "drafted",
        /// The questions are classified.
        Classified = "classified",
        /// The questions must be classified again.
        Unclassified = "unclassified",
        /// The primary deliverable is frozen.
        Frozen = "frozen",
        /// The readiness has been passed.
        Ready = "ready",
    }
}

/// A row: one event in one phase. For an event about a deliverable, the row applies to the primary deliverable only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The phase before.
    pub phase: Phase,
    /// The event.
    pub event: EventName,
    /// Who may append the event.
    pub by: By,
    /// What else has to hold.
    pub needs: &'static [Need],
    /// The phase after the event. With [`Asks::Rest`], the phase changes only when the last participant that has the
    /// turn answers.
    pub to: Phase,
    /// Who has the turn after the event.
    pub asks: Asks,
    /// The mark that the event leaves.
    pub mark: Mark,
}

const fn row_of(
    (phase, event): (Phase, EventName),
    by: By,
    needs: &'static [Need],
    (to, asks): (Phase, Asks),
    mark: Mark,
) -> Row {
    Row {
        phase,
        event,
        by,
        needs,
        to,
        asks,
        mark,
    }
}

/// The state machine. In addition, any participant may append `blocked` in a phase that is not over, and events about
/// supporting deliverables. The latter do not change the phase.
#[rustfmt::skip]
pub const ROWS: [Row; 17] = [
    row_of((P::New, E::Initialized), By::Any, &[], (P::Drafting, Asks::Owner), Mark::Nothing),
    row_of((P::Drafting, E::DeliverableDrafted), By::Owner, &[], (P::Drafting, Asks::Same), Mark::Drafted),
    row_of((P::Drafting, E::ProposalSubmitted), By::Owner, &[Need::Drafted, Need::Reviewer], (P::Reviewing, Asks::Others), Mark::Nothing),
    row_of((P::Reviewing, E::ReviewSubmitted), By::Asked, &[], (P::Revising, Asks::Rest), Mark::Nothing),
    row_of((P::Revising, E::DeliverableDrafted), By::Owner, &[], (P::Revising, Asks::Same), Mark::Nothing),
    row_of((P::Revising, E::DeliverableRevised), By::Owner, &[], (P::Revising, Asks::Same), Mark::Nothing),
    row_of((P::Revising, E::ProposalSubmitted), By::Owner, &[Need::Reviewer], (P::Reviewing, Asks::Others), Mark::Nothing),
    row_of((P::Revising, E::ProposalRevised), By::Owner, &[], (P::DecisionReview, Asks::Owner), Mark::Unclassified),
    row_of((P::Revising, E::DecisionProposed), By::Owner, &[], (P::DecisionReview, Asks::Owner), Mark::Unclassified),
    row_of((P::DecisionReview, E::DeliverableDrafted), By::Owner, &[], (P::DecisionReview, Asks::Same), Mark::Nothing),
    row_of((P::DecisionReview, E::DeliverableRevised), By::Owner, &[], (P::DecisionReview, Asks::Same), Mark::Nothing),
    row_of((P::DecisionReview, E::DecisionProposed), By::Owner, &[], (P::DecisionReview, Asks::Owner), Mark::Unclassified),
    row_of((P::DecisionReview, E::QuestionClassified), By::Owner, &[], (P::DecisionReview, Asks::All), Mark::Classified),
    row_of((P::DecisionReview, E::DecisionAccepted), By::Asked, &[Need::Classified], (P::ReadinessCheck, Asks::Rest), Mark::Nothing),
    row_of((P::ReadinessCheck, E::DeliverableFrozen), By::Owner, &[Need::NotFrozen], (P::ReadinessCheck, Asks::Same), Mark::Frozen),
    row_of((P::ReadinessCheck, E::ReadinessPassed), By::Owner, &[Need::Frozen], (P::ReadinessCheck, Asks::Same), Mark::Ready),
    row_of((P::ReadinessCheck, E::Completed), By::Owner, &[Need::Ready], (P::Completed, Asks::Nobody), Mark::Nothing),
];

/// Returns the row for an event in a phase; `None` if the event is not allowed in the phase.
pub fn row(phase: Phase, event: EventName) -> Option<Row> {
    if event == EventName::Blocked {
        let takes = phase != Phase::New && !phase.is_over();
        let to = (Phase::Blocked, Asks::Nobody);
        return takes.then(|| row_of((phase, event), By::Any, &[], to, Mark::Nothing));
    }
    let mut rows = ROWS.iter().copied();
    rows.find(|row| (row.phase, row.event) == (phase, event))
}

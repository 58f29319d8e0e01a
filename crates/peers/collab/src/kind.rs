//! The types of deliverables.

use crate::names::names;

names! {
    /// A type of deliverable with sections of its own.
    Kind {
        /// An architecture decision record.
        Adr = "adr",
        /// A design specification.
        DesignSpec = "design-spec",
        /// An implementation plan.
        ImplementationPlan = "implementation-plan",
        /// A decision memo.
        DecisionMemo = "decision-memo",
        /// A review report.
        ReviewReport = "review-report",
        /// A test plan.
        TestPlan = "test-plan",
    }
}

impl Kind {
    /// Returns the headings of level two that a deliverable of this type has.
    ///
    /// ```
    /// use accp_collab::Kind;
    ///
    /// assert_eq!(Kind::DecisionMemo.sections()[0], "Question");
    /// assert_eq!(Kind::DesignSpec.sections().len(), 8);
    /// ```
    pub const fn sections(self) -> &'static [&'static str] {
        match self {
            Self::Adr => &[
                "Status",
                "Context",
                "Decision",
                "Alternatives Considered",
                "Consequences",
                "Follow-ups",
            ],
            Self::DesignSpec => &[
                "Problem",
                "Goals",
                "Non-goals",
                "Proposed Design",
                "Interfaces / Contracts",
                "Failure Modes",
                "Validation Plan",
                "Open Questions",
            ],
            Self::ImplementationPlan => &[
                "Scope",
                "Phases",
                "Tasks",
                "Dependencies",
                "Rollout / Migration",
                "Tests",
                "Risks",
                "Exit Criteria",
            ],
            Self::DecisionMemo => &[
                "Question",
                "Recommendation",
                "Options",
                "Tradeoffs",
                "Decision",
                "Next Action",
            ],
            Self::ReviewReport => &[
                "Scope",
                "Findings",
                "Risks",
                "Required Changes",
                "Open Questions",
                "Recommendation",
            ],
            Self::TestPlan => &[
                "Scope",
                "Test Matrix",
                "Fixtures",
                "Automation",
                "Manual Tests",
                "Exit Criteria",
            ],
        }
    }

    /// Reads the name of a type; `None` is `custom`.
    ///
    /// # Errors
    /// The names that are known, for a message.
    ///
    /// ```
    /// use accp_collab::Kind;
    ///
    /// assert_eq!(Kind::read("adr"), Ok(Some(Kind::Adr)));
    /// assert_eq!(Kind::read("custom"), Ok(None));
    /// assert!(Kind::read("memo").is_err_and(|known| known.ends_with("test-plan, custom")));
    /// ```
    pub fn read(name: &str) -> Result<Option<Self>, String> {
        match Self::named(name) {
            None if name != "custom" => {
                let names = Self::ALL.iter().map(|kind| kind.as_str());
                Err(names.chain(["custom"]).collect::<Vec<_>>().join(", "))
            }
            kind => Ok(kind),
        }
    }

    /// Returns the title of the template.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Adr => "Architecture Decision Record",
            Self::DesignSpec => "Design Specification",
            Self::ImplementationPlan => "Implementation Plan",
            Self::DecisionMemo => "Decision Memo",
            Self::ReviewReport => "Review Report",
            Self::TestPlan => "Test Plan",
        }
    }
}

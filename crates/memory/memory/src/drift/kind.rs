//! The indicators of drift, and the entry of the log for a sign.

use serde::{Deserialize, Serialize};

/// A sign that a model has lost its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Indicator {
    /// The assistant asks for something that the archive answers.
    Clarification,
    /// The assistant says that the task is complete, and a deliverable is missing.
    Done,
    /// The assistant does something that has nothing to do with the task.
    Unrelated,
    /// The assistant says the opposite of a decision, or another value.
    Contradiction,
    /// A constraint of the archive does not stand in the list.
    Constraint,
}

/// How much a sign of drift matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// A contradiction.
    Medium,
    /// A question that the archive answers, an action outside the task, or a missing constraint.
    High,
    /// A task that is called complete, and is not.
    Critical,
}

impl Indicator {
    /// All indicators.
    pub const ALL: [Self; 5] = [
        Self::Clarification,
        Self::Done,
        Self::Unrelated,
        Self::Contradiction,
        Self::Constraint,
    ];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clarification => "clarification",
            Self::Done => "done",
            Self::Unrelated => "unrelated",
            Self::Contradiction => "contradiction",
            Self::Constraint => "constraint",
        }
    }

    /// Returns the severity that the specification gives the indicator.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Clarification | Self::Unrelated | Self::Constraint => Severity::High,
            Self::Done => Severity::Critical,
            Self::Contradiction => Severity::Medium,
        }
    }
}

impl Severity {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }
}

/// A sign of drift, as the log records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftEvent {
    /// The time, with its zone.
    pub at: String,
    /// The index in the conversation of the message that was judged.
    pub message: usize,
    /// The sign.
    pub indicator: Indicator,
    /// How much the sign matters.
    pub severity: Severity,
    /// What the judge saw.
    pub evidence: String,
    /// Whether archived messages that answer the sign were put back into the list.
    pub recovered: bool,
}

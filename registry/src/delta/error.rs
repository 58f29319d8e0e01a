//! Why a delta is refused.

use alloc::string::String;
use alloc::vec::Vec;

use crate::hash::Hash;
use crate::problem::Problems;
use crate::tables::ErrorCode;

/// Why a delta was not applied. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// More bytes, or more entries in one of its lists and objects, than a delta may have.
    #[error("a delta has at most {limit} {of}, and this one has {found}")]
    Size {
        /// What there is too much of.
        of: &'static str,
        /// How much there may be.
        limit: usize,
        /// How much there is.
        found: usize,
    },
    /// The text is no delta.
    #[error("this is no registry delta: {0}")]
    Syntax(String),
    /// What it leads to is no registry.
    #[error("the delta leads to a faulty registry\n{0}")]
    Faulty(Problems),
    /// It starts from another registry.
    #[error(
        "the delta starts from the registry {base}, and {held} is held; ask for all of the registry"
    )]
    Base {
        /// The registry that it starts from.
        base: Hash,
        /// The registry that it was applied to.
        held: Hash,
    },
    /// It does not lead to the registry that it names.
    #[error("the delta leads to the registry {found}, and not to {promised} as it says")]
    Tampered {
        /// The registry that it names.
        promised: Hash,
        /// The registry that it leads to.
        found: Hash,
    },
    /// Codes that are known would stand for something else.
    #[error("the delta redefines {}, which only a policy can allow", .0.join(", "))]
    Redefines(Vec<String>),
    /// Codes that are known would stand for nothing.
    #[error("the delta removes {}, which only a policy can allow", .0.join(", "))]
    Removes(Vec<String>),
}

impl DeltaError {
    /// The code that names the refusal (draft section 3.6).
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Size { .. } | Self::Syntax(_) => ErrorCode::PARSE_ERROR,
            Self::Faulty(_) => ErrorCode::INVALID_TYPE,
            Self::Base { .. } => ErrorCode::REF_NOT_FOUND,
            Self::Tampered { .. } | Self::Redefines(_) | Self::Removes(_) => {
                ErrorCode::POLICY_DENIED
            }
        }
    }
}

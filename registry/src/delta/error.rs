//! The reasons to refuse a delta.

use alloc::string::String;
use alloc::vec::Vec;

use crate::hash::Hash;
use crate::problem::Problems;
use crate::tables::ErrorCode;

/// The reason why a delta was not applied. The registry is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// The delta has too many bytes, or one of its lists or objects has too many entries.
    #[error("a delta has at most {limit} {of}, and this one has {found}")]
    Size {
        /// What was counted, as a word: `bytes` or `entries`.
        of: &'static str,
        /// The allowed number.
        limit: usize,
        /// The number found.
        found: usize,
    },
    /// The text is not a delta.
    #[error("this is not a registry delta: {0}")]
    Syntax(String),
    /// The result of the delta is not a registry.
    #[error("the delta leads to a faulty registry\n{0}")]
    Faulty(Problems),
    /// The delta starts from another registry.
    #[error(
        "the delta starts from the registry {base}, but this side holds {held}; ask for the whole registry"
    )]
    Base {
        /// The registry that the delta starts from.
        base: Hash,
        /// The registry that the delta was applied to.
        held: Hash,
    },
    /// The delta does not lead to the registry that it names.
    #[error("the delta leads to the registry {found}, but it names {promised}")]
    Tampered {
        /// The registry that the delta names.
        promised: Hash,
        /// The registry that the delta leads to.
        found: Hash,
    },
    /// Known codes would get another meaning.
    #[error("the delta redefines {}, which only a policy can allow", .0.join(", "))]
    Redefines(Vec<String>),
    /// Known codes would lose their meaning.
    #[error("the delta removes {}, which only a policy can allow", .0.join(", "))]
    Removes(Vec<String>),
}

impl DeltaError {
    /// Returns the code of the refusal (draft section 3.6).
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

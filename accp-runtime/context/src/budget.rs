//! Token budgets of the context.

use std::fmt;

use crate::hot::Hot;
use crate::limits::ContextLimits;
use crate::warm::Warm;

/// The number of used tokens, and the number of allowed tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// Tokens in the context.
    pub used: u32,
    /// The budget.
    pub allowed: u32,
}

/// The tokens that a session has used of its budget (`GetBudget`, draft section 7.1).
///
/// ```
/// use accp_context::{Hot, Warm};
/// use accp_runtime::context::{ContextLimits, TokenBudget};
///
/// let budget = TokenBudget::of(&Hot::default(), &Warm::default(), &ContextLimits::DRAFT);
/// assert_eq!(budget.to_string(), "hot 0/500, warm 0/2000, total 0/2500 tokens");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBudget {
    /// The tokens of the frames in the context.
    pub hot: Used,
    /// The tokens of the checkpoints in the context.
    pub warm: Used,
    /// Hot and warm state together. Cold state takes no tokens.
    pub total: Used,
}

impl TokenBudget {
    /// Returns the budget with the tokens that this hot and warm state use.
    pub fn of(hot: &Hot, warm: &Warm, limits: &ContextLimits) -> Self {
        let hot = Used {
            used: hot.tokens(),
            allowed: limits.hot,
        };
        let warm = Used {
            used: warm.tokens(),
            allowed: limits.warm,
        };
        let total = Used {
            used: hot.used.saturating_add(warm.used),
            allowed: hot.allowed.saturating_add(warm.allowed),
        };
        Self { hot, warm, total }
    }
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.used, self.allowed)
    }
}

impl fmt::Display for TokenBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hot, warm, total } = self;
        write!(f, "hot {hot}, warm {warm}, total {total} tokens")
    }
}

//! Token budgets of the context.

use std::fmt;

use super::{Hot, Warm};

/// What the context of a session may hold, in tokens (draft section 5.1).
///
/// ```
/// use accp_runtime::session::ContextLimits;
///
/// let roomy = ContextLimits { warm: 4_000, ..ContextLimits::default() };
/// assert_eq!((roomy.hot, roomy.trigger, roomy.checkpoint), (500, 400, 200));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    /// Hot state, the current and parent frames: 500.
    pub hot: u32,
    /// More than this in hot state triggers a checkpoint (draft section 5.2): 400.
    pub trigger: u32,
    /// What one checkpoint may take of warm state: 200.
    pub checkpoint: u32,
    /// The summary of a checkpoint, which is a part of it: 100.
    pub summary: u32,
    /// All of warm state: 2,000. Beyond it the oldest checkpoints become one.
    pub warm: u32,
}

impl ContextLimits {
    /// The numbers of the draft, and 2,000 for warm state, of which it says nothing.
    pub const DRAFT: Self = Self {
        hot: 500,
        trigger: 400,
        checkpoint: 200,
        summary: 100,
        warm: 2_000,
    };

    /// What a request may take of hot state before it is cut to a preview.
    pub(crate) const fn quarter(&self) -> u32 {
        self.hot / 4
    }
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self::DRAFT
    }
}

/// Tokens used, of those allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// Tokens in the context.
    pub used: u32,
    /// The budget.
    pub allowed: u32,
}

/// What a session has used of its token budget (`GetBudget`, draft section 7.1).
///
/// ```
/// use accp_runtime::session::{ContextLimits, Hot, TokenBudget, Warm};
///
/// let budget = TokenBudget::of(&Hot::default(), &Warm::default(), &ContextLimits::DRAFT);
/// assert_eq!(budget.to_string(), "hot 0/500, warm 0/2000, total 0/2500 tokens");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBudget {
    /// The frames that stand in the context.
    pub hot: Used,
    /// The checkpoints that stand in the context.
    pub warm: Used,
    /// Both. Cold state takes no tokens.
    pub total: Used,
}

impl TokenBudget {
    /// What these two use.
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

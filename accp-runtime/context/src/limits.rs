//! Budgets of the context, and how lines are counted.

use accp_frame::TokenCounter;

/// Budgets of a session's context, in tokens (draft section 5.1).
///
/// ```
/// use accp_runtime::context::ContextLimits;
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
    /// One checkpoint in warm state: 200.
    pub checkpoint: u32,
    /// The summary of a checkpoint, which counts towards the checkpoint: 100.
    pub summary: u32,
    /// All of warm state: 2,000. Above it the oldest checkpoints are merged.
    pub warm: u32,
}

impl ContextLimits {
    /// The numbers of the draft. The draft has none for warm state; here it is 2,000.
    pub const DRAFT: Self = Self {
        hot: 500,
        trigger: 400,
        checkpoint: 200,
        summary: 100,
        warm: 2_000,
    };

    /// Returns the most tokens that stay in hot state at a checkpoint, not counting the current frame and its parent.
    pub(crate) const fn others(&self) -> u32 {
        self.hot / 5
    }

    /// Returns the tokens above which a request in hot state is cut to a preview.
    pub(crate) const fn quarter(&self) -> u32 {
        self.hot / 4
    }
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self::DRAFT
    }
}

/// Counts the tokens of a line with its line feed, at least 1. Budgets add up lines, so each line
/// is counted once, when it is added.
pub(crate) fn line_tokens(line: &str, counter: &dyn TokenCounter) -> u32 {
    let mut text = String::with_capacity(line.len() + 1);
    text.push_str(line);
    text.push('\n');
    u32::try_from(counter.count(&text))
        .unwrap_or(u32::MAX)
        .max(1)
}

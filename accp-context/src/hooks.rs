//! What an application may say before and after a checkpoint.

use super::{Checkpoint, Frozen};
use crate::CachePrices;

/// Is asked before each checkpoint and told after it. The host calls it; `()` lets
/// everything pass.
///
/// A veto puts the checkpoint off until the next trigger, never past the budget of hot
/// state, and stands in the log with its reason.
///
/// ```
/// use accp_runtime::context::{CheckpointHooks, Frozen, Verdict};
///
/// /// Frames are worth a checkpoint from five on.
/// struct Five;
/// impl CheckpointHooks for Five {
///     fn before(&mut self, frozen: &Frozen<'_>) -> Verdict {
///         match frozen.leaving().count() {
///             0..5 => Verdict::Veto("fewer than five frames".into()),
///             _ => Verdict::Go,
///         }
///     }
/// }
/// ```
pub trait CheckpointHooks {
    /// Whether the checkpoint may be taken now.
    fn before(&mut self, frozen: &Frozen<'_>) -> Verdict {
        let _ = frozen;
        Verdict::Go
    }

    /// The checkpoint stands.
    fn after(&mut self, checkpoint: &Checkpoint) {
        let _ = checkpoint;
    }
}

impl CheckpointHooks for () {}

/// Puts checkpoints off until they pay at the prices of a provider's prompt cache: the draft's
/// triggers (section 5.2) say when one may be taken, this says whether it is worth it.
///
/// It makes sense with a budget of hot state beyond the draft's 500 tokens, which is full after
/// a few frames. Each trigger counts as a prompt in which all that would have left is read
/// again; each that is put off stands in the log, as every veto does.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::context::{ContextLimits, Paying};
/// use accp_runtime::session::{Hooks, Input, Options, Rules, Session, Time};
/// use accp_runtime::context::CachePrices;
/// use accp_runtime::{AgentId, Registry};
///
/// let mut options = Options::new("s1", AgentId::new("hub")?, Arc::new(Registry::standard()));
/// options.context = ContextLimits { hot: 4_000, trigger: 3_500, ..ContextLimits::DRAFT };
/// let now = Time::from_secs(1_714_000_000);
/// let mut host = Session::host(options, Rules::default(), now);
/// let paying = Paying::new(CachePrices::default());
/// host.handle(Input::Hooks(Hooks(Box::new(paying))), now)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Paying {
    prices: CachePrices,
    /// Tokens that would have left, at each trigger since the last checkpoint.
    reread: usize,
}

impl Paying {
    /// At these prices.
    pub fn new(prices: CachePrices) -> Self {
        Self { prices, reread: 0 }
    }
}

impl CheckpointHooks for Paying {
    fn before(&mut self, frozen: &Frozen<'_>) -> Verdict {
        self.reread = self.reread.saturating_add(frozen.tokens_leaving());
        let staying = frozen.kept().iter().map(|kept| kept.tokens as usize).sum();
        if self.prices.pays(self.reread, staying) {
            return Verdict::Go;
        }
        Verdict::Veto("it does not pay yet".into())
    }

    fn after(&mut self, _: &Checkpoint) {
        self.reread = 0;
    }
}

/// The answer to [`CheckpointHooks::before`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Take it.
    Go,
    /// Not now, and why.
    Veto(String),
}

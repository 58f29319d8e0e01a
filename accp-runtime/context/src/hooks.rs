//! Hooks of an application before and after a checkpoint.

use crate::checkpoint::Checkpoint;
use crate::frozen::Frozen;
use crate::prices::CachePrices;

/// Hooks that the host calls before and after each checkpoint. `()` lets every checkpoint pass.
///
/// A veto puts the checkpoint off until the next trigger. If hot state is full, the host takes the checkpoint despite
/// a veto. The log records the veto with its reason.
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
    /// Decides whether the host may take the checkpoint now.
    fn before(&mut self, frozen: &Frozen<'_>) -> Verdict {
        let _ = frozen;
        Verdict::Go
    }

    /// Learns that the host has taken the checkpoint.
    fn after(&mut self, checkpoint: &Checkpoint) {
        let _ = checkpoint;
    }
}

impl CheckpointHooks for () {}

/// Puts checkpoints off until they pay at the prices of a provider's prompt cache. The draft's
/// triggers (section 5.2) say when the host may take a checkpoint; this hook says whether it pays.
///
/// Use it with a larger budget of hot state than the draft's 500 tokens, which a few frames fill.
/// Each trigger counts as a prompt that reads again all frames that a checkpoint would have removed. The log records
/// each checkpoint that is put off, like every veto.
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
    /// The tokens that would have left, added up over all triggers since the last checkpoint.
    reread: usize,
}

impl Paying {
    /// Makes the hook for these prices.
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
    /// Take the checkpoint.
    Go,
    /// Put the checkpoint off, for this reason.
    Veto(String),
}

//! What an application may say before and after a checkpoint.

use alloc::string::String;

use super::{Checkpoint, Frozen};

/// Is asked before each checkpoint and told after it. The host calls it; `()` lets
/// everything pass.
///
/// A veto puts the checkpoint off until the next trigger, never past the budget of hot
/// state, and stands in the log with its reason.
///
/// ```
/// use accp_runtime::session::{CheckpointHooks, Frozen, Verdict};
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

/// The answer to [`CheckpointHooks::before`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Take it.
    Go,
    /// Not now, and why.
    Veto(String),
}

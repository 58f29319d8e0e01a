//! Warm state: what is remembered of the checkpoints.

use serde::{Deserialize, Serialize};

use super::Checkpoint;
use super::digest::{Digest, parse_key};
use accp_frame::Value;

/// Warm state (draft section 5.1, tier 2): summaries and key facts, oldest first.
///
/// It changes at checkpoints alone, and then it only grows at its end, but for the oldest
/// part, which becomes one when all of it is over its budget.
///
/// ```
/// use accp_context::Warm;
/// use accp_runtime::context::Checkpoint;
/// use accp_runtime::Value;
///
/// let text = "@hub>sync:checkpoint{at:0|cold:p1-p2|covers:2|facts:[[task,T1,{status:done}]]\
///     |id:ckpt_1|left:[1-2]|on:[done]|sum:dev.done.plan*2|tok:32}";
/// let checkpoint = Checkpoint::decode(text)?;
/// let mut warm = Warm::default();
/// warm.apply(&checkpoint);
/// assert_eq!(warm.resolve("ckpt_1", "status"), Some(Value::from("done")));
/// assert_eq!(warm.resolve("ckpt_1", "cold"), Some(Value::from("p1-p2")));
/// assert_eq!(warm.resolve("ckpt_2", "status"), None);
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Warm {
    digests: Vec<Digest>,
    /// The last checkpoint; 0 when there was none.
    last: u64,
}

impl Warm {
    /// Takes a checkpoint in.
    pub fn apply(&mut self, checkpoint: &Checkpoint) {
        self.last = checkpoint.id();
        if let Some((through, merged)) = checkpoint.merged() {
            self.digests.retain(|digest| digest.last > through);
            if let Some(merged) = merged {
                self.digests.insert(0, merged.clone());
            }
        }
        self.digests.extend(checkpoint.digest().cloned());
        self.digests.shrink_to_fit();
    }

    /// Tokens of all lines.
    pub fn tokens(&self) -> u32 {
        let tokens = self.digests.iter().map(Digest::tokens);
        tokens.fold(0, u32::saturating_add)
    }

    /// The number of the last checkpoint, from 1; 0 when there was none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// What is remembered, oldest first.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// The value that `$warm.<key>.<path>` refers to. The key is that of a checkpoint,
    /// `ckpt_3`; one that became part of another is found there. The path is `summary`,
    /// `facts`, `cold` (where the frames are), the relationship of a fact, of several that
    /// of the entity mentioned last, or an entity, a dot and a relationship; empty, it
    /// means all of this.
    ///
    /// `None` when there is no such checkpoint, or nothing at the path.
    pub fn resolve(&self, key: &str, path: &str) -> Option<Value<'static>> {
        let id = parse_key(key)?;
        let holds = |digest: &&Digest| digest.first <= id && id <= digest.last;
        self.digests.iter().find(holds)?.resolve(path)
    }

    /// Appends the lines.
    pub(crate) fn render(&self, out: &mut String) {
        for digest in &self.digests {
            out.push_str(&digest.line());
            out.push('\n');
        }
    }
}

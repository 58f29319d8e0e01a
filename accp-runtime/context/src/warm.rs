//! Warm state: the digests of checkpoints.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoint;
use crate::digest::{Digest, parse_key};
use accp_frame::Value;

/// Warm state (draft section 5.1, tier 2): summaries and key facts, oldest first.
///
/// Only checkpoints change it, and they only append lines, with one exception: when warm state is
/// over its budget, the oldest lines are merged into one.
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
    /// The last checkpoint; 0 when there is none.
    last: u64,
}

impl Warm {
    /// Applies a checkpoint.
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

    /// Removes the facts and summaries from the digests of these checkpoints, because they hold text of frames. A
    /// late summary of one of these checkpoints is removed too, whichever digest carries it. The places of the frames
    /// stay. So do the counts of tokens, which are then upper bounds.
    pub fn erase(&mut self, checkpoints: &BTreeSet<u64>) {
        for digest in &mut self.digests {
            let is_late = |(id, _): &mut (u64, String)| checkpoints.contains(id);
            digest.late.take_if(is_late);
            if checkpoints
                .range(digest.first..=digest.last)
                .next()
                .is_some()
            {
                digest.facts = Vec::new();
                digest.summary = String::new();
                digest.late = None;
            }
        }
    }

    /// Returns the tokens of all lines.
    pub fn tokens(&self) -> u32 {
        let tokens = self.digests.iter().map(Digest::tokens);
        tokens.fold(0, u32::saturating_add)
    }

    /// Returns the number of the last checkpoint, from 1; 0 when there is none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the digests, oldest first.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// Resolves `$warm.<key>.<path>`. The key names a checkpoint, such as `ckpt_3`; a checkpoint that was merged is
    /// found in the merged digest. The path is `summary`, `facts`, `cold` (the place of the frames), or a fact. A
    /// fact is named by its relationship, or by an entity, a dot and a relationship. If several entities have the
    /// relationship, the entity mentioned last counts. The empty path means the whole digest. A late summary takes
    /// the place of the first summary of its checkpoint.
    ///
    /// `None` when the checkpoint does not exist or the path leads nowhere.
    pub fn resolve(&self, key: &str, path: &str) -> Option<Value<'static>> {
        let id = parse_key(key)?;
        let holds = |digest: &&Digest| digest.first <= id && id <= digest.last;
        let digest = self.digests.iter().find(holds)?;
        digest.resolve(path, digest.last_summary(self.digests.iter()))
    }

    /// Appends the lines.
    pub(crate) fn render(&self, out: &mut String) {
        for digest in &self.digests {
            out.push_str(&digest.line());
            out.push('\n');
        }
    }
}

//! Writes each definition of a schema only once into a prompt.

use super::block::Block;
use super::codec::View;

/// Writes the blocks of one prompt. Each definition comes once, before the first block that needs it.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::view::{Transcript, View};
/// # use accp_runtime::{DynamicFrame, Registry};
/// # let registry = Arc::new(Registry::standard());
/// # let text = "@dev>done:schedule{task:impl_auth|schema:TA}";
/// # let message = DynamicFrame::decode(text, &registry)?;
/// # let view = View::new(registry);
/// let mut transcript = Transcript::default();
/// let first = transcript.push(&view, &view.block(&message));
/// assert!(first.starts_with("@=TA(assignee,task,"));
/// let second = transcript.push(&view, &view.block(&message));
/// assert_eq!(second, "@dev>done:schedule TA(,impl_auth)\n");
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    defined: Vec<String>,
}

impl Transcript {
    /// Returns the schemas that a block needs and that are not defined yet.
    pub(crate) fn missing(&self, block: &Block) -> Vec<String> {
        let mut missing = block.codes.clone();
        missing.retain(|code| !self.defined.contains(code));
        missing
    }

    /// Returns the text of a block, after the definitions that it needs and that are not there yet.
    pub fn push(&mut self, view: &View, block: &Block) -> String {
        let mut out = String::new();
        for code in self.missing(block) {
            out.extend(view.definition(&code));
            self.defined.push(code);
        }
        out.push_str(&block.text);
        out
    }
}

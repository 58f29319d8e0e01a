//! The context of a session as a model gets it.

use alloc::string::String;

use super::{Hot, Warm};
use crate::TokenCounter;

/// The context: the checkpoints of warm state, oldest first, then the frames of hot state,
/// each a line that is a frame.
///
/// Between checkpoints the text only grows at its end. At a checkpoint the lines of hot
/// state change and those of warm state stay, byte for byte, but where the oldest
/// checkpoints become one. Lines hold printable ASCII without spaces, so no value can end
/// its line or begin another.
///
/// ```
/// use accp_runtime::session::{ContextLimits, Hot, Warm, render_context};
/// # struct Bytes;
/// # impl accp_runtime::TokenCounter for Bytes {
/// #     fn name(&self) -> &str { "bytes" }
/// #     fn count(&self, text: &str) -> usize { text.len() }
/// # }
///
/// let mut hot = Hot::default();
/// hot.push(1, "@a>qry:lookup{q:revenue}[mid:m1,seq:1,ts:0]", &Bytes, &ContextLimits::DRAFT)?;
/// assert_eq!(render_context(&Warm::default(), &hot), "@a>qry:lookup{q:revenue}\n");
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
pub fn render_context(warm: &Warm, hot: &Hot) -> String {
    let mut out = String::new();
    warm.render(&mut out);
    hot.render(&mut out);
    out
}

/// Tokens of a line with its end, at least 1: the budget counts lines, so that a line is
/// counted once, when it comes.
pub(crate) fn line_tokens(line: &str, counter: &dyn TokenCounter) -> u32 {
    let mut text = String::with_capacity(line.len() + 1);
    text.push_str(line);
    text.push('\n');
    u32::try_from(counter.count(&text))
        .unwrap_or(u32::MAX)
        .max(1)
}

//! The context of a session.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::hot::read_head;
use super::{Hot, Warm};
use crate::view::{PRIMER, Transcript, View};
use crate::{Frame, Message, Registry, TokenCounter, Value};

/// The context as the budgets count it: the checkpoints of warm state, oldest first, then the
/// frames of hot state, each a line that is a frame. What a model gets is
/// [`Session::context`](super::Session::context).
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

/// The context as a model gets it: the primer, and each line as a [view](crate::view).
///
/// Where frames are added only, it grows at its end. Records of warm state are written with the names
/// of their fields, because they are parts; those of hot state by position, behind a definition.
pub(crate) fn view_context(registry: &Arc<Registry>, warm: &Warm, hot: &Hot) -> String {
    let view = View::new(Arc::clone(registry));
    let named = View::new(Arc::new(Registry::empty()));
    let mut transcript = Transcript::default();
    let mut out = String::new();
    let mut push = |view: &View, line: &str, message: Option<Message<'_>>| {
        if let Some(message) = message {
            out.push_str(&transcript.push(view, view.block(&message)));
        } else {
            // Accepted under a registry that has changed since: it says what it is as a frame.
            out.push_str(line);
            out.push('\n');
        }
    };
    for digest in warm.digests() {
        let line = digest.line();
        push(&named, &line, read_head(&line, registry).ok());
    }
    for item in hot.items() {
        let Some(line) = item.line() else { continue };
        let message = read_head(&item.text, registry).ok();
        let message = if item.cut {
            message.and_then(|message| begin(message, &line, registry))
        } else {
            message
        };
        push(&view, &line, message);
    }
    if !out.is_empty() {
        out.insert_str(0, PRIMER);
    }
    out
}

/// Of a message what its preview shows: the short params, where all of it is, and how its
/// first long text begins.
fn begin(
    mut message: Message<'static>,
    preview: &str,
    registry: &Registry,
) -> Option<Message<'static>> {
    let shown = Frame::parse(preview).ok()?;
    let schema = message.schema.take();
    let schema = schema.and_then(|code| registry.schema(&code));
    let full = |key: &str| {
        schema
            .and_then(|schema| schema.field(key))
            .map(|(_, field)| &*field.name)
    };
    let names: Vec<&str> = shown
        .payload
        .iter()
        .map(|param| full(&param.key).unwrap_or(&param.key))
        .collect();
    let payload = core::mem::take(&mut message.payload).into_iter();
    let (kept, rest): (Vec<_>, Vec<_>) = payload.partition(|(name, _)| names.contains(&&**name));
    message.payload = kept.into_iter().collect();
    message
        .payload
        .insert("ref", shown.value("ref")?.into_owned());
    let long = rest.iter().find_map(|(_, value)| value.as_str());
    if let (Some(Value::String(begins)), Some(long)) = (shown.value("begins"), long) {
        let text: String = long.chars().take(begins.len()).collect();
        message.payload.insert("begins", text.into());
    }
    Some(message)
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

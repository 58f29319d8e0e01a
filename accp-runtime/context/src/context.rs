//! Renders the context of a session, for counting and for a model.
use std::sync::Arc;

use crate::digest::Digest;
use crate::fact::Fact;
use crate::hot::Hot;
use crate::hot::read_head;
use crate::view::block::{FACTS, write_range};
use crate::view::{PRIMER, Transcript, View};
use crate::warm::Warm;
use accp_frame::{DynamicFrame, Frame, Map, Registry, Value};

/// Renders the context as the budgets count it: the checkpoints of warm state, oldest first, then
/// the frames of hot state. Each line is a frame. A model gets `Session::context` instead.
///
/// Between checkpoints the text only grows at its end. A checkpoint changes the lines of hot state;
/// the lines of warm state stay byte for byte, unless the oldest checkpoints are merged. Lines hold
/// printable ASCII without spaces, so no value can end its line or begin another.
///
/// ```
/// use accp_context::{Hot, Warm, render_context};
/// use accp_runtime::context::ContextLimits;
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

/// Renders the context as a model gets it: the primer, the facts of each checkpoint, and the frames
/// of hot state as [views](crate::view). While frames are only added, the text grows at its end.
pub fn view_context(registry: &Arc<Registry>, warm: &Warm, hot: &Hot) -> String {
    let view = View::new(Arc::clone(registry));
    let mut transcript = Transcript::default();
    let mut out = String::new();
    for digest in warm.digests() {
        write_facts(&mut out, digest);
    }
    for item in hot.items() {
        let Some(line) = item.line() else { continue };
        let message = read_head(&item.text, registry).ok();
        let message = if item.cut {
            message.and_then(|message| begin(message, &line, registry))
        } else {
            message
        };
        if let Some(message) = message {
            out.push_str(&transcript.push(&view, &view.block(&message)));
        } else {
            // The frame was accepted under another registry, so the context shows its wire text.
            out.push_str(&line);
            out.push('\n');
        }
    }
    if !out.is_empty() {
        out.insert_str(0, PRIMER);
    }
    out
}

/// Writes what warm state remembers of a checkpoint: the place of its frames, its summary, and a line for each entity
/// with facts. A late summary of the previous checkpoint comes first, because the lines of that checkpoint stay as
/// they are.
///
/// ```text
/// @facts ckpt_2: Planner asked for a plan, and b made one.
/// @facts ckpt_3 p12-20: a.req.plan;b.done.plan
/// {status:done,task:T1}
/// ```
fn write_facts(out: &mut String, digest: &Digest) {
    let named = View::new(Arc::new(Registry::empty()));
    let mut head = |(first, last), cold, summary: &str| {
        out.push_str(FACTS);
        out.push_str("ckpt_");
        write_range(out, first, last);
        if let Some((first, last)) = cold {
            out.push_str(" p");
            write_range(out, first, last);
        }
        if !summary.is_empty() {
            out.push_str(": ");
            out.push_str(&named.value(&Value::from(summary)).text);
        }
        out.push('\n');
    };
    if let Some((checkpoint, summary)) = digest.late() {
        head((checkpoint, checkpoint), None, summary);
    }
    if digest.cold().is_some() || !digest.facts().is_empty() || digest.late().is_none() {
        head(digest.checkpoints(), digest.cold(), digest.summary());
    }
    for facts in digest.facts().chunk_by(|a, b| a.entity() == b.entity()) {
        let fields = facts.iter().map(|fact| (fact.relationship(), fact.value()));
        let fields: Map<'_> = fields.collect();
        let entity = facts.first().map(Fact::entity);
        // If no field holds the name of the entity, the name comes before the fields.
        if let Some(entity) = entity.filter(|name| fields.iter().all(|(_, value)| value != name)) {
            out.push_str(&named.value(&entity).text);
        }
        out.push_str(&named.value(&Value::Map(fields)).text);
        out.push('\n');
    }
}

/// Reduces a message to the parts that its preview shows: the short params, the reference to the
/// whole frame, and the beginning of the first long text.
fn begin(
    mut message: DynamicFrame<'static>,
    preview: &str,
    registry: &Registry,
) -> Option<DynamicFrame<'static>> {
    let shown = Frame::parse(preview).ok()?;
    let schema = message.schema_in(registry);
    message.schema = None;
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
    let payload = std::mem::take(&mut message.payload).into_iter();
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

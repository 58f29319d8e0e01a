//! Clearing of old tool results.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use accp_frame::TokenCounter;
use accp_memory::policy::{Agent, Kind, Message, Opening, Policy, Segment};
use serde_json::Value as Json;

/// Clears tool results as Anthropic's context editing does with the strategy
/// `clear_tool_uses_20250919`. When the prompt has more tokens than the trigger, a placeholder
/// replaces all tool results but the newest `keep`; calls stay. The server gets the whole history
/// each time, so it decides each time again, by the length of the whole history. The other
/// parameters have their defaults: no minimum to clear, no tool excluded.
pub(crate) struct ClearToolUses {
    schemas: Option<Segment>,
    shown: Vec<Shown>,
    tools: usize,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    trigger: usize,
    keep: usize,
}

/// A message, and how a prompt shows it.
struct Shown {
    message: Message,
    whole: Segment,
    tokens: usize,
    /// The result with the placeholder; only for a tool's result.
    placeholder: Option<Segment>,
}

impl fmt::Debug for ClearToolUses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("ClearToolUses");
        out.field("trigger", &self.trigger);
        out.field("keep", &self.keep).finish_non_exhaustive()
    }
}

impl ClearToolUses {
    /// The documented default, in input tokens.
    pub(crate) const TRIGGER: usize = 100_000;
    /// The documented default, in tool uses.
    pub(crate) const KEEP: usize = 3;
    /// A text of our own: the documentation mentions a placeholder, but not its text.
    const PLACEHOLDER: &str = "[tool result cleared]";

    /// Begins a conversation. Above `trigger` tokens all results but the newest `keep` are cleared.
    pub(crate) fn new(opening: &Opening, trigger: usize, keep: usize) -> Self {
        let tools = opening.tools.as_deref();
        Self {
            schemas: Segment::tools(opening),
            shown: Vec::new(),
            tools: tools.map_or(0, |tools| opening.counter.count(tools)),
            counter: Arc::clone(&opening.counter),
            trigger,
            keep,
        }
    }

    /// Returns the results that are cleared in a prompt of these messages.
    fn cleared<'m>(&self, shown: impl DoubleEndedIterator<Item = &'m Shown> + Clone) -> Vec<usize> {
        let tokens: usize = shown.clone().map(|shown| shown.tokens).sum();
        if self.tools + tokens <= self.trigger {
            return Vec::new();
        }
        let results = shown.filter(|shown| shown.message.kind == Kind::Result);
        let old = results.rev().skip(self.keep);
        old.map(|shown| shown.message.index).collect()
    }
}

impl Policy for ClearToolUses {
    fn push(&mut self, message: &Message) {
        self.shown.push(Shown {
            whole: Segment::of(message),
            tokens: self.counter.count(&message.text),
            placeholder: (message.kind == Kind::Result).then(|| placeholder(message)),
            message: message.clone(),
        });
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let read = self.shown.iter();
        let read = read.filter(|shown| shown.message.is_for(&agent.name));
        let cleared = self.cleared(read.clone());
        let segments = read.map(|shown| {
            let placeholder = shown.placeholder.as_ref();
            let is_cleared = cleared.contains(&shown.message.index);
            placeholder.filter(|_| is_cleared).unwrap_or(&shown.whole)
        });
        self.schemas.iter().chain(segments).cloned().collect()
    }

    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        let message = &self.shown.get(index)?.message;
        let is_cleared = self.cleared(self.shown.iter()).contains(&index);
        (!is_cleared).then(|| Cow::Borrowed(message.original()))
    }

    fn is_list(&self) -> bool {
        true
    }
}

/// Returns the result with the placeholder as its content.
fn placeholder(message: &Message) -> Segment {
    let mut json = Json::clone(&message.json);
    if let Some(message) = json.as_object_mut() {
        message.insert("content".into(), ClearToolUses::PLACEHOLDER.into());
    }
    Segment::new(Kind::Result, Arc::<str>::from(format!("{json}\n")))
}

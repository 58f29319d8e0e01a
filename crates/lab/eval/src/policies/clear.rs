//! Clearing of old tool results.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use accp_frame::TokenCounter;
use serde_json::Value as Json;

use super::whole::Whole;
use crate::policy::{Agent, Kind, Message, Opening, Policy, Segment};

/// Clears tool results as Anthropic's context editing does with the strategy
/// `clear_tool_uses_20250919`. When the prompt has more tokens than the trigger, a placeholder
/// replaces all tool results but the newest `keep`; calls stay. The server gets the whole history
/// each time, so it decides each time again, by the length of the whole history. The other
/// parameters have their defaults: no minimum to clear, no tool excluded.
pub struct ClearToolUses {
    history: Whole,
    /// For each message its tokens and, for a tool's result, the placeholder.
    sizes: Vec<(usize, Option<Segment>)>,
    tools: usize,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    trigger: usize,
    keep: usize,
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
    pub const TRIGGER: usize = 100_000;
    /// The documented default, in tool uses.
    pub const KEEP: usize = 3;
    /// A text of our own: the documentation mentions a placeholder, but not its text.
    const PLACEHOLDER: &str = "[tool result cleared]";

    /// Begins a conversation. Above `trigger` tokens all results but the newest `keep` are cleared.
    pub fn new(opening: &Opening, trigger: usize, keep: usize) -> Self {
        let tools = opening.tools.as_deref();
        Self {
            history: Whole::new(opening),
            sizes: Vec::new(),
            tools: tools.map_or(0, |tools| opening.counter.count(tools)),
            counter: Arc::clone(&opening.counter),
            trigger,
            keep,
        }
    }

    /// Returns the results that are cleared in a prompt of these messages.
    fn cleared<'m>(
        &self,
        messages: impl DoubleEndedIterator<Item = &'m Message> + Clone,
    ) -> Vec<usize> {
        let sizes = messages
            .clone()
            .filter_map(|message| self.sizes.get(message.index));
        let tokens: usize = sizes.map(|(tokens, _)| tokens).sum();
        if self.tools + tokens <= self.trigger {
            return Vec::new();
        }
        let results = messages.filter(|message| message.kind == Kind::Result);
        results
            .rev()
            .skip(self.keep)
            .map(|message| message.index)
            .collect()
    }
}

impl Policy for ClearToolUses {
    fn push(&mut self, message: &Message) {
        let placeholder = (message.kind == Kind::Result).then(|| placeholder(message));
        self.sizes
            .push((self.counter.count(&message.text), placeholder));
        self.history.push(message);
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let read: Vec<_> = self.history.read_by(agent).collect();
        let cleared = self.cleared(read.iter().map(|(message, _)| message));
        let shown = read.into_iter().map(|(message, segment)| {
            let size = self.sizes.get(message.index);
            size.and_then(|(_, placeholder)| placeholder.as_ref())
                .filter(|_| cleared.contains(&message.index))
                .unwrap_or(segment)
        });
        self.history
            .tools()
            .into_iter()
            .chain(shown)
            .cloned()
            .collect()
    }

    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        let message = self.history.message(index)?;
        let all = (0..self.history.len()).filter_map(|at| self.history.message(at));
        if self
            .cleared(all.collect::<Vec<_>>().into_iter())
            .contains(&index)
        {
            return None;
        }
        Some(Cow::Borrowed(message.original()))
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

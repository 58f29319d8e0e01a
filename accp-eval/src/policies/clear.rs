//! Clearing of old tool results.

use std::borrow::Cow;
use std::sync::Arc;

use accp_runtime::TokenCounter;
use serde_json::{Value as Json, json};

use super::history::History;
use super::{Agent, Kind, Message, Opening, Policy, Segment};

/// What Anthropic's context editing does with the strategy `clear_tool_uses_20250919`: when the
/// prompt has more tokens than the trigger, all tool results but the newest `keep` are replaced
/// by a placeholder; calls stay. The server is given the whole history each time, so whether
/// to clear is decided anew each time, by the length of the whole. Its other parameters are as
/// by default: no minimum to clear, no tool excluded.
pub(crate) struct ClearToolUses {
    history: History,
    /// By message: its tokens, and of a tool's result the placeholder.
    sizes: Vec<(usize, Option<Segment>)>,
    tools: usize,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    trigger: usize,
    keep: usize,
}

impl ClearToolUses {
    /// Documented default, in input tokens.
    pub(crate) const TRIGGER: usize = 100_000;
    /// Documented default, in tool uses.
    pub(crate) const KEEP: usize = 3;
    /// The documentation says that there is a placeholder, not which.
    const PLACEHOLDER: &str = "[tool result cleared]";

    pub(crate) fn new(opening: &Opening, trigger: usize, keep: usize) -> Self {
        let tools = opening.tools.as_deref();
        Self {
            history: History::new(opening),
            sizes: Vec::new(),
            tools: tools.map_or(0, |tools| opening.counter.count(tools)),
            counter: Arc::clone(&opening.counter),
            trigger,
            keep,
        }
    }

    /// The results that are cleared in a prompt over these messages.
    fn cleared<'m>(
        &self,
        messages: impl DoubleEndedIterator<Item = &'m Message> + Clone,
    ) -> Vec<usize> {
        let tokens = messages.clone().map(|message| self.sizes[message.index].0);
        if self.tools + tokens.sum::<usize>() <= self.trigger {
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
            let placeholder = self.sizes[message.index].1.as_ref();
            placeholder
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

/// The result with the placeholder for its content.
fn placeholder(message: &Message) -> Segment {
    let mut json = Json::clone(&message.json);
    json["content"] = json!(ClearToolUses::PLACEHOLDER);
    Segment::new(Kind::Result, Arc::<str>::from(format!("{json}\n")))
}

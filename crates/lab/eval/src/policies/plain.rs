//! The history as text without JSON, whole or with messages cut.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use accp_frame::TokenCounter;
use accp_memory::policy::{Agent, Kind, Message, Opening, Policy, Segment};

use crate::net::floor;

/// The most words and bytes of the left-out text that a handle quotes.
const FIRST: usize = 6;
const FIRST_BYTES: usize = 60;

/// What is cut off the history. System prompts and the words of users stay whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing.
    Nothing,
    /// Each tool result, to this many tokens.
    Results(usize),
    /// Each message, to this many tokens.
    All(usize),
    /// Each message, to this many tokens, once the agent has seen it whole.
    Seen(usize),
}

/// A policy that shows each message as text.
pub(crate) struct Plain {
    tools: Option<Segment>,
    cut: Cut,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    messages: Vec<Shown>,
    /// The messages that each agent has seen, by the agent's name.
    seen: BTreeSet<(Arc<str>, usize)>,
}

/// A message with its whole text and its cut text.
struct Shown {
    message: Message,
    whole: Segment,
    cut: Segment,
}

impl Plain {
    pub(crate) fn new(opening: &Opening, cut: Cut) -> Self {
        Self {
            tools: Segment::tools(opening),
            cut,
            counter: Arc::clone(&opening.counter),
            messages: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    fn limit(&self, kind: Kind) -> Option<usize> {
        match self.cut {
            _ if matches!(kind, Kind::System | Kind::User) => None,
            Cut::Results(limit) if kind == Kind::Result => Some(limit),
            Cut::All(limit) | Cut::Seen(limit) => Some(limit),
            Cut::Nothing | Cut::Results(_) => None,
        }
    }
}

impl Policy for Plain {
    fn push(&mut self, message: &Message) {
        let segment = |text: String| Segment {
            text: Arc::from(text),
            ..Segment::of(message)
        };
        let speaker = message.speaker();
        let body = message.plain();
        let whole = segment(format!("{speaker}: {body}\n"));
        let cut = match self.limit(message.kind) {
            Some(limit) => {
                let body = cut(&body, limit, message.index, &*self.counter);
                segment(format!("{speaker}: {body}\n"))
            }
            None => whole.clone(),
        };
        self.messages.push(Shown {
            message: message.clone(),
            whole,
            cut,
        });
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let mut prompt: Vec<Segment> = self.tools.iter().cloned().collect();
        for shown in &self.messages {
            if !shown.message.is_for(&agent.name) {
                continue;
            }
            let is_new = self.cut_is_later()
                && self
                    .seen
                    .insert((Arc::clone(&agent.name), shown.message.index));
            let segment = if is_new { &shown.whole } else { &shown.cut };
            prompt.push(segment.clone());
        }
        prompt
    }

    /// Recovers the message from the log, which keeps every message.
    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        let shown = self.messages.get(index)?;
        Some(Cow::Borrowed(shown.message.original()))
    }
}

/// Returns about this many tokens of a text: two thirds from its head and a third from its tail. The text between
/// them becomes `[n lines: p12: its first words]`.
fn cut(text: &str, limit: usize, index: usize, counter: &dyn TokenCounter) -> String {
    let tokens = counter.count(text);
    if tokens <= limit {
        return text.to_owned();
    }
    let room = text.len().saturating_mul(limit) / tokens;
    let head = floor(text, room * 2 / 3);
    let tail = floor(text, text.len() - room / 3);
    let (head, tail) = if limit == 0 {
        (0, text.len())
    } else {
        (head, tail)
    };
    let lines = text[head..tail].lines().count();
    let first: Vec<&str> = text[head..tail].split_whitespace().take(FIRST).collect();
    let first = first.join(" ");
    let first = &first[..floor(&first, FIRST_BYTES)];
    let mark = format!("[{lines} lines: p{index}: {first}]");
    let parts = [&text[..head], &mark, &text[tail..]];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

impl Plain {
    /// Returns whether a message is cut only after the agent has seen it.
    fn cut_is_later(&self) -> bool {
        matches!(self.cut, Cut::Seen(_))
    }
}

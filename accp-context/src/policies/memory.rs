//! This project's policy: messages whole at first sight, and their ends afterwards.

mod cut;
mod expand;
mod repeats;
mod shapes;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use accp_frame::TokenCounter;
use accp_registry::export::ToolForm;

use self::repeats::Repeats;
use self::shapes::Shapes;
use crate::policy::{Agent, Kind, Message, Opening, Policy, Segment};

/// A message of so many bytes says its number, so that later messages can refer to it.
const NUMBERED: usize = 400;

/// Shows an agent each message whole once, and then what is worth its tokens:
///
/// - Messages are text. Only the result of a tool that is a JSON object or list is shown as a view,
///   with its shapes declared once.
/// - Lines that stand in the prompt already are referred to: `[12 lines as in p7: def union]`. Users'
///   words always stand whole.
/// - From the agent's next turn on, a long result loses its middle, by what it is: listings first.
///   `[12 lines: p7: def union]` says where the middle was, and a tool brings it back
///   ([`expand`](Self::expand)). Its definition for `OpenAI` is part of each prompt.
///
/// A message that an agent has seen never changes again, so the beginning of a prompt is the
/// beginning of the next one, which a provider's cache makes cheap.
///
/// ```
/// # use std::sync::Arc;
/// use accp_context::Recorded;
/// use accp_context::policies::{Layout, Memory};
/// use accp_context::policy::{Agent, Message, Opening, Policy};
/// # use accp_runtime::view::View;
/// # use accp_runtime::{Registry, TokenCounter};
/// use serde_json::json;
///
/// # #[derive(Debug)]
/// # struct Quarters;
/// # impl TokenCounter for Quarters {
/// #     fn name(&self) -> &str { "quarters" }
/// #     fn count(&self, text: &str) -> usize { text.len().div_ceil(4) }
/// # }
/// # let opening = Opening {
/// #     tools: None,
/// #     counter: Arc::new(Quarters),
/// #     view: View::new(Arc::new(Registry::standard())),
/// # };
/// let mut memory = Memory::new(&opening, Layout::Shared);
/// let listing: Vec<String> = (1..=99).map(|n| format!("src/part_{n}.rs")).collect();
/// let listing = json!({ "role": "tool", "content": listing.join("\n") });
/// memory.push(&Message::new(0, Recorded::of(&listing)).expect("it has a role"));
/// let agent = Agent { name: "assistant".into(), cache: "".into() };
/// let first = memory.prompt(&agent);
/// assert!(first[1].text.contains("\nsrc/part_50.rs\n"));
/// let second = memory.prompt(&agent);
/// assert!(second[1].text.contains(" lines: p0: src/part_"));
/// ```
pub struct Memory {
    tools: Vec<Segment>,
    layout: Layout,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    entries: Vec<Entry>,
    shapes: Shapes,
    repeats: Repeats,
    /// The number of messages that each agent has seen.
    seen: BTreeMap<Arc<str>, usize>,
    /// The number of messages that have their last form.
    settled: usize,
}

/// The order of what several agents read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// The system prompts of all agents, the transcript, and at the end who speaks. All agents then
    /// share a provider's cache, and each reads the instructions of the others.
    #[default]
    Shared,
    /// The agent's own system prompts and the transcript.
    Own,
}

/// A message with its forms.
struct Entry {
    message: Message,
    lines: Vec<String>,
    is_numbered: bool,
    /// As an agent sees it first.
    whole: Option<Segment>,
    /// As an agent sees it afterwards.
    settled: Option<Segment>,
}

impl Memory {
    /// Begins a conversation.
    pub fn new(opening: &Opening, layout: Layout) -> Self {
        Self {
            tools: Segment::tools(opening)
                .into_iter()
                .chain([Segment::new(Kind::Tools, Self::tool(ToolForm::OpenAi))])
                .collect(),
            layout,
            counter: Arc::clone(&opening.counter),
            entries: Vec::new(),
            shapes: Shapes::default(),
            repeats: Repeats::default(),
            seen: BTreeMap::new(),
            settled: 0,
        }
    }

    /// Gives the messages that the agent has seen their last form.
    fn settle(&mut self, seen: usize) {
        for at in self.settled..seen {
            let entry = &self.entries[at];
            let referred = self
                .repeats
                .without(&entry.message, &entry.lines, &*self.counter);
            let lines = match entry.message.kind {
                Kind::Result => cut::middle(referred, at, &*self.counter),
                _ => referred,
            };
            let segment = entry.segment(&lines);
            if entry.is_numbered {
                self.repeats.add(at, lines);
            }
            self.entries[at].settled = Some(segment);
        }
        self.settled = self.settled.max(seen);
    }

    /// Returns a message as an agent sees it first.
    fn whole(&mut self, at: usize) -> Segment {
        let entry = &mut self.entries[at];
        if let Some(whole) = &entry.whole {
            return whole.clone();
        }
        // If another agent has seen it, later messages may have lines of it that they refer to.
        let lines = match entry.settled {
            Some(_) => entry.lines.clone(),
            None => self
                .repeats
                .without(&entry.message, &entry.lines, &*self.counter),
        };
        let lines = match entry.message.kind {
            Kind::Result => cut::longest(lines, at, &*self.counter),
            _ => lines,
        };
        entry.whole.insert(entry.segment(&lines)).clone()
    }

    /// Returns the number of system prompts for single agents at the beginning of the conversation,
    /// if all agents see them.
    fn roles(&self) -> usize {
        let mut first = self.entries.iter();
        let first = first.position(|entry| entry.message.kind != Kind::System);
        let first = first.unwrap_or(self.entries.len());
        let mut roles = self.entries[..first].iter();
        let has_roles = roles.any(|entry| entry.message.only_for.is_some());
        if self.layout == Layout::Shared && has_roles {
            first
        } else {
            0
        }
    }
}

impl Entry {
    fn segment(&self, lines: &[String]) -> Segment {
        // All forms of a message have this beginning, so a cache keeps it.
        let number = if self.is_numbered {
            format!("p{} ", self.message.index)
        } else {
            String::new()
        };
        let text = format!("{number}{}: {}\n", self.message.speaker(), lines.join("\n"));
        Segment {
            text: Arc::from(text),
            ..Segment::of(&self.message)
        }
    }
}

impl Policy for Memory {
    fn push(&mut self, message: &Message) {
        let shaped = match message.kind {
            Kind::Result => self.shapes.text(message, &*self.counter),
            _ => None,
        };
        let text = shaped.unwrap_or_else(|| message.plain());
        self.entries.push(Entry {
            message: message.clone(),
            is_numbered: text.len() >= NUMBERED && message.kind != Kind::System,
            lines: text.split('\n').map(repeats::guarded).collect(),
            whole: None,
            settled: None,
        });
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let all = self.entries.len();
        let seen = self.seen.insert(Arc::clone(&agent.name), all);
        let seen = seen.unwrap_or_default();
        self.settle(seen);
        let roles = self.roles();
        let mut prompt = self.tools.clone();
        for at in 0..all {
            if at >= roles && !self.entries[at].message.is_for(&agent.name) {
                continue;
            }
            let settled = self.entries[at].settled.clone();
            let segment = match settled.filter(|_| at < seen) {
                Some(segment) => segment,
                None => self.whole(at),
            };
            prompt.push(segment);
        }
        if roles > 0 {
            let who = format!("You are {}.\n", agent.name);
            prompt.push(Segment::new(Kind::Primer, who));
        }
        prompt
    }

    /// Recovers the message from the log, which keeps every message.
    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.entries.get(index)?.message.original()))
    }
}

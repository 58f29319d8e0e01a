//! The policy `memory`: it shows each message whole once, and only the ends of long results afterwards.

mod cut;
mod expand;
mod lines;
mod repeats;
mod shapes;
mod wrappers;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use accp_frame::TokenCounter;
use accp_registry::export::ToolForm;
use serde_json::Value as Json;

use self::repeats::Repeats;
use self::shapes::Shapes;
use self::wrappers::Wrappers;
use crate::policy::{Agent, Kind, Message, Opening, Policy, Segment};
use accp_context::Call;

/// A message with at least this many bytes shows its number, so that later messages can refer to it.
const NUMBERED: usize = 400;

/// Shows an agent each message whole once, and later only the parts that are worth their tokens:
///
/// - Messages are text. Results and arguments of calls that are JSON objects or lists are shown as
///   views, with their shapes declared once. The registry of the opening may know shapes already.
/// - Lines that a tool writes around each of its results are shown once. Meaningless layout is left out: spaces
///   before line numbers, and the indentation of JSON in the words of agents.
/// - A reference replaces lines that the prompt already has: `[as in p7:12-30: def union]`. The words of users always
///   stay whole.
/// - From the agent's next turn on, a long result loses its middle. A listing counts as long much earlier than other
///   results. `[... p7:12-30: def union]` takes the place of the middle, and a tool brings the middle back
///   ([`expand`](Self::expand)). A result of more than 2,000 tokens (a listing) or 3,000 tokens loses its middle at
///   once.
/// - The definition of this tool stands before the first message that may lose lines, so a prompt that shows
///   everything has no definition. [`declared`](Self::declared) puts the definition first.
///
/// A line that looks like one of these marks gets a `\` before it, and a name that looks like one is quoted. So what
/// a prompt shows can be read back from its texts alone.
///
/// A message that an agent has seen twice never changes again. So the beginning of a prompt is also the beginning of
/// the next one, and a provider's cache makes it cheap.
///
/// ```
/// # use std::sync::Arc;
/// use accp_context::Recorded;
/// use accp_memory::policies::{Layout, Memory};
/// use accp_memory::policy::{Agent, Message, Opening, Policy};
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
/// assert!(second[1].text.contains("[... p0:"));
/// ```
pub struct Memory {
    tools: Vec<Segment>,
    layout: Layout,
    /// The message before which the definition of the tool stands: the first message that may lose lines.
    tool_at: Option<usize>,
    /// The parts that are switched off.
    off: BTreeSet<Part>,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    entries: Vec<Entry>,
    shapes: Shapes,
    wrappers: Wrappers,
    repeats: Repeats,
    /// The number of messages that each agent has seen.
    seen: BTreeMap<Arc<str>, usize>,
    /// The number of messages that have their last form.
    settled: usize,
}

/// The order of the parts of a prompt, for several agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// First the system prompts of all agents, then the transcript, and at the end the name of the agent that speaks
    /// next. So all agents share a provider's cache, but each also reads the instructions of the others.
    #[default]
    Shared,
    /// The transcript, and the agent's own system prompts at the end, so that agents share a
    /// provider's cache of the transcript. System prompts without a name stand where they were said.
    Own,
}

/// A part of the policy that can be switched off ([`Memory::without`]), to measure what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// JSON as views, with shapes declared once.
    Shapes,
    /// Lines around the results of a tool, said once.
    Wrappers,
    /// Spaces before line numbers, and the indentation of JSON, left out.
    Spaces,
    /// References to lines that stand in the prompt.
    Repeats,
    /// The middles of long results, left out.
    Cuts,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 5] = [
        Self::Shapes,
        Self::Wrappers,
        Self::Spaces,
        Self::Repeats,
        Self::Cuts,
    ];

    /// Returns the word for the part: `shapes`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shapes => "shapes",
            Self::Wrappers => "wrappers",
            Self::Spaces => "spaces",
            Self::Repeats => "repeats",
            Self::Cuts => "cuts",
        }
    }
}

/// A message with its forms.
struct Entry {
    message: Message,
    /// The speaker, and the definitions that later messages need. The head stays when lines leave.
    head: String,
    lines: Vec<String>,
    is_numbered: bool,
    /// The form in which an agent sees the message first.
    whole: Option<Segment>,
    /// The form in which an agent sees the message afterwards.
    settled: Option<Segment>,
}

impl Memory {
    /// Begins a conversation.
    pub fn new(opening: &Opening, layout: Layout) -> Self {
        Self {
            tools: Segment::tools(opening).into_iter().collect(),
            layout,
            tool_at: None,
            off: BTreeSet::new(),
            counter: Arc::clone(&opening.counter),
            entries: Vec::new(),
            shapes: Shapes::new(opening.view.registry()),
            wrappers: Wrappers::default(),
            repeats: Repeats::default(),
            seen: BTreeMap::new(),
            settled: 0,
        }
    }

    /// Declares the tool [`expand`](Self::expand) before everything else, for a provider that reads
    /// all tools first. Call it before the first message.
    pub fn declared(mut self) -> Self {
        self.tool_at = Some(0);
        self
    }

    /// Switches a part off, to measure what it is worth. Call it before the first message.
    pub fn without(mut self, part: Part) -> Self {
        self.off.insert(part);
        self
    }

    fn has(&self, part: Part) -> bool {
        !self.off.contains(&part)
    }

    /// Gives their last form to the messages that the agent has seen.
    fn settle(&mut self, seen: usize) {
        for at in self.settled..seen {
            // The first form is made before the last one. A first form made later could refer to later messages.
            let whole = self.whole(at);
            let referred = self.referred(at);
            let entry = &self.entries[at];
            let lines = if self.may_cut(at) {
                cut::middle(referred, at, &*self.counter)
            } else {
                referred
            };
            let segment = entry.segment(&lines);
            if entry.is_numbered && self.has(Part::Repeats) {
                self.repeats.add(at, lines, entry.lines_in(&whole));
            }
            self.entries[at].settled = Some(segment);
        }
        self.settled = self.settled.max(seen);
    }

    /// Returns whether lines of a message may be left out: the model can fetch them.
    fn may_cut(&self, at: usize) -> bool {
        let is_declared = self.tool_at.is_some_and(|tool| tool <= at);
        is_declared && self.has(Part::Cuts) && self.entries[at].message.kind == Kind::Result
    }

    /// Returns the lines of a message, with references to lines of messages in their last form.
    fn referred(&self, at: usize) -> Vec<String> {
        let entry = &self.entries[at];
        self.repeats
            .without(&entry.message, &entry.lines, &*self.counter)
    }

    /// Returns a message as an agent sees it first.
    fn whole(&mut self, at: usize) -> Segment {
        if let Some(whole) = &self.entries[at].whole {
            return whole.clone();
        }
        let mut lines = self.referred(at);
        if self.may_cut(at) {
            lines = cut::longest(lines, at, &*self.counter);
        }
        let entry = &mut self.entries[at];
        entry.whole.insert(entry.segment(&lines)).clone()
    }

    /// Returns a message as text, and the definitions of shapes that the text is the first to need.
    fn text(&mut self, message: &Message) -> (String, String) {
        let mut definitions = String::new();
        if !self.has(Part::Shapes) {
            return (message.plain(), definitions);
        }
        let is_result = message.kind == Kind::Result;
        let mut view = |json: &Json, recorded: &str| {
            // Arguments with their names are clearer than `R1(..)`, unless a registry has a schema for them.
            if !is_result && json.is_object() && !self.shapes.is_learnt(json) {
                return None;
            }
            let shown = self.shapes.view(json, recorded, &*self.counter)?;
            definitions.push_str(&shown.definitions);
            Some(shown.text)
        };
        let text = match message.kind {
            Kind::Result => {
                let recorded = message.plain();
                let json: Option<Json> = serde_json::from_str(&recorded).ok();
                let text = json.and_then(|json| view(&json, &recorded));
                text.unwrap_or(recorded)
            }
            _ => message.plain_with(view),
        };
        (text, definitions)
    }

    /// Returns whether the newest message is a single call that this result answers.
    fn answers_one_call(&self, result: &Message) -> bool {
        let newest = self.entries.last().map(|entry| &entry.message);
        let calls = newest.map(|message| message.recorded().calls().collect::<Vec<_>>());
        let name = result.recorded().name();
        let answers = |call: &Call<'_>| name.is_none() || call.tool() == name;
        calls.is_some_and(|calls| calls.len() == 1 && calls.iter().all(answers))
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
        let text = format!("{}{}\n", self.head, lines.join("\n"));
        Segment {
            text: Arc::from(text),
            ..Segment::of(&self.message)
        }
    }

    /// Returns the lines of the message in one of its segments.
    fn lines_in(&self, segment: &Segment) -> Vec<String> {
        let lines = &segment.text[self.head.len()..];
        let lines = lines.strip_suffix('\n').unwrap_or(lines).split('\n');
        lines.map(str::to_owned).collect()
    }
}

/// Returns a speaker's name. The name is quoted if a reader could take it for something else: a number, the mark of
/// an answer, or a wrapper, or if the reader could not see where the name ends.
fn quoted(speaker: String) -> String {
    let number = speaker.strip_prefix('p').unwrap_or_default();
    let behind = number.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_odd = behind.len() < number.len() && behind.starts_with(' ')
        || speaker.starts_with("= ")
        || speaker.starts_with('"')
        || speaker.ends_with('\'')
        || speaker.contains(": ")
        || speaker.contains('\n');
    if is_odd {
        Json::from(speaker).to_string()
    } else {
        speaker
    }
}

impl Policy for Memory {
    fn push(&mut self, message: &Message) {
        let (text, mut definitions) = self.text(message);
        let spaces = self.has(Part::Spaces);
        let mut lines = lines::lines(message.kind, &text, spaces);
        let mut speaker = quoted(message.speaker());
        if message.only_for.is_some() {
            // If the head had only the agent's name, the instructions to the agent would look like
            // its own words.
            speaker = format!("system to {speaker}");
        }
        let mut mark = ": ";
        if message.kind == Kind::Result {
            let bare = self.has(Part::Wrappers).then_some(&mut self.wrappers);
            let bare = bare.and_then(|known| known.bare(&speaker, &lines, &*self.counter));
            if let Some(bare) = bare {
                definitions.extend(bare.definition);
                (speaker, lines) = (bare.speaker, bare.lines);
            } else if self.answers_one_call(message) {
                speaker.clear();
                mark = "= ";
            }
        }
        let is_first = self.tool_at.is_none() && self.has(Part::Cuts);
        let is_for_all = message.kind == Kind::Result && message.only_for.is_none();
        if is_first && is_for_all && cut::is_long(&lines, &*self.counter) {
            self.tool_at = Some(self.entries.len());
        }
        let is_numbered = text.len() >= NUMBERED && message.kind != Kind::System;
        let number = if is_numbered {
            format!("p{} ", message.index)
        } else {
            String::new()
        };
        self.entries.push(Entry {
            message: message.clone(),
            head: format!("{number}{speaker}{mark}{definitions}"),
            is_numbered,
            lines,
            whole: None,
            settled: None,
        });
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let all = self.entries.len();
        // The message that answers the prompt is the agent's own, so it counts as seen too.
        let seen = self.seen.insert(Arc::clone(&agent.name), all + 1);
        let seen = seen.unwrap_or_default().min(all);
        self.settle(seen);
        let roles = self.roles();
        let mut prompt = self.tools.clone();
        let mut own = Vec::new();
        for at in 0..all {
            if self.tool_at == Some(at) {
                let definition = Self::tool(ToolForm::Anthropic);
                prompt.push(Segment::new(Kind::Tools, definition));
            }
            let message = &self.entries[at].message;
            if at >= roles && !message.is_for(&agent.name) {
                continue;
            }
            let is_own = self.layout == Layout::Own && message.only_for.is_some();
            let settled = self.entries[at].settled.clone();
            let segment = match settled.filter(|_| at < seen) {
                Some(segment) => segment,
                None => self.whole(at),
            };
            let part = if is_own { &mut own } else { &mut prompt };
            part.push(segment);
        }
        prompt.append(&mut own);
        if roles > 0 {
            let who = format!("You are {}.\n", agent.name);
            prompt.push(Segment::new(Kind::Primer, who));
        }
        prompt
    }

    /// Returns the message from the entries, which keep every message.
    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.entries.get(index)?.message.original()))
    }
}

#[cfg(test)]
mod tests;

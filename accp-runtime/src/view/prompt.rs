//! The prompt of one agent: what is new as it was said, what is old as facts.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use super::facts::{self, Facts, Vocabulary, names};
use super::{Transcript, View, text};
use crate::{Message, TokenCounter, Value};

/// When old messages leave a prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PromptLimits {
    /// Tokens of messages as they were said, beyond which the older ones become facts: 400 by
    /// default.
    pub hot: usize,
    /// The newest messages, which stay as they are: 2 by default.
    pub keep: usize,
    /// Tokens of one message, beyond which its middle is left out: 1,000 by default. What is
    /// left out is a reference away.
    pub message: usize,
}

impl Default for PromptLimits {
    fn default() -> Self {
        Self {
            hot: 400,
            keep: 2,
            message: 1000,
        }
    }
}

/// Times what stays that must go at once.
const WORTH: usize = 2;

/// What an agent reads of a conversation: messages as they were said, until they are too many;
/// then the older ones become facts, and each stays a reference away (`$cold.p57`).
///
/// It only grows at its end, but for the moment when messages become facts, and then only
/// behind the facts that are there: so the beginning of a prompt is the beginning of the next
/// one, which a provider's cache makes cheap.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::view::{Prompt, PromptLimits, View};
/// use accp_runtime::{Message, Registry, TokenCounter};
///
/// # #[derive(Debug)]
/// # struct Quarters;
/// # impl TokenCounter for Quarters {
/// #     fn name(&self) -> &str { "quarters" }
/// #     fn count(&self, text: &str) -> usize { text.len().div_ceil(4) }
/// # }
/// let view = View::new(Arc::new(Registry::standard()));
/// let mut limits = PromptLimits::default();
/// (limits.hot, limits.keep) = (10, 1);
/// let mut prompt = Prompt::new(view, limits, Arc::new(Quarters));
/// let said = |text| Ok::<_, accp_runtime::EncodeError>(
///     Message::new("desk", "done", "chat")?.under("CH")
///         .with("role", "assistant").with("lang", "en").with("content", text));
/// prompt.push(1, &said("The order is MC-20117, and it is on its way already.")?);
/// prompt.push(2, &said("Anything else?")?);
/// let text: String = prompt.parts().map(|part| &*part.text).collect();
/// assert_eq!(text, "@facts p1\ndesk: order is MC-20117\n@desk: Anything else?\n");
/// # Ok::<(), accp_runtime::EncodeError>(())
/// ```
pub struct Prompt {
    view: View,
    limits: PromptLimits,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    vocabulary: Vocabulary,
    /// Of the schemas of facts.
    short: View,
    facts: Facts,
    /// What has become of messages, oldest first.
    old: Vec<Part>,
    /// What is in `old` already.
    defined: Transcript,
    hot: Vec<Hot>,
    transcript: Transcript,
}

/// A part of a prompt: whole lines.
#[derive(Debug, Clone)]
pub struct Part {
    /// The position of its message; of facts, that of the last one.
    pub position: u64,
    /// Whether these are facts.
    pub is_facts: bool,
    /// The text.
    pub text: Arc<str>,
    /// The values that it says, under their full names: a message's payload, or what was kept
    /// of each.
    pub values: Arc<[Value<'static>]>,
}

#[derive(Debug)]
struct Hot {
    part: Part,
    tokens: usize,
    message: Message<'static>,
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("limits", &self.limits)
            .field("old", &self.old)
            .field("hot", &self.hot)
            .finish_non_exhaustive()
    }
}

impl Prompt {
    /// An empty prompt.
    pub fn new(
        view: View,
        limits: PromptLimits,
        counter: Arc<dyn TokenCounter + Send + Sync>,
    ) -> Self {
        Self {
            vocabulary: Vocabulary::of(view.registry()),
            short: View::new(Arc::new(facts::short(view.registry()))),
            view,
            limits,
            counter,
            facts: Facts::default(),
            old: Vec::new(),
            defined: Transcript::default(),
            hot: Vec::new(),
            transcript: Transcript::default(),
        }
    }

    /// How messages are shown.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The parts in their order. Those that stand in the last prompt too are the same
    /// [`Arc`]s.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        let hot = self.hot.iter().map(|hot| &hot.part);
        self.old.iter().chain(hot)
    }

    /// Takes the message at this position of the log.
    pub fn push(&mut self, position: u64, message: &Message<'_>) {
        let message = message.clone().into_owned();
        let hot = self.show(position, message);
        self.hot.push(hot);
        let newest = self.hot.len().saturating_sub(self.limits.keep);
        let tokens = |hot: &[Hot]| hot.iter().map(|hot| hot.tokens).sum::<usize>();
        let (older, newest) = self.hot.split_at(newest);
        let (older, newest) = (tokens(older), tokens(newest));
        // What stays is paid for again, so that enough must go.
        if older + newest > self.limits.hot && older > WORTH * newest {
            self.settle();
        }
    }

    fn show(&mut self, position: u64, message: Message<'static>) -> Hot {
        let mut block = self.view.block(&message);
        let tokens = self.counter.count(&block.text);
        if tokens > self.limits.message {
            block.text = shorten(&block.text, self.limits.message, tokens, position);
        }
        let text: Arc<str> = self.transcript.push(&self.view, block).into();
        Hot {
            tokens: self.counter.count(&text),
            part: Part {
                position,
                is_facts: false,
                text,
                values: [Value::Map(message.payload.clone())].into(),
            },
            message,
        }
    }

    /// The older messages become facts.
    fn settle(&mut self) {
        let newest = self.hot.split_off(self.hot.len() - self.limits.keep);
        let older = core::mem::replace(&mut self.hot, newest);
        let mut facts = String::new();
        let mut values = Vec::new();
        for hot in &older {
            let registry = self.view.registry();
            let found = self
                .facts
                .take(registry, &self.short, &self.vocabulary, &hot.message);
            for (block, value) in found {
                values.extend(value);
                let mut line = String::new();
                text::write_below(&mut line, block.text.trim_end_matches('\n'), false);
                line.push('\n');
                let block = super::Block {
                    text: line,
                    codes: block.codes,
                };
                facts.push_str(&self.defined.push(&self.short, block));
            }
        }
        let mut out = String::from("@facts");
        if let (Some(first), Some(last)) = (older.first(), older.last()) {
            let (first, last) = (first.part.position, last.part.position);
            let _ = write!(out, " p{first}");
            if last > first {
                let _ = write!(out, "-{last}");
            }
            out.push('\n');
            out.push_str(&facts);
            self.old.push(Part {
                position: last,
                is_facts: true,
                text: out.into(),
                values: values.into(),
            });
        }
        // What stays hot is shown again, because definitions have left.
        self.transcript = self.defined.clone();
        for hot in core::mem::take(&mut self.hot) {
            let hot = self.show(hot.part.position, hot.message);
            self.hot.push(hot);
        }
    }
}

/// The beginning and the end of a text that is too long.
fn shorten(text: &str, limit: usize, tokens: usize, position: u64) -> String {
    let room = text.len() / tokens.max(1) * limit;
    let floor = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at));
    let head = floor(room * 2 / 3).unwrap_or_default();
    let tail = floor(text.len() - room / 3).unwrap_or_default();
    // At the ends of lines, if there are some near.
    let head = text[..head]
        .rfind('\n')
        .filter(|at| *at > head / 2)
        .unwrap_or(head);
    let tail = text[tail..]
        .find('\n')
        .filter(|at| *at < room / 6)
        .map_or(tail, |at| tail + at);
    let (head, middle, tail) = (&text[..head], &text[head..tail], &text[tail..]);
    let mut out = String::from(head);
    let _ = write!(out, "\n[{} bytes: $cold.p{position}", middle.len());
    let seen: BTreeSet<&str> = names(head).chain(names(tail)).collect();
    let mut told = BTreeSet::new();
    for name in names(middle).filter(|name| !seen.contains(name)) {
        if told.insert(name) {
            out.push_str(if told.len() == 1 { "; " } else { " " });
            out.push_str(name);
        }
    }
    out.push(']');
    if !tail.starts_with('\n') {
        out.push('\n');
        if text::is_guarded(tail) {
            out.push('\\');
        }
    }
    out.push_str(tail);
    out
}

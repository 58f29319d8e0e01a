//! The prompt of one agent: what is new as it was said, what is old as facts.

mod ledger;
mod limits;
mod old;

use std::fmt;
use std::sync::Arc;

use super::repeat::{self, Name, Referent};
use super::shorten::shorten;
use super::{Block, PRIMER, Transcript, View, spoken, write};
use accp_frame::{Message, TokenCounter, Value};
use ledger::Ledger;
pub use limits::PromptLimits;
use old::Old;

/// How a definition begins, and a reference to what has left: both take a primer.
const DEFINITION: &str = "@=";
const COLD: &str = "$cold.p";

/// Times what stays that must go at once.
const WORTH: usize = 2;

/// What an agent reads of a conversation: messages as they were said, until they are too many;
/// then the older ones become facts, and each stays a reference away (`$cold.p57`).
///
/// It only grows at its end, but for the moment when messages become facts, and then only
/// behind the facts that are there: so the beginning of a prompt is the beginning of the next
/// one, which a provider's cache makes cheap. Only when there are more facts than
/// [`PromptLimits::facts`] the oldest leave.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::view::{PRIMER, Prompt, PromptLimits, View};
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
/// assert_eq!(text, PRIMER.to_owned()
///     + "@facts p1\ndesk: order is MC-20117\n@desk: Anything else?\n");
/// # Ok::<(), accp_runtime::EncodeError>(())
/// ```
///
/// A session's log feeds it: what the session accepted stands in the
/// batches that it is driven with.
///
/// ```
/// use accp_session::{Batch, EntryKind};
/// use accp_runtime::view::Prompt;
/// use accp_runtime::{DecodeError, Message};
///
/// fn feed(prompt: &mut Prompt, batch: &Batch) -> Result<(), DecodeError> {
///     let frames = batch.entries.iter().filter(|entry| entry.kind == EntryKind::Frame);
///     for entry in frames {
///         let message = Message::decode(&entry.text, prompt.view().registry())?.into_owned();
///         prompt.push(entry.position, &message);
///     }
///     Ok(())
/// }
/// ```
pub struct Prompt {
    view: View,
    limits: PromptLimits,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    primer: Part,
    old: Old,
    hot: Vec<Hot>,
    transcript: Transcript,
    ledger: Ledger,
    /// Tokens of messages that could have been facts, for each message that came after.
    reread: usize,
    /// The first question has its place.
    has_task: bool,
}

/// A part of a prompt: whole lines.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// The position of its message; of facts, that of the last one.
    pub position: u64,
    /// The text.
    pub text: Arc<str>,
    /// The values that it says, under their full names: a message's payload, or what was kept
    /// of each.
    pub values: Arc<[Value<'static>]>,
}

/// What a part of a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartKind {
    /// [`PRIMER`], in front of the first part that it is needed for.
    Primer,
    /// What was kept of old messages.
    Facts,
    /// A message.
    Message,
}

#[derive(Debug)]
struct Hot {
    part: Part,
    tokens: usize,
    message: Message<'static>,
    /// The records in it.
    names: Vec<Name>,
    show: Show,
    /// Nothing of it is left out.
    is_whole: bool,
}

/// What may be left out of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    /// The middle of what is long, and all but facts when it is old.
    Short,
    /// All but facts when it is old.
    Whole,
    /// Nothing, ever.
    Verbatim,
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
            old: Old::new(view.clone(), Arc::clone(&counter)),
            view,
            limits,
            counter,
            primer: Part {
                kind: PartKind::Primer,
                position: 0,
                text: PRIMER.into(),
                values: [].into(),
            },
            hot: Vec::new(),
            transcript: Transcript::default(),
            ledger: Ledger::default(),
            reread: 0,
            has_task: false,
        }
    }

    /// How messages are shown.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The parts in their order. What stands in the last prompt too, at the same place, is the
    /// same [`Arc`].
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        let parts = || self.old.parts().chain(self.hot.iter().map(|hot| &hot.part));
        let needs = |part: &Part| {
            part.kind == PartKind::Facts
                || part.text.starts_with(DEFINITION)
                || part.text.contains(COLD)
        };
        let first = parts().position(needs);
        let (before, primer) = first.map_or((usize::MAX, None), |at| (at, Some(&self.primer)));
        let rest = parts().skip(before);
        parts().take(before).chain(primer).chain(rest)
    }

    /// Takes the message at this position of the log.
    pub fn push(&mut self, position: u64, message: &Message<'_>) {
        self.take(position, message, Show::Short);
    }

    /// Takes a message that stays as it was said: it is not shortened, and never becomes
    /// facts.
    pub fn push_verbatim(&mut self, position: u64, message: &Message<'_>) {
        self.take(position, message, Show::Verbatim);
    }

    /// Shows a message again, whole, of which facts or the ends alone were left: the model
    /// has asked for its `$cold.p57`. It becomes facts again when it is old.
    pub fn expand(&mut self, position: u64, message: &Message<'_>) {
        self.take(position, message, Show::Whole);
    }

    fn take(&mut self, position: u64, message: &Message<'_>, show: Show) {
        let message = message.clone().into_owned();
        let hot = self.show(position, message, show);
        self.hot.push(hot);
        let (request, task) = (self.request(), self.task());
        let (mut older, mut newer) = (0_usize, 0_usize);
        for (at, hot) in self.hot.iter().enumerate() {
            if self.stays(at, request) {
                newer = newer.saturating_add(hot.tokens);
            } else if hot.show != Show::Verbatim && task != Some(at) {
                older = older.saturating_add(hot.tokens);
            }
        }
        let pays = match &self.limits.prices {
            // What stays is paid for again, so that enough must go.
            None => older.saturating_add(newer) > self.limits.hot && older / WORTH > newer,
            Some(prices) => {
                self.reread = self.reread.saturating_add(older - self.old.share(older));
                // Every other message is an answer, which takes a prompt.
                prices.pays(self.reread / 2, newer)
            }
        };
        if pays && older > 0 {
            self.settle(request);
        }
    }

    /// The last question, if it is short enough to be asked again; the task has a place of its
    /// own.
    fn request(&self) -> Option<usize> {
        let asks = |hot: &Hot| spoken::asks(&hot.message);
        let last = self.hot.iter().rposition(asks)?;
        let is_short = self.hot[last].tokens <= self.limits.hot / 2;
        (is_short && self.task() != Some(last)).then_some(last)
    }

    /// The first question, until it has its place.
    fn task(&self) -> Option<usize> {
        let first = self.hot.iter().position(|hot| spoken::asks(&hot.message));
        first.filter(|_| !self.has_task)
    }

    /// Whether this message is not to become facts now.
    fn stays(&self, at: usize, request: Option<usize>) -> bool {
        // What is verbatim stands behind the question that it came after.
        let is_behind = request.is_some_and(|request| request < at);
        self.hot.len().saturating_sub(at) <= self.limits.keep
            || Some(at) == request
            || is_behind && self.hot[at].show == Show::Verbatim
    }

    fn show(&mut self, position: u64, message: Message<'static>, show: Show) -> Hot {
        let names = repeat::names(self.view.registry(), &message);
        let mut is_whole = true;
        let text = if show == Show::Short {
            let shown: Vec<Referent<'_>> = self.referents(position).collect();
            let shorter = repeat::without(&message, &names, &shown);
            is_whole = shorter.is_none();
            let (block, is_cut) = self.shortened(position, shorter.as_ref().unwrap_or(&message));
            is_whole &= !is_cut;
            self.transcript.push(&self.view, &block)
        } else {
            self.transcript.push(&self.view, &self.view.block(&message))
        };
        Hot {
            tokens: self.counter.count(&text),
            part: Part {
                position,
                kind: PartKind::Message,
                text: text.into(),
                values: [Value::Map(message.payload.clone())].into(),
            },
            message,
            names,
            show,
            is_whole,
        }
    }

    /// The messages that are shown whole, and alone at their position: a reference to one can
    /// mean nothing else.
    fn referents(&self, position: u64) -> impl Iterator<Item = Referent<'_>> {
        let hot = self.hot.iter().enumerate().filter(move |(at, hot)| {
            let at_place = |other: Option<&Hot>| {
                other.is_some_and(|other| other.part.position == hot.part.position)
            };
            let is_alone = !at_place(self.hot.get(at + 1))
                && !at_place(at.checked_sub(1).and_then(|at| self.hot.get(at)));
            hot.is_whole && is_alone && hot.part.position != position
        });
        hot.map(|(_, hot)| Referent {
            position: hot.part.position,
            message: &hot.message,
            names: &hot.names,
        })
    }

    /// A message without what is too long, and whether something was left out.
    fn shortened(&mut self, position: u64, message: &Message<'_>) -> (Block, bool) {
        let registry = self.view.registry();
        let (mut block, mut params) = write::block_and_params(registry, message, &[]);
        let missing = self.transcript.missing(&block);
        if !missing.is_empty() {
            let plain = write::block_and_params(registry, message, &missing);
            if !self
                .ledger
                .pays(&self.view, &missing, &block, &plain.0, &*self.counter)
            {
                (block, params) = plain;
            }
        }
        params.retain(|(name, _)| !self.limits.whole.contains(name));
        let limit = self.limits.operations.get(&*message.operation);
        let limit = *limit.unwrap_or(&self.limits.message);
        let is_cut = shorten(&mut block.text, &params, position, limit, &*self.counter);
        (block, is_cut)
    }

    /// The older messages become facts.
    fn settle(&mut self, request: Option<usize>) {
        let task = self.task().map(|at| self.hot[at].part.position);
        let stay: Vec<bool> = (0..self.hot.len())
            .map(|at| self.stays(at, request))
            .collect();
        let mut stay = stay.into_iter();
        let (newer, older): (Vec<_>, Vec<_>) = std::mem::take(&mut self.hot)
            .into_iter()
            .partition(|_| stay.next().unwrap_or(true));
        let (verbatim, mut older): (Vec<_>, Vec<_>) = older
            .into_iter()
            .partition(|hot| hot.show == Show::Verbatim);
        // The first question is the task: without it no answer is worth anything.
        let is_task = |hot: &Hot| Some(hot.part.position) == task && spoken::asks(&hot.message);
        self.has_task |= verbatim.iter().any(is_task);
        if !self.has_task
            && let Some(at) = older.iter().position(is_task)
        {
            let task = older.remove(at);
            let (block, _) = self.shortened(task.part.position, &task.message);
            self.old.keep(task.part, &block);
            self.has_task = true;
        }
        let tokens = older.iter().map(|hot| hot.tokens);
        let tokens = tokens.fold(0, usize::saturating_add);
        let messages = older.iter().map(|hot| (hot.part.position, &hot.message));
        self.old.fold(messages, tokens, self.limits.facts);
        for hot in verbatim {
            let block = self.view.block(&hot.message);
            self.old.keep(hot.part, &block);
        }
        // What stays hot is shown again, because definitions have left.
        self.transcript = self.old.defined.clone();
        self.ledger = Ledger::default();
        self.reread = 0;
        for hot in newer {
            let hot = self.show(hot.part.position, hot.message, hot.show);
            self.hot.push(hot);
        }
    }
}

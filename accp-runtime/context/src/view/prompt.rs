//! The prompt of an agent: new messages verbatim, old messages as facts.

mod ledger;
mod limits;
mod old;
mod part;

use std::fmt;
use std::sync::Arc;

use super::block::{Block, PRIMER};
use super::codec::View;
use super::repeat::{self, Name, Referent};
use super::shorten::shorten;
use super::transcript::Transcript;
use super::{spoken, write};
use accp_frame::{DynamicFrame, TokenCounter, Value};
use ledger::Ledger;
pub use limits::PromptLimits;
use old::Old;
use part::{COLD, DEFINITION};
pub use part::{Part, PartKind, Role};

/// Older messages become facts only if they have more than this many times the tokens of the messages that stay.
const WORTH: usize = 2;

/// The prompt of an agent in a conversation. It shows messages verbatim until there are too many. Then the older
/// messages become facts, and a reference leads to each of these messages (`$cold.p57`).
///
/// A prompt grows at its end. It changes elsewhere only when messages become facts, and then only after the facts
/// that are already there. So the beginning of a prompt is the beginning of the next prompt, which a provider's cache
/// makes cheap. The oldest facts leave only when there are more facts than [`PromptLimits::facts`].
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::view::{PRIMER, Prompt, PromptLimits, View};
/// use accp_runtime::{DynamicFrame, Registry, TokenCounter};
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
///     DynamicFrame::new("desk", "done", "chat")?.under("CH")
///         .with("role", "assistant").with("lang", "en").with("content", text));
/// prompt.push(1, &said("The order is MC-20117, and it is on its way already.")?);
/// prompt.push(2, &said("Anything else?")?);
/// let text: String = prompt.parts().map(|part| &*part.text).collect();
/// assert_eq!(text, PRIMER.to_owned()
///     + "@facts p1\ndesk: order is MC-20117\n@desk: Anything else?\n");
/// # Ok::<(), accp_runtime::EncodeError>(())
/// ```
///
/// Feed it from a session's log: the batches of the session hold the accepted frames.
///
/// ```
/// use accp_session::{Batch, EntryKind};
/// use accp_runtime::view::Prompt;
/// use accp_runtime::{DecodeError, DynamicFrame};
///
/// fn feed(prompt: &mut Prompt, batch: &Batch) -> Result<(), DecodeError> {
///     let frames = batch.entries.iter().filter(|entry| entry.kind == EntryKind::Frame);
///     for entry in frames {
///         let message = DynamicFrame::decode(&entry.text, prompt.view().registry())?.into_owned();
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
    /// The tokens that the prompt could have saved by turning older messages into facts. After each message, the
    /// possible savings are added again, until messages become facts.
    reread: usize,
    /// Whether the first question is among the old messages already.
    has_task: bool,
}

#[derive(Debug)]
struct Hot {
    part: Part,
    tokens: usize,
    message: DynamicFrame<'static>,
    /// The named records in the message.
    names: Vec<Name>,
    show: Show,
    /// Whether nothing of the message is left out.
    is_whole: bool,
}

/// How the prompt shows a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    /// Repeated values become references, and long params lose their middles. An old message becomes facts.
    Short,
    /// The message is whole while it is new. An old message becomes facts.
    Whole,
    /// The message is always whole.
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
    /// Makes an empty prompt.
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
                sender: None,
                role: Role::System,
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

    /// Returns the view that shows messages.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns the parts in their order. A part that was in the last prompt at the same place has
    /// the same [`Arc`].
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
    pub fn push(&mut self, position: u64, message: &DynamicFrame<'_>) {
        self.take(position, message, Show::Short);
    }

    /// Takes a message that stays verbatim: it is not shortened and never becomes facts.
    pub fn push_verbatim(&mut self, position: u64, message: &DynamicFrame<'_>) {
        self.take(position, message, Show::Verbatim);
    }

    /// Shows a message whole again, because the model has asked for its `$cold.p57`. Until now the prompt had only
    /// facts of the message, or the ends of its long params. When the message is old, it becomes facts again.
    pub fn expand(&mut self, position: u64, message: &DynamicFrame<'_>) {
        self.take(position, message, Show::Whole);
    }

    fn take(&mut self, position: u64, message: &DynamicFrame<'_>, show: Show) {
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
            // Turning messages into facts rewrites the messages that stay, and a model must read
            // these again at the full price. So this pays only if far more tokens become facts than
            // stay.
            None => older.saturating_add(newer) > self.limits.hot && older / WORTH > newer,
            Some(prices) => {
                self.reread = self.reread.saturating_add(older - self.old.share(older));
                // `reread` grows with each message. But the model reads the prompt only for an
                // answer, and only every second message is an answer.
                prices.pays(self.reread / 2, newer)
            }
        };
        if pays && older > 0 {
            self.settle(request);
        }
    }

    /// Returns the last question if it is short enough to be repeated. The first question is
    /// excluded while it is the task, because the task is kept anyway.
    fn request(&self) -> Option<usize> {
        let asks = |hot: &Hot| spoken::asks(&hot.message);
        let last = self.hot.iter().rposition(asks)?;
        let is_short = self.hot[last].tokens <= self.limits.hot / 2;
        (is_short && self.task() != Some(last)).then_some(last)
    }

    /// Returns the first question; `None` once the first question is among the old messages.
    fn task(&self) -> Option<usize> {
        let first = self.hot.iter().position(|hot| spoken::asks(&hot.message));
        first.filter(|_| !self.has_task)
    }

    /// Returns whether this message is still shown as a message when older messages become facts.
    fn stays(&self, at: usize, request: Option<usize>) -> bool {
        // A verbatim message after the request stays, too, so that it does not move before the
        // request.
        let is_behind = request.is_some_and(|request| request < at);
        self.hot.len().saturating_sub(at) <= self.limits.keep
            || Some(at) == request
            || is_behind && self.hot[at].show == Show::Verbatim
    }

    fn show(&mut self, position: u64, message: DynamicFrame<'static>, show: Show) -> Hot {
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
                sender: Some(message.agent.clone()),
                role: Role::of(&message),
                text: text.into(),
                values: [Value::Map(message.payload.clone())].into(),
            },
            message,
            names,
            show,
            is_whole,
        }
    }

    /// Returns the messages that are shown whole and are alone at their position, so that a
    /// reference has only one meaning.
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

    /// Returns a message without the middles of long params, and whether something was left out.
    fn shortened(&mut self, position: u64, message: &DynamicFrame<'_>) -> (Block, bool) {
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

    /// Turns the older messages into facts.
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
        // The first question is the task: without it no answer makes sense. So it stays in the
        // prompt.
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
        // Some definitions have left the prompt with the older messages. The messages that stay
        // are written again, so that the definitions they need come back.
        self.transcript = self.old.defined.clone();
        self.ledger = Ledger::default();
        self.reread = 0;
        for hot in newer {
            let hot = self.show(hot.part.position, hot.message, hot.show);
            self.hot.push(hot);
        }
    }
}

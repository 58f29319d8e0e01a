//! `Memory` makes the lists that a program sends to a provider. A new message gets its cheapest form once, and then
//! keeps the bytes that were sent.

mod above;
mod again;
mod asked;
mod below;
mod bound;
mod calls;
mod clean;
mod cut;
mod edits;
mod known;
mod leave;
mod lines;
mod mark;
mod naming;
mod prices;
mod promise;
mod read;
mod refer;
mod report;
mod result;
mod shapes;
mod shown;
mod step;
mod table;
mod tool;
mod value;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use accp_frame::TokenCounter;
use accp_tokens::Bpe;
use time::OffsetDateTime;

pub use known::RecallError;
pub use prices::{Prices, PricesError};
pub use promise::Promise;
pub use read::Found;
pub use report::{Formed, Report, Step, Why};

use crate::bill::AROUND;
use crate::form::Form;
use crate::list::MessageList;
use crate::message::ListMessage;
use crate::window::Window;
use above::Above;
use calls::{Asked, Calls, Place};
use edits::Edits;
use known::{Known, KnownResult, State};
use naming::Names;
use result::Given;

/// A form has to save at least this many tokens, and at least a tenth of the result. Otherwise the result keeps its
/// text.
const WORTH: u64 = 40;
/// With [`Promise::Save`], a new result with more tokens than this may be cut, if the cut pays at once.
const LARGE: u64 = 3_000;

/// Makes the lists that a program sends, from the lists that it has.
///
/// Before each request, a program gives its whole list, and sends the returned list instead. The returned list is
/// valid if the given list is: only texts of results change, thoughts are dropped where they no longer hold, and with
/// [`Promise::Window`] whole messages leave.
///
/// - **At first sight** a result gets a cheaper form, if there is one that saves a tenth and 40 tokens: without
///   terminal codes, with its JSON records by position, and with references to lines of earlier results. Words of
///   users and agents, arguments of calls, failed calls, texts of files that an edit has to match, and messages that
///   are signed or marked for a cache stay as they are. A form that could cost more at the [`Prices`] is not used.
/// - **From then on** the result has the same bytes in every list, also after a restart
///   ([`remember`](Self::remember)). What [the tool](Self::tool) has shown stays as it was shown.
/// - **What was sent changes** only at a [`Step`], as the [`Promise`] allows. At a step, a result leaves if the same
///   call was made again later, and old results lose their middles.
/// - **A thought** that the provider binds to the exact list before it ([`ListMessage::is_bound`]) makes `Append` of
///   `Save`. A forced step drops the bound thoughts behind its first change, and the [report](Report::thoughts) names
///   them. Before the thoughts of the newest turn nothing changes, because the provider wants them: then the list may
///   stay larger than the window ([`Report::held`]). If the request [drops](MessageList::drops_thoughts) such thoughts
///   itself, they bind nothing.
/// - **A mark** takes the place of lines that are left out, and says so in words: `[lines 12-30 of result call_7 left
///   out; memory_read("call_7", 12, 30) shows them]`. [`read`](Self::read) returns these lines, and
///   [`search`](Self::search) finds them by words.
///
/// The memory does no IO. Its counter is `o200k_base` unless a program [gives](Self::with_counter) another.
///
/// ```
/// use accp_memory::{Memory, MessageList, Prices, Promise, Window};
/// use time::OffsetDateTime;
///
/// let slots: Vec<String> = (0..20).map(|n| format!(r#"{{"slot":"K{n}","day":"2031-06-0{}","free":true}}"#, n % 9)).collect();
/// let result = serde_json::Value::from(format!("[{}]", slots.join(",")));
/// let list = MessageList::read(&format!(r#"[{{"role":"user","content":"Which are free?"}},
///     {{"role":"assistant","tool_calls":[{{"id":"c1","type":"function","function":{{"name":"slots","arguments":"{{}}"}}}}]}},
///     {{"role":"tool","tool_call_id":"c1","content":{result}}}]"#), None)?;
///
/// let prices = Prices::default().with_minimum(0).with_step(1);
/// let mut memory = Memory::new(Window::of(200_000)?, prices, Promise::Append);
/// let (sent, report) = memory.to_send(&list, OffsetDateTime::UNIX_EPOCH);
/// assert!(sent.to_string().contains(r#"\"columns\":[\"slot\",\"day\",\"free\"]"#));
/// assert!(report.sent * 10 < report.given * 8, "{report:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Memory {
    window: Window,
    prices: Prices,
    promise: Promise,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    /// Messages of the user with these names are results.
    named: BTreeSet<String>,
    /// The form of the lists, once one was given.
    form: Option<Form>,
    state: State,
    names: Names,
    edits: Edits,
    calls: Calls,
    above: Above,
    /// Whether `names`, `edits`, `calls` and `above` were made from a list. False at first, also after a recall.
    is_read: bool,
    /// The index of the first message that differs from the list that was sent last.
    first_changed: usize,
    /// What a model reads in addition to the list: the lines, and their tokens.
    beside: (Vec<String>, u64),
    /// Whether the request needed the tool before the step.
    has_tool: bool,
    /// The message with the last bound thought of the newest turn. No step changes anything before it.
    held: Option<usize>,
    /// The messages whose bound thoughts were dropped in this request.
    dropped: Vec<usize>,
}

impl Memory {
    /// Begins a conversation.
    pub fn new(window: Window, prices: Prices, promise: Promise) -> Self {
        Self {
            window,
            prices,
            promise,
            counter: Arc::new(Bpe::o200k_base()),
            named: BTreeSet::new(),
            form: None,
            state: State::default(),
            names: Names::default(),
            edits: Edits::default(),
            calls: Calls::default(),
            above: Above::default(),
            is_read: false,
            first_changed: 0,
            beside: (Vec::new(), 0),
            has_tool: false,
            held: None,
            dropped: Vec::new(),
        }
    }

    /// Counts with another counter.
    #[must_use]
    pub fn with_counter(self, counter: Arc<dyn TokenCounter + Send + Sync>) -> Self {
        Self { counter, ..self }
    }

    /// Treats messages of the user with these names as results. A program needs this if it runs commands from the
    /// agent's words and gives their output as such messages.
    #[must_use]
    pub fn with_results_of(self, names: impl IntoIterator<Item = String>) -> Self {
        Self {
            named: names.into_iter().collect(),
            ..self
        }
    }

    /// From now on, treats messages of the user with these names as results.
    pub(crate) fn take_results_of(&mut self, names: &BTreeSet<String>) {
        self.named.clone_from(names);
    }

    /// Declares that every request has the [tool](Self::tool) among its tools, from the first request on. Then a new
    /// result over the [limit](crate::Window::large_result) of the window shows only its ends, lines that look like
    /// errors, and lines with words of its call.
    #[must_use]
    pub fn with_tool(mut self) -> Self {
        self.state.needs_tool = true;
        self
    }

    /// Returns the list to send, and a report of what the memory did. `now` is the time of the request.
    pub fn to_send(&mut self, list: &MessageList, now: OffsetDateTime) -> (MessageList, Report) {
        let mut report = Report::default();
        self.form = Some(list.form());
        self.first_changed = self.state.messages.len();
        let (had_tool, was_read) = (self.state.had_tool, self.is_read);
        let is_changed = self.forget(list);
        let is_new_beside = self.count_beside(list) && was_read;
        self.learn(list, &mut report);
        let step = self.step(list, now, is_changed);
        let left = self.state.left.clone();
        let end = self.state.end();
        let mut sent: Vec<ListMessage> = Vec::with_capacity(list.messages().len());
        let mut summary = left.map(|left| ListMessage::user(list.form(), &left.text));
        for (at, message) in list.messages().iter().enumerate() {
            match self.state.messages.get_mut(at) {
                Some(known) if at < end && !known.is_system => sent.extend(summary.take()),
                Some(known) if known.is_gone() => {}
                Some(known) => sent.push(known.sent(list.form(), message)),
                None => sent.push(message.clone()),
            }
        }
        let beside = self.beside.1;
        report.given = beside + self.state.given();
        report.sent = self.tokens();
        report.left = end;
        report.step = step;
        report.thoughts = std::mem::take(&mut self.dropped);
        report.thoughts.sort_unstable();
        report.held = self.held.filter(|_| report.sent > self.limit());
        if self.state.requests > 1 && !is_new_beside && had_tool == self.state.needs_tool {
            (report.same, report.same_messages) = self.sent_before(self.first_changed);
        }
        report.settled = self.sent_before(self.first_to_change()).1;
        report.needs_tool = self.state.needs_tool;
        report.is_over = report.sent > self.window.room();
        (list.with(sent), report)
    }

    /// Returns the state of this conversation as a text. After a restart, [`recall`](Self::recall) reads the text, so
    /// that results keep their forms.
    pub fn remember(&self) -> String {
        self.state.to_text()
    }

    /// Continues a conversation from its remembered state. The program gives the next list whole, as always.
    ///
    /// # Errors
    /// When the text is not what [`remember`](Self::remember) gave.
    ///
    /// ```
    /// use accp_memory::{Memory, Prices, Promise, Window};
    ///
    /// let memory = Memory::new(Window::of(8_000)?, Prices::default(), Promise::Append);
    /// let text = memory.remember();
    /// let again = Memory::new(Window::of(8_000)?, Prices::default(), Promise::Append).recall(&text)?;
    /// assert_eq!(again.remember(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recall(mut self, text: &str) -> Result<Self, RecallError> {
        self.state = State::read(text)?;
        Ok(self)
    }

    /// Forgets all messages from the first one on that the list no longer has. Returns whether it forgot any.
    fn forget(&mut self, list: &MessageList) -> bool {
        let mut same = 0;
        for (known, message) in self.state.messages.iter_mut().zip(list.messages()) {
            let is_it = known.is(message)
                && (!known.is_bare() || known.complete(message, Given::of(message, &self.named)));
            if !is_it {
                break;
            }
            same += 1;
        }
        let is_changed = same < self.state.messages.len();
        self.changed(same);
        self.state.messages.truncate(same);
        // A summary is dropped if the list lost a message that it covers, or has no message behind these.
        let has_left = self.state.end() > 0;
        if has_left && (same < self.state.end() || list.messages().len() <= self.state.end()) {
            self.set_summary(None);
        }
        if is_changed || !self.is_read {
            self.names = Names::of(&self.state.messages);
            self.edits = Edits::default();
            self.calls = Calls::default();
            for (at, message) in list.messages().iter().take(same).enumerate() {
                self.calls.see(message);
                self.edits.see(message, &self.calls);
                for (index, given) in Given::of(message, &self.named).iter().enumerate() {
                    self.answered(given, (at, index));
                    let (asked, names_file) = self.about(&given.id);
                    let known = self.state.messages.get_mut(at);
                    if let Some(result) = known.and_then(|known| known.results.get_mut(index)) {
                        result.answers(asked, names_file);
                    }
                }
            }
            self.stand();
            self.is_read = true;
        }
        is_changed
    }

    /// Notes that the message at this index differs from the list that was sent last.
    fn changed(&mut self, at: usize) {
        self.first_changed = self.first_changed.min(at);
    }

    /// Returns what the newest call with this id asks for, if it is a call of the tool, and whether it names a file.
    fn about(&self, id: &str) -> (Option<Asked>, bool) {
        (self.calls.asked(id).cloned(), self.edits.names_file(id))
    }

    /// Notes the result of a call, unless the call failed.
    fn answered(&mut self, given: &Given, place: Place) {
        if !given.has_failed {
            self.calls.answered(&given.id, place);
        }
    }

    /// Collects the results of the list again, for later results to refer to.
    fn stand(&mut self) {
        let mut above = Above::default();
        let messages = self.state.messages.iter().enumerate();
        let stand = messages.filter(|(at, known)| self.state.stands(*at, known));
        let results = stand.flat_map(|(_, known)| &known.results);
        for result in results {
            above.add(result, self.shown_of(result));
        }
        self.above = above;
    }

    /// Adds the new messages, and gives their results a form.
    fn learn(&mut self, list: &MessageList, report: &mut Report) {
        let form = list.form();
        let new = list.messages().iter().enumerate();
        let (mut given_tokens, mut sent_tokens) = (self.state.given(), self.state.sent());
        let before = list.messages().iter().take(self.state.messages.len());
        let before = before.map(|message| Given::count(message, &self.named));
        let mut results: usize = before.sum();
        for (at, message) in new.skip(self.state.messages.len()) {
            let given = Given::of(message, &self.named);
            let billed = message.billed(form);
            let beside = billed.media + AROUND;
            let tokens = self.counter.count(&billed.text) as u64 + beside;
            let mut known = Known::new(message, tokens);
            self.calls.see(message);
            self.edits.see(message, &self.calls);
            given_tokens += tokens;
            for (index, given) in given.into_iter().enumerate() {
                let name = self.names.take(&given.id, results + given.at + 1);
                let mut result = KnownResult::of(name, &given);
                let (asked, names_file) = self.about(&given.id);
                result.answers(asked, names_file);
                let before = self.counter.count(&given.text) as u64;
                result.tokens = before;
                let shown_of = self.shown_of(&result);
                let is_shown = shown_of.is_some();
                if given.may_change && !is_shown && !self.edits.quotes(list, &result) {
                    let sent = sent_tokens + known.tokens_sent;
                    let saved = given_tokens.saturating_sub(sent);
                    self.shape(&given.text, self.beside.1 + sent, saved, &mut result);
                    self.preview(list, (at, self.beside.1 + sent), &given, &mut result);
                }
                self.above.add(&result, shown_of);
                self.answered(&given, (at, index));
                if result.tokens < before {
                    let formed = Formed {
                        message: at,
                        result: result.name.clone(),
                        before,
                        after: result.tokens,
                    };
                    report.cut.extend(result.is_cut().then(|| formed.clone()));
                    report.forms.push(formed);
                    known.tokens_sent -= before - result.tokens;
                }
                known.results.push(result);
            }
            results += Given::count(message, &self.named);
            sent_tokens += known.tokens_sent;
            self.state.messages.push(known);
        }
    }

    /// Gives a new result its cheaper form, and the tokens of this form, if the form is worth it. `sent` counts the
    /// tokens of the list with the result as it was given. `saved` counts the tokens that forms have saved so far.
    fn shape(&self, text: &str, sent: u64, saved: u64, result: &mut KnownResult) {
        let clean = clean::clean(text);
        let by_position = table::by_position(&clean, &result.name, &self.above.shapes);
        let clean = by_position.unwrap_or(clean);
        let mut formed = self.above.standing.without(&clean, &*self.counter);
        let mut after = result.tokens;
        if formed != text {
            after = self.counter.count(&formed) as u64;
        }
        if let Some(below) = below::below(text) {
            for below in [clean::clean(&below), below] {
                let below = self.above.standing.without(&below, &*self.counter);
                let tokens = self.counter.count(&below) as u64;
                if tokens < after {
                    (formed, after) = (below, tokens);
                }
            }
        }
        let Some(gain) = result.tokens.checked_sub(after) else {
            return;
        };
        // A provider refuses a text without words, so a result of codes alone stays.
        let has_words = !formed.trim().is_empty();
        let is_cheaper = has_words && gain >= WORTH && after * 10 <= result.tokens * 9;
        // A cache keeps no list below its minimum.
        let is_kept = sent - gain >= self.prices.minimum();
        let is_ahead = self.prices.covers_steps(saved + gain);
        if is_cheaper && is_kept && is_ahead {
            result.form(formed);
            result.tokens = after;
        }
    }

    /// Cuts a new result that is too large. If the request has the tool, this is a result over the limit of the
    /// window. With [`Promise::Save`], it is also a result whose cut saves more in this request than the tool costs.
    fn preview(
        &mut self,
        list: &MessageList,
        (at, sent): (usize, u64),
        given: &Given,
        result: &mut KnownResult,
    ) {
        let is_save = self.promise == Promise::Save;
        if !self.state.needs_tool && (!is_save || self.is_bound(list)) {
            return;
        }
        let limit = self.window.large_result();
        let limit = if is_save { limit.min(LARGE) } else { limit };
        let tokens = result.tokens;
        if tokens <= limit {
            return;
        }
        let before = list.messages().get(..at).unwrap_or_default();
        let words = result::words_of_call(before, &given.id);
        let cut = cut::preview(&result.name, result.in_lines(), &words, &*self.counter);
        let Some(text) = cut else { return };
        let after = self.counter.count(&text) as u64;
        let Some(removed) = tokens.checked_sub(after).filter(|removed| *removed > 0) else {
            return;
        };
        let is_too_large = self.state.needs_tool && tokens > self.window.large_result();
        let is_kept = sent.saturating_sub(removed) >= self.prices.minimum();
        if is_too_large || is_kept && self.pays_at_once(removed) {
            result.cut(Some(text));
            result.tokens = after;
            self.state.needs_tool = true;
        }
    }

    /// Returns the tokens of the request as it is sent.
    fn tokens(&self) -> u64 {
        self.beside.1 + self.state.sent() + self.tool_tokens()
    }

    /// Returns the tokens of the request before a message, as it is sent, and how many messages of the list come
    /// before this message.
    fn sent_before(&self, at: usize) -> (u64, usize) {
        let before = self.state.messages.get(..at).unwrap_or_default();
        let all = before.iter().enumerate();
        let stands = all.filter(|(at, known)| self.state.stands(*at, known));
        let stands = stands.map(|(_, known)| known.tokens_sent);
        let summary = self.state.left.as_ref().map(|left| left.tokens);
        let summary = summary.filter(|_| before.iter().any(|known| !known.is_system));
        let messages: Vec<u64> = stands.chain(summary).collect();
        let beside = self.beside.1 + self.tool_tokens();
        (beside + messages.iter().sum::<u64>(), messages.len())
    }

    /// Counts what a model reads in addition to the list, and counts it again only after a change. Returns whether it
    /// changed.
    fn count_beside(&mut self, list: &MessageList) -> bool {
        let lines = list.beside_lines();
        let is_new = self.beside.0 != lines;
        if is_new {
            let tokens = lines.iter().map(|line| self.counter.count(line) as u64);
            self.beside = (lines.to_vec(), tokens.sum());
        }
        is_new
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Memory");
        out.field("window", &self.window);
        out.field("prices", &self.prices);
        out.field("promise", &self.promise);
        out.field("messages", &self.state.messages.len());
        out.finish_non_exhaustive()
    }
}

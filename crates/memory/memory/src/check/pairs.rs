//! Finds which result answers which call. The check reports the calls and results that do not pair, and a repair
//! mends them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::form::Form;
use crate::list::MessageList;
use crate::message::{ListMessage, Role};
use crate::raw::Pointer;

/// The calls and results of a list that do not pair.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub(crate) missing: Vec<Missing>,
    pub(crate) stray: Vec<Stray>,
    /// The calls at the end of the list that may still get their results, by message and index of the call.
    pub(crate) in_flight: Vec<(usize, usize)>,
}

/// A call without a result that is not in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Missing {
    /// The message with the call.
    pub(crate) message: usize,
    /// The index of the call in its message.
    pub(crate) call: usize,
    /// The first message that comes too late to have the result.
    pub(crate) before: usize,
}

/// A result that answers no call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stray {
    /// The message with the result.
    pub(crate) message: usize,
    /// The index of the result in its message.
    pub(crate) answer: usize,
    pub(crate) why: Why,
}

/// Why a result answers no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    WithoutId,
    Repeated,
    Misplaced,
    Orphan,
}

/// Whether a result answers a call, or why not. `None` if it is not known yet.
type Verdict = Option<Result<(), Why>>;

/// What joins call and result: the id. For the old `function_call`, this is the name of the function, and the flag is
/// true.
type Key<'l> = (bool, &'l str);

impl Pairs {
    /// Pairs the calls and results of a list.
    pub(crate) fn of(list: &MessageList) -> Self {
        let mut pairs = Self::default();
        match list.form() {
            Form::OpenAi => pairs.chat(list.messages()),
            Form::Anthropic => pairs.anthropic(list.messages()),
            Form::Responses => pairs.responses(list),
        }
        pairs
            .missing
            .sort_by_key(|missing| (missing.message, missing.call));
        pairs.in_flight.sort_unstable();
        pairs
    }

    /// Returns the results that stand in the wrong place, each under the message and the index of its call. The call
    /// has no result in the right place, and no other call has its id. If several results name this id, the first one
    /// behind the call counts, or else the first one of all.
    pub(crate) fn misplaced(&self, list: &MessageList) -> BTreeMap<(usize, usize), Stray> {
        let messages = list.messages();
        let mut asked: BTreeMap<Key<'_>, usize> = BTreeMap::new();
        for (_, key) in messages.iter().flat_map(calls) {
            *asked.entry(key).or_default() += 1;
        }
        let mut strays: BTreeMap<Key<'_>, Vec<&Stray>> = BTreeMap::new();
        for stray in &self.stray {
            let message = &messages[stray.message];
            let old = list.form() == Form::OpenAi && message.json()["role"] == "function";
            let key = (old, &*message.answers[stray.answer].id);
            strays.entry(key).or_default().push(stray);
        }
        let home = |missing: &Missing| {
            let mut calls = calls(&messages[missing.message]);
            let (_, key) = calls.find(|(index, _)| *index == missing.call)?;
            let strays = strays.get(&key).filter(|_| asked[&key] == 1)?;
            let behind = strays.iter().find(|stray| stray.message > missing.message);
            let stray = behind.or(strays.first())?;
            Some(((missing.message, missing.call), **stray))
        };
        self.missing.iter().filter_map(home).collect()
    }

    /// Pairs the messages of a chat. The results have to stand right behind the message with the calls.
    fn chat(&mut self, messages: &[ListMessage]) {
        let mut open = Open::default();
        let mut past = Past::default();
        for (at, message) in messages.iter().enumerate() {
            if message.role != Role::Tool {
                self.close(&mut open, &mut past, at);
                open.ask(at, message);
                continue;
            }
            let old = message.json()["role"] == "function";
            for (index, key) in answers(message, old) {
                let verdict = open.answer(key).or_else(|| past.answer(key));
                self.judge(at, index, key, verdict);
            }
        }
        // Calls that are open at the end of the list may still get their results, so they are not
        // flaws.
        self.in_flight.extend(open.left());
    }

    /// Pairs the messages of Anthropic's form. The next turn of the user has to answer a turn of the assistant.
    fn anthropic(&mut self, messages: &[ListMessage]) {
        let turns = turns(messages);
        let all = keys(messages);
        let mut open = Open::default();
        let mut past = Past::default();
        for (number, turn) in turns.iter().enumerate() {
            let is_user = messages[turn.start].role == Role::User;
            if !is_user {
                self.close(&mut open, &mut past, turn.start);
            }
            let counts = |at: &usize| messages[*at].role != Role::System;
            for at in turn.clone().filter(counts) {
                for (index, key) in answers(&messages[at], false) {
                    let here = if is_user { open.answer(key) } else { None };
                    let elsewhere = || all.contains(&key).then_some(Err(Why::Misplaced));
                    let verdict = here.or_else(|| past.answer(key)).or_else(elsewhere);
                    self.judge(at, index, key, verdict);
                }
                if !is_user {
                    open.ask(at, &messages[at]);
                }
            }
            // If the list ends with nothing but results, the missing results may still follow.
            let in_flight = number + 1 == turns.len() && only_results(&messages[turn.clone()]);
            if is_user && !in_flight {
                self.close(&mut open, &mut past, turn.end);
            }
        }
        self.in_flight.extend(open.left());
    }

    /// Pairs the items of Responses. An output may stand anywhere behind its call.
    fn responses(&mut self, list: &MessageList) {
        let messages = list.messages();
        let all = keys(messages);
        let mut open = Open::default();
        let mut answering = vec![false; messages.len()];
        for (at, message) in messages.iter().enumerate() {
            open.ask(at, message);
            for (index, key) in answers(message, false) {
                let early = || all.contains(&key).then_some(Err(Why::Misplaced));
                // The provider may keep the item that has the call, so the list need not have it.
                let kept = || list.goes_on().then_some(Ok(()));
                let verdict = open.answer(key).or_else(early).or_else(kept);
                answering[at] |= verdict == Some(Ok(()));
                self.judge(at, index, key, verdict);
            }
        }
        let late = late(messages, &answering);
        for (message, call) in open.left() {
            match late[message] {
                Some(before) => self.missing.push(Missing {
                    message,
                    call,
                    before,
                }),
                None => self.in_flight.push((message, call)),
            }
        }
    }

    fn judge(&mut self, message: usize, answer: usize, key: Key<'_>, verdict: Verdict) {
        let why = match verdict {
            _ if key.1.is_empty() => Why::WithoutId,
            Some(Ok(())) => return,
            Some(Err(why)) => why,
            None => Why::Orphan,
        };
        self.stray.push(Stray {
            message,
            answer,
            why,
        });
    }

    /// Closes the open calls: a later result does not answer them.
    fn close<'l>(&mut self, open: &mut Open<'l>, past: &mut Past<'l>, before: usize) {
        for (key, waiting) in std::mem::take(&mut open.0) {
            past.0.insert(key, waiting.is_empty());
            let missing = waiting.into_iter().map(|(message, call)| Missing {
                message,
                call,
                before,
            });
            self.missing.extend(missing);
        }
    }
}

/// Calls that a result may still answer. The calls of each key are in the order in which they were made.
#[derive(Default)]
struct Open<'l>(BTreeMap<Key<'l>, VecDeque<(usize, usize)>>);

impl<'l> Open<'l> {
    fn ask(&mut self, at: usize, message: &'l ListMessage) {
        for (index, key) in calls(message) {
            self.0.entry(key).or_default().push_back((at, index));
        }
    }

    fn answer(&mut self, key: Key<'l>) -> Verdict {
        let waiting = self.0.get_mut(&key)?;
        Some(waiting.pop_front().map(|_| ()).ok_or(Why::Repeated))
    }

    /// Returns message and index of the calls that wait.
    fn left(self) -> impl Iterator<Item = (usize, usize)> {
        self.0.into_values().flatten()
    }
}

/// Calls that no result can answer any more. The flag says whether the latest calls of the key were all answered.
#[derive(Default)]
struct Past<'l>(BTreeMap<Key<'l>, bool>);

impl Past<'_> {
    fn answer(&self, key: Key<'_>) -> Verdict {
        let answered = *self.0.get(&key)?;
        Some(Err(if answered {
            Why::Repeated
        } else {
            Why::Misplaced
        }))
    }
}

/// Returns the turns of a list in Anthropic's form: messages of one role that follow each other. A system
/// message belongs outside the list, so it does not end a turn.
pub(crate) fn turns(messages: &[ListMessage]) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message.role == Role::System {
            continue;
        }
        match turns.last_mut() {
            Some(last) if messages[last.start].role == message.role => last.end = at + 1,
            _ => turns.push(at..at + 1),
        }
    }
    turns
}

/// Returns the indices and keys of the calls that have an id.
fn calls(message: &ListMessage) -> impl Iterator<Item = (usize, Key<'_>)> {
    let old = Pointer::of(["function_call".into(), "arguments".into()]);
    let calls = message.calls.iter().enumerate();
    let calls = calls.map(move |(index, call)| (index, (call.arguments == old, &*call.id)));
    calls.filter(|(_, (_, id))| !id.is_empty())
}

/// Returns the indices and keys of the results; `old` says whether they answer the old `function_call`.
fn answers(message: &ListMessage, old: bool) -> impl Iterator<Item = (usize, Key<'_>)> {
    let answers = message.answers.iter().enumerate();
    answers.map(move |(index, answer)| (index, (old, &*answer.id)))
}

/// Returns the keys of all calls, but for those in system messages.
fn keys(messages: &[ListMessage]) -> BTreeSet<Key<'_>> {
    let counted = messages
        .iter()
        .filter(|message| message.role != Role::System);
    let calls = counted.flat_map(calls);
    calls.map(|(_, key)| key).collect()
}

/// Returns whether a turn has results and nothing else.
fn only_results(turn: &[ListMessage]) -> bool {
    let mut counted = turn.iter().filter(|message| message.role != Role::System);
    counted.all(|message| {
        let blocks = message.blocks();
        !blocks.is_empty() && blocks.iter().all(|block| block["type"] == "tool_result")
    })
}

/// Returns for each item the first later item before which the output of a call has to stand: an item of the user, or
/// an item of the model behind an output that answers a call. `None` if there is no such item, so the call may be in
/// flight.
fn late(messages: &[ListMessage], answering: &[bool]) -> Vec<Option<usize>> {
    let mut late = vec![None; messages.len()];
    let mut user = None;
    let mut model = None;
    let mut model_after_output = None;
    for (at, message) in messages.iter().enumerate().rev() {
        late[at] = [user, model_after_output].into_iter().flatten().min();
        match message.role {
            Role::User | Role::System => user = Some(at),
            Role::Assistant => model = Some(at),
            _ if answering[at] => model_after_output = model,
            // Outputs of the provider's own tools, and outputs without a call, do not show that the
            // model has continued.
            Role::Tool | Role::Other => {}
        }
    }
    late
}

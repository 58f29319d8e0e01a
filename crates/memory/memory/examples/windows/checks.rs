//! Checks each list that a step returns. The checks share no code with the planner.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use accp_memory::{Event, Form, Intent, MessageList, Tier, check};
use accp_tokens::{Bpe, TokenCounter};
use serde_json::Value as Json;

use crate::second;
use crate::talk::Talk;

const OFFLOADED: &str = "## Offloaded Content Reference";
const CUT: &str = "## Truncated Tool Call";
const SUMMARY: &str = "## Session Summary";
const RECOVERED: &str = "## Recovered Context";

/// Counts each text once: the lists of a conversation have most of their messages in common.
pub(crate) struct Counter {
    pub(crate) bpe: Bpe,
    known: RefCell<HashMap<Box<str>, usize>>,
}

impl Counter {
    pub(crate) fn new() -> Self {
        Self {
            bpe: Bpe::o200k_base(),
            known: RefCell::default(),
        }
    }

    /// Forgets the texts of a conversation that has ended.
    pub(crate) fn forget(&self) {
        self.known.borrow_mut().clear();
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counter")
    }
}

impl TokenCounter for Counter {
    fn name(&self) -> &'static str {
        "o200k_base"
    }

    fn count(&self, text: &str) -> usize {
        if let Some(count) = self.known.borrow().get(text) {
            return *count;
        }
        let count = self.bpe.count(text);
        self.known.borrow_mut().insert(text.into(), count);
        count
    }
}

/// Returns the tokens of a list and of the system prompt outside the list. Each message, and the system prompt, counts
/// with a line feed at its end.
pub(crate) fn tokens<'m>(
    talk: &'m Talk,
    messages: impl Iterator<Item = &'m str>,
    counter: &Counter,
) -> u64 {
    let lines = talk.system.as_deref().into_iter().chain(messages);
    lines
        .map(|line| counter.count(&format!("{line}\n")) as u64)
        .sum()
}

/// Returns the tokens of the messages that no tier may remove: system messages and the newest turn.
pub(crate) fn least(talk: &Talk, end: usize, counter: &Counter) -> u64 {
    let all: Vec<Json> = talk.messages[..end]
        .iter()
        .map(|raw| serde_json::from_str(raw).unwrap_or_default())
        .collect();
    let newest = newest(talk.form, &all);
    let stays = |(at, json): &(usize, &Json)| *at >= newest || json["role"] == "system";
    let stay = all
        .iter()
        .enumerate()
        .filter(stays)
        .map(|(at, _)| &*talk.messages[at]);
    tokens(talk, stay, counter)
}

/// Returns the index of the first message of the newest turn: the last message, or the call that the last message
/// answers.
fn newest(form: Form, all: &[Json]) -> usize {
    let is_user = |json: &Json| json["role"] == "user";
    let is_result = |json: &Json| match form {
        Form::OpenAi => json["role"] == "tool",
        Form::Anthropic => json["content"]
            .as_array()
            .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result")),
        Form::Responses => json["type"] == "function_call_output",
    };
    let Some(mut at) = all.len().checked_sub(1) else {
        return 0;
    };
    if form == Form::Anthropic {
        while at > 0 && is_user(&all[at]) && is_user(&all[at - 1]) {
            at -= 1;
        }
    }
    if !all[at..].iter().any(is_result) {
        return at;
    }
    let asks = |json: &Json| match form {
        Form::OpenAi => json["tool_calls"].is_array(),
        Form::Anthropic => json["role"] == "assistant",
        Form::Responses => json["type"] == "function_call",
    };
    while at > 0 && !asks(&all[at]) {
        at -= 1;
    }
    let joins = |json: &Json| {
        json["type"] == "function_call"
            || json["type"] == "reasoning"
            || form == Form::Anthropic && json["role"] == "assistant"
    };
    while at > 0 && form != Form::OpenAi && joins(&all[at - 1]) {
        at -= 1;
    }
    at
}

/// A list that a step returned, and the input of the step.
pub(crate) struct Step<'s> {
    pub(crate) talk: &'s Talk,
    /// How many messages of the conversation the step knows.
    pub(crate) end: usize,
    pub(crate) before: &'s [Arc<str>],
    pub(crate) given: &'s MessageList,
    pub(crate) list: &'s MessageList,
    pub(crate) events: &'s [Event],
    pub(crate) after: u64,
    pub(crate) room: u64,
    pub(crate) has_file: &'s dyn Fn(&str) -> bool,
}

impl Step<'_> {
    /// Returns the checks that failed.
    pub(crate) fn faults(&self, counter: &Counter) -> Vec<String> {
        let mut faults = Vec::new();
        let raws = self
            .list
            .messages()
            .iter()
            .map(accp_memory::ListMessage::raw);
        let count = tokens(self.talk, raws, counter);
        if count > self.room || count != self.after {
            faults.push(format!(
                "{count} tokens in a window of {}, {} reported",
                self.room, self.after
            ));
        }
        faults.extend(
            check(self.list)
                .first()
                .map(|fault| format!("our check: {fault}")),
        );
        let jsons: Vec<Json> = self
            .list
            .messages()
            .iter()
            .map(|message| message.json().clone())
            .collect();
        if !self.events.is_empty() {
            let found = second::faults(self.talk.form, &jsons);
            faults.extend(
                found
                    .first()
                    .map(|(code, at)| format!("second check: message {at}: {code}")),
            );
        }
        self.stays(&mut faults);
        self.grows(&mut faults);
        self.intent(counter, &mut faults);
        faults
    }

    /// Checks that the messages of the list are messages of the conversation, in order. The texts of a message may be
    /// cut. The list may also have summaries.
    fn stays(&self, faults: &mut Vec<String>) {
        let mut next = 0;
        for (at, message) in self.list.messages().iter().enumerate() {
            let raw = message.raw();
            for path in paths(raw) {
                if !(self.has_file)(path) {
                    faults.push(format!("message {at} names {path}, which was not written"));
                }
            }
            let content = message.json()["content"].as_str().unwrap_or_default();
            if content.starts_with(SUMMARY) || content.starts_with(RECOVERED) {
                continue;
            }
            let is_cut = raw.contains(OFFLOADED) || raw.contains(CUT);
            let same = |known: &Arc<str>| {
                &**known == raw || is_cut && cut_of(&parsed(known), message.json())
            };
            match self.talk.messages[next..self.end].iter().position(same) {
                Some(place) => next += place + 1,
                None => faults.push(format!("message {at} was never said: {raw:.200}")),
            }
        }
    }

    /// Checks that the list only grew at its end, if no tier acted.
    fn grows(&self, faults: &mut Vec<String>) {
        let raws = || {
            self.list
                .messages()
                .iter()
                .map(accp_memory::ListMessage::raw)
        };
        if self.events.is_empty()
            && !raws()
                .take(self.before.len())
                .eq(self.before.iter().map(|raw| &**raw))
        {
            faults.push("the beginning of the list changed, and no tier acted".to_owned());
        }
        if self.events.is_empty() && raws().count() < self.given.messages().len() {
            faults.push("the list became shorter, and no tier acted".to_owned());
        }
    }

    /// Checks that the list has the first words of the user. If these are too long, the summary has to name the file
    /// that holds them.
    fn intent(&self, counter: &Counter, faults: &mut Vec<String>) {
        let acted = self
            .events
            .iter()
            .any(|event| event.tier == Tier::Three && !event.deferred);
        let Some((raw, text)) = first_of_user(self.talk, self.end).filter(|_| acted) else {
            return;
        };
        let raws = || {
            self.list
                .messages()
                .iter()
                .map(accp_memory::ListMessage::raw)
        };
        let summary = self.summary();
        let says = self
            .events
            .iter()
            .all(|event| event.tier != Tier::Three || event.intent == Intent::Verbatim);
        let is_there = raws().any(|one| one == raw)
            || summary
                .as_deref()
                .is_some_and(|summary| quotes(summary, &text));
        if is_there {
            return;
        }
        let eighth = counter.bpe.count(&Json::from(&*text).to_string()) as u64 * 8 <= self.room;
        let marked = summary.as_deref().is_some_and(|summary| {
            summary.contains("VERIFICATION_NEEDED") && summary.contains("cache/conversations/")
        });
        if says || eighth || !marked {
            faults.push(format!("the intent is not verbatim (short enough: {eighth}, referenced: {marked}, said to be: {says})"));
        }
    }

    /// Returns the summary in the list.
    pub(crate) fn summary(&self) -> Option<String> {
        let mut texts = self
            .list
            .messages()
            .iter()
            .filter_map(|message| message.json()["content"].as_str());
        texts
            .rfind(|text| text.starts_with(SUMMARY))
            .map(str::to_owned)
    }
}

/// Returns the first message in which the user says something, and its words.
fn first_of_user(talk: &Talk, end: usize) -> Option<(&str, String)> {
    talk.messages[..end].iter().find_map(|raw| {
        let json = parsed(raw);
        let text = match &json["content"] {
            Json::String(text) => text.clone(),
            Json::Array(parts) => parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect::<Vec<_>>()
                .join("\n"),
            _ => String::new(),
        };
        (json["role"] == "user" && !text.trim().is_empty()).then_some((&**raw, text))
    })
}

/// Returns whether the session intent of a summary quotes a text. The marks of the quotation are taken off.
fn quotes(summary: &str, text: &str) -> bool {
    let intent = summary
        .split_once("### Session Intent\n")
        .map_or("", |(_, rest)| rest);
    let intent = intent
        .split_once("\n\n### Artifacts Created")
        .map_or(intent, |(intent, _)| intent);
    let lines = intent.split('\n').map(|line| {
        line.strip_prefix("> ")
            .or_else(|| line.strip_prefix('>'))
            .unwrap_or(line)
    });
    lines
        .collect::<Vec<_>>()
        .join("\n")
        .contains(text.trim_matches('\n'))
}

/// Returns whether `cut` is `whole` with some texts cut, and with no other change.
fn cut_of(whole: &Json, cut: &Json) -> bool {
    match (whole, cut) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(key).is_some_and(|cut| cut_of(value, cut)))
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).all(|(a, b)| cut_of(a, b))
        }
        (_, Json::String(b)) if b.starts_with(OFFLOADED) || b.starts_with(CUT) => true,
        (Json::String(a), Json::String(b)) if b.contains(CUT) => cut_of(&parsed(a), &parsed(b)),
        (a, b) => a == b,
    }
}

fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_default()
}

/// Returns the paths of moved results that a text names.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    const FOLDER: &str = "cache/offloaded/";
    text.match_indices(FOLDER).filter_map(|(at, _)| {
        let rest = &text[at..];
        let end = rest.find(".md")?;
        let path = &rest[..end + 3];
        let name = &path[FOLDER.len()..];
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
            .then_some(path)
    })
}

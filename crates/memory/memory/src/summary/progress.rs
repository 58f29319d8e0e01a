//! Progress: the phase, what is completed, what remains, and the next steps.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::artifact::result;
use super::item::{Item, clipped};
use super::prose::Prose;
use crate::message::Role;
use crate::parsed::{Parsed, ParsedCall};
use crate::prose::Sentence;
use crate::words::in_name;
use crate::writes::reported;

words! {
    "progress.json";
    /// Words in the names of tools that only look.
    looking,
    /// Phrases with which an assistant says that something is done.
    done,
    /// Words that show that nothing is done yet: a condition, a plan or a denial.
    not_yet,
    /// Phrases that say what remains to be done.
    remains,
    /// Phrases of a promise.
    promises,
    /// Phrases that sound like a promise and announce no work.
    idle,
}

/// How far the work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) phase: String,
    pub(crate) completed: Vec<Item>,
    pub(crate) remaining: Vec<Item>,
    pub(crate) next: Vec<Item>,
}

/// Returns how far the work is after these messages. `typed` are those that persons typed: a program also writes results
/// in the place of the user.
pub(super) fn progress(
    messages: &[Parsed],
    prose: &[Prose<'_>],
    typed: &[Item],
    left: impl Fn(usize) -> bool,
) -> Progress {
    let mut completed = Vec::new();
    for (at, one) in prose.iter().enumerate() {
        if !left(one.message.index) {
            continue;
        }
        let calls = one.message.calls.iter();
        completed.extend(calls.filter_map(|call| done(messages, at, call)));
        if one.message.role == Role::Assistant {
            completed.extend(statements(one, is_done));
        }
    }
    let mut known = BTreeSet::new();
    completed.retain(|item| known.insert(item.text.clone()));
    let is_typed = |message: &Parsed| typed.iter().any(|item| item.message == message.index);
    Progress {
        phase: phase(messages, prose, is_typed),
        completed,
        remaining: remaining(prose),
        next: next(messages, prose, is_typed),
    }
}

fn statements<'s>(
    message: &'s Prose<'_>,
    is: fn(&Sentence) -> bool,
) -> impl Iterator<Item = Item> + 's {
    let index = message.message.index;
    let all = message
        .sentences
        .iter()
        .filter(move |sentence| is(sentence));
    all.map(move |sentence| Item::new(index, clipped(&sentence.text, 240)))
}

fn is_done(sentence: &Sentence) -> bool {
    !sentence.asks && sentence.has(&WORDS.done) && !sentence.has(&WORDS.not_yet)
}

fn is_left(sentence: &Sentence) -> bool {
    !sentence.asks && sentence.has(&WORDS.remains)
}

fn is_promise(sentence: &Sentence) -> bool {
    !sentence.asks && sentence.has(&WORDS.promises) && !sentence.has(&WORDS.idle)
}

/// Returns an item for a call that did something and did not fail. `None` for a call that only looked or that failed.
fn done(messages: &[Parsed], at: usize, call: &ParsedCall) -> Option<Item> {
    if in_name(&call.tool, &WORDS.looking) {
        return None;
    }
    let command = call.arguments.get("command").and_then(Json::as_str);
    if matches!(command, Some("view" | "read" | "list")) {
        return None;
    }
    let answer = result(messages, at, &call.id)?;
    let outcome = match reported(answer) {
        Some(true) => "succeeded",
        Some(false) => return None,
        // A result that is a record shows only that the tool has answered, and not that it has
        // succeeded.
        None if answer.text.trim_start().starts_with('{') => "answered",
        None => return None,
    };
    let message = messages.get(at)?.index;
    Some(Item::new(message, format!("{} {outcome}", shown(call))))
}

/// Returns a call as a summary shows it: its tool and its short arguments.
pub(super) fn shown(call: &ParsedCall) -> String {
    let arguments = match &call.arguments {
        Json::Object(map) => {
            let short = map.iter().filter_map(|(key, value)| match value {
                Json::String(text) => Some(format!("{key}: {}", clipped(text, 48))),
                Json::Number(_) | Json::Bool(_) => Some(format!("{key}: {value}")),
                _ => None,
            });
            short.take(3).collect::<Vec<_>>().join(", ")
        }
        Json::String(text) => clipped(text, 60),
        _ => String::new(),
    };
    format!("{}({arguments})", call.tool)
}

/// Returns the calls without results, each with the index of its message.
fn open(messages: &[Parsed]) -> Vec<(usize, &ParsedCall)> {
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let calls = message.calls.iter();
        let open = calls.filter(|call| result(messages, at, &call.id).is_none());
        found.extend(open.map(|call| (message.index, call)));
    }
    found
}

fn phase(messages: &[Parsed], prose: &[Prose<'_>], is_typed: impl Fn(&Parsed) -> bool) -> String {
    let open = open(messages);
    if let Some((_, call)) = open.last() {
        return format!("waiting for the result of {}", call.tool);
    }
    let speaks = |message: &&Prose<'_>| {
        let Parsed { text, results, .. } = message.message;
        !text.trim().is_empty() || !results.is_empty()
    };
    let Some(Prose {
        message: last,
        sentences,
    }) = prose.iter().rfind(speaks)
    else {
        return "not begun".to_owned();
    };
    let tool = messages
        .iter()
        .rev()
        .find_map(|message| message.calls.last());
    let asks = sentences.last().is_some_and(|sentence| sentence.asks);
    match (last.role, tool) {
        (Role::User, _) if last.results.is_empty() && is_typed(last) => {
            "the user waits for an answer".to_owned()
        }
        (Role::Assistant, _) if asks => "waiting for an answer of the user".to_owned(),
        (Role::Assistant, None) => "the assistant has answered".to_owned(),
        (_, Some(call)) => format!("working; the last call was {}", shown(call)),
        (_, None) => "working".to_owned(),
    }
}

/// Returns the work that is left to do, as the last messages say.
fn remaining(prose: &[Prose<'_>]) -> Vec<Item> {
    let speaks = prose.iter().rev().filter(|message| {
        let Parsed { role, text, .. } = message.message;
        matches!(role, Role::Assistant | Role::User) && !text.trim().is_empty()
    });
    let last: Vec<_> = speaks.take(4).collect();
    let mut found = Vec::new();
    for message in last.into_iter().rev() {
        let Parsed {
            index, role, text, ..
        } = message.message;
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- [ ] "));
        found.extend(lines.map(|line| Item::new(*index, clipped(line, 240))));
        if *role == Role::Assistant {
            found.extend(statements(message, is_left));
        }
    }
    found
}

/// Returns the next steps: calls without results, what the assistant has promised last, and questions that
/// nobody has answered.
fn next(messages: &[Parsed], prose: &[Prose<'_>], is_typed: impl Fn(&Parsed) -> bool) -> Vec<Item> {
    let open = open(messages);
    let mut found: Vec<_> = open
        .into_iter()
        .map(|(message, call)| {
            Item::new(message, format!("Wait for the result of {}", shown(call)))
        })
        .collect();
    let last = |role: Role| {
        let speaks = |message: &&Prose<'_>| {
            message.message.role == role && !message.message.text.trim().is_empty()
        };
        prose.iter().rfind(speaks)
    };
    let (assistant, user) = (last(Role::Assistant), last(Role::User));
    let is_newer = |one: Option<&Prose<'_>>, other: Option<&Prose<'_>>| {
        one.map(|one| one.message.index) > other.map(|other| other.message.index)
    };
    let waits = user.filter(|user| is_typed(user.message) && is_newer(Some(user), assistant));
    if let Some(user) = waits {
        found.push(Item::new(
            user.message.index,
            "Answer the last message of the user.",
        ));
    }
    if let Some(last) = assistant {
        found.extend(statements(last, is_promise));
        if is_newer(assistant, user) {
            let asked = statements(last, |sentence| sentence.asks);
            found.extend(
                asked.map(|item| Item::new(item.message, format!("Unanswered: {}", item.text))),
            );
        }
    }
    found
}

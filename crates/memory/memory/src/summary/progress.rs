//! Progress: the phase, what is completed, what remains, and the next steps.

use std::collections::BTreeSet;

use accp_registry::words;
use serde_json::Value as Json;

use super::artifact::result;
use super::item::{Item, clipped};
use super::prose::Prose;
use crate::message::Role;
use crate::parsed::{Parsed, ParsedCall};
use crate::prose::Sentence;
use crate::writes::reported;

/// Words in the names of tools that only look.
const LOOKING: [&str; 30] = [
    "get",
    "list",
    "search",
    "find",
    "read",
    "view",
    "show",
    "fetch",
    "query",
    "lookup",
    "look",
    "calculate",
    "think",
    "check",
    "describe",
    "count",
    "grep",
    "ls",
    "cat",
    "open",
    "browse",
    "goto",
    "scroll",
    "transfer",
    "recover",
    "status",
    "bash",
    "shell",
    "python",
    "finish",
];
/// Phrases of an assistant that something is done.
const DONE: [&str; 47] = [
    "has been successfully",
    "have been successfully",
    "was successfully",
    "were successfully",
    "i've successfully",
    "i have successfully",
    "successfully booked",
    "successfully updated",
    "successfully created",
    "has been booked",
    "has been cancelled",
    "has been canceled",
    "have been cancelled",
    "have been canceled",
    "has been updated",
    "have been updated",
    "has been created",
    "has been added",
    "have been added",
    "has been changed",
    "has been fixed",
    "has been applied",
    "has been sent",
    "has been issued",
    "is now complete",
    "is complete",
    "is done",
    "are done",
    "is fixed",
    "is now fixed",
    "i've fixed",
    "i fixed",
    "i've added",
    "i've updated",
    "i've created",
    "i have created",
    "i have updated",
    "i have added",
    "i have fixed",
    "i've written",
    "i've implemented",
    "i have implemented",
    "tests pass",
    "tests passed",
    "all tests pass",
    "now passes",
    "is finished",
];
/// Words that make a statement of done a condition, a plan or a denial.
const NOT_YET: [&str; 19] = [
    "once",
    "if",
    "after",
    "when",
    "will",
    "not",
    "isn't",
    "hasn't",
    "haven't",
    "until",
    "before",
    "unless",
    "should",
    "whether",
    "to ensure",
    "verify",
    "make sure",
    "would",
    "to see",
];
/// Phrases of what remains.
const REMAINS: [&str; 19] = [
    "remaining work",
    "remaining steps",
    "what remains",
    "still need to",
    "still needs to",
    "still have to",
    "left to do",
    "not yet",
    "todo",
    "next we",
    "yet to be",
    "is outstanding",
    "still missing",
    "still open",
    "is pending",
    "are pending",
    "still failing",
    "still fails",
    "remains to",
];
/// Phrases of a promise.
const PROMISES: [&str; 22] = [
    "i'll",
    "i will",
    "let me",
    "i'm going to",
    "i am going to",
    "i need to",
    "we need to",
    "next i",
    "next step",
    "next steps",
    "let's",
    "we'll",
    "we will",
    "now i",
    "i should",
    "i plan to",
    "i want to",
    "i can now",
    "i must",
    "we should",
    "then i",
    "i am about to",
];
/// Phrases that sound like a promise and only keep company.
const IDLE: [&str; 13] = [
    "let me know",
    "i'll be happy",
    "i will be happy",
    "i'll be glad",
    "i'll be here",
    "i can assist",
    "i'll assist",
    "i will assist",
    "i'll be able",
    "i will be able",
    "i'll need",
    "i will need",
    "let me explain",
];

/// How far the work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) phase: String,
    pub(crate) completed: Vec<Item>,
    pub(crate) remaining: Vec<Item>,
    pub(crate) next: Vec<Item>,
}

/// Returns how far the work is after these messages.
pub(super) fn progress(
    said: &[Parsed],
    prose: &[Prose<'_>],
    left: impl Fn(usize) -> bool,
) -> Progress {
    let mut completed = Vec::new();
    for (at, message) in prose.iter().enumerate() {
        if !left(message.said.index) {
            continue;
        }
        let calls = message.said.calls.iter();
        completed.extend(calls.filter_map(|call| done(said, at, call)));
        if message.said.role == Role::Assistant {
            completed.extend(statements(message, is_done));
        }
    }
    let mut known = BTreeSet::new();
    completed.retain(|item| known.insert(item.text.clone()));
    Progress {
        phase: phase(said, prose),
        completed,
        remaining: remaining(prose),
        next: next(said, prose),
    }
}

fn statements<'s>(
    message: &'s Prose<'_>,
    is: fn(&Sentence) -> bool,
) -> impl Iterator<Item = Item> + 's {
    let index = message.said.index;
    let all = message
        .sentences
        .iter()
        .filter(move |sentence| is(sentence));
    all.map(move |sentence| Item::new(index, clipped(&sentence.text, 240)))
}

fn is_done(sentence: &Sentence) -> bool {
    !sentence.asks && sentence.has(&DONE) && !sentence.has(&NOT_YET)
}

fn is_left(sentence: &Sentence) -> bool {
    !sentence.asks && sentence.has(&REMAINS)
}

fn is_promise(sentence: &Sentence) -> bool {
    !sentence.asks && sentence.has(&PROMISES) && !sentence.has(&IDLE)
}

/// Returns a call that changed something and did not fail.
fn done(said: &[Parsed], at: usize, call: &ParsedCall) -> Option<Item> {
    if words(&call.tool).any(|word| LOOKING.contains(&&*word.to_ascii_lowercase())) {
        return None;
    }
    let command = call.arguments.get("command").and_then(Json::as_str);
    if matches!(command, Some("view" | "read" | "list")) {
        return None;
    }
    let answer = result(said, at, &call.id)?;
    let outcome = match reported(answer) {
        Some(true) => "succeeded",
        Some(false) => return None,
        // A record that came back says no more than that the tool has answered.
        None if answer.text.trim_start().starts_with('{') => "answered",
        None => return None,
    };
    let message = said.get(at)?.index;
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
fn open(said: &[Parsed]) -> Vec<(usize, &ParsedCall)> {
    let mut found = Vec::new();
    for (at, message) in said.iter().enumerate() {
        let calls = message.calls.iter();
        let open = calls.filter(|call| result(said, at, &call.id).is_none());
        found.extend(open.map(|call| (message.index, call)));
    }
    found
}

fn phase(said: &[Parsed], prose: &[Prose<'_>]) -> String {
    let open = open(said);
    if let Some((_, call)) = open.last() {
        return format!("waiting for the result of {}", call.tool);
    }
    let speaks = |message: &&Prose<'_>| {
        let Parsed { text, results, .. } = message.said;
        !text.trim().is_empty() || !results.is_empty()
    };
    let Some(Prose {
        said: last,
        sentences,
    }) = prose.iter().rfind(speaks)
    else {
        return "not begun".to_owned();
    };
    let tool = said.iter().rev().find_map(|message| message.calls.last());
    let asks = sentences.last().is_some_and(|sentence| sentence.asks);
    match (last.role, tool) {
        (Role::User, _) if last.results.is_empty() => "the user waits for an answer".to_owned(),
        (Role::Assistant, _) if asks => "waiting for an answer of the user".to_owned(),
        (Role::Assistant, None) => "the assistant has answered".to_owned(),
        (_, Some(call)) => format!("working; the last call was {}", shown(call)),
        (_, None) => "working".to_owned(),
    }
}

/// Returns what the last messages say is left to do.
fn remaining(prose: &[Prose<'_>]) -> Vec<Item> {
    let speaks = prose.iter().rev().filter(|message| {
        let Parsed { role, text, .. } = message.said;
        matches!(role, Role::Assistant | Role::User) && !text.trim().is_empty()
    });
    let last: Vec<_> = speaks.take(4).collect();
    let mut found = Vec::new();
    for message in last.into_iter().rev() {
        let Parsed {
            index, role, text, ..
        } = message.said;
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
fn next(said: &[Parsed], prose: &[Prose<'_>]) -> Vec<Item> {
    let open = open(said);
    let mut found: Vec<_> = open
        .into_iter()
        .map(|(message, call)| {
            Item::new(message, format!("Wait for the result of {}", shown(call)))
        })
        .collect();
    let last = |role: Role| {
        let speaks = |message: &&Prose<'_>| {
            message.said.role == role && !message.said.text.trim().is_empty()
        };
        prose.iter().rfind(speaks)
    };
    let (assistant, user) = (last(Role::Assistant), last(Role::User));
    let is_newer = |one: Option<&Prose<'_>>, other: Option<&Prose<'_>>| {
        one.map(|one| one.said.index) > other.map(|other| other.said.index)
    };
    if let Some(user) = user.filter(|user| is_newer(Some(user), assistant)) {
        found.push(Item::new(
            user.said.index,
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

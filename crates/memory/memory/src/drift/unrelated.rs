//! Judges whether the assistant does something that shares hardly any word with the task.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::case::{Case, Sign};
use super::kind::Indicator;
use crate::message::Role;
use crate::prose::{Sentence, may_be_english, sentences, stem, topics};

words! {
    "unrelated.json";
    /// Phrases that announce an action.
    plans,
    /// Phrases that announce no action.
    idle,
    /// Words of actions of any kind, which name no topic.
    acting,
}

/// One of this many words of an action has to belong to the task. One shared word is not enough, because a long
/// conversation has nearly every word somewhere.
const SHARED: usize = 4;
/// An action with fewer words than this is not judged.
const LEAST: usize = 2;

/// Returns a sign if a message's actions share no identifier and hardly a word with the task.
pub(super) fn judge(case: &Case<'_>) -> Option<Sign> {
    let (action, words) = action(case)?;
    let task = case.content.intent.iter().map(|item| &item.text);
    if !task.chain([&action]).all(|text| may_be_english(text)) {
        return None;
    }
    let known = known(case);
    if words.len() < LEAST || is_related(&words, &known) {
        return None;
    }
    let intent = case.content.intent.first().map(|item| item.message);
    let request = case.content.request.as_ref().map(|item| item.message);
    let evidence = format!(
        "the action shares hardly a word with the intent, the facts and the last request: {action}"
    );
    Some(Sign::new(
        Indicator::Unrelated,
        evidence,
        intent.into_iter().chain(request).collect(),
    ))
}

/// Returns what a message does, and its words.
fn action(case: &Case<'_>) -> Option<(String, BTreeSet<String>)> {
    let plans = |sentence: &Sentence| {
        !sentence.asks && sentence.has(&WORDS.plans) && !sentence.has(&WORDS.idle)
    };
    let all = sentences(&case.message.text);
    let planned: Vec<_> = all
        .iter()
        .filter(|sentence| plans(sentence))
        .map(|one| one.text.clone())
        .collect();
    let calls = case.message.calls.iter();
    let calls = calls.map(|call| {
        let mut leaves = String::new();
        collect(&call.arguments, &mut leaves);
        format!("{}: {leaves}", call.tool)
    });
    let mut parts: Vec<_> = calls.chain(planned).collect();
    if parts.is_empty() {
        parts.extend(in_code(&case.message.text, &all));
    }
    let text = parts.join(" ");
    let mut words = words(&text);
    for word in WORDS.acting.iter().copied() {
        words.remove(&stem(word));
    }
    (!parts.is_empty()).then_some((text.chars().take(200).collect(), words))
}

/// Returns the text of a message that has a block of code; `None` if it has no such block.
fn in_code(text: &str, sentences: &[Sentence]) -> Option<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    let parts: Vec<_> = sentences
        .iter()
        .map(|one| &*one.text)
        .chain(blocks.clone())
        .collect();
    blocks.clone().next().map(|_| parts.join(" "))
}

/// Collects the texts and numbers in a value.
fn collect(json: &Json, out: &mut String) {
    match json {
        Json::Object(map) => map.values().for_each(|value| collect(value, out)),
        Json::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Json::String(text) => {
            out.push_str(text);
            out.push(' ');
        }
        Json::Number(number) => {
            out.push_str(&number.to_string());
            out.push(' ');
        }
        _ => {}
    }
}

/// Returns the words of a text, and the parts of its identifiers and paths.
fn words(text: &str) -> BTreeSet<String> {
    let mut all = topics(text);
    all.extend(topics(&text.replace(['_', '.', '/', '-', ':'], " ")));
    all
}

/// Returns the words of the task: of its objectives, requests, constraints, decisions, artifacts and facts, of all
/// messages of users, and of the results in the list.
fn known(case: &Case<'_>) -> BTreeSet<String> {
    let content = case.content;
    let mut known = BTreeSet::new();
    let items = content
        .intent
        .iter()
        .chain(&content.request)
        .chain(&content.decisions)
        .chain(&content.marked);
    let items = items
        .chain(&content.progress.remaining)
        .chain(&content.progress.next);
    items.for_each(|item| known.extend(words(&item.text)));
    content
        .constraints
        .iter()
        .for_each(|one| known.extend(words(&one.item.text)));
    content
        .artifacts
        .iter()
        .for_each(|one| known.extend(words(&one.path)));
    for fact in &content.facts {
        known.extend(words(&fact.value));
        known.extend(words(&fact.name));
        known.extend(words(&fact.about));
    }
    let users = case
        .archive
        .iter()
        .chain(case.list)
        .filter(|message| message.role == Role::User);
    users.for_each(|message| known.extend(words(&message.text)));
    for result in case.list.iter().flat_map(|message| &message.results) {
        known.extend(words(&result.text));
    }
    known
}

/// Returns whether words belong to the task: they share an identifier with the task, or enough other words.
fn is_related(words: &BTreeSet<String>, known: &BTreeSet<String>) -> bool {
    let mut shared = words.intersection(known);
    let count = shared.clone().count();
    let is_name = |word: &String| word.contains(|c: char| c.is_ascii_digit() || c == '_');
    shared.any(is_name) || count * SHARED >= words.len()
}

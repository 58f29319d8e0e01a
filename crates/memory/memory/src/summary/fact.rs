//! Facts: values in the words of users, in results and in arguments. Facts that a later call needed come first.

use std::collections::{BTreeMap, BTreeSet};

use accp_context::{Class, facts_of};
use accp_frame::Value;
use serde_json::Value as Json;

use super::prose::Prose;
use crate::message::Role;
use crate::parsed::Parsed;

/// Longer values are not facts.
const LONGEST: usize = 80;
/// A message of a user with more bytes than this is a document; its sentences are not facts.
const DOCUMENT: usize = 1500;

/// A fact: the field `name` of the thing `about` has this `value`. A sentence has no name; it is the value itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) message: usize,
    pub(crate) about: String,
    pub(crate) name: String,
    pub(crate) value: String,
    /// Whether a later call has the value among its arguments.
    pub(crate) needed: bool,
    pub(crate) class: Class,
}

/// Returns the facts of messages that have left, in the order of their messages. A later value replaces an
/// earlier one.
pub(super) fn facts(prose: &[Prose<'_>], left: impl Fn(usize) -> bool) -> Vec<Known> {
    let needed = needed(prose);
    let mut found = BTreeMap::new();
    for one in prose.iter().filter(|one| left(one.message.index)) {
        let all = stated(one).into_iter().chain(returned(one.message));
        for known in all.chain(requested(one.message)) {
            let key = (known.about.clone(), known.name.clone(), key_value(&known));
            found.insert(key, known);
        }
    }
    let mut found: Vec<_> = found.into_values().collect();
    for known in &mut found {
        // Short values are often equal by chance, so they do not count as needed again.
        let last = needed.get(&*known.value).filter(|_| known.value.len() > 2);
        known.needed |= last.is_some_and(|last| *last > known.message);
    }
    found.sort_by(|a, b| (a.message, &a.about, &a.name).cmp(&(b.message, &b.about, &b.name)));
    found
}

/// Returns the part of a fact's key that keeps sentences apart: a sentence replaces no other one.
fn key_value(known: &Known) -> String {
    if known.name.is_empty() {
        known.value.clone()
    } else {
        String::new()
    }
}

/// Returns the values of arguments, each with the last message that needed it.
fn needed(prose: &[Prose<'_>]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for message in prose.iter().map(|one| one.message) {
        for call in &message.calls {
            let mut leaves = Vec::new();
            scalars("", &call.arguments, &mut leaves);
            found.extend(leaves.into_iter().map(|(_, value)| (value, message.index)));
        }
    }
    found
}

/// Collects the short scalars in a value, each with its key.
fn scalars(key: &str, json: &Json, out: &mut Vec<(String, String)>) {
    match json {
        Json::Object(map) => map.iter().for_each(|(key, value)| scalars(key, value, out)),
        Json::Array(items) => items.iter().for_each(|item| scalars(key, item, out)),
        Json::String(text) if is_short(text) => out.push((key.to_owned(), text.clone())),
        Json::Number(number) => out.push((key.to_owned(), number.to_string())),
        _ => {}
    }
}

fn is_short(text: &str) -> bool {
    (2..=LONGEST).contains(&text.len()) && !text.contains('\n')
}

/// Returns the sentences of a user that have a name or a number.
fn stated(prose: &Prose<'_>) -> Vec<Known> {
    let message = prose.message;
    if message.role != Role::User || message.text.len() > DOCUMENT {
        return Vec::new();
    }
    let tells = |text: &str| text.split_whitespace().any(is_name);
    let all = prose.sentences.iter();
    let all = all.filter(|one| tells(&one.text) && (!one.asks || one.text.len() < 200));
    all.map(|sentence| Known {
        message: message.index,
        about: "user".to_owned(),
        name: String::new(),
        value: sentence.text.clone(),
        needed: true,
        class: Class::Identifier,
    })
    .collect()
}

/// Returns whether a word has a digit, or an underscore or a slash inside.
fn is_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.contains(|c: char| c.is_ascii_digit()) || word.len() > 3 && word.contains(['_', '/', '@'])
}

/// Returns the facts in the results of a message, if they are JSON.
fn returned(message: &Parsed) -> Vec<Known> {
    let mut found = Vec::new();
    for result in message.results.iter().filter(|result| !result.failed) {
        let Ok(json) = serde_json::from_str::<Json>(&result.text) else {
            continue;
        };
        let tool = result.tool.as_deref().unwrap_or("result");
        for fact in facts_of(tool, tool, &Value::from_json(&json)) {
            let value = spelt(&fact.value());
            let about = spelt(&fact.entity());
            if value.len() > LONGEST || value.is_empty() || value == about {
                continue;
            }
            found.push(Known {
                message: message.index,
                name: fact.relationship().to_owned(),
                class: Class::of(fact.relationship(), &fact.value()),
                about,
                value,
                needed: false,
            });
        }
    }
    found
}

/// Returns the identifiers among the arguments of calls. An agent that has used an identifier may need it again.
fn requested(message: &Parsed) -> Vec<Known> {
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    for call in &message.calls {
        let mut leaves = Vec::new();
        scalars("", &call.arguments, &mut leaves);
        for (name, value) in leaves {
            let class = Class::of(&name, &Value::from(&*value));
            let is_id = class == Class::Identifier && !value.contains(' ');
            if is_id && names.insert((name.clone(), value.clone())) {
                found.push(Known {
                    message: message.index,
                    about: call.tool.clone(),
                    value: format!("{name} {value}"),
                    name: String::new(),
                    needed: false,
                    class,
                });
            }
        }
    }
    found
}

/// Returns the text of a value as people write it.
fn spelt(value: &Value<'_>) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Array(items) => items.iter().map(spelt).collect::<Vec<_>>().join(", "),
        other => match other.to_json() {
            Json::String(text) => text,
            json => json.to_string(),
        },
    }
}

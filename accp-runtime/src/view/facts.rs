//! What is worth keeping of messages that leave a prompt.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use accp_registry::{Field, Registry, Schema, Type};

use super::{Block, View, shape, write};
use crate::{Intent, Map, Message, Value};

/// Longer scalars are no facts.
const LONGEST: usize = 60;
/// Words that are kept in front of what a text tells.
const BEFORE: usize = 2;
/// Bytes of a text of which more than its names are kept.
const PROSE: usize = 4000;

/// The words that are values somewhere: a text that holds one tells something.
#[derive(Debug, Default)]
pub(super) struct Vocabulary(BTreeSet<String>);

impl Vocabulary {
    pub(super) fn of(registry: &Registry) -> Self {
        fn values(ty: &Type, out: &mut BTreeSet<String>) {
            match ty {
                Type::Enum(all) => out.extend(all.iter().map(|value| value.name.clone())),
                Type::List(item) | Type::Map(item) => values(item, out),
                _ => {}
            }
        }
        let mut words = BTreeSet::new();
        for field in registry.schemas().flat_map(|schema| &schema.fields) {
            values(&field.ty, &mut words);
        }
        words.retain(|word| word.len() > 2);
        Self(words)
    }
}

/// How much of a text is kept.
#[derive(Debug, Clone, Copy)]
struct Style {
    /// Words before what it tells.
    is_prose: bool,
    /// Names of people and places.
    asks: bool,
}

/// The schemas of facts: with the fields that are worth keeping, under a code in small
/// letters.
pub(super) fn short(registry: &Registry) -> Registry {
    let mut all = Registry::empty();
    for schema in registry.schemas() {
        let mut short = schema.clone();
        if let Some(keep) = &schema.keep {
            short = Schema::new(&schema.name, &schema.code.to_lowercase());
            let is_kept = |field: &&Field| keep.contains(&field.name);
            let kept = schema.fields.iter().filter(is_kept);
            short.fields = kept
                .map(|field| Field::new(&field.name, Type::Any))
                .collect();
        }
        // A code that is taken already: such records are written with their keys.
        let _ = all.register(short);
    }
    all
}

/// The field that names a record, and the name: the first scalar.
fn identity<'s>(schema: &'s Schema, map: &Map<'_>) -> Option<(&'s str, String)> {
    schema
        .fields
        .iter()
        .find_map(|field| match map.get(&field.name)? {
            Value::String(name) => Some((&*field.name, String::from(&**name))),
            Value::Integer(number) => Some((&*field.name, number.to_string())),
            _ => None,
        })
}

/// What facts there are already.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The names and numbers in them.
    names: BTreeSet<String>,
    /// The values of each record.
    records: Vec<BTreeSet<String>>,
    /// What was last said of a record, by its schema and its name.
    latest: BTreeMap<(String, String), Map<'static>>,
}

impl Facts {
    /// The facts of a message that are news, each a line, written with the [`short`] schemas,
    /// and what is a value of them.
    pub(super) fn take(
        &mut self,
        registry: &Registry,
        short: &View,
        vocabulary: &Vocabulary,
        message: &Message<'_>,
    ) -> Vec<(Block, Option<Value<'static>>)> {
        let schema = message.schema.as_deref();
        let schema = schema.and_then(|code| registry.schema(code));
        let mut blocks = Vec::new();
        let mut values = Map::new();
        let mut told = String::new();
        for (name, value) in message.payload.iter() {
            let field = schema.and_then(|schema| schema.field(name));
            let is_default = schema.zip(field).is_some_and(|(schema, (at, _))| {
                write::default_of(schema, at, None).as_ref() == Some(value)
            });
            match value {
                _ if is_default => {}
                Value::String(text) if text.len() > LONGEST || is_words(field) => {
                    let style = Style {
                        is_prose: is_words(field) && text.len() <= PROSE,
                        // Who answers repeats what is known.
                        asks: message.intent == Intent::REQ,
                    };
                    self.tell(&mut told, text, vocabulary, style);
                }
                value => {
                    values.insert(String::from(name), value.clone().into_owned());
                }
            }
        }
        if !told.is_empty() {
            let block = Block {
                text: format!("{}: {told}\n", message.agent.as_str()),
                codes: Vec::new(),
            };
            blocks.push((block, None));
        }
        let schema = schema
            .filter(|schema| fits(schema, &values))
            .or_else(|| shape::of(registry, &values));
        let kept = prune_map(registry, &values, schema).map(alone);
        if let Some(news) = kept.and_then(|kept| self.news(registry, kept)) {
            let mut block = short.value(&news);
            block.text.push('\n');
            blocks.push((block, Some(news)));
        }
        blocks
    }

    /// What of this no record before held: of a record that is known by its name, what is
    /// another now.
    fn news(&mut self, registry: &Registry, value: Value<'static>) -> Option<Value<'static>> {
        let mut scalars = BTreeSet::new();
        collect(&value, &mut scalars);
        if self.records.iter().any(|record| scalars.is_subset(record)) {
            return None;
        }
        self.names.extend(scalars.iter().cloned());
        self.records.push(scalars);
        let Value::Map(map) = &value else {
            return Some(value);
        };
        let schema = shape::of(registry, map);
        let Some((schema, id, name)) = schema.and_then(|schema| {
            let (id, name) = identity(schema, map)?;
            Some((schema, id, name))
        }) else {
            return Some(value);
        };
        let key = (schema.code.clone(), name);
        let news = match self.latest.get(&key) {
            None => value.clone(),
            Some(before) => {
                let is_other = |(key, value): &(&str, &Value<'_>)| {
                    *key == id || before.get(key) != Some(value)
                };
                let others = map.iter().filter(is_other);
                let others = others.map(|(key, value)| (String::from(key), value.clone()));
                Value::Map(others.collect())
            }
        };
        self.latest.insert(key, map.clone());
        Some(news)
    }

    /// What a text tells that was not told before: names, numbers, words that are values; of
    /// prose with the words before them.
    fn tell(&mut self, out: &mut String, text: &str, vocabulary: &Vocabulary, style: Style) {
        let Style { is_prose, asks } = style;
        for sentence in sentences(text) {
            let words: Vec<&str> = sentence.split_whitespace().collect();
            let mut shown = 0;
            for (at, word) in words.iter().enumerate() {
                let mut news = false;
                for name in runs(word) {
                    let tells = is_name(name)
                        || asks && at > 0 && is_capital(name)
                        || vocabulary.0.contains(name);
                    news |= tells && self.names.insert(String::from(name));
                }
                if !news {
                    continue;
                }
                if !out.is_empty() {
                    out.push_str(if shown == 0 { "; " } else { " " });
                }
                if is_prose {
                    let from = at.saturating_sub(BEFORE).max(shown);
                    for word in &words[from..at] {
                        out.push_str(word);
                        out.push(' ');
                    }
                    out.push_str(word.trim_end_matches(['.', ',', ';', ':', '!', '?']));
                } else {
                    let mut all = names(word).peekable();
                    while let Some(name) = all.next() {
                        out.push_str(name);
                        if all.peek().is_some() {
                            out.push(' ');
                        }
                    }
                }
                shown = at + 1;
            }
        }
    }
}

/// The value of the only param.
fn alone(map: Map<'static>) -> Value<'static> {
    let first = map.iter().next().map(|(_, value)| value);
    match first.filter(|_| map.len() == 1) {
        Some(value @ (Value::Map(_) | Value::Array(_))) => value.clone(),
        _ => Value::Map(map),
    }
}

fn is_words(field: Option<(usize, &Field)>) -> bool {
    field.is_some_and(|(_, field)| field.ty == Type::Text)
}

fn fits(schema: &Schema, map: &Map<'_>) -> bool {
    map.iter()
        .all(|(key, _)| shape::index(schema, key).is_some())
}

/// What is worth keeping of a value; `None` if nothing is.
fn prune(registry: &Registry, value: &Value<'_>, hint: Option<&Schema>) -> Option<Value<'static>> {
    match value {
        Value::Map(map) => {
            let schema = hint.filter(|schema| fits(schema, map));
            let schema = schema.or_else(|| shape::of(registry, map));
            prune_map(registry, map, schema).map(Value::Map)
        }
        Value::Array(items) => {
            let items = items.iter().filter_map(|item| prune(registry, item, hint));
            // Lists of records are one list here, and each record stands in it once.
            let is_map = |value: &Value<'_>| matches!(value, Value::Map(_));
            let items = items.flat_map(|item| match item {
                Value::Array(inner) if inner.iter().all(is_map) => inner,
                item => alloc::vec![item],
            });
            let mut seen = BTreeSet::new();
            let kept = items.filter(|item| !is_map(item) || seen.insert(item.to_string()));
            let kept: Vec<_> = kept.collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::String(text) if text.is_empty() || text.len() > LONGEST => None,
        Value::Null => None,
        value => Some(value.clone().into_owned()),
    }
}

fn prune_map(registry: &Registry, map: &Map<'_>, schema: Option<&Schema>) -> Option<Map<'static>> {
    let mut kept = Map::new();
    for (name, value) in map.iter() {
        let field = schema.and_then(|schema| schema.field(name));
        let inner = field.and_then(|(_, field)| match &field.ty {
            Type::List(item) => item.schema_code(),
            ty => ty.schema_code(),
        });
        let inner = inner.and_then(|code| registry.schema(code));
        let is_kept = match schema.and_then(|schema| schema.keep.as_ref()) {
            Some(keep) => keep.iter().any(|kept| kept == name),
            None => true,
        };
        if !is_kept {
            continue;
        }
        let mut value = prune(registry, value, inner);
        if schema.is_none() {
            // What stands under its own name need not repeat it.
            value = value.and_then(|value| without(value, name).or(Some(Value::Null)));
        }
        if let Some(value) = value {
            kept.insert(String::from(name), value);
        }
    }
    (!kept.is_empty()).then_some(kept)
}

/// A record without the field that says its name.
fn without(value: Value<'static>, name: &str) -> Option<Value<'static>> {
    let Value::Map(map) = value else {
        return Some(value);
    };
    let says = |value: &Value<'_>| value.as_str() == Some(name);
    let rest = map.iter().filter(|(_, value)| !says(value));
    let rest: Map<'static> = rest
        .map(|(key, value)| (String::from(key), value.clone()))
        .collect();
    (!rest.is_empty()).then_some(Value::Map(rest))
}

fn collect(value: &Value<'_>, out: &mut BTreeSet<String>) {
    match value {
        Value::Map(map) => map.iter().for_each(|(_, value)| collect(value, out)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Value::String(text) => {
            out.insert(text.to_string());
        }
        other => {
            out.insert(other.to_string());
        }
    }
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '!', '?'])
        .flat_map(|line| line.split(". "))
}

/// The names and numbers of a text.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    runs(text).filter(|run| is_name(run))
}

/// The runs of characters that names are made of.
fn runs(word: &str) -> impl Iterator<Item = &str> {
    let is_in = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '\\' | '-' | ':');
    word.split(move |c| !is_in(c))
        .map(|run| run.trim_matches(['.', '-', ':', '\\']))
        .filter(|run| run.len() > 2)
}

/// A digit, a path or inner capitals.
fn is_name(word: &str) -> bool {
    let inner = word.as_bytes().windows(2);
    word.bytes()
        .any(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'\\'))
        || inner
            .into_iter()
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

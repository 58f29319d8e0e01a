//! Facts of messages that leave a prompt.

mod identity;
mod names;
mod prune;
mod worth;

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::{Field, Registry, Type};
use serde_json::{Value as Json, json};

use super::block::Block;
use super::{shape, text, write};
use accp_frame::{DynamicFrame, Intent, Map, Value};
pub(crate) use identity::id_of;
pub(super) use identity::named;
pub(super) use names::names;
use names::{is_capital, is_name, runs, sentences};
use prune::prune_map;
use worth::LONGEST;
pub(crate) use worth::{is_default, says};

/// The limit for the facts of one message, in bytes. Beyond it no further sentences are read.
const TOLD: usize = 8000;
/// The number of words that are kept before a fact in prose.
const BEFORE: usize = 2;
/// Of a text with more bytes, only names, numbers and words of enumerations are kept.
const PROSE: usize = 4000;

/// The words of enumerations. A sentence with such a word is kept as a fact.
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

/// The parts of a text that are kept.
#[derive(Debug, Clone, Copy)]
struct Style {
    /// Whether to keep the words before a fact.
    is_prose: bool,
    /// Whether to keep names of people and places, because the text is a question.
    asks: bool,
}

/// Returns the schemas for facts: the schemas of messages and, for each of them that keeps only a few fields, a
/// schema with these fields. The code of the added schema is in small letters.
pub(super) fn registry(registry: &Registry) -> Registry {
    let mut json = registry.to_json();
    for schema in registry.schemas() {
        let Some(keep) = &schema.keep else { continue };
        let (name, code) = (format!("{}_facts", schema.name), schema.code.to_lowercase());
        let is_taken = registry
            .schemas()
            .any(|other| other.code == code || other.name == name);
        // A record of a union is always written with its keys, so a schema for the kept fields alone is of no use.
        let is_union = schema.union.is_some();
        if keep.is_empty() || shape::is_full(schema, keep.len()) || is_taken || is_union {
            continue;
        }
        let kept = schema
            .fields
            .iter()
            .filter(|field| keep.contains(&field.name));
        let kept: Vec<&Field> = kept.collect();
        let fields: Vec<&str> = kept.iter().map(|field| &*field.name).collect();
        let pairs = |value: fn(&Field) -> &str| -> Json {
            let pairs = kept
                .iter()
                .map(|field| (field.name.clone(), value(field).into()));
            pairs.collect::<serde_json::Map<_, _>>().into()
        };
        json["schemas"][name] = json!({
            "code": code,
            "version": 1,
            "fields": fields,
            "types": pairs(|_| "any"),
            "abbreviations": pairs(|field| &field.short),
        });
    }
    // If the registry with the added schemas is invalid, records are written with their keys.
    Registry::from_json(&json.to_string()).unwrap_or_else(|_| registry.clone())
}

/// Returns the fields of a record that differ from its earlier state.
pub(super) fn changed(before: &Map<'_>, map: &Map<'_>) -> Map<'static> {
    let others = map
        .iter()
        .filter(|(key, value)| before.get(key) != Some(value));
    others
        .map(|(key, value)| (String::from(key), value.clone().into_owned()))
        .collect()
}

/// The contents of one message that may be worth keeping.
struct Found<'m> {
    agent: &'m str,
    asks: bool,
    /// Each text, and whether to keep more of it than its names.
    texts: Vec<(&'m str, bool)>,
    /// The facts from the texts, as they are written in the line of the message.
    told: String,
    record: Option<Value<'static>>,
}

impl<'m> Found<'m> {
    fn of(registry: &Registry, message: &'m DynamicFrame<'static>) -> Self {
        let schema = message.schema_in(registry);
        let mut texts = Vec::new();
        let mut values = Map::new();
        for (name, value) in message.payload.iter() {
            let field = schema.and_then(|schema| schema.field(name));
            match value {
                value if is_default(registry, schema, name, value, None) => {}
                Value::String(text) if text.len() > LONGEST || is_words(field) => {
                    texts.push((&**text, is_words(field) && text.len() <= PROSE));
                }
                value => {
                    values.insert(String::from(name), value.clone());
                }
            }
        }
        let schema = schema
            .filter(|schema| shape::fits(schema, &values))
            .or_else(|| shape::of(registry, &values));
        Self {
            agent: message.agent.as_str(),
            asks: message.intent == Intent::REQ,
            texts,
            told: String::new(),
            record: prune_map(registry, &values, schema).map(alone),
        }
    }
}

/// Drops each record that a later record replaces. The later record has all values of the earlier record, or it has
/// the same name and all fields of the earlier record.
fn drop_superseded(registry: &Registry, found: &mut [Found<'_>]) {
    /// The scalars of a record, its schema and name, and its fields.
    type Known = (BTreeSet<String>, Option<(String, String)>, BTreeSet<String>);
    let mut later: Vec<Known> = Vec::new();
    for one in found.iter_mut().rev() {
        let Some(record) = &one.record else { continue };
        let mut scalars = BTreeSet::new();
        collect(record, &mut scalars);
        let (mut key, mut fields) = (None, BTreeSet::new());
        // A request states no facts, so its fields are not collected.
        if let (Value::Map(map), false) = (record, one.asks) {
            fields.extend(map.iter().map(|(name, _)| String::from(name)));
            key = named(registry, map).map(|(schema, _, name)| (schema.code.clone(), name));
        }
        let is_old = later.iter().any(|(others, other, more)| {
            scalars.is_subset(others) || key.is_some() && key == *other && fields.is_subset(more)
        });
        if is_old {
            one.record = None;
        } else {
            later.push((scalars, key, fields));
        }
    }
}

/// Groups the records of one schema into a list, in the place of the first record.
fn grouped(registry: &Registry, records: Vec<Value<'static>>) -> Vec<Value<'static>> {
    let mut groups: Vec<(Option<&str>, Vec<Value<'static>>)> = Vec::new();
    for record in records {
        let code = match &record {
            Value::Map(map) => shape::of(registry, map).map(|schema| &*schema.code),
            _ => None,
        };
        let group = groups
            .iter_mut()
            .find(|(other, _)| code.is_some() && *other == code);
        match group {
            Some((_, group)) => group.push(record),
            None => groups.push((code, vec![record])),
        }
    }
    let value = |(_, mut group): (_, Vec<Value<'static>>)| match group.len() {
        1 => group.pop(),
        _ => Some(Value::Array(group)),
    };
    groups.into_iter().filter_map(value).collect()
}

/// The facts so far.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The names and numbers in the facts.
    names: BTreeSet<String>,
    /// The values of each record.
    records: Vec<BTreeSet<String>>,
    /// The last state of each record, by its schema and its name.
    latest: BTreeMap<(String, String), Map<'static>>,
}

impl Facts {
    /// Returns the new facts of these messages, oldest first. Each fact is a line, written with the schemas of the
    /// registry `facts`, and the value that the line shows, if any.
    pub(super) fn take<'m>(
        &mut self,
        registry: &Registry,
        facts: &Registry,
        vocabulary: &Vocabulary,
        messages: impl Iterator<Item = &'m DynamicFrame<'static>>,
    ) -> Vec<(Block, Option<Value<'static>>)> {
        let mut found: Vec<Found<'_>> = messages.map(|one| Found::of(registry, one)).collect();
        drop_superseded(registry, &mut found);
        // Answers repeat names from the questions and from the results of tools. So this function
        // takes the texts of the questions first, then the records, and the texts of the answers
        // last.
        for asks in [true, false] {
            for one in found.iter_mut().filter(|one| one.asks == asks) {
                for (text, is_prose) in &one.texts {
                    let style = Style {
                        is_prose: *is_prose,
                        asks,
                    };
                    self.tell(&mut one.told, text, vocabulary, style);
                }
            }
            if asks {
                for one in &mut found {
                    let record = one.record.take();
                    one.record = record.and_then(|record| self.news(registry, record, one.asks));
                }
            }
        }
        let (mut blocks, mut records) = (Vec::new(), Vec::new());
        for one in found {
            if !one.told.is_empty() {
                let block = Block {
                    text: format!("{}: {}\n", one.agent, one.told),
                    codes: Vec::new(),
                };
                blocks.push((block, None));
            }
            records.extend(one.record);
        }
        for news in grouped(registry, records) {
            let mut block = write::facts(facts, &news);
            block.text.push('\n');
            blocks.push((block, Some(news)));
        }
        blocks
    }

    /// Notes the names in a message that stays verbatim, so that facts do not repeat them.
    pub(super) fn know(&mut self, text: &str) {
        self.names.extend(names(text).map(String::from));
    }

    /// Returns the part of a value that is new. If the value is a record whose name has occurred before, the new part
    /// is the name and the fields that changed.
    fn news(
        &mut self,
        registry: &Registry,
        value: Value<'static>,
        asks: bool,
    ) -> Option<Value<'static>> {
        let mut scalars = BTreeSet::new();
        collect(&value, &mut scalars);
        let named = match &value {
            Value::Map(map) if !asks => named(registry, map),
            _ => None,
        };
        let known = named.map(|(schema, id, name)| ((schema.code.clone(), name), id));
        let before = known.as_ref().and_then(|(key, _)| self.latest.get(key));
        let news = match (&value, &known, before) {
            (Value::Map(map), Some((_, id)), Some(before)) => {
                let mut others = changed(before, map);
                if others.is_empty() {
                    return None;
                }
                if let Some(name) = map.get(id) {
                    others.insert(String::from(*id), name.clone());
                }
                Value::Map(others)
            }
            _ if self.records.iter().any(|known| scalars.is_subset(known)) => return None,
            _ => value.clone(),
        };
        if let (Value::Map(map), Some((key, _))) = (value, known) {
            self.latest.insert(key, map);
        }
        self.names.extend(scalars.iter().cloned());
        self.records.push(scalars);
        Some(news)
    }

    /// Appends the new facts of a text: names, numbers and words of enumerations. From prose, also appends a few words
    /// before each of them.
    fn tell(&mut self, out: &mut String, text: &str, vocabulary: &Vocabulary, style: Style) {
        let Style { is_prose, asks } = style;
        let shown: String;
        let mut text = text;
        if text.contains(text::is_hidden) {
            let is_plain = |c| !text::is_hidden(c) || c == '\n';
            shown = text
                .chars()
                .map(|c| if is_plain(c) { c } else { ' ' })
                .collect();
            text = &shown;
        }
        for sentence in sentences(text) {
            if out.len() > TOLD {
                break;
            }
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

/// Returns the value of the only param if it is a map or a list, otherwise the whole map.
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

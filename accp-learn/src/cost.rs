//! What values cost in tokens: as compact JSON, and as a view writes them, with records by
//! position.
//!
//! The view is asked for both: which values it writes by position, and how. A record counts
//! without the records in it, which count on their own: for each of these there is a `_`.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use accp_registry::{Field, Schema, Type};
use accp_runtime::view::{View, schema_of};
use accp_runtime::{TokenCounter, Value};
use serde_json::Value as Json;

use crate::corpus::Corpus;

/// Stands for records in a record, where those are counted on their own.
const ELSEWHERE: &str = "_";

/// What a schema earns on the traces, in tokens.
#[derive(Debug, Clone, Default)]
pub struct Earned {
    /// The code of the schema.
    pub code: String,
    /// Its name.
    pub name: String,
    /// How many records there are.
    pub seen: usize,
    /// In how many conversations they stand.
    pub conversations: usize,
    /// The records as compact JSON, without the records in them.
    pub json: usize,
    /// The same by position.
    pub position: usize,
    /// Its definition, once in each conversation that uses it.
    pub definitions: usize,
}

/// What all arguments and results come to, in tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Conversations.
    pub conversations: usize,
    /// As compact JSON.
    pub json: usize,
    /// With records by position.
    pub position: usize,
    /// The definitions, once in each conversation that uses them.
    pub definitions: usize,
}

impl Earned {
    /// Tokens saved, the definitions paid.
    pub fn net(&self) -> i64 {
        self.json as i64 - (self.position + self.definitions) as i64
    }
}

/// What each shape earns, by the code that it has, if it has one.
pub(crate) fn earned(
    corpus: &Corpus<'_>,
    codes: &[Option<String>],
    view: &View,
    counter: &impl TokenCounter,
) -> Vec<Earned> {
    let mut earned = vec![Earned::default(); codes.len()];
    let mut used = vec![BTreeSet::new(); codes.len()];
    let shapes = codes.iter().enumerate();
    let by_code: HashMap<&str, usize> = shapes
        .filter_map(|(shape, code)| Some((code.as_deref()?, shape)))
        .collect();
    for (number, conversation) in corpus.index.traces.conversations.iter().enumerate() {
        for event in &conversation.events {
            let mut outline = Outline {
                view,
                tell: |code: &str, json: &str, text: &str| {
                    let Some(&shape) = by_code.get(code) else {
                        return;
                    };
                    earned[shape].json += counter.count(json);
                    earned[shape].position += counter.count(text);
                    used[shape].insert(number);
                },
            };
            outline.look(&event.value, None, &mut Vec::new());
        }
    }
    for (shape, earned) in earned.iter_mut().enumerate() {
        earned.seen = corpus.index.shapes.list[shape].seen;
        earned.conversations = used[shape].len();
        if let Some(code) = &codes[shape] {
            earned.code.clone_from(code);
            let definition = view.definition(code).unwrap_or_default();
            earned.definitions = counter.count(&definition) * earned.conversations;
        }
    }
    earned
}

/// A record or a table, as JSON and as it is written by position.
struct Unit {
    json: String,
    text: String,
}

/// Tells each record and each table of a value that is written by position: the code of its
/// schema, its JSON and its text, without the units in it.
struct Outline<'v, F> {
    view: &'v View,
    tell: F,
}

impl<'v, F: FnMut(&str, &str, &str)> Outline<'v, F> {
    /// Looks at a value where `expected` is the schema of its place, and leaves the outermost
    /// units of it in `units`.
    fn look(&mut self, value: &Json, expected: Option<&'v Schema>, units: &mut Vec<Unit>) {
        let Some((schema, is_known)) = self.schema(value, expected) else {
            match value {
                Json::Array(items) => items.iter().for_each(|item| self.look(item, None, units)),
                Json::Object(object) => {
                    let values = object.values();
                    values.for_each(|value| self.look(value, None, units));
                }
                _ => {}
            }
            return;
        };
        let mut inner = Vec::new();
        let records = match value {
            Json::Array(rows) => rows.as_slice(),
            record => std::slice::from_ref(record),
        };
        for (key, value) in records.iter().filter_map(Json::as_object).flatten() {
            let expected = match field(schema, key).map(|field| &field.ty) {
                Some(Type::Schema(code)) => self.view.registry().schema(code),
                _ => None,
            };
            self.look(value, expected, &mut inner);
        }
        let text = self.view.value(&Value::from_data(value)).text;
        // A record that stands where its schema is expected needs no code.
        let known = text.strip_prefix(&*schema.code).filter(|_| is_known);
        let unit = Unit {
            json: value.to_string(),
            text: known.map_or_else(|| text.clone(), str::to_owned),
        };
        let json = without(&unit.json, inner.iter().map(|unit| &*unit.json));
        let text = without(&unit.text, inner.iter().map(|unit| &*unit.text));
        (self.tell)(&schema.code, &json, &text);
        units.push(unit);
    }

    /// The schema that a value is written by, as a record or as a table, and whether it is the
    /// one that is expected there.
    fn schema(&self, value: &Json, expected: Option<&'v Schema>) -> Option<(&'v Schema, bool)> {
        match value {
            Json::Object(object) => {
                let fits = |schema: &&Schema| object.keys().all(|key| field(schema, key).is_some());
                match expected.filter(fits) {
                    Some(schema) => Some((schema, true)),
                    None => Some((self.schema_of(value)?, false)),
                }
            }
            Json::Array(items) if items.len() > 1 => {
                let schema = self.schema_of(items.first()?)?;
                let is_same = |item: &Json| {
                    let other = self.schema_of(item);
                    other.is_some_and(|other| other.code == schema.code)
                };
                items.iter().all(is_same).then_some((schema, false))
            }
            _ => None,
        }
    }

    fn schema_of(&self, value: &Json) -> Option<&'v Schema> {
        match Value::from_data(value) {
            Value::Map(map) => schema_of(self.view.registry(), &map),
            _ => None,
        }
    }
}

/// The text without these parts of it.
fn without<'t>(text: &str, parts: impl Iterator<Item = &'t str>) -> String {
    let mut parts: Vec<&str> = parts.collect();
    // The longest first: a record without its code may stand in one with it.
    parts.sort_by_key(|part| (Reverse(part.len()), *part));
    parts.dedup();
    let cut = |text: String, part: &&str| text.replace(part, ELSEWHERE);
    parts.iter().fold(text.to_owned(), cut)
}

/// The field with this full name.
fn field<'s>(schema: &'s Schema, key: &str) -> Option<&'s Field> {
    schema.fields.iter().find(|field| field.name == key)
}

/// What all arguments and results come to, as a view writes them.
pub(crate) fn totals(corpus: &Corpus<'_>, view: &View, counter: &impl TokenCounter) -> Totals {
    let conversations = &corpus.index.traces.conversations;
    let mut totals = Totals {
        conversations: conversations.len(),
        ..Totals::default()
    };
    for conversation in conversations {
        let mut codes = BTreeSet::new();
        for event in &conversation.events {
            totals.json += counter.count(&event.value.to_string());
            let block = view.value(&Value::from_data(&event.value));
            totals.position += counter.count(&block.text);
            codes.extend(block.codes);
        }
        let definitions = codes.iter().filter_map(|code| view.definition(code));
        totals.definitions += definitions.map(|text| counter.count(&text)).sum::<usize>();
    }
    totals
}

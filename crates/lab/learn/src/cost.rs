//! Cost of values in tokens: as compact JSON, and as a view writes them, with records by
//! position.
//!
//! The view decides which values it writes by position. A record counts without its inner
//! records, which count on their own: a `_` stands for each inner record.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use accp_context::{view::View, view::schema_of};
use accp_frame::{TokenCounter, Value};
use accp_registry::{Field, Schema, Type};
use serde_json::Value as Json;

use crate::corpus::Corpus;

/// Stands for an inner record, which is counted on its own.
const ELSEWHERE: &str = "_";

/// The savings of a schema on the traces, in tokens.
#[derive(Debug, Clone, Default)]
pub struct Earned {
    /// The code of the schema.
    pub code: String,
    /// The name of the schema.
    pub name: String,
    /// The number of records.
    pub seen: usize,
    /// The number of conversations that use the schema.
    pub conversations: usize,
    /// The records as compact JSON, without their inner records.
    pub json: usize,
    /// The same records by position.
    pub position: usize,
    /// The definition of the schema, once in each conversation that uses it.
    pub definitions: usize,
}

/// The cost of all arguments and results, in tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// The number of conversations.
    pub conversations: usize,
    /// The values as compact JSON.
    pub json: usize,
    /// The values with records by position.
    pub position: usize,
    /// The definitions, once in each conversation that uses them.
    pub definitions: usize,
}

impl Earned {
    /// Returns the tokens saved, after the cost of the definitions.
    pub fn net(&self) -> i64 {
        self.json as i64 - (self.position + self.definitions) as i64
    }
}

/// Returns the savings of each shape. A shape without a code saves nothing.
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

/// A record or a table, as JSON and as text by position.
struct Unit {
    json: String,
    text: String,
}

/// Passes each record and each table that a view writes by position to `tell`: the code of its
/// schema, its JSON and its text, both without inner units.
struct Outline<'v, F> {
    view: &'v View,
    tell: F,
}

impl<'v, F: FnMut(&str, &str, &str)> Outline<'v, F> {
    /// Looks at a value, and leaves its outermost units in `units`. `expected` is the schema of
    /// its place.
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
        // A record in a place that expects its schema needs no code.
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

    /// Returns the schema of a value that is written as a record or as a table, and whether it is
    /// the expected schema.
    fn schema(&self, value: &Json, expected: Option<&'v Schema>) -> Option<(&'v Schema, bool)> {
        match value {
            Json::Object(object) => {
                let has_all =
                    |schema: &Schema| object.keys().all(|key| field(schema, key).is_some());
                let fits = |schema: &&Schema| schema.union.is_none() && has_all(schema);
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

/// Returns the text with `_` in place of these parts.
fn without<'t>(text: &str, parts: impl Iterator<Item = &'t str>) -> String {
    let mut parts: Vec<&str> = parts.collect();
    // The longest parts are replaced first, because the text of a record without its code is part of the text with its
    // code.
    parts.sort_by_key(|part| (Reverse(part.len()), *part));
    parts.dedup();
    let cut = |text: String, part: &&str| text.replace(part, ELSEWHERE);
    parts.iter().fold(text.to_owned(), cut)
}

/// Returns the field with this full name.
fn field<'s>(schema: &'s Schema, key: &str) -> Option<&'s Field> {
    schema.fields.iter().find(|field| field.name == key)
}

/// Returns the cost of all arguments and results, as a view writes them.
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

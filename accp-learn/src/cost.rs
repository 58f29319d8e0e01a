//! What values cost in tokens: as compact JSON, and as a view writes them, with records by
//! position.
//!
//! The view is asked for both: which values it writes by position, and in how many tokens. A
//! record counts without the records in it, which count on their own: each is a number there,
//! the same number for the same record, for a column that is the same in all rows of a table is
//! written once.

use std::collections::{BTreeSet, HashMap};

use accp_registry::{Field, Registry, Schema, Type};
use accp_runtime::view::{View, schema_of};
use accp_runtime::{TokenCounter, Value};
use serde_json::{Map, Value as Json};

use crate::corpus::Corpus;

/// Numbers of up to three digits are one token each.
const STAND_INS: usize = 1_000;

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
            each_unit(view.registry(), &event.value, |unit, code, is_known| {
                let Some(&shape) = by_code.get(code) else {
                    return;
                };
                let text = view.value(&Value::from_data(unit)).text;
                let known = text.strip_prefix(code).filter(|_| is_known);
                let earned = &mut earned[shape];
                earned.json += counter.count(&unit.to_string());
                earned.position += counter.count(known.unwrap_or(&text));
                used[shape].insert(number);
            });
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

/// Tells each record and each table of a value that is written by position, with numbers for
/// the ones in it: the code of its schema, and whether that is left out because the record
/// stands where it is expected.
fn each_unit(registry: &Registry, value: &Json, tell: impl FnMut(&Json, &str, bool)) {
    let mut outline = Outline { registry, tell };
    outline.cut(value, None, &mut StandIns::default());
}

/// By the text of a value, the number that stands for it.
type StandIns = HashMap<String, usize>;

struct Outline<'r, F> {
    registry: &'r Registry,
    tell: F,
}

impl<'r, F: FnMut(&Json, &str, bool)> Outline<'r, F> {
    /// The value with numbers for what is written by position in it. `expected` is the schema
    /// of its place.
    fn cut(&mut self, value: &Json, expected: Option<&'r Schema>, inner: &mut StandIns) -> Json {
        let Some((schema, is_known)) = self.schema(value, expected) else {
            return match value {
                Json::Array(items) => items
                    .iter()
                    .map(|item| self.cut(item, None, inner))
                    .collect(),
                Json::Object(object) => {
                    let cut = |(key, value): (&String, &Json)| {
                        (key.clone(), self.cut(value, None, inner))
                    };
                    Json::Object(object.iter().map(cut).collect())
                }
                scalar => scalar.clone(),
            };
        };
        let mut in_it = StandIns::default();
        let unit = match value {
            Json::Object(object) => self.record(schema, object, &mut in_it),
            rows => {
                let rows = rows.as_array().into_iter().flatten();
                let rows = rows.filter_map(Json::as_object);
                rows.map(|row| self.record(schema, row, &mut in_it))
                    .collect()
            }
        };
        (self.tell)(&unit, &schema.code, is_known);
        let next = inner.len() % STAND_INS;
        Json::from(*inner.entry(value.to_string()).or_insert(next))
    }

    fn record(
        &mut self,
        schema: &'r Schema,
        record: &Map<String, Json>,
        inner: &mut StandIns,
    ) -> Json {
        let cut = |(key, value): (&String, &Json)| {
            let expected = match field(schema, key).map(|field| &field.ty) {
                Some(Type::Schema(code)) => self.registry.schema(code),
                _ => None,
            };
            (key.clone(), self.cut(value, expected, inner))
        };
        Json::Object(record.iter().map(cut).collect())
    }

    /// The schema that a value is written by, as a record or as a table, and whether it is the
    /// one that is expected there.
    fn schema(&self, value: &Json, expected: Option<&'r Schema>) -> Option<(&'r Schema, bool)> {
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

    fn schema_of(&self, value: &Json) -> Option<&'r Schema> {
        match Value::from_data(value) {
            Value::Map(map) => schema_of(self.registry, &map),
            _ => None,
        }
    }
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

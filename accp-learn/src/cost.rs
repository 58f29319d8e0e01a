//! What values cost in tokens: as compact JSON, and with records by position.
//!
//! What all values cost by position is what [`View`] writes. What a single shape has of it
//! cannot be told apart there, so its records are written here in the same form, each without
//! the records in it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use accp_runtime::view::View;
use accp_runtime::{TokenCounter, Value};
use serde_json::{Map, Value as Json};

use crate::corpus::Corpus;

/// A shape as it is written by position.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) code: String,
    /// What tells a reader its fields.
    pub(crate) definition: String,
    /// By field, the value that is left out.
    pub(crate) defaults: Vec<Option<Json>>,
    /// By field, the shape of records that need no code there.
    pub(crate) nested: Vec<Option<usize>>,
}

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

/// Writes the values of a corpus.
pub(crate) struct Writer<'c, C> {
    pub(crate) corpus: &'c Corpus<'c>,
    /// By shape; `None` where records stay as they are.
    pub(crate) forms: &'c [Option<Form>],
    pub(crate) counter: C,
}

/// Records that are written together.
enum Unit<'v> {
    Record(&'v Map<String, Json>),
    Table(&'v [Json]),
}

/// Stands for records inside of records where those are counted on their own.
const ELSEWHERE: &str = "_";

impl<C: TokenCounter> Writer<'_, C> {
    /// What each shape earns.
    pub(crate) fn earned(&self) -> Vec<Earned> {
        let mut earned = vec![Earned::default(); self.forms.len()];
        let mut used = vec![BTreeSet::new(); self.forms.len()];
        for (number, conversation) in self.corpus.index.traces.conversations.iter().enumerate() {
            for event in &conversation.events {
                self.each_unit(&event.value, None, &mut |shape, unit, value, is_known| {
                    let (mut json, mut text) = (String::new(), String::new());
                    self.json(value, true, &mut json);
                    self.unit(shape, unit, is_known, &mut text);
                    let earned = &mut earned[shape];
                    earned.json += self.counter.count(&json);
                    earned.position += self.counter.count(&text);
                    used[shape].insert(number);
                });
            }
        }
        for (shape, earned) in earned.iter_mut().enumerate() {
            earned.seen = self.corpus.index.shapes.list[shape].seen;
            earned.conversations = used[shape].len();
            if let Some(form) = &self.forms[shape] {
                earned.code.clone_from(&form.code);
                earned.definitions = self.counter.count(&form.definition) * earned.conversations;
            }
        }
        earned
    }

    fn form(&self, shape: usize) -> Option<&Form> {
        self.forms[shape].as_ref()
    }

    /// The shape of a record that has a form.
    fn shape_of(&self, value: &Json) -> Option<usize> {
        let shape = self.corpus.index.shape_of(value.as_object()?)?;
        self.form(shape).map(|_| shape)
    }

    fn unit_of<'v>(&self, value: &'v Json) -> Option<(usize, Unit<'v>)> {
        match value {
            Json::Object(object) => Some((self.shape_of(value)?, Unit::Record(object))),
            Json::Array(items) if items.len() > 1 => {
                let shape = self.shape_of(items.first()?)?;
                let is_same = items.iter().all(|item| self.shape_of(item) == Some(shape));
                is_same.then_some((shape, Unit::Table(items)))
            }
            _ => None,
        }
    }

    /// Every unit in a value, the outer ones first, and whether its code can be left out
    /// because it stands where `known` is expected.
    fn each_unit<'v>(
        &self,
        value: &'v Json,
        known: Option<usize>,
        take: &mut impl FnMut(usize, &Unit<'v>, &'v Json, bool),
    ) {
        if let Some((shape, unit)) = self.unit_of(value) {
            let is_known = known == Some(shape) && matches!(unit, Unit::Record(_));
            take(shape, &unit, value, is_known);
            let records = match unit {
                Unit::Record(_) => std::slice::from_ref(value),
                Unit::Table(records) => records,
            };
            for (key, value) in records.iter().filter_map(Json::as_object).flatten() {
                let field = self.corpus.index.field(shape, key);
                self.each_unit(
                    value,
                    field.and_then(|field| self.nested(shape, field)),
                    take,
                );
            }
            return;
        }
        match value {
            Json::Array(items) => items
                .iter()
                .for_each(|item| self.each_unit(item, None, take)),
            Json::Object(members) => {
                members
                    .values()
                    .for_each(|value| self.each_unit(value, None, take));
            }
            _ => {}
        }
    }

    /// The shape of the records that a field holds without their code.
    fn nested(&self, shape: usize, field: usize) -> Option<usize> {
        self.form(shape)?.nested[field]
    }

    /// Compact JSON, units inside of this one left out.
    fn json(&self, value: &Json, is_outer: bool, out: &mut String) {
        let unit = self.unit_of(value);
        if unit.is_some() && !is_outer {
            out.push_str(ELSEWHERE);
            return;
        }
        // The records of a table are part of it.
        let depth = match unit {
            Some((_, Unit::Table(_))) => 1,
            _ => 0,
        };
        self.json_at(value, depth, out);
    }

    fn json_at(&self, value: &Json, depth: usize, out: &mut String) {
        let inner = |value: &Json, out: &mut String| match depth {
            0 => self.json(value, false, out),
            _ => self.json_at(value, depth - 1, out),
        };
        match value {
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    inner(item, out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    let _ = write!(out, "{}:", Json::from(key.as_str()));
                    inner(value, out);
                }
                out.push('}');
            }
            scalar => {
                let _ = write!(out, "{scalar}");
            }
        }
    }

    /// A value with units left out.
    fn value(&self, value: &Json, out: &mut String) {
        if self.unit_of(value).is_some() {
            out.push_str(ELSEWHERE);
            return;
        }
        match value {
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    self.value(item, out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(&scalar(&Json::from(key.as_str())));
                    out.push(':');
                    self.value(value, out);
                }
                out.push('}');
            }
            other => out.push_str(&scalar(other)),
        }
    }

    /// Records by position, those inside of them left out.
    fn unit(&self, shape: usize, unit: &Unit<'_>, is_known: bool, out: &mut String) {
        let Some(form) = self.form(shape) else { return };
        if !is_known {
            out.push_str(&form.code);
        }
        match unit {
            Unit::Record(record) => {
                out.push('(');
                self.row(shape, record, &BTreeSet::new(), out);
                out.push(')');
            }
            Unit::Table(records) => {
                let records: Vec<_> = records.iter().filter_map(Json::as_object).collect();
                out.push('[');
                let constant = self.constants(shape, &records, out);
                for record in records {
                    out.push('\n');
                    self.row(shape, record, &constant, out);
                }
                out.push(']');
            }
        }
    }

    /// Writes the fields that are the same in all records, and gives their numbers.
    fn constants(
        &self,
        shape: usize,
        records: &[&Map<String, Json>],
        out: &mut String,
    ) -> BTreeSet<usize> {
        let keys = self.corpus.index.shapes.list[shape].keys.iter().enumerate();
        let mut constant = BTreeSet::new();
        for (field, key) in keys {
            let Some(value) = records.first().and_then(|record| record.get(key)) else {
                continue;
            };
            let is_same = records.iter().all(|record| record.get(key) == Some(value));
            if !is_same || self.default(shape, field) == Some(value) {
                continue;
            }
            let comma = if constant.is_empty() { "" } else { "," };
            let _ = write!(out, "{comma}{key}:");
            self.value(value, out);
            constant.insert(field);
        }
        constant
    }

    fn row(
        &self,
        shape: usize,
        record: &Map<String, Json>,
        skipped: &BTreeSet<usize>,
        out: &mut String,
    ) {
        // Commas wait until something follows them.
        let mut commas = 0;
        let keys = self.corpus.index.shapes.list[shape].keys.iter().enumerate();
        for (index, (field, key)) in keys
            .filter(|(field, _)| !skipped.contains(field))
            .enumerate()
        {
            commas += usize::from(index > 0);
            let value = record
                .get(key)
                .filter(|value| self.default(shape, field) != Some(*value));
            if let Some(value) = value {
                out.extend(std::iter::repeat_n(',', commas));
                commas = 0;
                self.value(value, out);
            }
        }
    }

    fn default(&self, shape: usize, field: usize) -> Option<&Json> {
        self.form(shape)?.defaults[field].as_ref()
    }
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

/// A scalar, bare where it reads back as itself.
fn scalar(value: &Json) -> String {
    let Json::String(text) = value else {
        return if value.is_null() {
            "~".to_owned()
        } else {
            value.to_string()
        };
    };
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"_.:@/+-".contains(&b);
    let first = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let is_bare = text.bytes().next().is_some_and(first) && text.bytes().all(inner);
    let is_other = matches!(text.as_str(), "true" | "false") || text.parse::<f64>().is_ok();
    if is_bare && !is_other {
        text.clone()
    } else {
        value.to_string()
    }
}

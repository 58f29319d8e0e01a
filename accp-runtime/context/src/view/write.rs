//! Writing of views.
use std::ops::Range;

use accp_registry::lexical::is_key;
use accp_registry::view::{ABSENT, BELOW, SPOKEN, implied, may_stand_below, words_of};
use accp_registry::{Field, Registry, Schema, Type};

use super::block::Block;
use super::shape::{Place, default_of};
use super::spoken::spoken_payload;
use super::{shape, text};
use accp_frame::{DynamicFrame, Map, Value};

pub(super) fn block(registry: &Registry, message: &DynamicFrame<'_>) -> Block {
    block_and_params(registry, message, &[]).0
}

/// A param of a frame, and the place of its value in the block.
pub(super) type Span = (String, Range<usize>);

/// Returns the block and its params. Records of the schemas `without` are written as maps.
pub(super) fn block_and_params(
    registry: &Registry,
    message: &DynamicFrame<'_>,
    without: &[String],
) -> (Block, Vec<Span>) {
    let mut writer = Writer::new(registry, without);
    if !writer.spoken(message) {
        writer.frame(message);
    }
    writer.out.push('\n');
    let params = std::mem::take(&mut writer.params);
    (writer.block(), params)
}

pub(super) fn value(registry: &Registry, value: &Value<'_>) -> Block {
    let mut writer = Writer::new(registry, &[]);
    writer.value(value);
    writer.block()
}

/// Writes the facts of a value. An empty cell means an absent field here, so no field has a
/// default.
pub(super) fn facts(registry: &Registry, value: &Value<'_>) -> Block {
    let mut writer = Writer::new(registry, &[]);
    writer.is_whole = false;
    writer.value(value);
    writer.block()
}

/// Returns the name of a field in a view. If the registry's names were chosen for a tokenizer, this
/// is the name on the wire, which costs fewer tokens; otherwise the full name.
pub(super) fn shown<'f>(registry: &Registry, field: &'f Field) -> &'f str {
    match registry.tokenizer {
        Some(_) => &field.short,
        None => &field.name,
    }
}

/// Writes `@=TA(assignee,task)`, and a union as `@=PM{kind:card,number|kind:cash}`, because records of a union have
/// keys.
pub(super) fn definition(registry: &Registry, schema: &Schema) -> String {
    let code = &schema.code;
    let Some((_, tag)) = schema.tag() else {
        let fields = schema.fields.iter();
        let names = fields.map(|field| defined(shown(registry, field), field));
        let names = names.collect::<Vec<_>>().join(",");
        return format!("@={code}({names})\n");
    };
    let variants = schema.variants.iter().map(|variant| {
        let is_own = |field: &&Field| field.name != tag.name && variant.is_about(&field.name);
        let fields = schema.fields.iter().filter(is_own);
        let mut first = format!("{}:", tag.name);
        text::write_word(&mut first, &variant.head.concat());
        let names = fields.map(|field| defined(&field.name, field));
        let all: Vec<String> = std::iter::once(first).chain(names).collect();
        all.join(",")
    });
    let variants = variants.collect::<Vec<_>>().join("|");
    format!("@={code}{{{variants}}}\n")
}

/// Returns the name of a field, with the code of the schema whose record the field holds.
fn defined(name: &str, field: &Field) -> String {
    match &field.ty {
        Type::Schema(code) => format!("{name}:{code}"),
        _ => String::from(name),
    }
}

/// Returns the param whose text is written below the line: the longest text that may be written there.
fn below<'m>(schema: Option<&Schema>, payload: &'m Map<'_>) -> Option<(&'m str, &'m str)> {
    let field = |name: &str| schema?.fields.iter().find(|field| &*field.name == name);
    let texts = payload.iter().filter_map(|(name, value)| {
        let text = value.as_str().filter(|text| text::is_below(text))?;
        if field(name).is_some_and(|field| !may_stand_below(&field.ty)) {
            return None;
        }
        Some((name, text))
    });
    texts.max_by_key(|(_, text)| text.len())
}

struct Writer<'r> {
    registry: &'r Registry,
    without: &'r [String],
    /// Whether a record is a whole record of its schema. If false, the record is a fact with only some of its fields.
    is_whole: bool,
    out: String,
    codes: Vec<String>,
    params: Vec<Span>,
}

impl<'r> Writer<'r> {
    fn new(registry: &'r Registry, without: &'r [String]) -> Self {
        Self {
            registry,
            without,
            is_whole: true,
            out: String::new(),
            codes: Vec::new(),
            params: Vec::new(),
        }
    }

    fn block(self) -> Block {
        Block {
            text: self.out,
            codes: self.codes,
        }
    }

    /// Writes `@clerk: Two have one.` if the message holds nothing but this text.
    fn spoken(&mut self, message: &DynamicFrame<'_>) -> bool {
        let (intent, operation) = (message.intent.as_str(), &*message.operation);
        let spoken = SPOKEN
            .iter()
            .find(|spoken| (spoken.0, spoken.1) == (intent, operation));
        let (Some((_, _, mark)), Some(schema)) = (
            spoken,
            implied(self.registry, intent, operation)
                .filter(|schema| message.schema.as_deref() == Some(&*schema.code)),
        ) else {
            return false;
        };
        let Some(words) = words_of(schema) else {
            return false;
        };
        let Some(said) = message.payload.get(&words.name).and_then(Value::as_str) else {
            return false;
        };
        let agent = message.agent.as_str();
        let place = Some((intent, operation));
        if !text::is_shown(said)
            || spoken_payload(schema, agent, *mark, said, place) != message.payload
        {
            return false;
        }
        self.out = format!("@{agent}{mark} ");
        let start = self.out.len();
        text::write_below(&mut self.out, said, true);
        self.param(&words.name, start);
        true
    }

    fn frame(&mut self, message: &DynamicFrame<'_>) {
        let (intent, operation) = (message.intent.as_str(), &*message.operation);
        self.out = format!("@{}>{intent}:{operation}", message.agent.as_str());
        // A code from a peer or a registry is always a key. But an application may set any text, so
        // a code that is not a key is left out.
        let code = message.schema.as_deref().filter(|code| is_key(code));
        if let Some(code) = code {
            self.out.push(' ');
            self.out.push_str(code);
        }
        let own = code.and_then(|code| self.registry.schema(code));
        // If the registry uses the code of an error for another schema, the error is written with
        // the names of its fields.
        let own = own.filter(|own| message.schema_in(self.registry) == Some(own));
        let own = self.known(own);
        let below = below(own, &message.payload);
        let name = below.map(|(name, _)| name);
        if let Some(schema) = own {
            self.need(schema);
            self.out.push('(');
            self.cells(
                schema,
                &message.payload,
                &[],
                name,
                Some((intent, operation)),
            );
            self.out.push(')');
            let more = |key: &str| shape::index(schema, key).is_none();
            if message.payload.iter().any(|(key, _)| more(key)) {
                self.entries(&message.payload, more, name, true);
            }
        } else if !message.payload.is_empty() {
            self.entries(&message.payload, |_| true, name, true);
        }
        if let Some((name, said)) = below {
            self.out.push('\n');
            let start = self.out.len();
            text::write_below(&mut self.out, said, false);
            self.param(name, start);
        }
    }

    /// Notes that the value of the param stands from `start` to the end.
    fn param(&mut self, name: &str, start: usize) {
        self.params.push((name.into(), start..self.out.len()));
    }

    fn default_of(&self, schema: &'r Schema, at: usize, place: Place<'_>) -> Option<Value<'r>> {
        let default = default_of(schema, at, place);
        default.filter(|_| self.is_whole)
    }

    /// Returns the schema, unless its records must be written as maps.
    fn known(&self, schema: Option<&'r Schema>) -> Option<&'r Schema> {
        schema.filter(|schema| !self.without.contains(&schema.code))
    }

    /// Notes that the reader has to know the schema.
    fn need(&mut self, schema: &Schema) {
        if !self.codes.contains(&schema.code) {
            self.codes.push(schema.code.clone());
        }
    }

    fn value(&mut self, value: &Value<'_>) {
        match value {
            Value::String(text) if text::is_bare(text) => self.out.push_str(text),
            Value::String(text) => text::write_quoted(&mut self.out, text),
            Value::Array(items) => {
                if let Some(schema) = self.known(shape::of_all(self.registry, items)) {
                    return self.table(schema, items);
                }
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.value(item);
                }
                self.out.push(']');
            }
            Value::Map(map) => {
                if let Some(schema) = self.known(shape::of(self.registry, map)) {
                    self.need(schema);
                    self.out.push_str(&schema.code);
                    self.record(schema, map);
                } else {
                    self.entries(map, |_| true, None, false);
                }
            }
            other => self.out.push_str(&other.to_string()),
        }
    }

    fn record(&mut self, schema: &'r Schema, map: &Map<'_>) {
        self.out.push('(');
        self.cells(schema, map, &[], None, None);
        self.out.push(')');
    }

    /// Writes `{key:value,key:value}`.
    fn entries(
        &mut self,
        map: &Map<'_>,
        is_in: impl Fn(&str) -> bool,
        below: Option<&str>,
        is_frame: bool,
    ) {
        self.out.push('{');
        let mut first = true;
        for (key, value) in map.iter().filter(|(key, _)| is_in(key)) {
            if !std::mem::take(&mut first) {
                self.out.push(',');
            }
            if text::is_bare_key(key) {
                self.out.push_str(key);
            } else {
                text::write_quoted(&mut self.out, key);
            }
            self.out.push(':');
            if below == Some(key) {
                self.out.push(BELOW);
                continue;
            }
            let start = self.out.len();
            self.value(value);
            if is_frame {
                self.param(key, start);
            }
        }
        self.out.push('}');
    }

    /// Writes the cells of the columns that are not left out, without the empty cells at the end.
    fn cells(
        &mut self,
        schema: &'r Schema,
        map: &Map<'_>,
        left_out: &[usize],
        below: Option<&str>,
        place: Place<'_>,
    ) {
        let mut end = self.out.len();
        let mut first = true;
        for (at, field) in schema.fields.iter().enumerate() {
            let is_left_out = left_out.contains(&at);
            if is_left_out && self.is_whole {
                continue;
            }
            if !std::mem::take(&mut first) {
                self.out.push(',');
            }
            if is_left_out {
                continue;
            }
            let start = self.out.len();
            if below == Some(&*field.name) {
                self.out.push(BELOW);
            } else {
                let default = self.default_of(schema, at, place);
                self.cell(field, map.get(&field.name), default.as_ref());
                if place.is_some() {
                    self.param(&field.name, start);
                }
            }
            if self.out.len() > start {
                end = self.out.len();
            }
        }
        self.out.truncate(end);
    }

    fn cell(&mut self, field: &Field, value: Option<&Value<'_>>, default: Option<&Value<'_>>) {
        match value {
            None if default.is_some() => self.out.push_str(ABSENT),
            None => {}
            Some(value) if default == Some(value) => {}
            Some(value) => match (&field.ty, value) {
                (Type::Schema(code), Value::Map(map)) => {
                    let schema = self.known(self.registry.schema(code));
                    match schema.filter(|schema| shape::fits(schema, map)) {
                        Some(schema) => {
                            self.need(schema);
                            self.record(schema, map);
                        }
                        None => self.value(value),
                    }
                }
                _ => self.value(value),
            },
        }
    }

    /// Writes a list of records: the columns that are the same in all records, then a line for each record. In facts, a
    /// line has an empty cell for each of these columns. So each value of the line is at the place that the definition
    /// gives to its field. A model needs this, because it reads facts with the definition alone.
    fn table(&mut self, schema: &'r Schema, items: &[Value<'_>]) {
        self.need(schema);
        let rows = || {
            items.iter().filter_map(|item| match item {
                Value::Map(map) => Some(map),
                _ => None,
            })
        };
        self.out.push_str(&schema.code);
        self.out.push('[');
        let mut constant = Vec::new();
        for (at, field) in schema.fields.iter().enumerate() {
            let mut values = rows().map(|row| row.get(&field.name));
            let Some(Some(first)) = values.next() else {
                continue;
            };
            let is_default = self.default_of(schema, at, None).as_ref() == Some(first);
            if is_default || !values.all(|value| value == Some(first)) {
                continue;
            }
            if !constant.is_empty() {
                self.out.push(',');
            }
            self.out.push_str(shown(self.registry, field));
            self.out.push(':');
            self.cell(field, Some(first), None);
            constant.push(at);
        }
        for row in rows() {
            self.out.push('\n');
            self.cells(schema, row, &constant, None, None);
        }
        self.out.push(']');
    }
}

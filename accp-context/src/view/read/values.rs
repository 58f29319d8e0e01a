//! Values: scalars, lists, maps, records and tables.

use accp_registry::lexical::Literal;
use accp_registry::{Field, Schema, Type};

use super::Cursor;
use crate::view::shape::{Place, default_of};
use crate::view::text;
use crate::view::write::{ABSENT, BELOW};
use accp_frame::{DecodeError, DecodeOptions, Map, Reader, Value};

/// Characters that may follow a cell.
const CELL_ENDS: [char; 4] = [',', ')', ']', '\n'];

impl<'r> Cursor<'r, '_> {
    pub(super) fn value(&mut self, depth: usize) -> Result<Value<'static>, DecodeError> {
        if depth > accp_registry::Limits::MAX_DEPTH as usize {
            return self.expected("less nesting");
        }
        match self.rest().chars().next() {
            Some('"') => Ok(Value::from(self.quoted()?)),
            Some('[') => {
                self.at += 1;
                self.list(depth)
            }
            Some('{') => {
                self.at += 1;
                let mut map = Map::new();
                self.entries(&mut map, depth, false)?;
                Ok(Value::Map(map))
            }
            _ => self.word(depth),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value<'static>, DecodeError> {
        let mut items = Vec::new();
        if self.take(']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(']') {
                return Ok(Value::Array(items));
            }
            if !self.take(',') {
                return self.expected("',' or ']'");
            }
        }
    }

    /// Reads a scalar, a record or a table.
    fn word(&mut self, depth: usize) -> Result<Value<'static>, DecodeError> {
        let start = self.at;
        let word = self.until(|c| text::DELIMITERS.contains(&c));
        if self.take('(') {
            let schema = self.schema(word, start)?;
            return self.record(schema, depth);
        }
        if self.take('[') {
            let schema = self.schema(word, start)?;
            return self.table(schema, depth);
        }
        let literal = match word.chars().next() {
            Some('#' | '$' | '~') => {
                let options = DecodeOptions::default();
                let value = Reader::new(word, options).and_then(|mut r| {
                    let value = Value::read(&mut r)?;
                    r.finish()?;
                    Ok(value.into_owned())
                });
                value.ok()
            }
            _ => match Literal::classify(word) {
                Literal::Boolean(value) => Some(Value::Boolean(value)),
                Literal::Integer(value) => Some(Value::Integer(value)),
                Literal::Decimal(value) => Some(Value::Decimal(value)),
                _ if text::is_bare(word) => Some(Value::from(String::from(word))),
                _ => None,
            },
        };
        literal.map_or_else(
            || {
                self.at = start;
                self.expected("a value")
            },
            Ok,
        )
    }

    fn quoted(&mut self) -> Result<String, DecodeError> {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else {
            return self.expected("a text that ends with '\"'");
        };
        let Ok(text) = serde_json::from_str::<String>(&rest[..=end]) else {
            return self.expected("a JSON string");
        };
        self.at += end + 1;
        Ok(text)
    }

    /// Reads the entries of a map, up to its `}`.
    pub(super) fn entries(
        &mut self,
        map: &mut Map<'static>,
        depth: usize,
        is_frame: bool,
    ) -> Result<(), DecodeError> {
        if self.take('}') {
            return Ok(());
        }
        loop {
            let start = self.at;
            let key = if self.rest().starts_with('"') {
                self.quoted()?
            } else {
                String::from(self.until(|c| c == ':' || text::DELIMITERS.contains(&c)))
            };
            if !self.take(':') {
                return self.expected("':' behind a key");
            }
            if map.get(&key).is_some() {
                self.at = start;
                return self.expected("each key once");
            }
            if is_frame && self.take(BELOW) {
                self.is_below(&key)?;
            } else {
                let value = self.value(depth + 1)?;
                map.insert(key, value);
            }
            if self.take('}') {
                return Ok(());
            }
            if !self.take(',') {
                return self.expected("',' or '}'");
            }
        }
    }

    pub(super) fn is_below(&mut self, name: &str) -> Result<(), DecodeError> {
        if self.below.is_some() {
            return self.expected("one text below the line");
        }
        self.below = Some(name.into());
        Ok(())
    }

    fn record(&mut self, schema: &'r Schema, depth: usize) -> Result<Value<'static>, DecodeError> {
        let mut map = Map::new();
        self.cells(schema, &mut map, &Map::new(), depth, None)?;
        if !self.take(')') {
            return self.expected("',' or ')'");
        }
        Ok(Value::Map(map))
    }

    /// Reads the cells of a record or a row, up to the character that ends them.
    pub(super) fn cells(
        &mut self,
        schema: &'r Schema,
        map: &mut Map<'static>,
        left_out: &Map<'_>,
        depth: usize,
        place: Place<'_>,
    ) -> Result<(), DecodeError> {
        let is_in = |(_, field): &(usize, &Field)| left_out.get(&field.name).is_none();
        let mut fields = schema.fields.iter().enumerate().filter(is_in).peekable();
        let mut more = fields.peek().is_some();
        for (at, field) in fields {
            let rest = self.rest();
            if !more || rest.is_empty() || rest.starts_with(CELL_ENDS) {
                if let Some(default) = default_of(schema, at, place) {
                    map.insert(field.name.clone(), default.into_owned());
                }
            } else if place.is_some() && self.take(BELOW) {
                self.is_below(&field.name)?;
            } else if rest
                .strip_prefix(ABSENT)
                .is_some_and(|rest| rest.starts_with(CELL_ENDS))
            {
                self.at += ABSENT.len();
            } else {
                let value = self.cell(field, depth)?;
                map.insert(field.name.clone(), value);
            }
            more = more && self.take(',');
        }
        if more {
            return self.expected("no more values than the schema has fields");
        }
        Ok(())
    }

    /// Reads a value of this field. A record of the field's own schema has no code.
    fn cell(&mut self, field: &'r Field, depth: usize) -> Result<Value<'static>, DecodeError> {
        match &field.ty {
            Type::Schema(code) if self.rest().starts_with('(') => {
                let schema = self.schema(code, self.at)?;
                self.at += 1;
                self.record(schema, depth + 1)
            }
            _ => self.value(depth + 1),
        }
    }

    /// Reads a list of records, after its `[`.
    fn table(&mut self, schema: &'r Schema, depth: usize) -> Result<Value<'static>, DecodeError> {
        let mut constant = Map::new();
        while !self.rest().starts_with(['\n', ']']) {
            let start = self.at;
            let name = self.until(|c| c == ':' || text::DELIMITERS.contains(&c));
            let field = schema.field(name).map(|(_, field)| field);
            let Some(field) = field.filter(|_| self.take(':')) else {
                self.at = start;
                return self.expected("a field of the schema, and ':'");
            };
            let value = self.cell(field, depth)?;
            constant.insert(field.name.clone(), value);
            if !self.take(',') {
                break;
            }
        }
        let mut items = Vec::new();
        while self.take('\n') {
            let mut row = constant.clone();
            self.cells(schema, &mut row, &constant, depth + 1, None)?;
            items.push(Value::Map(row));
        }
        if !self.take(']') {
            return self.expected("a row, or ']'");
        }
        Ok(Value::Array(items))
    }
}

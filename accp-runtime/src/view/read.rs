//! From a view back to messages and values.

use alloc::string::String;
use alloc::vec::Vec;

use accp_registry::lexical::Literal;
use accp_registry::{ErrorCode, Field, Intent, Registry, Schema, Type};

use super::write::{ABSENT, BELOW, Place, SPOKEN, default_of, definition, spoken_payload};
use super::{FACTS, PRIMER, shape, text};
use crate::{AgentId, DecodeError, DecodeOptions, Envelope, Map, Message, Reader, Value};

pub(super) fn blocks(
    registry: &Registry,
    text: &str,
) -> Result<Vec<Message<'static>>, DecodeError> {
    let mut messages = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(PRIMER) {
            at += PRIMER.len();
            continue;
        }
        if !rest.starts_with('@') {
            return Err(expected(at, "a block, which begins with '@'"));
        }
        let end = rest.find("\n@").map_or(rest.len(), |end| end + 1);
        let block = &rest[..end];
        let block = block.strip_suffix('\n').unwrap_or(block);
        let mut cursor = Cursor::new(registry, block, at);
        if block.starts_with("@=") {
            cursor.definition()?;
        } else if !block.starts_with(FACTS) {
            messages.push(cursor.message()?);
        }
        at += end;
    }
    Ok(messages)
}

pub(super) fn value(registry: &Registry, text: &str) -> Result<Value<'static>, DecodeError> {
    let mut cursor = Cursor::new(registry, text, 0);
    let value = cursor.value(0)?;
    cursor.end()?;
    Ok(value)
}

/// What stands behind a cell.
const CELL_ENDS: [char; 4] = [',', ')', ']', '\n'];

fn expected(at: usize, what: &'static str) -> DecodeError {
    DecodeError::new(ErrorCode::PARSE_ERROR, at, what)
}

struct Cursor<'r, 't> {
    registry: &'r Registry,
    text: &'t str,
    at: usize,
    /// Where the text begins in the whole.
    offset: usize,
    /// The param whose text stands below the line.
    below: Option<String>,
}

impl<'r, 't> Cursor<'r, 't> {
    fn new(registry: &'r Registry, text: &'t str, offset: usize) -> Self {
        Self {
            registry,
            text,
            at: 0,
            offset,
            below: None,
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn expected<T>(&self, what: &'static str) -> Result<T, DecodeError> {
        Err(expected(self.offset + self.at, what))
    }

    fn take(&mut self, mark: char) -> bool {
        let is_next = self.rest().starts_with(mark);
        self.at += if is_next { mark.len_utf8() } else { 0 };
        is_next
    }

    fn end(&self) -> Result<(), DecodeError> {
        if self.rest().is_empty() {
            return Ok(());
        }
        self.expected("the end")
    }

    /// Up to one of these, which is not taken.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn schema(&self, code: &str, at: usize) -> Result<&'r Schema, DecodeError> {
        self.registry.schema(code).ok_or_else(|| {
            let what = "the code of a schema that is known";
            DecodeError::new(ErrorCode::UNKNOWN_SCHEMA, self.offset + at, what)
        })
    }

    fn definition(&mut self) -> Result<(), DecodeError> {
        self.at = 2;
        let code = self.until(|c| c == '(');
        let own = definition(self.registry, self.schema(code, 2)?);
        if own.trim_end_matches('\n') == self.text {
            return Ok(());
        }
        let what = "the fields of the schema of this code";
        Err(DecodeError::new(ErrorCode::INVALID_TYPE, self.offset, what))
    }

    fn message(&mut self) -> Result<Message<'static>, DecodeError> {
        self.at = 1;
        let agent = self.until(|c| matches!(c, '>' | ':' | '?' | '\n' | ' '));
        let name = AgentId::new(String::from(agent));
        let Ok(name) = name else {
            self.at = 1;
            return self.expected("an agent, and '>', ':' or '?' behind it");
        };
        for (intent, operation, mark) in SPOKEN {
            if !self.take(mark) {
                continue;
            }
            let Some(schema) = shape::implied(self.registry, intent, operation) else {
                return self.expected("a registry with the schema of chat");
            };
            if !self.take(' ') {
                return self.expected("a space, and what is said");
            }
            let said = text::read_below(self.rest(), true);
            let payload = spoken_payload(schema, agent, mark, &said, Some((intent, operation)));
            return self.made(name, intent, operation, Some(&schema.code), payload);
        }
        if !self.take('>') {
            return self.expected("'>', ':' or '?' behind the agent");
        }
        let intent = self.until(|c| matches!(c, ':' | '\n'));
        if !self.take(':') {
            return self.expected("':' and an operation");
        }
        let operation = self.until(|c| matches!(c, ' ' | '(' | '{' | '\n'));
        let at = self.at + 1;
        let code = self
            .take(' ')
            .then(|| self.until(|c| matches!(c, '(' | '{' | '\n')));
        let mut payload = Map::new();
        if self.rest().starts_with('(') {
            let Some(code) = code else {
                return self.expected("'{', because no schema is named");
            };
            let schema = self.schema(code, at)?;
            self.at += 1;
            self.cells(
                schema,
                &mut payload,
                &Map::new(),
                0,
                Some((intent, operation)),
            )?;
            if !self.take(')') {
                return self.expected("')'");
            }
        }
        if self.take('{') {
            self.entries(&mut payload, 0, true)?;
        }
        if let Some(name) = self.below.take() {
            if !self.take('\n') {
                return self.expected("the end of the line, and a text below it");
            }
            let said = text::read_below(self.rest(), false);
            payload.insert(name, Value::from(said));
        } else {
            self.end()?;
        }
        self.made(name, intent, operation, code, payload)
    }

    fn made(
        &self,
        agent: AgentId<'static>,
        intent: &str,
        operation: &str,
        code: Option<&str>,
        payload: Map<'static>,
    ) -> Result<Message<'static>, DecodeError> {
        let at = self.offset + 2 + agent.as_str().len();
        let Some(intent) = Intent::lookup(intent) else {
            let what = "an intent of the draft (section 4.1)";
            return Err(DecodeError::new(ErrorCode::INVALID_INTENT, at, what));
        };
        if !accp_registry::lexical::is_key(operation) {
            return Err(expected(at, "an operation"));
        }
        Ok(Message {
            agent,
            intent,
            operation: String::from(operation).into(),
            schema: code.map(|code| String::from(code).into()),
            payload,
            envelope: Envelope::default(),
        })
    }

    fn value(&mut self, depth: usize) -> Result<Value<'static>, DecodeError> {
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

    /// A scalar, a record or a table.
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

    /// The entries of a map, up to its `}`.
    fn entries(
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

    fn is_below(&mut self, name: &str) -> Result<(), DecodeError> {
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

    /// The cells of a record, or of a row, up to what ends them.
    fn cells(
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

    /// A value of this field; a record of its own schema goes without the code.
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

    /// A list of records, behind its `[`.
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

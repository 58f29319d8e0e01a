//! Reading of views.

mod lenient;
mod members;
mod mistake;
mod prose;
mod spelling;
mod values;

use accp_registry::lexical::is_key;
use accp_registry::view::{SPOKEN, implied};
use accp_registry::{ErrorCode, Intent, Registry, Schema, Type, nearest};

use self::members::Members;
pub use self::mistake::Mistake;
pub(super) use self::prose::lenient_blocks;
use super::fault::{Unplaced, ViewError};
use super::spoken::spoken_payload;
use super::write::definition;
use super::{FACTS, PRIMER, text};
use accp_frame::{AgentId, Envelope, Map, Message, Repair, Value};

/// The key under which a frame has the code of its schema.
const SCHEMA: &str = "schema";

pub(super) fn blocks(registry: &Registry, text: &str) -> Result<Vec<Message<'static>>, ViewError> {
    let (mut messages, mut faults) = (Vec::new(), Vec::new());
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(PRIMER) {
            at += PRIMER.len();
            continue;
        }
        let end = rest.find("\n@").map_or(rest.len(), |end| end + 1);
        let block = &rest[..end];
        let block = block.strip_suffix('\n').unwrap_or(block);
        count += usize::from(block.starts_with('@'));
        let mut cursor = Cursor::new(registry, block, at, count);
        messages.extend(cursor.block().ok().flatten());
        faults.append(&mut cursor.faults);
        at += end;
    }
    ViewError::check(text, faults).map(|()| messages)
}

pub(super) fn value(registry: &Registry, text: &str) -> Result<Value<'static>, ViewError> {
    let mut cursor = Cursor::new(registry, text, 0, 1);
    let value = cursor.value(&members::ANY, 0);
    let value = value.and_then(|value| cursor.end().map(|()| value));
    ViewError::check(text, cursor.faults)?;
    // Without a fault there is a value.
    Ok(value.unwrap_or(Value::Null))
}

/// The form is broken, and the cursor has the fault: the rest of the block cannot be read.
#[derive(Debug)]
struct Broken;

struct Cursor<'r, 't> {
    registry: &'r Registry,
    text: &'t str,
    at: usize,
    /// The offset of this block in the whole text.
    offset: usize,
    /// The number of this block in the whole text, from 1.
    count: usize,
    /// The field that is being read.
    path: String,
    /// The param whose text stands below the line, and its type.
    below: Option<(String, &'r Type)>,
    faults: Vec<Unplaced>,
    /// Whether the lines are rows.
    is_in_table: bool,
    /// The repairs that were made; `None` for the strict reader, which makes none.
    repairs: Option<Vec<Repair<Mistake>>>,
}

impl<'r, 't> Cursor<'r, 't> {
    fn new(registry: &'r Registry, text: &'t str, offset: usize, count: usize) -> Self {
        Self {
            registry,
            text,
            at: 0,
            offset,
            count,
            path: String::new(),
            below: None,
            faults: Vec::new(),
            is_in_table: false,
            repairs: None,
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Notes a fault of the value at `at`; reading goes on.
    fn fault(&mut self, code: ErrorCode, at: usize, expected: impl Into<String>) {
        self.faults.push(Unplaced {
            code,
            at: self.offset + at,
            block: self.count,
            path: self.path.clone(),
            expected: expected.into(),
        });
    }

    fn broken<T>(
        &mut self,
        code: ErrorCode,
        at: usize,
        what: impl Into<String>,
    ) -> Result<T, Broken> {
        self.fault(code, at, what);
        Err(Broken)
    }

    fn expected<T>(&mut self, what: &str) -> Result<T, Broken> {
        self.broken(ErrorCode::PARSE_ERROR, self.at, what)
    }

    /// Reads the value of a field, or of an item.
    fn within<T>(&mut self, field: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if length > 0 && !field.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(field);
        let read = read(self);
        self.path.truncate(length);
        read
    }

    fn take(&mut self, mark: char) -> bool {
        let is_next = self.rest().starts_with(mark);
        self.at += if is_next { mark.len_utf8() } else { 0 };
        is_next
    }

    fn end(&mut self) -> Result<(), Broken> {
        if self.rest().is_empty() || self.ends_the_line() {
            return Ok(());
        }
        self.expected("the end")
    }

    /// Takes the text up to the first character that ends it; that character is not taken.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn schema(&mut self, code: &str, at: usize) -> Result<&'r Schema, Broken> {
        if let Some(schema) = self.registry.schema(code) {
            return Ok(schema);
        }
        let codes = || self.registry.schemas().map(|schema| schema.code.as_str());
        let near = nearest(code, codes()).map(|near| format!("; did you mean {near}?"));
        let codes = codes().collect::<Vec<_>>().join(", ");
        let what = format!("the code of a schema: {codes}{}", near.unwrap_or_default());
        self.broken(ErrorCode::UNKNOWN_SCHEMA, at, what)
    }

    /// Reads a block: a message, or `None` for a definition or facts.
    fn block(&mut self) -> Result<Option<Message<'static>>, Broken> {
        if self.text.starts_with("@=") {
            return self.definition().map(|()| None);
        }
        if self.text.starts_with(FACTS) {
            return Ok(None);
        }
        if !self.take('@') && !self.lacks_the_mark() {
            return self.expected("a block, which begins with '@'");
        }
        self.message().map(Some)
    }

    fn definition(&mut self) -> Result<(), Broken> {
        self.at = 2;
        let code = self.until(|c| c == '(');
        let schema = self.schema(code, 2)?;
        let own = definition(self.registry, schema);
        let own = own.trim_end_matches('\n');
        if own == self.text || self.defines(own) {
            return Ok(());
        }
        let what = format!("the definition of this schema: {own}");
        self.broken(ErrorCode::INVALID_TYPE, 0, what)
    }

    fn message(&mut self) -> Result<Message<'static>, Broken> {
        let agent = self.until(|c| matches!(c, '>' | ':' | '?' | '\n' | ' '));
        let name = AgentId::new(String::from(agent));
        let Ok(name) = name else {
            self.at = 1;
            return self.expected("an agent, and '>', ':' or '?' behind it");
        };
        self.trailing();
        for (intent, operation, mark) in SPOKEN {
            if !self.take(mark) {
                continue;
            }
            let Some(schema) = implied(self.registry, intent, operation) else {
                return self.expected("a registry with the schema of chat");
            };
            if !self.take(' ') && !self.lacks_a_space() {
                return self.expected("a space, and what is said");
            }
            let said = text::read_below(self.rest(), true);
            self.at = self.text.len();
            let payload = spoken_payload(schema, agent, mark, &said, Some((intent, operation)));
            self.required(schema, &[intent, operation], &payload);
            return self.made(name, intent, operation, Some(&schema.code), payload);
        }
        if !self.take('>') {
            return self.expected("'>', ':' or '?' behind the agent");
        }
        self.trailing();
        let intent = self.until(|c| matches!(c, ':' | '\n'));
        let intent = self.intent(intent);
        if !self.take(':') {
            return self.expected("':' and an operation");
        }
        self.trailing();
        let operation = self.until(|c| matches!(c, ' ' | '(' | '{' | '\n'));
        let at = self.at + 1;
        let code = self
            .take(' ')
            .then(|| self.until(|c| matches!(c, '(' | '{' | '\n')));
        let code = self.code(code, at, [intent, operation]);
        let code = code.as_deref();
        if code.is_some_and(|code| !is_key(code)) {
            self.at = at;
            return self.expected("the code of a schema");
        }
        let payload = self.within(code.unwrap_or_default(), |cursor| {
            cursor.payload(code, at, [intent, operation])
        })?;
        self.made(name, intent, operation, code, payload)
    }

    /// Reads the params of a frame, to the end of the block.
    fn payload(
        &mut self,
        code: Option<&str>,
        at: usize,
        head: [&str; 2],
    ) -> Result<Map<'static>, Broken> {
        let mut payload = Map::new();
        let schema = code.and_then(|code| self.registry.schema_of(code, &head));
        let members = schema.map_or(members::UNTYPED, Members::Of);
        if self.rest().starts_with('(') {
            let Some(code) = code else {
                return self.expected("'{', because no schema is named");
            };
            let schema = self.schema(code, at)?;
            self.at += 1;
            let place = Some((head[0], head[1]));
            self.cells(schema, members, &mut payload, &Map::new(), 0, place)?;
            if !self.take(')') {
                return self.expected("')'");
            }
        }
        if self.take('{') {
            self.entries(members, &mut payload, 0, true)?;
        }
        let at = self.at.saturating_sub(1);
        if payload.get(SCHEMA).is_some() {
            let what = "the schema behind the operation, as req:schedule TA{key:value}";
            return self.broken(ErrorCode::PARSE_ERROR, at, what);
        }
        if let Some((name, ty)) = self.below.take() {
            self.trailing();
            if !self.take('\n') {
                return self.expected("the end of the line, and a text below it");
            }
            let start = self.at;
            let said = text::read_below(self.rest(), false);
            self.at = self.text.len();
            let said = self.within(&name, |cursor| cursor.string(start, &said, ty, true));
            payload.insert(name, said);
        } else {
            self.end()?;
        }
        if let Some(schema) = schema {
            self.required_at(at, schema, &head, &payload);
        }
        Ok(payload)
    }

    fn made(
        &mut self,
        agent: AgentId<'static>,
        intent: &str,
        operation: &str,
        code: Option<&str>,
        payload: Map<'static>,
    ) -> Result<Message<'static>, Broken> {
        let at = 2 + agent.as_str().len();
        let Some(intent) = Intent::lookup(intent) else {
            let intents = Intent::ALL.iter().map(|intent| intent.as_str());
            let what = format!("an intent: {}", intents.collect::<Vec<_>>().join(", "));
            return self.broken(ErrorCode::INVALID_INTENT, at, what);
        };
        if !is_key(operation) {
            return self.broken(ErrorCode::PARSE_ERROR, at, "an operation");
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
}

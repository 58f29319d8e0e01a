//! Reading of views.

mod values;

use accp_registry::lexical::is_key;
use accp_registry::{ErrorCode, Intent, Registry, Schema};

use super::spoken::{SPOKEN, spoken_payload};
use super::write::definition;
use super::{FACTS, PRIMER, shape, text};
use accp_frame::{AgentId, DecodeError, Envelope, Map, Message, Value};

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

fn expected(at: usize, what: &'static str) -> DecodeError {
    DecodeError::new(ErrorCode::PARSE_ERROR, at, what)
}

struct Cursor<'r, 't> {
    registry: &'r Registry,
    text: &'t str,
    at: usize,
    /// The offset of this block in the whole text.
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

    /// Takes the text up to the first character that ends it; that character is not taken.
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
        if code.is_some_and(|code| !is_key(code)) {
            self.at = at;
            return self.expected("the code of a schema");
        }
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
        if !is_key(operation) {
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
}

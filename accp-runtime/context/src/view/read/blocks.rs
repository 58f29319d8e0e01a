//! Reads blocks: chat, frames and definitions.

use accp_frame::{AgentId, DynamicFrame, Envelope, Map, Value};
use accp_registry::lexical::is_key;
use accp_registry::view::{SPOKEN, implied};
use accp_registry::{ErrorCode, Intent, Registry, Schema, nearest};

use super::cursor::{Broken, Cursor};
use super::members::{self, Members};
use crate::view::block::{FACTS, PRIMER};
use crate::view::fault::ViewError;
use crate::view::spoken::spoken_payload;
use crate::view::text;
use crate::view::write::definition;

/// The key under which a frame has the code of its schema.
const SCHEMA: &str = "schema";

pub(in crate::view) fn blocks(
    registry: &Registry,
    text: &str,
) -> Result<Vec<DynamicFrame<'static>>, ViewError> {
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

pub(in crate::view) fn value(registry: &Registry, text: &str) -> Result<Value<'static>, ViewError> {
    let mut cursor = Cursor::new(registry, text, 0, 1);
    let value = cursor.value(&members::ANY, 0);
    let value = value.and_then(|value| cursor.end().map(|()| value));
    ViewError::check(text, cursor.faults)?;
    // Without a fault there is a value, so this null is never returned.
    Ok(value.unwrap_or(Value::Null))
}

impl<'r> Cursor<'r, '_> {
    pub(super) fn schema(&mut self, code: &str, at: usize) -> Result<&'r Schema, Broken> {
        if let Some(schema) = self.registry.schema(code) {
            let Some((_, tag)) = schema.tag() else {
                return Ok(schema);
            };
            let names = schema.variants.iter().map(|variant| variant.head.concat());
            let names = names.collect::<Vec<_>>().join("|");
            let what = format!(
                "a record of {code} with its keys, as in {{{}:{names}}}",
                tag.name
            );
            return self.broken(ErrorCode::INVALID_TYPE, at, what);
        }
        let codes = || self.registry.schemas().map(|schema| schema.code.as_str());
        let near = nearest(code, codes()).map(|near| format!("; did you mean {near}?"));
        let codes = codes().collect::<Vec<_>>().join(", ");
        let what = format!("the code of a schema: {codes}{}", near.unwrap_or_default());
        self.broken(ErrorCode::UNKNOWN_SCHEMA, at, what)
    }

    /// Reads a block: a message, or `None` for a definition or facts.
    pub(super) fn block(&mut self) -> Result<Option<DynamicFrame<'static>>, Broken> {
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
        let code = self.until(|c| matches!(c, '(' | '{'));
        let schema = match self.registry.schema(code) {
            Some(schema) => schema,
            None => self.schema(code, 2)?,
        };
        let own = definition(self.registry, schema);
        let own = own.trim_end_matches('\n');
        if own == self.text || self.defines(own) {
            return Ok(());
        }
        let what = format!("the definition of this schema: {own}");
        self.broken(ErrorCode::INVALID_TYPE, 0, what)
    }

    fn message(&mut self) -> Result<DynamicFrame<'static>, Broken> {
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
    ) -> Result<DynamicFrame<'static>, Broken> {
        let at = 2 + agent.as_str().len();
        let Some(intent) = Intent::lookup(intent) else {
            let intents = Intent::ALL.iter().map(|intent| intent.as_str());
            let what = format!("an intent: {}", intents.collect::<Vec<_>>().join(", "));
            return self.broken(ErrorCode::INVALID_INTENT, at, what);
        };
        if !is_key(operation) {
            return self.broken(ErrorCode::PARSE_ERROR, at, "an operation");
        }
        Ok(DynamicFrame {
            agent,
            intent,
            operation: String::from(operation).into(),
            schema: code.map(|code| String::from(code).into()),
            payload,
            envelope: Envelope::default(),
        })
    }
}

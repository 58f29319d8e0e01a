//! Blocks that show how to write.

use accp_registry::{FrameSpec, Registry, Schema, Type};

use super::super::{View, shape, spoken, write};
use accp_frame::{Decimal, Map, Message, Value};

/// Who writes them.
const AGENT: &str = "me";

/// What one says, a record by position, and texts that have to be quoted or stand below. Those
/// of which the registry has no frame are left out.
pub(super) fn all(view: &View, schemas: &[&Schema]) -> Vec<String> {
    let registry = view.registry();
    let frames = schemas.iter().flat_map(|schema| {
        let frames = schema.frames.iter();
        frames.filter_map(|frame| record(registry, schema, frame))
    });
    let blocks = |message: Message<'static>| view.block(&message).text;
    // Position shows where there are two values.
    let record = frames
        .map(blocks)
        .min_by_key(|block| (!block.contains(','), block.len()));
    let chat = chat(registry).map(blocks).into_iter();
    chat.chain(record).chain(texts().map(blocks)).collect()
}

/// `@me: text`
fn chat(registry: &Registry) -> Option<Message<'static>> {
    let (intent, operation, mark) = spoken::SPOKEN[0];
    let schema = shape::implied(registry, intent, operation)?;
    let place = Some((intent, operation));
    let payload = spoken::spoken_payload(schema, AGENT, mark, "text", place);
    let mut message = Message::new(AGENT, intent, operation).ok()?;
    message = message.under(schema.code.clone());
    message.payload = payload;
    // Peers refuse it where their schema needs more than words.
    let mut needed = schema.required(&[intent, operation]);
    let is_whole = needed.all(|name| message.payload.get(name).is_some());
    (is_whole && spoken::words_of(schema).is_some()).then_some(message)
}

/// `@me>done:execute TA(,task)`: what such a frame needs but its envelope, else its first
/// field, each with its name for a value.
fn record(registry: &Registry, schema: &Schema, frame: &FrameSpec) -> Option<Message<'static>> {
    let place = (frame.intent(), frame.operation());
    if spoken::SPOKEN
        .iter()
        .any(|spoken| (spoken.0, spoken.1) == place)
    {
        return None;
    }
    let mut names: Vec<&str> = schema.required(&[place.0, place.1]).collect();
    if names.is_empty() {
        names.push(&schema.fields.first()?.name);
    }
    let mut payload = Map::new();
    for (at, field) in schema.fields.iter().enumerate() {
        let value = if names.contains(&&*field.name) {
            value(&field.ty, write::shown(registry, field))?
        } else if let Some(default) = shape::default_of(schema, at, Some(place)) {
            default.into_owned()
        } else {
            continue;
        };
        payload.insert(field.name.clone(), value);
    }
    let message = Message::new(AGENT, place.0, String::from(place.1)).ok()?;
    let mut message = message.under(schema.code.clone());
    message.payload = payload;
    Some(message)
}

/// A text that is no number, and one of two lines.
fn texts() -> Option<Message<'static>> {
    let message = Message::new(AGENT, "req", "op").ok()?.with("a", "12");
    Some(message.with("b", "Long text with\n@ for leading @"))
}

/// Some value of a type; none of a schema, which would need values of its own.
fn value(ty: &Type, name: &str) -> Option<Value<'static>> {
    Some(match ty {
        Type::String | Type::Text | Type::Agent | Type::Any => Value::from(String::from(name)),
        Type::Integer => Value::Integer(1),
        Type::Decimal | Type::Number => Value::Decimal("1.5".parse::<Decimal>().ok()?),
        Type::Boolean => Value::Boolean(true),
        Type::Enum(values) => Value::from(values.first()?.name.clone()),
        Type::List(_) => Value::Array(Vec::new()),
        Type::Map(_) => Value::Map(Map::new()),
        _ => return None,
    })
}

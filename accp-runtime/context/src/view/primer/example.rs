//! Example blocks for writers.

use accp_registry::view::{SPOKEN, implied, words_of};
use accp_registry::{FrameSpec, Registry, Schema, Type};

use crate::view::codec::View;
use crate::view::{shape, spoken, write};
use accp_frame::{Decimal, DynamicFrame, Map, Value};

/// The agent that writes the examples.
const AGENT: &str = "me";

/// Returns the examples: a chat frame, a record by position, and texts that are quoted or stand
/// below the line. An example is left out if the registry has no frame for it.
pub(super) fn all(view: &View, schemas: &[&Schema]) -> Vec<String> {
    let registry = view.registry();
    let frames = schemas.iter().flat_map(|schema| {
        let frames = schema.frames.iter();
        frames.filter_map(|frame| record(registry, schema, frame))
    });
    let blocks = |message: DynamicFrame<'static>| view.block(&message).text;
    // Prefers a block with a comma: only two or more values show that their positions matter.
    let record = frames
        .map(blocks)
        .min_by_key(|block| (!block.contains(','), block.len()));
    let chat = chat(registry).map(blocks).into_iter();
    chat.chain(record).chain(texts().map(blocks)).collect()
}

/// Makes `@me: text`.
fn chat(registry: &Registry) -> Option<DynamicFrame<'static>> {
    let (intent, operation, mark) = SPOKEN[0];
    let schema = implied(registry, intent, operation)?;
    let place = Some((intent, operation));
    let payload = spoken::spoken_payload(schema, AGENT, mark, "text", place);
    let mut message = DynamicFrame::new(AGENT, intent, operation).ok()?;
    message = message.under(schema.code.clone());
    message.payload = payload;
    // A schema that requires more than the text gets no example, because peers would refuse the
    // frame.
    let mut needed = schema.required(&[intent, operation]);
    let is_whole = needed.all(|name| message.payload.get(name).is_some());
    (is_whole && words_of(schema).is_some()).then_some(message)
}

/// Makes `@me>done:execute TA(,task)`: a frame with its required fields, or with its first field if it requires none.
/// The value of a field is the name of the field, if its type allows this.
fn record(
    registry: &Registry,
    schema: &Schema,
    frame: &FrameSpec,
) -> Option<DynamicFrame<'static>> {
    let place = (frame.intent(), frame.operation());
    if SPOKEN.iter().any(|spoken| (spoken.0, spoken.1) == place) {
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
    let message = DynamicFrame::new(AGENT, place.0, String::from(place.1)).ok()?;
    let mut message = message.under(schema.code.clone());
    message.payload = payload;
    Some(message)
}

/// Makes a text that looks like a number, and a text of two lines.
fn texts() -> Option<DynamicFrame<'static>> {
    let message = DynamicFrame::new(AGENT, "req", "op").ok()?.with("a", "12");
    Some(message.with("b", "Long text with\n@ for leading @"))
}

/// Returns an example value of a type: `name` if the type allows it. Returns `None` for a schema, because a record
/// would need values for its own fields.
fn value(ty: &Type, name: &str) -> Option<Value<'static>> {
    Some(match ty {
        Type::String | Type::Text | Type::Agent | Type::Any => Value::from(String::from(name)),
        Type::Integer => Value::Integer(1),
        Type::Decimal | Type::Number => Value::Decimal("1.5".parse::<Decimal>().ok()?),
        Type::Boolean => Value::Boolean(true),
        Type::Formatted(format) => Value::from(String::from(format.example())),
        Type::Enum(values) => Value::from(values.first()?.name.clone()),
        Type::List(_) => Value::Array(Vec::new()),
        Type::Map(_) => Value::Map(Map::new()),
        _ => return None,
    })
}

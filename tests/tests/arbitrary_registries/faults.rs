//! Frames with one fault each, made from a frame without faults.

use accp_registry::{Registry, Schema, Type};
use accp_runtime::{DynamicFrame, EncodeOptions, Frame, Limits, Map, Value};
use accp_tests::messages;
use serde_json::json;

use crate::codec::inline;

/// A fault of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Missing,
    Null,
    WrongType,
    Envelope,
    Schema,
    Intent,
    Twice,
    /// A record of a union whose tag names no variant, or is missing.
    Tag,
    /// A record of a union with a field of another variant.
    Foreign,
    Elements,
    Bytes,
    Depth,
}

impl Fault {
    pub(crate) const ALL: [Self; 12] = [
        Self::Missing,
        Self::Null,
        Self::WrongType,
        Self::Envelope,
        Self::Schema,
        Self::Intent,
        Self::Twice,
        Self::Tag,
        Self::Foreign,
        Self::Elements,
        Self::Bytes,
        Self::Depth,
    ];
}

/// A frame with a fault.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) fault: Fault,
    pub(crate) text: String,
    /// The same frame as a message, if a message can have the fault.
    pub(crate) message: Option<DynamicFrame<'static>>,
}

/// A reference in the place of a value, which may be of any type. The text around the reference does not change
/// when another value replaces the reference.
const HOLE: &str = "HOLE.HOLE.HOLE";

/// A place in a payload that has a type.
struct Place<'r> {
    path: Vec<Step>,
    ty: &'r Type,
    /// The key of the field on the wire, if the frame requires the field.
    required: Option<&'r str>,
    /// Whether the place holds an item of a list or of a map.
    is_item: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(usize),
}

/// Returns every frame that has exactly one fault. The message itself has no fault.
pub(crate) fn faulty(message: &DynamicFrame<'static>, registry: &Registry) -> Vec<Faulty> {
    let Some(text) = written(message, registry) else {
        return Vec::new();
    };
    let code = message.schema.as_deref().unwrap();
    let schema = registry.schema(code).unwrap();
    let head = [message.intent.as_str(), &*message.operation];
    let mut places = Vec::new();
    record(&message.payload, schema, &head, registry, &[], &mut places);
    let mut all = Vec::new();
    let open = without_unions(registry);
    for place in &places {
        in_place(message, place, registry, &mut all);
        in_union(message, place, registry, &open, &mut all);
    }
    envelope(message, schema, registry, &mut all);
    all.push(Faulty {
        fault: Fault::Schema,
        text: text.replace(&format!("schema:{code}}}"), "schema:UNKNOWN}"),
        message: Some(message.clone().under("UNKNOWN")),
    });
    all.push(Faulty {
        fault: Fault::Intent,
        text: text.replacen(&format!(">{}:", head[0]), ">ask:", 1),
        message: None,
    });
    all.push(Faulty {
        fault: Fault::Twice,
        text: text.replacen('{', "{zz:1|zz:1|", 1),
        message: None,
    });
    over(message, registry, &mut all);
    all
}

/// Returns the text of a message, if it is within the limits.
fn written(message: &DynamicFrame<'static>, registry: &Registry) -> Option<String> {
    message.encode_with(registry, inline()).ok()
}

/// Notes the places of the fields of a record.
fn record<'r>(
    map: &Map<'_>,
    schema: &'r Schema,
    head: &[&str],
    registry: &'r Registry,
    path: &[Step],
    out: &mut Vec<Place<'r>>,
) {
    for (name, value) in map.iter() {
        let Some((_, field)) = schema.field(name) else {
            continue;
        };
        let required = schema.requires(field, head).then_some(field.short.as_str());
        let place = Place {
            path: [path, &[Step::Key(name.to_owned())]].concat(),
            ty: &field.ty,
            required,
            is_item: false,
        };
        inside(value, place, registry, out);
    }
}

/// Notes a place, and the places inside its value.
fn inside<'r>(
    value: &Value<'_>,
    place: Place<'r>,
    registry: &'r Registry,
    out: &mut Vec<Place<'r>>,
) {
    let item = |step, ty| Place {
        path: [&place.path[..], &[step]].concat(),
        ty,
        required: None,
        is_item: true,
    };
    match (value, place.ty) {
        (Value::Array(items), Type::List(ty)) => {
            for (index, value) in items.iter().enumerate() {
                inside(value, item(Step::Index(index), ty), registry, out);
            }
        }
        (Value::Map(map), Type::Map(ty)) => {
            for (key, value) in map.iter() {
                inside(value, item(Step::Key(key.to_owned()), ty), registry, out);
            }
        }
        (Value::Map(map), Type::Schema(code)) => {
            let schema = registry.schema(code).unwrap();
            let head = messages::variant_of(map, schema);
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            record(map, schema, &head, registry, &place.path, out);
        }
        _ => {}
    }
    out.push(place);
}

/// Adds the faults that the value in a place may have.
fn in_place(
    message: &DynamicFrame<'static>,
    place: &Place<'_>,
    registry: &Registry,
    out: &mut Vec<Faulty>,
) {
    let hole = format!("${HOLE}");
    let reference = Value::Ref(HOLE.into());
    let Some(text) = written(&with(message, &place.path, Some(reference)), registry) else {
        return;
    };
    for wrong in wrong(place.ty) {
        let text = text.replace(&hole, &wrong.to_string());
        // If the value is a list, it may be nested one level too deep, which is another fault.
        if Frame::parse(&text).is_err() {
            continue;
        }
        out.push(Faulty {
            fault: Fault::WrongType,
            text,
            message: Some(with(message, &place.path, Some(wrong))),
        });
    }
    if place.required.is_some() || place.is_item && !place.ty.holds_null() {
        out.push(Faulty {
            fault: Fault::Null,
            text: text.replace(&hole, "~"),
            message: Some(with(message, &place.path, Some(Value::Null))),
        });
    }
    let Some(short) = place.required else {
        return;
    };
    out.push(Faulty {
        fault: Fault::Missing,
        text: without(&text, &format!("{short}:{hole}")),
        message: Some(with(message, &place.path, None)),
    });
}

/// Returns the registry in which each record may have all its fields, and any text as its tag.
fn without_unions(registry: &Registry) -> Registry {
    let mut json = registry.to_json();
    for schema in json["schemas"].as_object_mut().unwrap().values_mut() {
        let schema = schema.as_object_mut().unwrap();
        schema.remove("variants");
        if let Some(tag) = schema.remove("union") {
            schema.entry("types").or_insert_with(|| json!({}))[tag.as_str().unwrap()] =
                "any".into();
        }
    }
    Registry::from_json(&json.to_string()).unwrap()
}

/// Adds the faults that a record of a union may have.
fn in_union(
    message: &DynamicFrame<'static>,
    place: &Place<'_>,
    registry: &Registry,
    open: &Registry,
    out: &mut Vec<Faulty>,
) {
    let schema = place
        .ty
        .schema_code()
        .filter(|_| matches!(place.ty, Type::Schema(_)));
    let schema = schema.and_then(|code| registry.schema(code));
    let Some((schema, (_, tag))) = schema.and_then(|schema| Some((schema, schema.tag()?))) else {
        return;
    };
    let Some(Value::Map(map)) = at(&message.payload, &place.path) else {
        return;
    };
    let mut add = |fault, name: &str, value| {
        let path = [&place.path[..], &[Step::Key(name.to_owned())]].concat();
        let message = with(message, &path, value);
        // The map may nest too deep, which is another fault.
        if let Some(text) = written(&message, open) {
            out.push(Faulty {
                fault,
                text,
                message: Some(message),
            });
        }
    };
    for wrong in [
        None,
        Some(Value::Null),
        Some("unlisted".into()),
        Some(Value::Ref("x".into())),
    ] {
        add(Fault::Tag, &tag.name, wrong);
    }
    let name = messages::variant_of(map, schema).unwrap();
    let variant = schema.frame(&[name]).unwrap();
    for field in schema
        .fields
        .iter()
        .filter(|field| !variant.is_about(&field.name))
    {
        for value in [Value::Null, Value::Ref("x".into())] {
            add(Fault::Foreign, &field.name, Some(value));
        }
    }
}

/// Returns the value in a place.
fn at<'v>(map: &'v Map<'static>, path: &[Step]) -> Option<&'v Value<'static>> {
    let Some((Step::Key(name), rest)) = path.split_first() else {
        unreachable!("a place is in a field");
    };
    rest.iter()
        .try_fold(map.get(name)?, |value, step| match (value, step) {
            (Value::Map(map), Step::Key(name)) => map.get(name),
            (Value::Array(items), Step::Index(index)) => items.get(*index),
            _ => None,
        })
}

/// Returns the text without an entry and without the separator between the entry and its neighbour.
fn without(text: &str, entry: &str) -> String {
    let start = text.find(entry).unwrap();
    let end = start + entry.len();
    match text[end..].chars().next() {
        Some('|' | ',') => format!("{}{}", &text[..start], &text[end + 1..]),
        _ if text[..start].ends_with([',', '|']) => {
            format!("{}{}", &text[..start - 1], &text[end..])
        }
        _ => format!("{}{}", &text[..start], &text[end..]),
    }
}

/// Returns the message with another value in a place, or without a value there.
fn with(
    message: &DynamicFrame<'static>,
    path: &[Step],
    value: Option<Value<'static>>,
) -> DynamicFrame<'static> {
    let mut message = message.clone();
    let Some((Step::Key(name), rest)) = path.split_first() else {
        unreachable!("a place is in a field");
    };
    put(&mut message.payload, name, rest, value);
    message
}

fn put(map: &mut Map<'static>, name: &str, rest: &[Step], value: Option<Value<'static>>) {
    if rest.is_empty() {
        match value {
            Some(value) => map.insert(name.to_owned(), value),
            None => map.remove(name),
        };
        return;
    }
    put_inside(map.get_mut(name).unwrap(), rest, value);
}

fn put_inside(held: &mut Value<'static>, path: &[Step], value: Option<Value<'static>>) {
    match (held, path) {
        (Value::Map(map), [Step::Key(name), rest @ ..]) => put(map, name, rest, value),
        (Value::Array(items), [Step::Index(index)]) => items[*index] = value.unwrap(),
        (Value::Array(items), [Step::Index(index), rest @ ..]) => {
            put_inside(&mut items[*index], rest, value);
        }
        (held, path) => unreachable!("{path:?} in {held}"),
    }
}

/// Returns values that are not of the type, and that are not spelt like any value of the type.
fn wrong(ty: &Type) -> Vec<Value<'static>> {
    let map = || Value::Map([("k", Value::Integer(1))].into_iter().collect());
    let list = || Value::Array(vec![Value::Integer(1)]);
    let tiny = || Value::try_from(0.000_000_1).unwrap();
    match ty {
        Type::Any => Vec::new(),
        Type::String | Type::Text => vec![map(), list()],
        Type::Integer => vec![true.into(), "two words".into(), tiny(), list()],
        Type::Decimal => vec![true.into(), "two words".into(), tiny(), map()],
        Type::Number => vec![true.into(), "two words".into(), list()],
        Type::Boolean => vec![Value::Integer(1), "yes".into(), map()],
        Type::Agent => vec!["two words".into(), "a:b".into(), list()],
        Type::Formatted(format) => {
            let near = format.example().to_owned() + "!\"";
            vec![
                "two words".into(),
                Value::from(near),
                Value::Integer(1),
                list(),
            ]
        }
        Type::Enum(_) => vec!["unlisted".into(), map()],
        Type::List(_) => vec![Value::Integer(1), "x".into(), map()],
        Type::Map(_) | Type::Schema(_) => vec![Value::Integer(1), "x".into(), list()],
        other => unreachable!("{other}"),
    }
}

/// For each envelope field that the frame must have, adds the frame without this field.
fn envelope(
    message: &DynamicFrame<'static>,
    schema: &Schema,
    registry: &Registry,
    out: &mut Vec<Faulty>,
) {
    let head = [message.intent.as_str(), &*message.operation];
    let required = schema
        .frame(&head)
        .into_iter()
        .flat_map(|spec| &spec.envelope);
    for short in required {
        let mut message = message.clone();
        let envelope = &mut message.envelope;
        match short.as_str() {
            "cid" => envelope.correlation_id = None,
            "aid" => envelope.causation_id = None,
            "ttl" => envelope.ttl = None,
            // A session sets the other fields of the envelope.
            _ => continue,
        }
        // Without its schema, the frame requires nothing of its envelope.
        let mut other = message.clone();
        other.schema = None;
        other.payload = Map::new();
        let (Some(bare), Some(text)) = (written(&other, registry), text_of(&message, registry))
        else {
            continue;
        };
        let start = bare.find("}[").map_or("", |at| &bare[at + 1..]);
        out.push(Faulty {
            fault: Fault::Envelope,
            text: format!("{text}{start}"),
            message: Some(message),
        });
    }
}

/// Returns the text of a message without its envelope. The envelope may lack a field that the frame must have.
fn text_of(message: &DynamicFrame<'static>, registry: &Registry) -> Option<String> {
    let mut message = message.clone();
    let envelope = &mut message.envelope;
    envelope.correlation_id.get_or_insert("c".into());
    envelope.causation_id.get_or_insert("c".into());
    envelope.ttl.get_or_insert(0);
    let mut text = written(&message, registry)?;
    text.truncate(text.rfind("}[")? + 1);
    Some(text)
}

/// Adds frames over the limits.
fn over(message: &DynamicFrame<'static>, registry: &Registry, out: &mut Vec<Faulty>) {
    let nested = (0..8).fold(Value::Integer(1), |inner, _| Value::Array(vec![inner]));
    let many = Value::Array(vec![Value::Integer(1); 4100]);
    let long = Value::from("x".repeat(66_000));
    for (fault, value) in [
        (Fault::Depth, nested),
        (Fault::Elements, many),
        (Fault::Bytes, long),
    ] {
        let message = message.clone().with("zz", value);
        let options = EncodeOptions {
            limits: Limits::NONE,
            inline: true,
            ..EncodeOptions::default()
        };
        out.push(Faulty {
            fault,
            text: message.encode_with(registry, options).unwrap(),
            message: Some(message),
        });
    }
}

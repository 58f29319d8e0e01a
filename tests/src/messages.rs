//! Random messages of any registry: fields of their schema, with values of their types.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use accp_registry::protocol::NO_HEAD;
use accp_registry::{Field, Format, Schema, Type};
use accp_runtime::{Decimal, DynamicFrame, Envelope, Map, Registry, Value};
use proptest::prelude::*;

/// A registry with every type, with nested types and difficult names.
pub const OWN: &str = r#"{ "schemas": {
    "tree": {
        "code": "TR", "fields": ["label", "children", "weight"],
        "types": { "label": "string", "children": "[TR]", "weight": "number" },
        "required": ["label"]
    },
    "options": {
        "code": "OP", "fields": ["b", "a", "c"],
        "types": { "a": "integer", "b": "text", "c": "{boolean}" },
        "defaults": { "a": 1 }
    },
    "order": {
        "code": "OR",
        "fields": ["id", "lines", "root", "side", "sides", "counts", "names", "grid", "options", "paid", "rate", "price", "by", "note", "extra"],
        "types": {
            "id": "string", "lines": "[{integer}]", "root": "TR", "side": "enum(buy=+,sell=-,hold,holding)",
            "sides": "[enum(ab=\",c=#x,d=|,e=\\,f,g/h)]", "counts": "{integer}", "names": "{[string]}",
            "grid": "[[decimal]]", "options": "OP", "paid": "boolean", "rate": "number",
            "price": "decimal", "by": "agent", "note": "text", "extra": "any"
        },
        "defaults": { "paid": false, "side": "hold" },
        "required": ["id"],
        "frames": [
            { "intent": "req", "operation": "order", "required": ["side", "root"] },
            { "intent": "done", "operation": "order", "fields": ["id", "paid"], "envelope": ["cid", "ts"] },
            { "intent": "req", "operation": "ack_it" }
        ]
    },
    "order_ack": {
        "code": "OR2", "fields": ["id", "paid", "idx"], "types": { "id": "integer", "paid": "any", "idx": "{any}" },
        "frames": [{ "intent": "req", "operation": "ack_it" }, { "intent": "ack", "operation": "x" }]
    },
    "stamp": {
        "code": "SP", "fields": ["on", "at", "when", "span", "key", "link", "raw", "days"],
        "types": {
            "on": "date", "at": "time", "when": "timestamp", "span": "duration", "key": "uuid", "link": "url",
            "raw": "bytes", "days": "[date]"
        },
        "defaults": { "at": "09:30:00Z" },
        "required": ["on", "raw"],
        "frames": [{ "intent": "req", "operation": "stamp" }]
    },
    "payment": {
        "code": "PM", "fields": ["amount", "kind", "number", "tries", "parts"],
        "types": { "amount": "decimal", "number": "string", "tries": "integer", "parts": "[PM]" },
        "abbreviations": { "kind": "k" },
        "defaults": { "tries": 3 },
        "union": "kind",
        "variants": [
            { "name": "card", "fields": ["amount", "tries"], "required": ["number"] },
            { "name": "true", "fields": ["number", "parts"], "required": ["tries"] },
            { "name": "cash" }
        ]
    },
    "paying": {
        "code": "PY", "fields": ["pay", "more", "by_name"], "types": { "pay": "PM", "more": "[PM]", "by_name": "{PM}" },
        "required": ["pay"],
        "frames": [{ "intent": "req", "operation": "pay" }]
    }
} }"#;

/// The metadata of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metadata {
    /// The fields of the envelope that the frame must carry.
    Required,
    /// `mid`, `seq` and the fields that the frame must carry; each other field in half of the messages.
    Whole,
}

/// Returns any message of any frame of the registry.
pub fn message(registry: &Registry, metadata: Metadata) -> BoxedStrategy<DynamicFrame<'static>> {
    let frames: Vec<_> = registry
        .schemas()
        .flat_map(|schema| schema.frames.iter().map(move |spec| (schema, spec)))
        .map(|(schema, spec)| {
            frame(
                registry,
                schema,
                [spec.intent(), spec.operation()],
                metadata,
            )
        })
        .collect();
    proptest::strategy::Union::new(frames).boxed()
}

/// Returns any message of a schema with this head. The schema need not list the head.
///
/// # Panics
/// If the intent is not one of the draft, or the operation is not a name.
pub fn frame(
    registry: &Registry,
    schema: &Schema,
    [intent, operation]: [&str; 2],
    metadata: Metadata,
) -> BoxedStrategy<DynamicFrame<'static>> {
    let required: Vec<&str> = schema.required(&[intent, operation]).collect();
    let payload = fields(registry, &schema.fields, &required, 3);
    let spec = schema.frame(&[intent, operation]);
    let envelope = envelope(spec.map_or(&[][..], |spec| &spec.envelope), metadata);
    let (intent, operation) = (intent.to_owned(), operation.to_owned());
    let code = schema.code.clone();
    ("[A-Za-z0-9_-]{1,8}", payload, envelope)
        .prop_map(move |(agent, payload, envelope)| {
            let message = DynamicFrame::new(agent, &intent, operation.clone()).unwrap();
            let mut message = message.under(code.clone()).in_envelope(envelope);
            message.payload = payload;
            message
        })
        .boxed()
}

/// Returns the message as generated types write it. Generated types read a null field as a missing field, and write
/// neither. Only a field of type `any` with a default keeps the null.
pub fn as_typed(message: &DynamicFrame<'_>, registry: &Registry) -> DynamicFrame<'static> {
    let mut message = message.clone().into_owned();
    if let Some(schema) = message.schema_in(registry) {
        let head = [message.intent.as_str(), &*message.operation];
        let payload = &mut message.payload;
        fields_as_typed(payload, schema, &head, registry);
    }
    message
}

fn fields_as_typed(map: &mut Map<'static>, schema: &Schema, head: &[&str], registry: &Registry) {
    for (index, field) in schema.fields.iter().enumerate() {
        match map.get_mut(&field.name) {
            Some(Value::Null) if field.ty != Type::Any || !schema.has_default(index, head) => {
                map.remove(&field.name);
            }
            Some(value) => value_as_typed(value, &field.ty, registry),
            None => {}
        }
    }
}

fn value_as_typed(value: &mut Value<'static>, ty: &Type, registry: &Registry) {
    match (value, ty) {
        (Value::Array(items), Type::List(ty)) => {
            for item in items {
                value_as_typed(item, ty, registry);
            }
        }
        (Value::Map(map), Type::Map(ty)) => {
            let keys: Vec<String> = map.iter().map(|(key, _)| key.to_owned()).collect();
            for key in &keys {
                value_as_typed(map.get_mut(key).unwrap(), ty, registry);
            }
        }
        (Value::Map(map), Type::Schema(code)) => {
            let schema = registry.schema(code).unwrap();
            let head = variant_of(map, schema);
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            fields_as_typed(map, schema, &head, registry);
        }
        _ => {}
    }
}

/// Returns the name of the variant that a nested record has; `None` if its schema is not a union.
pub fn variant_of(map: &Map<'_>, schema: &Schema) -> Option<String> {
    let (_, tag) = schema.tag()?;
    map.get(&tag.name)?.as_str().map(str::to_owned)
}

/// Returns whether a value is a reference, or holds one.
///
/// A generated type need not hold references. A handler gets the values that the references of its frame name, and
/// a reference that is not resolved is E2001. A dynamic message passes references on.
pub fn holds_reference(value: &Value<'_>) -> bool {
    match value {
        Value::Ref(_) => true,
        Value::Array(items) => items.iter().any(holds_reference),
        Value::Map(map) => map.iter().any(|(_, item)| holds_reference(item)),
        _ => false,
    }
}

fn envelope(
    required: &[String],
    metadata: Metadata,
) -> impl Strategy<Value = Envelope<'static>> + use<> {
    let whole = metadata == Metadata::Whole;
    let chance = |name: &str| {
        let numbered = whole && matches!(name, "mid" | "seq");
        match numbered || required.iter().any(|field| field == name) {
            true => Chance::Sure,
            false if whole => Chance::Half,
            false => Chance::Never,
        }
    };
    (
        chance("mid").of(text()),
        chance("seq").of(0..=i64::MAX as u64),
        chance("ts").of(any::<i64>()),
        chance("cid").of(text()),
        chance("aid").of(text()),
        chance("sid").of(text()),
        chance("ttl").of(any::<i64>()),
    )
        .prop_map(|(mid, seq, ts, cid, aid, sid, ttl)| Envelope {
            msg_id: mid.map(Into::into),
            sequence: seq,
            timestamp: ts,
            correlation_id: cid.map(Into::into),
            causation_id: aid.map(Into::into),
            session_id: sid.map(Into::into),
            ttl,
            extra: Map::new(),
        })
}

/// The chance that a field is present.
#[derive(Debug, Clone, Copy)]
enum Chance {
    Sure,
    Half,
    Never,
}

impl Chance {
    fn of<T>(self, value: impl Strategy<Value = T> + 'static) -> BoxedStrategy<Option<T>>
    where
        T: std::fmt::Debug + Clone + 'static,
    {
        match self {
            Self::Sure => value.prop_map(Some).boxed(),
            Self::Half => prop::option::of(value).boxed(),
            Self::Never => Just(None).boxed(),
        }
    }
}

fn fields(
    registry: &Registry,
    fields: &[Field],
    required: &[&str],
    depth: u32,
) -> BoxedStrategy<Map<'static>> {
    let entries: Vec<_> = fields
        .iter()
        .map(|field| {
            let is_required = required.contains(&field.name.as_str());
            let chance = if is_required {
                Chance::Sure
            } else {
                Chance::Half
            };
            let name = field.name.clone();
            let value = given(registry, &field.ty, depth, !is_required);
            chance
                .of(value)
                .prop_map(move |value| value.map(|value| (name.clone(), value)))
        })
        .collect();
    entries
        .prop_map(|entries| entries.into_iter().flatten().collect())
        .boxed()
}

/// Returns a value of the type, or a null. Maps and lists are nested `depth` levels at most.
pub fn value(registry: &Registry, ty: &Type, depth: u32) -> BoxedStrategy<Value<'static>> {
    given(registry, ty, depth, true)
}

fn given(
    registry: &Registry,
    ty: &Type,
    depth: u32,
    is_nullable: bool,
) -> BoxedStrategy<Value<'static>> {
    let reference = "[A-Za-z0-9_.]{1,8}".prop_map(|key| Value::Ref(key.into()));
    let carried = if is_nullable {
        prop_oneof![Just(Value::Null), reference].boxed()
    } else {
        reference.boxed()
    };
    let inner = |ty: &Type| given(registry, ty, depth - 1, ty.holds_null());
    let value = match ty {
        Type::List(_) | Type::Map(_) | Type::Schema(_) if depth == 0 => return carried,
        Type::String | Type::Text => text().prop_map(Value::from).boxed(),
        Type::Integer => integer().prop_map(Value::from).boxed(),
        Type::Decimal => decimal().prop_map(Value::from).boxed(),
        Type::Number => number().boxed(),
        Type::Boolean => any::<bool>().prop_map(Value::from).boxed(),
        Type::Agent => "[A-Za-z0-9_-]{1,8}|[A-Za-z0-9_-]{64}"
            .prop_map(Value::from)
            .boxed(),
        Type::Formatted(format) => formatted(*format).prop_map(Value::from).boxed(),
        Type::Enum(values) => {
            let names: Vec<_> = values.iter().map(|value| value.name.clone()).collect();
            prop::sample::select(names).prop_map(Value::from).boxed()
        }
        Type::List(item) => prop::collection::vec(inner(item), 0..3)
            .prop_map(Value::from)
            .boxed(),
        Type::Map(item) => map(inner(item)).boxed(),
        Type::Schema(code) => {
            let schema = registry.schema(code).unwrap();
            if let Some((_, tag)) = schema.tag() {
                return prop_oneof![8 => variants(registry, schema, tag, depth - 1), 1 => carried]
                    .boxed();
            }
            let required: Vec<&str> = schema.required(NO_HEAD).collect();
            fields(registry, &schema.fields, &required, depth - 1)
                .prop_map(Value::from)
                .boxed()
        }
        _ => any_value(depth).boxed(),
    };
    prop_oneof![8 => value, 1 => carried].boxed()
}

/// Returns a record of any variant of a union.
fn variants(
    registry: &Registry,
    schema: &Schema,
    tag: &Field,
    depth: u32,
) -> BoxedStrategy<Value<'static>> {
    let variants = schema.variants.iter().map(|variant| {
        let is_own = |field: &&Field| variant.is_about(&field.name) && field.name != tag.name;
        let own: Vec<Field> = schema.fields.iter().filter(is_own).cloned().collect();
        let required: Vec<&str> = schema.required(&variant.head).collect();
        let (tag, name) = (tag.name.clone(), variant.head.concat());
        fields(registry, &own, &required, depth).prop_map(move |mut map| {
            map.insert(tag.clone(), name.clone().into());
            Value::Map(map)
        })
    });
    proptest::strategy::Union::new(variants).boxed()
}

/// Returns any text of a format. Texts of a format without a bound may be longer than a line of a view.
pub fn formatted(format: Format) -> BoxedStrategy<String> {
    const DATE: &str = "[0-9]{4}-(0[1-9]|1[0-2])-([0-2][0-9]|3[01])";
    const TIME: &str = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
    const DURATION: &str = "P((([0-9]{1,70}Y([0-9]{1,3}M([0-9]{1,3}D)?)?)|[0-9]{1,3}M|[0-9]D)(T[0-9]{1,3}(H|M|S))?\
        |T[0-9]H([0-9]M([0-9]S)?)?|[0-9]{1,3}W)";
    let text = match format {
        Format::Date => DATE.prop_map(String::from).boxed(),
        Format::Time => TIME.prop_map(String::from).boxed(),
        Format::Timestamp => (DATE, TIME)
            .prop_map(|(date, time)| date + "T" + &time)
            .boxed(),
        Format::Duration => DURATION.prop_map(String::from).boxed(),
        Format::Uuid => "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}".boxed(),
        Format::Url => {
            "[A-Za-z][A-Za-z0-9+.-]{0,5}:([!#$&-;=?-Z\\[\\]_a-z~]|%[0-9A-Fa-f]{2}){1,90}".boxed()
        }
        _ => prop::collection::vec(any::<u8>(), 0..80)
            .prop_map(|bytes| accp_registry::to_base64(&bytes))
            .boxed(),
    };
    text.prop_filter("a text of the format", move |text| format.holds(text))
        .boxed()
}

/// Returns a value without a declared type.
pub fn any_value(depth: u32) -> impl Strategy<Value = Value<'static>> {
    let scalar = prop_oneof![
        4 => text().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => integer().prop_map(Value::from),
        1 => decimal().prop_map(Value::from),
        // A field without a declared type can hold any float.
        1 => any::<f64>().prop_filter_map("finite", |float| Value::try_from(float).ok()),
    ];
    scalar.prop_recursive(depth, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            map(inner),
        ]
    })
}

/// Returns maps. Some of their keys can be keys of a frame, and some cannot.
fn map(value: impl Strategy<Value = Value<'static>>) -> impl Strategy<Value = Value<'static>> {
    let key = prop_oneof![4 => "[a-z_]{1,3}", 1 => text(), 1 => Just("_".to_owned())];
    prop::collection::vec((key, value), 0..4)
        .prop_map(|entries| Value::Map(entries.into_iter().collect()))
}

/// Returns texts with many special characters.
pub fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,6}",
        2 => "[_ %]{1,3}",
        2 => r##"["#@>:{}\[\]|$,~\\]"##,
        2 => "-?[0-9]{1,20}(\\.[0-9]{1,7})?",
        1 => "true|false",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), -9..10_i64, Just(i64::MIN), Just(i64::MAX)]
}

fn decimal() -> impl Strategy<Value = Decimal> {
    let edge = prop_oneof![Just(i64::MIN), Just(i64::MAX), -9..10_i64];
    let edge = (edge, -999_999..1_000_000_i64)
        .prop_map(|(whole, part)| i128::from(whole) * 1_000_000 + i128::from(part));
    prop_oneof![any::<i64>().prop_map(i128::from), edge]
        .prop_filter_map("in range", Decimal::from_millionths)
}

/// Returns numbers that the grammar can write: at most 15 significant digits, and -0.
fn number() -> impl Strategy<Value = Value<'static>> {
    let float = (-999_999_999_999_999..=999_999_999_999_999_i64, 0..300_u32)
        .prop_map(|(digits, places)| format!("{digits}e-{places}").parse::<f64>().unwrap());
    let small = (-999_999_999_999_999..=999_999_999_999_999_i64, 0..16_u32)
        .prop_map(|(digits, places)| format!("{digits}e-{places}").parse::<f64>().unwrap());
    prop_oneof![
        1 => Just(-0.0),
        1 => float,
        4 => small,
        2 => any::<i32>().prop_map(f64::from),
    ]
    .prop_map(|float| Value::try_from(float).unwrap())
}

//! The JSON Schema of a registry: it accepts the JSON form of every message and nothing else.

use accp_registry::export::{Export, Options};
use accp_registry::{Field, Registry, Type};
use accp_runtime::DynamicFrame;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value as Json};
use std::sync::LazyLock;

use crate::codec::inline;
use crate::grammar_export::own;
use accp_tests::machine::Machine;
use accp_tests::messages::{Metadata, message};

/// A registry and the JSON Schema of its frames.
struct Subject {
    registry: Registry,
    schema: Machine,
}

impl Subject {
    fn new(registry: Registry, metadata: Metadata) -> Self {
        let options = Options {
            envelope: metadata == Metadata::Whole,
            ..Options::default()
        };
        let export = Export::of(&registry, &options).unwrap();
        let schema = Machine::json_schema(&export.json_schema(Export::DEPTH).unwrap());
        Self { registry, schema }
    }
}

static STANDARD: LazyLock<Subject> =
    LazyLock::new(|| Subject::new(Registry::standard(), Metadata::Whole));
static OURS: LazyLock<Subject> = LazyLock::new(|| Subject::new(own(), Metadata::Required));

/// Returns any message of a registry, and whether the registry is the standard one.
fn written() -> impl Strategy<Value = (bool, DynamicFrame<'static>)> {
    prop_oneof![
        message(&STANDARD.registry, Metadata::Whole).prop_map(|message| (true, message)),
        message(&OURS.registry, Metadata::Required).prop_map(|message| (false, message)),
    ]
}

fn subject(standard: bool) -> &'static Subject {
    if standard { &STANDARD } else { &OURS }
}

/// Returns the JSON with record keys in the schema's order. A constrained decoder writes the keys
/// in that order.
fn ordered(json: &Json, ty: &Type, registry: &Registry) -> Json {
    match (json, ty) {
        (Json::Array(items), Type::List(item)) => items
            .iter()
            .map(|json| ordered(json, item, registry))
            .collect(),
        (Json::Object(object), Type::Map(item)) => object
            .iter()
            .map(|(key, json)| (key.clone(), ordered(json, item, registry)))
            .collect::<Map<_, _>>()
            .into(),
        (Json::Object(object), Type::Schema(code)) if !object.contains_key("$ref") => {
            let schema = registry.schema(code).unwrap();
            let mut fields: Vec<&Field> = schema.fields.iter().collect();
            // The tag of a union comes first.
            let is_other = |field: &Field| schema.union.as_ref() != Some(&field.name);
            fields.sort_by_key(|field| (is_other(field), &field.short));
            record(object, fields.into_iter(), registry)
        }
        (json, _) => json.clone(),
    }
}

fn record<'f>(
    object: &Map<String, Json>,
    fields: impl Iterator<Item = &'f Field>,
    registry: &Registry,
) -> Json {
    let entries = fields.filter_map(|field| {
        let value = ordered(object.get(&field.name)?, &field.ty, registry);
        Some((field.name.clone(), value))
    });
    Json::Object(entries.collect())
}

/// Adds the JSON pointer of every value inside `json` to `out`.
fn places(json: &Json, at: &str, out: &mut Vec<String>) {
    let mut place = |step: String, inner: &Json| {
        let at = format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"));
        places(inner, &at, out);
        out.push(at);
    };
    match json {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                place(index.to_string(), item);
            }
        }
        // A reference is one value, so its member is not a place.
        Json::Object(object) if !object.contains_key("$ref") => {
            for (key, item) in object {
                place(key.clone(), item);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_json_of_a_message_is_of_the_schema((standard, message) in written(), at in any::<Index>()) {
        let Subject { registry, schema } = subject(standard);
        let mut json = message.to_json();
        let fields = registry.schema(message.schema.as_deref().unwrap()).unwrap();
        let payload = json["payload"].as_object().unwrap();
        let payload = record(payload, fields.fields.iter(), registry);
        json["payload"] = payload;
        // llguidance requires the escape for this character, which JSON allows.
        let text = json.to_string().replace('\u{7f}', "\\u007f");
        // The largest and the smallest integers of 64 bits are beyond the bounds that engines
        // accept.
        if text.contains("92233720368547758") {
            return Ok(());
        }
        prop_assert!(schema.takes(&text), "{:?}", text);
        // The schema accepts a null in a place if a message may have a null there.
        let mut all = Vec::new();
        places(&json["payload"], "/payload", &mut all);
        if all.is_empty() || message.encode_with(registry, inline()).is_err() {
            return Ok(());
        }
        let mut nulled = json.clone();
        let place: &String = at.get(&all);
        *nulled.pointer_mut(place).unwrap() = Json::Null;
        let written = DynamicFrame::from_json(&nulled).unwrap().encode_with(registry, inline());
        let text = nulled.to_string().replace('\u{7f}', "\\u007f");
        prop_assert_eq!(schema.takes(&text), written.is_ok(), "{:?} {:?}", text, written);
    }

    #[test]
    fn what_is_of_the_schema_is_a_message(
        standard in any::<bool>(),
        seed in any::<u64>(),
        length in 100..400_usize,
    ) {
        let Subject { registry, schema } = subject(standard);
        let text = schema.sample(seed, length);
        // The schema counts `-0` as an integer, but JSON readers count it as a float.
        if ["-0,", "-0}", "-0]"].iter().any(|zero| text.contains(zero)) {
            return Ok(());
        }
        let fail = |error: String| TestCaseError::fail(format!("{text}\n{error}"));
        let json: Json = match serde_json::from_str(&text) {
            Ok(json) => json,
            // The exponent is beyond the range of floats.
            Err(error) if error.to_string().contains("out of range") => return Ok(()),
            Err(error) => return Err(fail(error.to_string())),
        };
        let message = DynamicFrame::from_json(&json).map_err(|error| fail(error.to_string()))?;
        let written = match message.encode_with(registry, inline()) {
            Ok(written) => written,
            // A map that is written as pairs may nest its values too deep.
            Err(error) if error.to_string().contains("deeper") => return Ok(()),
            Err(error) => return Err(fail(error.to_string())),
        };
        let read = DynamicFrame::decode(&written, registry);
        prop_assert!(read.is_ok(), "{}\n{}\n{:?}", text, written, read);
    }
}

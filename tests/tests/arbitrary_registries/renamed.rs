//! Frames of an older registry, in which fields had other names: the newer registry reads the same values, and
//! writes its own names.

use std::collections::BTreeMap;

use accp_registry::{Field, Registry, Schema, Type};
use accp_runtime::{DynamicFrame, ErrorCode, Frame, Map, Value};
use accp_tests::messages::{self, Metadata, holds_reference};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value as Json, json};

use super::registries::registry;
use super::typed::{Through, through};
use super::{Judges, shortened};
use crate::codec::inline;
use crate::generated::goldens::renamed as golden;

/// Former names of fields, and short names that went with them. Two former names have a standard abbreviation.
const FORMER: [(&str, &str); 6] = [
    ("query", "qq"),
    ("source", "src_"),
    ("former", "f1"),
    ("OLD", "o"),
    ("8", "8_"),
    ("schema_", "S"),
];

/// Counts of the cases in a run.
#[derive(Debug, Default)]
struct Counts {
    renamed: u64,
    twice: u64,
}

/// The aliases of one field: the index of a former name, and whether the short name of this former name is an
/// alias, too.
type Aliases = (usize, bool);

/// Gives aliases to some fields of each schema. No alias is a key of the schema.
fn with_aliases(mut document: Json, choices: &[(Index, Aliases)]) -> Json {
    let schemas = document["schemas"].as_object_mut().unwrap();
    for schema in schemas.values_mut() {
        let mut aliases = BTreeMap::new();
        let mut taken = Vec::new();
        let names =
            ["fields", "optional"].map(|list| schema[list].as_array().cloned().unwrap_or_default());
        let names = names.concat();
        for (field, (former, has_short)) in choices {
            let name = field.get(&names).as_str().unwrap();
            if aliases.contains_key(name) || taken.contains(former) {
                continue;
            }
            taken.push(*former);
            let (former, short) = FORMER[*former];
            let list = if *has_short {
                vec![former, short]
            } else {
                vec![former]
            };
            aliases.insert(name.to_owned(), list);
        }
        schema["aliases"] = json!(aliases);
    }
    document
}

/// Returns the older document. There, the first alias of a field is the name of the field, and the second alias, if
/// any, is its abbreviation.
fn older(document: &Json) -> Json {
    let mut document = document.clone();
    for schema in document["schemas"].as_object_mut().unwrap().values_mut() {
        let Some(Json::Object(aliases)) = schema.as_object_mut().unwrap().remove("aliases") else {
            continue;
        };
        for (name, aliases) in &aliases {
            let former = aliases[0].as_str().unwrap();
            under(schema, name, former);
            for list in ["frames", "variants"] {
                let entries = schema.get_mut(list).and_then(Json::as_array_mut);
                for entry in entries.into_iter().flatten() {
                    under(entry, name, former);
                }
            }
            if schema.get("union").is_some_and(|tag| *tag == *name) {
                schema["union"] = former.into();
            }
            if let Some(short) = aliases.get(1) {
                schema["abbreviations"][former] = short.clone();
            } else if let Some(short) = schema.get_mut("abbreviations") {
                short.as_object_mut().unwrap().remove(former);
            }
        }
    }
    document
}

/// Renames a field in all lists and objects of names.
fn under(part: &mut Json, name: &str, former: &str) {
    for names in part.as_object_mut().unwrap().values_mut() {
        match names {
            Json::Array(names) => {
                for listed in names.iter_mut().filter(|listed| **listed == *name) {
                    *listed = former.into();
                }
            }
            Json::Object(by_name) => {
                if let Some(value) = by_name.remove(name) {
                    by_name.insert(former.to_owned(), value);
                }
            }
            _ => {}
        }
    }
}

/// Returns a record with the former names of its fields.
fn formerly(map: &Map<'static>, schema: &Schema, registry: &Registry) -> Map<'static> {
    let entries = map.iter().map(|(name, value)| {
        let Some((_, field)) = schema.field(name) else {
            return (name.to_owned(), value.clone());
        };
        let former = field.aliases.first().unwrap_or(&field.name);
        (former.clone(), inside(value, &field.ty, registry))
    });
    entries.collect()
}

fn inside(value: &Value<'static>, ty: &Type, registry: &Registry) -> Value<'static> {
    match (value, ty) {
        (Value::Array(items), Type::List(ty)) => Value::Array(
            items
                .iter()
                .map(|item| inside(item, ty, registry))
                .collect(),
        ),
        (Value::Map(map), Type::Map(ty)) => {
            let items = map.iter();
            let items = items.map(|(key, item)| (key.to_owned(), inside(item, ty, registry)));
            Value::Map(items.collect())
        }
        (Value::Map(map), Type::Schema(code)) => {
            let schema = registry.schema(code).unwrap();
            Value::Map(formerly(map, schema, registry))
        }
        _ => value.clone(),
    }
}

/// A message of the newer registry.
#[derive(Debug, Clone)]
struct Case {
    newer: Json,
    message: DynamicFrame<'static>,
}

/// Returns a message of any frame of the document, or of one schema, or of a frame that no schema lists.
fn message_of(newer: Json, code: Option<&'static str>) -> impl Strategy<Value = Case> {
    let registry = Registry::from_json(&newer.to_string()).unwrap();
    let schemas = registry.schemas();
    // A record of a union is a value of a field in a frame, and not a frame.
    let schemas = schemas.filter(|schema| schema.union.is_none());
    let schemas = schemas.filter(|schema| code.is_none_or(|code| schema.code == code));
    let heads = schemas.flat_map(|schema| {
        let listed = schema.frames.iter();
        let listed = listed.map(|spec| [spec.intent().to_owned(), spec.operation().to_owned()]);
        let unlisted = ["req".to_owned(), "unlisted".to_owned()];
        listed
            .chain([unlisted])
            .map(|head| (schema.code.clone(), head))
    });
    select(heads.collect::<Vec<_>>()).prop_flat_map(move |(code, [intent, operation])| {
        let schema = registry.schema(&code).unwrap();
        let message = messages::frame(&registry, schema, [&intent, &operation], Metadata::Whole);
        let newer = newer.clone();
        message.prop_map(move |mut message| {
            let ttl = &mut message.envelope.ttl;
            *ttl = ttl.map(|ttl| ttl & 0xffff);
            Case {
                newer: newer.clone(),
                message,
            }
        })
    })
}

fn any_case() -> impl Strategy<Value = Case> {
    let aliases = (any::<Index>(), (0..FORMER.len(), any::<bool>()));
    let aliases = prop::collection::vec(aliases, 1..5);
    (registry(), aliases).prop_flat_map(|(described, aliases)| {
        let newer = with_aliases(described.json.clone(), &aliases);
        // The keys of the defaults of nested records are names of fields, and `with_aliases` does not rename them.
        message_of(without_records(newer), None)
    })
}

/// Takes away the defaults of fields whose values are records, because they would have to be renamed, too.
fn without_records(mut document: Json) -> Json {
    for schema in document["schemas"].as_object_mut().unwrap().values_mut() {
        let types = schema["types"].clone();
        if let Some(Json::Object(defaults)) = schema.get_mut("defaults") {
            defaults.retain(|name, _| {
                let ty = types[name].as_str().unwrap_or_default();
                let inner = ty.trim_matches(['[', ']', '{', '}']);
                Type::WORDS.contains(&inner) || inner.is_empty() || inner.starts_with("enum(")
            });
        }
    }
    document
}

/// Checks how the newer registry reads the message under its former names.
fn run(case: &Case, through: Option<Through>) -> Result<Counts, TestCaseError> {
    let mut counts = Counts::default();
    let newer = Registry::from_json(&case.newer.to_string()).unwrap();
    let old = Registry::from_json(&older(&case.newer).to_string()).unwrap();
    let message = &case.message;
    let schema = message.schema_in(&newer).unwrap();
    let mut former = message.clone();
    former.payload = formerly(&message.payload, schema, &newer);
    let (text, former) = match (
        message.encode_with(&newer, inline()),
        former.encode_with(&old, inline()),
    ) {
        (Ok(text), Ok(former)) => (text, former),
        // A map that is written as pairs may nest its values too deep.
        (Err(one), Err(other)) if one.to_string().contains("deeper") => {
            prop_assert_eq!(one.code(), other.code());
            return Ok(counts);
        }
        verdicts => return Err(TestCaseError::fail(format!("{verdicts:?}"))),
    };
    counts.renamed += u64::from(text != former);

    // The former text is judged by the host, by `check` and as a dynamic frame, and below as a type.
    let mut judges = Judges::new(&newer, None);
    let read = judges.judge(&former, &former)?;
    let read = read.ok_or_else(|| TestCaseError::fail(format!("refused: {former}")))?;
    let expected = DynamicFrame::decode(&text, &newer).unwrap();
    prop_assert_eq!(&read, &expected, "{}", former);
    let again = read.encode_with(&newer, inline());
    prop_assert_eq!(again.as_ref(), Ok(&text), "{}", former);
    if let Some(through) = through {
        let typed = through(&former);
        prop_assert_eq!(&typed, &through(&text), "{}", former);
        prop_assert!(typed.is_ok(), "{:?} {}", typed, former);
    }

    // Frames in which a field stands twice, under both of its names, are refused.
    let head = [message.intent.as_str(), &*message.operation];
    let about = schema.frame(&head).and_then(|spec| spec.fields.as_ref());
    let is_held = |field: &Field| about.is_none_or(|about| about.contains(&field.name));
    for param in Frame::parse(&former).unwrap().payload {
        let Some((_, field)) = schema.field(&param.key) else {
            continue;
        };
        for key in field.keys().filter(|_| !field.aliases.is_empty()) {
            let (start, value) = (former.find('{').unwrap() + 1, param.value.as_str());
            let twice = format!("{}{key}:{value}|{}", &former[..start], &former[start..]);
            let shown = shortened(&twice);
            prop_assert!(judges.judge(&twice, &shown)?.is_none(), "{}", shown);
            let error = DynamicFrame::decode(&twice, &newer).unwrap_err();
            prop_assert_eq!(error.code(), ErrorCode::PARSE_ERROR, "{}", shown);
            prop_assert_eq!(error.path(), &*field.name, "{}", shown);
            prop_assert!(error.expected().contains("once"), "{} {}", error, shown);
            // The error is at the second of the two keys, or at the value of the second key.
            let second = start + key.len() + value.len() + 2;
            let place = twice.get(error.at()..).unwrap();
            prop_assert!(error.at() >= second, "{} {}", error, shown);
            let is_there = [&*param.key, value]
                .iter()
                .any(|stands| place.starts_with(stands));
            prop_assert!(is_there, "{} {}", error, shown);
            // A type skips the keys of a field that it does not hold.
            if let Some(through) = through.filter(|_| is_held(field)) {
                prop_assert_eq!(through(&twice), Err(ErrorCode::PARSE_ERROR), "{}", shown);
            }
            counts.twice += 1;
        }
    }
    Ok(counts)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_names_of_an_older_registry_are_read(case in any_case()) {
        run(&case, None)?;
    }

    #[test]
    fn a_type_reads_the_names_of_an_older_registry(
        case in message_of(serde_json::from_str(golden::REGISTRY_JSON).unwrap(), Some("IV")),
    ) {
        if case.message.payload.iter().any(|(_, value)| holds_reference(value)) {
            return Ok(());
        }
        let through: Option<Through> = match (case.message.intent.as_str(), &*case.message.operation) {
            ("req", "pay") => Some(|text| through::<golden::PayReq<'_>>(text)),
            ("done", "pay") => Some(|text| through::<golden::PayDone<'_>>(text)),
            _ => None,
        };
        run(&case, through)?;
    }
}

/// The properties above test what they claim: most messages have a renamed field, and so two texts.
#[test]
fn most_messages_have_a_renamed_field() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut all = Counts::default();
    for _ in 0..64 {
        let case = any_case().new_tree(&mut runner).unwrap().current();
        let counts = run(&case, None).unwrap();
        all.renamed += counts.renamed;
        all.twice += counts.twice;
    }
    assert!(all.renamed > 16 && all.twice > 32, "{all:?}");
}

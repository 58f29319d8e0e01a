//! Random pairs of registries. If `diff` says that a change does not break a reader, this reader must read the values
//! that the writer meant.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeSet;

use accp_registry::{Broken, Registry, Schema, diff};
use accp_runtime::{DynamicFrame, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// Few names, so that one key often means different fields in the two registries.
const NAMES: [&str; 5] = ["total", "amount", "net", "t", "n"];
const HEADS: [[&str; 2]; 3] = [["req", "pay"], ["done", "pay"], ["wait", "pay"]];

/// A plan for a field of a registry. The field is left out if an earlier field has its name.
#[derive(Debug, Clone)]
struct FieldPlan {
    name: &'static str,
    short: Option<&'static str>,
    aliases: Vec<&'static str>,
    ty: &'static str,
    default: Option<i64>,
    is_required: bool,
}

/// A plan for an entry of `frames`: the names of the fields that it is about, and of the fields that it requires. Names
/// that the schema lacks are left out.
#[derive(Debug, Clone)]
struct FramePlan {
    about: Option<Vec<&'static str>>,
    required: Vec<&'static str>,
}

#[derive(Debug, Clone)]
struct Plan {
    fields: Vec<Option<FieldPlan>>,
    frames: Vec<Option<FramePlan>>,
}

impl Plan {
    /// Returns the registry of this plan. A name, an abbreviation or an alias that is taken already is left out.
    fn registry(&self) -> Registry {
        let mut fields: Vec<&FieldPlan> = Vec::new();
        for field in self.fields.iter().flatten() {
            if fields.iter().all(|other| other.name != field.name) {
                fields.push(field);
            }
        }
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let mut taken: BTreeSet<&str> = names.iter().copied().collect();
        let mut schema = json!({ "code": "P", "fields": names });
        for field in &fields {
            let short = field.short.filter(|short| taken.insert(short));
            put(&mut schema, "abbreviations", field.name, short);
        }
        for FieldPlan {
            name,
            aliases,
            ty,
            default,
            is_required,
            ..
        } in &fields
        {
            let aliases: Vec<_> = aliases.iter().filter(|alias| taken.insert(alias)).collect();
            put(
                &mut schema,
                "aliases",
                name,
                (!aliases.is_empty()).then_some(aliases),
            );
            put(&mut schema, "types", name, Some(ty));
            put(
                &mut schema,
                "defaults",
                name,
                default.filter(|_| !is_required),
            );
        }
        let required = fields.iter().filter(|field| field.is_required);
        schema["required"] = required.map(|field| field.name).collect();
        let has = |list: &[&'static str]| -> Vec<&str> {
            let list: BTreeSet<&str> = list.iter().copied().collect();
            list.into_iter()
                .filter(|name| names.contains(name))
                .collect()
        };
        let frames = HEADS
            .iter()
            .zip(&self.frames)
            .filter_map(|([intent, operation], frame)| {
                let FramePlan { about, required } = frame.as_ref()?;
                let mut entry =
                    json!({ "intent": intent, "operation": operation, "required": has(required) });
                if let Some(about) = about {
                    entry["fields"] = json!(has(about));
                }
                Some(entry)
            });
        schema["frames"] = frames.collect();
        Registry::from_json(&json!({ "schemas": { "payment": schema } }).to_string()).unwrap()
    }
}

fn put(schema: &mut Json, key: &str, name: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        schema[key][name] = json!(value);
    }
}

fn field() -> impl Strategy<Value = Option<FieldPlan>> {
    let name = || proptest::sample::select(&NAMES[..]);
    let ty = prop_oneof![4 => Just("integer"), 1 => Just("decimal")];
    let plan = (
        name(),
        proptest::option::weighted(0.3, name()),
        proptest::collection::vec(name(), 0..2),
        ty,
        proptest::option::weighted(0.4, 1i64..3),
        proptest::bool::weighted(0.25),
    );
    let plan = plan.prop_map(
        |(name, short, aliases, ty, default, is_required)| FieldPlan {
            name,
            short,
            aliases,
            ty,
            default,
            is_required,
        },
    );
    proptest::option::weighted(0.6, plan)
}

fn frame() -> impl Strategy<Value = Option<FramePlan>> {
    let names = || proptest::collection::vec(proptest::sample::select(&NAMES[..]), 0..3);
    let plan = (proptest::option::weighted(0.3, names()), names())
        .prop_map(|(about, required)| FramePlan { about, required });
    proptest::option::weighted(0.3, plan)
}

fn plan() -> impl Strategy<Value = Plan> {
    let parts = (
        proptest::collection::vec(field(), 4),
        proptest::collection::vec(frame(), 3),
    );
    parts.prop_map(|(fields, frames)| Plan { fields, frames })
}

/// Generates two plans. The second plan keeps most parts of the first plan.
fn plans() -> impl Strategy<Value = (Plan, Plan)> {
    let is_new = proptest::collection::vec(proptest::bool::weighted(0.2), 7);
    (plan(), plan(), is_new).prop_map(|(old, mut new, is_new)| {
        let (of_fields, of_frames) = is_new.split_at(4);
        keep(&mut new.fields, &old.fields, of_fields);
        keep(&mut new.frames, &old.frames, of_frames);
        (old, new)
    })
}

fn keep<T: Clone>(new: &mut [T], old: &[T], is_new: &[bool]) {
    for ((new, old), _) in new
        .iter_mut()
        .zip(old)
        .zip(is_new)
        .filter(|(_, is_new)| !**is_new)
    {
        new.clone_from(old);
    }
}

/// Returns the old and the new name of each field that was renamed, as `diff` reports it.
fn renamed(old: &Registry, new: &Registry) -> Vec<(String, String)> {
    let changes = diff(old, new).into_iter();
    let names = changes.filter_map(|change| {
        let names = change
            .description
            .strip_prefix("the field `")?
            .strip_suffix('`')?;
        let (before, after) = names.split_once("` was renamed to `")?;
        Some((before.to_owned(), after.to_owned()))
    });
    names.collect()
}

fn schema(registry: &Registry) -> &Schema {
    registry.schema("P").unwrap()
}

/// Returns each value that a registry reads from a frame, by the name of its field. An integer that is read as a decimal
/// is the same value.
fn values(text: &str, registry: &Registry) -> Result<Vec<(String, String)>, String> {
    let frame = DynamicFrame::decode(text, registry).map_err(|error| error.to_string())?;
    let known = frame.payload.iter();
    let known = known.filter(|(name, _)| schema(registry).field(name).is_some());
    let number = |value: &Value<'_>| value.to_json().as_f64().unwrap().to_string();
    Ok(known
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect())
}

/// Checks that the reader reads each frame of the writer as the writer meant it.
fn reads_all(
    (writer, reader): (&Registry, &Registry),
    same: &dyn Fn(&str) -> Option<String>,
    given: &[bool],
) -> Result<(), TestCaseError> {
    for head in HEADS.iter().filter(|head| schema(writer).lists(*head)) {
        let mut frame = DynamicFrame::new("a", head[0], head[1]).unwrap().under("P");
        for ((at, field), is_given) in (10i64..).zip(&schema(writer).fields).zip(given) {
            if *is_given || schema(writer).requires(field, head) {
                frame = frame.with(field.name.clone(), Value::from(at));
            }
        }
        let text = frame.encode(writer).unwrap();
        let meant = values(&text, writer).unwrap();
        let found = match values(&text, reader) {
            Ok(found) => found,
            Err(error) => return Err(TestCaseError::fail(format!("{text}: {error}"))),
        };
        // A reader fills in no defaults for a frame that its registry does not list. So the values of such a frame are
        // not compared.
        if !schema(reader).lists(head) && !schema(writer).frames.is_empty() {
            continue;
        }
        for field in &schema(writer).fields {
            let Some(other) = same(&field.name) else {
                continue;
            };
            let of = |values: &[(String, String)], name: &str| {
                values
                    .iter()
                    .find(|(other, _)| other == name)
                    .map(|(_, value)| value.clone())
            };
            prop_assert_eq!(
                of(&meant, &field.name),
                of(&found, &other),
                "{} of {}",
                other,
                text
            );
        }
        // A field that only the reader's registry has must have its default.
        for (name, value) in &found {
            let is_common = schema(writer)
                .fields
                .iter()
                .any(|field| same(&field.name).as_ref() == Some(name));
            let (_, field) = schema(reader).field(name).unwrap();
            let default = field
                .default_wire
                .as_ref()
                .and_then(|wire| wire.parse::<f64>().ok());
            let is_default = default.is_some_and(|default| default.to_string() == *value);
            prop_assert!(is_common || is_default, "{name}: {value} of {text}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]

    #[test]
    fn a_reader_that_is_not_broken_reads_what_the_writer_meant(
        (old, new) in plans(),
        given in proptest::collection::vec(any::<bool>(), 4),
    ) {
        let (old, new) = (old.registry(), new.registry());
        let breaks = |reader| {
            let mut breaking = diff(&old, &new).into_iter().filter_map(|change| change.breaking);
            breaking.any(|breaking| breaking.reader == Broken::Both || breaking.reader == reader)
        };
        let pairs = renamed(&old, &new);
        if !breaks(Broken::New) {
            let same = |name: &str| {
                let pair = pairs.iter().find(|(before, _)| before == name);
                let same = pair.map_or(name, |(_, after)| after);
                schema(&new).fields.iter().any(|field| field.name == same).then(|| same.to_owned())
            };
            reads_all((&old, &new), &same, &given)?;
        }
        if !breaks(Broken::Old) {
            let same = |name: &str| {
                let pair = pairs.iter().find(|(_, after)| after == name);
                let same = pair.map_or(name, |(before, _)| before);
                schema(&old).fields.iter().any(|field| field.name == same).then(|| same.to_owned())
            };
            reads_all((&new, &old), &same, &given)?;
        }
    }
}

//! The parts of values that are worth keeping.

use std::collections::BTreeSet;

use accp_registry::{Registry, Schema, Type};

use super::worth::{LONGEST, says};
use crate::view::shape;
use accp_frame::{Map, Value};

/// Returns the part of a value that is worth keeping, if any.
fn prune(registry: &Registry, value: &Value<'_>, hint: Option<&Schema>) -> Option<Value<'static>> {
    match value {
        Value::Map(map) => {
            let schema = hint.filter(|schema| shape::fits(schema, map));
            let schema = schema.or_else(|| shape::of(registry, map));
            prune_map(registry, map, schema).map(Value::Map)
        }
        Value::Array(items) => {
            let items = items.iter().filter_map(|item| prune(registry, item, hint));
            // Flattens lists of records into one list, which holds each record once.
            let is_map = |value: &Value<'_>| matches!(value, Value::Map(_));
            let items = items.flat_map(|item| match item {
                Value::Array(inner) if inner.iter().all(is_map) => inner,
                item => vec![item],
            });
            let mut seen = BTreeSet::new();
            let kept = items.filter(|item| !is_map(item) || seen.insert(item.to_string()));
            let kept: Vec<_> = kept.collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        value => says(value, LONGEST).then(|| value.clone().into_owned()),
    }
}

pub(super) fn prune_map(
    registry: &Registry,
    map: &Map<'_>,
    schema: Option<&Schema>,
) -> Option<Map<'static>> {
    let mut kept = Map::new();
    for (name, value) in map.iter() {
        let field = schema.and_then(|schema| schema.field(name));
        let inner = field.and_then(|(_, field)| match &field.ty {
            Type::List(item) => item.schema_code(),
            ty => ty.schema_code(),
        });
        let inner = inner.and_then(|code| registry.schema(code));
        let is_kept = match schema.and_then(|schema| schema.keep.as_ref()) {
            Some(keep) => {
                let mut tag = schema.and_then(|schema| schema.union.as_ref()).into_iter();
                keep.iter().chain(&mut tag).any(|kept| kept == name)
            }
            None => true,
        };
        if !is_kept {
            continue;
        }
        let mut value = prune(registry, value, inner);
        if schema.is_none() {
            // A record that is stored under its name need not repeat the name.
            value = value.and_then(|value| without(value, name).or(Some(Value::Null)));
        }
        if let Some(value) = value {
            kept.insert(String::from(name), value);
        }
    }
    (!kept.is_empty()).then_some(kept)
}

/// Returns a record without the field that holds its name.
fn without(value: Value<'static>, name: &str) -> Option<Value<'static>> {
    let Value::Map(map) = value else {
        return Some(value);
    };
    let says = |value: &Value<'_>| value.as_str() == Some(name);
    let rest = map.iter().filter(|(_, value)| !says(value));
    let rest: Map<'static> = rest
        .map(|(key, value)| (String::from(key), value.clone()))
        .collect();
    (!rest.is_empty()).then_some(Value::Map(rest))
}

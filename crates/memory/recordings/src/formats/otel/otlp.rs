//! Reads attributes and values of OTLP JSON.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

/// The keys of the attributes of a span. Jaeger calls them tags.
pub(super) const ATTRIBUTES: [&str; 2] = ["attributes", "tags"];

/// Returns an attribute of a span.
pub(super) fn get(map: &Map<String, Json>, key: &str) -> Option<Json> {
    let inner = ATTRIBUTES.iter().find_map(|name| match map.get(*name)? {
        Json::Object(attributes) => attributes.get(key).cloned(),
        Json::Array(entries) => {
            let entry = entries.iter().find(|entry| entry["key"] == key)?;
            Some(plain(entry.get("value")?.clone()))
        }
        _ => None,
    });
    map.get(key)
        .cloned()
        .or(inner)
        .filter(|value| !value.is_null())
}

/// Returns a value of OTLP JSON as plain JSON: `{"stringValue": ..}`, `{"arrayValue": ..}` and so on. Other JSON
/// stays, and so does a list that has other keys in addition to its values.
pub(super) fn plain(json: Json) -> Json {
    let only = json.as_object().filter(|map| map.len() == 1);
    let Some((key, value)) = only.and_then(|map| map.iter().next()) else {
        return json;
    };
    let is_list = match key.as_str() {
        "stringValue" | "intValue" | "doubleValue" | "boolValue" | "bytesValue"
        | "string_value" | "int_value" | "double_value" | "bool_value" | "bytes_value" => {
            return only_value(json);
        }
        "arrayValue" | "array_value" => true,
        "kvlistValue" | "kvlist_value" => false,
        _ => return json,
    };
    let Some(values) = values(value).filter(|values| is_list || is_table(values)) else {
        return json;
    };
    if values.is_empty() {
        let empty = if is_list {
            Json::Array(Vec::new())
        } else {
            Json::Object(Map::new())
        };
        return empty;
    }
    let values = match only_value(only_value(json)) {
        Json::Array(values) => values,
        _ => Vec::new(),
    };
    if is_list {
        return values.into_iter().map(plain).collect();
    }
    let entries = values.into_iter().map(|mut entry| {
        let key = entry["key"].as_str().unwrap_or_default().to_owned();
        (key, plain(taken(&mut entry, "value")))
    });
    Json::Object(entries.collect())
}

/// Returns the value of an object with one key.
fn only_value(json: Json) -> Json {
    match json {
        Json::Object(map) => map.into_values().next().unwrap_or_default(),
        other => other,
    }
}

/// Returns the items of `{"values": [..]}`. A writer leaves out an empty list.
fn values(holder: &Json) -> Option<&[Json]> {
    let map = holder.as_object()?;
    match map.get("values") {
        Some(values) if map.len() == 1 => values.as_array().map(Vec::as_slice),
        None if map.is_empty() => Some(&[]),
        _ => None,
    }
}

/// Returns whether these are the entries of an object: each has a different key, and nothing else but its value.
fn is_table(entries: &[Json]) -> bool {
    let mut keys = HashSet::new();
    entries.iter().all(|entry| {
        let map = entry.as_object();
        let key = map.and_then(|map| map.get("key")?.as_str());
        let known = map.is_some_and(|map| map.keys().all(|key| key == "key" || key == "value"));
        known && key.is_some_and(|key| keys.insert(key))
    })
}

/// Takes the value of a key, if this is an object that has it.
pub(super) fn taken(json: &mut Json, key: &str) -> Json {
    json.get_mut(key).map_or(Json::Null, Json::take)
}

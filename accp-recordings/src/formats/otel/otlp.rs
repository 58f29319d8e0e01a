//! Attributes and values of OTLP JSON.

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

/// Returns a value of OTLP JSON as plain JSON: `{"stringValue": ..}`, `{"arrayValue": ..}` and so
/// on. Other JSON stays.
pub(super) fn plain(json: Json) -> Json {
    let Json::Object(mut map) = json else {
        return json;
    };
    if map.len() != 1 {
        return Json::Object(map);
    }
    for key in [
        "stringValue",
        "intValue",
        "doubleValue",
        "boolValue",
        "bytesValue",
        "string_value",
        "int_value",
        "double_value",
        "bool_value",
        "bytes_value",
    ] {
        if let Some(value) = map.shift_remove(key) {
            return value;
        }
    }
    let mut list = |keys: [&str; 2]| {
        let key = keys.into_iter().find(|key| map.contains_key(*key))?;
        map.get_mut(key).map(|holder| taken(holder, "values"))
    };
    if let Some(Json::Array(values)) = list(["arrayValue", "array_value"]) {
        return values.into_iter().map(plain).collect();
    }
    if let Some(values) = list(["kvlistValue", "kvlist_value"]) {
        return Json::Object(table(values));
    }
    Json::Object(map)
}

/// Returns an object of OTLP, which is a list of entries.
fn table(json: Json) -> Map<String, Json> {
    let entries = match json {
        Json::Array(entries) => entries,
        _ => Vec::new(),
    };
    let entries = entries.into_iter().map(|mut entry| {
        let key = entry["key"].as_str().unwrap_or_default().to_owned();
        (key, plain(taken(&mut entry, "value")))
    });
    entries.collect()
}

/// Takes the value of a key, if this is an object that has it.
pub(super) fn taken(json: &mut Json, key: &str) -> Json {
    json.get_mut(key).map_or(Json::Null, Json::take)
}

//! Reads messages that are spread over attributes of one value each, such as `gen_ai.prompt.0.content`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::otlp::{ATTRIBUTES, plain};

/// The prefixes of such attributes, and the role of a message that names no role.
pub(super) const FLAT: [(&str, &str); 2] = [
    ("gen_ai.prompt.", "user"),
    ("gen_ai.completion.", "assistant"),
];

/// Returns whether this is the name of such an attribute.
pub(super) fn is_flat(key: &str) -> bool {
    FLAT.iter().any(|(begins, _)| split(key, begins).is_some())
}

/// Returns the number of the message, and the path in it.
fn split<'k>(key: &'k str, begins: &str) -> Option<(usize, &'k str)> {
    let (number, path) = key.strip_prefix(begins)?.split_once('.')?;
    Some((number.parse().ok()?, path))
}

/// Takes the messages out of the attributes of a span.
pub(super) fn take(span: &mut Map<String, Json>, begins: &str, role: &str) -> Vec<Json> {
    let mut all: BTreeMap<usize, Json> = BTreeMap::new();
    let mut put = |key: &str, value: Json| {
        if let Some((number, path)) = split(key, begins) {
            let message = all
                .entry(number)
                .or_insert_with(|| Json::Object(Map::new()));
            set(message, path, value);
        }
    };
    for name in ATTRIBUTES {
        match span.get_mut(name) {
            Some(Json::Object(map)) => drain(map, begins, &mut put),
            Some(Json::Array(entries)) => {
                entries.retain(|entry| {
                    let key = entry["key"].as_str().unwrap_or_default();
                    let is_one = split(key, begins).is_some();
                    if is_one {
                        put(key, plain(entry["value"].clone()));
                    }
                    !is_one
                });
            }
            _ => {}
        }
    }
    drain(span, begins, &mut put);
    let messages = all.into_values().map(|message| {
        let mut message = listed_inside(message);
        if message.get("role").is_none() {
            message["role"] = role.into();
        }
        // The attribute may have the parts as a text of JSON.
        let parts = message["content"]
            .as_str()
            .and_then(|text| serde_json::from_str::<Json>(text).ok());
        if let Some(parts @ Json::Array(_)) = parts {
            let is_part = |part: &Json| part["type"].is_string();
            if parts.as_array().is_some_and(|all| all.iter().all(is_part)) {
                message["content"] = parts;
            }
        }
        message
    });
    messages.collect()
}

fn drain(map: &mut Map<String, Json>, begins: &str, put: &mut impl FnMut(&str, Json)) {
    map.retain(|key, value| {
        let is_one = split(key, begins).is_some();
        if is_one {
            put(key, value.take());
        }
        !is_one
    });
}

/// Sets a value at a path of names with dots. If a name is taken already, a prime is added to it.
fn set(json: &mut Json, path: &str, value: Json) {
    let Json::Object(map) = json else { return };
    match path.split_once('.') {
        Some((name, rest)) if map.get(name).is_none_or(Json::is_object) => {
            let inner = map.entry(name).or_insert_with(|| Json::Object(Map::new()));
            set(inner, rest, value);
        }
        _ => {
            let mut name = path.to_owned();
            while map.contains_key(&name) {
                name.push('\'');
            }
            map.insert(name, value);
        }
    }
}

/// Turns the objects inside this one whose keys are numbers into lists.
fn listed_inside(json: Json) -> Json {
    match json {
        Json::Object(map) => {
            let listed = map.into_iter().map(|(key, value)| (key, listed(value)));
            Json::Object(listed.collect())
        }
        other => other,
    }
}

/// Turns objects whose keys are numbers into lists.
fn listed(json: Json) -> Json {
    let map = match listed_inside(json) {
        Json::Object(map) => map,
        other => return other,
    };
    let is_list = !map.is_empty() && map.keys().all(|key| key.parse::<usize>().is_ok());
    if !is_list {
        return Json::Object(map);
    }
    let mut items: Vec<(String, Json)> = map.into_iter().collect();
    items.sort_by_key(|(key, _)| key.parse::<usize>().unwrap_or(0));
    items.into_iter().map(|(_, value)| value).collect()
}

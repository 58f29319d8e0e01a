//! Reads documents that are a list, or hold a list under a key.

use accp_context::Recorded;
use serde_json::{Map, Value as Json};

use super::draft::Draft;
use super::fault::Fault;
use super::fields::merge;

/// Returns the list of a document: the document itself, or the array under the first of these keys that holds an array.
/// `None` if there is no array, or an empty one.
pub(super) fn list<'j>(json: &'j Json, keys: &[&str]) -> Option<&'j [Json]> {
    let inner = || keys.iter().find_map(|key| json.get(*key)?.as_array());
    let list = json.as_array().or_else(inner);
    list.map(Vec::as_slice).filter(|all| !all.is_empty())
}

/// The objects of a list, and the other keys of the document.
pub(super) struct Listed {
    pub(super) objects: Vec<Map<String, Json>>,
    pub(super) rest: Map<String, Json>,
}

/// Takes the list of a document, and returns the other keys, too.
///
/// # Errors
/// When the document has no such list, or something in it is not an object.
pub(super) fn taken(
    json: Json,
    keys: &[&'static str],
    expected: &'static str,
) -> Result<Listed, Fault> {
    let (list, rest, at) = match json {
        Json::Array(list) => (list, Map::new(), String::new()),
        Json::Object(mut map) => {
            let key = keys
                .iter()
                .find(|key| map.get(**key).is_some_and(Json::is_array));
            let key = *key.ok_or_else(|| Fault::at("", expected))?;
            let Some(Json::Array(list)) = map.shift_remove(key) else {
                return Err(Fault::at("", expected));
            };
            (list, map, format!("/{key}"))
        }
        _ => return Err(Fault::at("", expected)),
    };
    let objects = list.into_iter().enumerate().map(|(index, one)| match one {
        Json::Object(map) => Ok(map),
        _ => Err(Fault::at(format!("{at}/{index}"), "an object")),
    });
    let objects = objects.collect::<Result<_, _>>()?;
    Ok(Listed { objects, rest })
}

/// Returns whether an object has a string under this key.
pub(super) fn has_text(json: &Json, key: &str) -> bool {
    json.get(key).is_some_and(Json::is_string)
}

/// Adds recorded values to the first message. Returns the values if there is no message.
pub(super) fn about(messages: &mut [Json], about: Map<String, Json>) -> Option<Map<String, Json>> {
    let Some(Json::Object(first)) = messages.first_mut() else {
        return Some(about);
    };
    if !about.is_empty() {
        let slot = first.entry(Recorded::ABOUT);
        if let Json::Object(slot) = slot.or_insert_with(|| Json::Object(Map::new())) {
            merge(slot, about);
        }
    }
    None
}

/// Ends the message if it says something, and begins another message of the same role.
pub(super) fn next(draft: &mut Draft, role: &str, out: &mut Vec<Json>) {
    if !draft.is_empty() {
        out.push(std::mem::replace(draft, Draft::new(role)).into_json());
    }
}

/// Adds the result of a tool: a text, or the JSON of another value.
pub(super) fn value(draft: &mut Draft, json: Option<Json>) {
    match json {
        Some(Json::String(text)) => draft.text(text),
        Some(Json::Null) | None => {}
        Some(other) => draft.text(other.to_string()),
    }
}

//! Puts a value together that comes in pieces, such as the signed thoughts of a chat.

use serde_json::{Value as Json, json};

use super::set;

/// Members that say which piece a piece goes on with, or what it is. They come again with each piece, and are not
/// joined.
const NAMES: [&str; 6] = ["id", "index", "type", "format", "name", "role"];

/// Returns about how many bytes a value has.
pub(super) fn bytes_of(json: &Json) -> usize {
    json.as_str()
        .map_or_else(|| json.to_string().len(), str::len)
}

/// Adds a piece of a value to those before it.
pub(super) fn grow(all: &mut Json, piece: &Json) {
    match (all, piece) {
        (_, Json::Null) => {}
        (Json::String(all), Json::String(more)) => all.push_str(more),
        (Json::Object(all), Json::Object(more)) => {
            for (key, value) in more {
                let before = all.entry(key.clone()).or_insert(Json::Null);
                let is_told = !before.is_null() && *before != "";
                if !is_told || !NAMES.contains(&&**key) {
                    grow(before, value);
                }
            }
        }
        (Json::Array(all), Json::Array(more)) => {
            for item in more {
                match all.iter_mut().rev().find(|one| is_part(one, item)) {
                    Some(one) => grow(one, item),
                    None => all.push(item.clone()),
                }
            }
        }
        (all, more) => *all = more.clone(),
    }
}

/// Returns whether a piece goes on with an item of a list: it has the item's number and type, and no other id.
fn is_part(item: &Json, piece: &Json) -> bool {
    let is_other = |key: &str| item[key] != piece[key];
    let has_other_id = item["id"].is_string() && piece["id"].is_string() && is_other("id");
    piece["index"].is_u64() && !is_other("index") && !is_other("type") && !has_other_id
}

/// Adds a number to those of the items of a list. Returns whether one has changed.
pub(super) fn count_on(list: &mut Json, before: u64) -> bool {
    let mut is_changed = false;
    for item in list.as_array_mut().into_iter().flatten() {
        if let Some(index) = item["index"].as_u64().filter(|_| before > 0) {
            set(item, "index", Json::from(index.saturating_add(before)));
            is_changed = true;
        }
    }
    is_changed
}

/// Adds what the next turn has thought to the thoughts before it.
pub(super) fn append(all: &mut Json, more: Json) {
    match (all, more) {
        (Json::String(all), Json::String(more)) => all.push_str(&more),
        (Json::Array(all), Json::Array(more)) => all.extend(more),
        (all, more) => *all = more,
    }
}

/// Returns the parts of a content.
pub(super) fn in_parts(content: Json) -> Vec<Json> {
    match content {
        Json::Array(parts) => parts,
        Json::String(text) => vec![json!({ "type": "text", "text": text })],
        _ => Vec::new(),
    }
}

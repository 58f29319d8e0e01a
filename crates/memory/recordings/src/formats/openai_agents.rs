//! Reads sessions of the OpenAI Agents SDK as their database holds them: one row for each item of OpenAI Responses,
//! with the JSON of the item in `message_data`. A list of the items without rows is a document of OpenAI Responses.

use serde_json::{Value as Json, json};

use super::fault::{Fault, Parsed};
use super::fields::merge;
use super::listed::{self, Listed, has_text, list};
use super::responses;

/// The tables of an export.
const LISTS: [&str; 1] = ["agent_messages"];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    let rows = list(json, &LISTS);
    is_row(json) || rows.is_some_and(|rows| rows.iter().all(is_row))
}

/// Returns whether this is a row with an item.
pub(crate) fn is_row(json: &Json) -> bool {
    let item = &json["message_data"];
    has_text(json, "session_id") && (item.is_string() || item.is_object())
}

/// Reads the rows of one session.
///
/// # Errors
/// When a row is of another session, or its item is not JSON.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "rows with `session_id` and `message_data`";
    Fault::unless(detect(&json), expected)?;
    let (json, at) = match json {
        Json::Object(map) if !LISTS.iter().any(|key| map.contains_key(*key)) => {
            (json!([map]), String::new())
        }
        Json::Object(map) => (Json::Object(map), format!("/{}", LISTS[0])),
        json => (json, String::new()),
    };
    let Listed {
        objects: rows,
        mut rest,
    } = listed::taken(json, &LISTS, expected)?;
    let id = rows.first().and_then(|row| row.get("session_id")).cloned();
    let (mut items, mut entries) = (Vec::new(), Vec::new());
    for (index, mut row) in rows.into_iter().enumerate() {
        if row.get("session_id") != id.as_ref() {
            let pointer = format!("{at}/{index}/session_id");
            return Err(Fault::at(pointer, "the rows of one session alone"));
        }
        let item = match row.shift_remove("message_data") {
            Some(Json::String(text)) => serde_json::from_str(&text).ok(),
            other => other,
        };
        let item = item.filter(Json::is_object);
        items.push(item.ok_or_else(|| {
            Fault::at(
                format!("{at}/{index}/message_data"),
                "an item, an object or its JSON",
            )
        })?);
        entries.push(Json::Object(row));
    }
    let messages = responses::read(Json::Array(items))?.messages;
    let own = [("entries", Some(Json::Array(entries))), ("id", id)];
    let own = own
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    merge(&mut rest, own.collect());
    Ok(Parsed {
        messages,
        rest,
        answered: None,
    })
}

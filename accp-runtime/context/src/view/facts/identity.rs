//! Finds the names of records, by which facts tell records apart.

use accp_registry::{Registry, Schema, identity_rank, words};

use crate::view::shape;
use accp_frame::{Map, Value};

/// Returns the schema of a record, the field that names it, and the name. Among the fields without
/// a default it picks the field whose own name most clearly marks an identifier.
pub(in crate::view) fn named<'r>(
    registry: &'r Registry,
    map: &Map<'_>,
) -> Option<(&'r Schema, &'r str, String)> {
    let schema = shape::of(registry, map)?;
    let fields = schema.fields.iter().filter(|field| field.default.is_none());
    let named = fields.filter_map(|field| Some((identity_rank(&field.name)?, field)));
    let (_, field) = named.min_by_key(|(rank, _)| *rank)?;
    let name = match map.get(&field.name)? {
        Value::String(name) => String::from(&**name),
        Value::Integer(number) => number.to_string(),
        _ => return None,
    };
    Some((schema, &field.name, name))
}

/// Returns the name of a record of any schema: the text that `text` returns for a value. If `text` returns a text for
/// several values, picks the value whose field most clearly marks an identifier. `hints` are names that lead to the
/// record: under `flights`, `flight_number` is better than other fields.
pub(crate) fn id_of(
    map: &Map<'_>,
    hints: [&str; 2],
    text: impl Fn(&Value<'_>) -> Option<String>,
) -> Option<String> {
    let ids = map.iter().filter_map(|(field, value)| {
        let rank = rank(field, &hints)?;
        let is_id = matches!(value, Value::String(_) | Value::Integer(_));
        Some((rank, is_id.then(|| text(value))??))
    });
    ids.min_by_key(|(rank, _)| *rank).map(|(_, id)| id)
}

/// Rates how well a field names its record, 0 best; `None` if the field does not name the record. Facts about one name
/// are merged, so a field such as `error_code` does not count: two errors with the same code are not the same error.
fn rank(field: &str, hints: &[&str]) -> Option<u8> {
    match field {
        "id" => return Some(0),
        "task" | "tool_name" => return Some(4),
        "name" | "title" => return Some(5),
        _ => {}
    }
    let rank = identity_rank(field).filter(|rank| Some(*rank) <= identity_rank("number"))?;
    let all: Vec<&str> = words(field).collect();
    let [.., stem, _] = all[..] else { return None };
    let is_hinted = hints.iter().flat_map(|hint| words(hint)).any(|word| {
        let start = word.get(..stem.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(stem))
    });
    Some(match (rank, is_hinted) {
        (0, true) => 0,
        (_, true) => 1,
        (0, false) => 2,
        (_, false) => 3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_the_record_comes_first() {
        let best = |fields: &[&'static str], hints: &[&str]| {
            let ranked = fields
                .iter()
                .filter_map(|field| Some((rank(field, hints)?, *field)));
            ranked.min().map(|(_, field)| field)
        };
        assert_eq!(
            best(&["account_id", "user_id"], &["get_users"]),
            Some("user_id")
        );
        assert_eq!(
            best(&["user_id", "reservation_id"], &["get_reservations"]),
            Some("reservation_id")
        );
        assert_eq!(
            best(&["user_id", "reservation_id"], &[]),
            Some("reservation_id")
        );
        assert_eq!(
            best(&["name", "flight_number", "phone_number"], &["flights"]),
            Some("flight_number")
        );
        assert_eq!(best(&["status", "tool_name"], &[]), Some("tool_name"));
        assert_eq!(best(&["error_code", "status"], &["error"]), None);
    }
}

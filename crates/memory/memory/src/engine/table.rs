//! JSON of a result with its records by position, in JSON that explains itself.

use std::collections::HashMap;

use accp_recordings::read_json;
use serde_json::{Map, Value as Json, json};

use crate::raw::compact;

/// The fewest records of one shape that become a table.
const ROWS: usize = 2;
/// The fewest keys of a record whose values stand by position where an earlier result has the keys.
const KEYS: usize = 4;
/// Stands between the names of a member and of a member inside it.
const INSIDE: char = '.';

/// The columns and keys that stand in the list, with the result in which they do.
#[derive(Debug, Clone, Default)]
pub(super) struct Shapes {
    /// The names of columns, as JSON.
    columns: HashMap<String, String>,
    /// The keys of results that are one record, as JSON.
    keys: HashMap<String, String>,
}

impl Shapes {
    /// Takes what a result says as it stands in the list.
    pub(super) fn add(&mut self, name: &str, text: &str) {
        if !text.trim_start().starts_with(['{', '[']) {
            return;
        }
        let Ok(json) = serde_json::from_str::<Json>(text) else {
            return;
        };
        if let Json::Object(map) = &json {
            let keys = names(map.keys().map(String::as_str));
            let is_by_position = map.contains_key("rows") || map.contains_key("values");
            if map.len() >= KEYS && !is_by_position {
                self.keys.entry(keys).or_insert_with(|| place(None, name));
            }
        }
        self.add_columns(&place(None, name), name, &json);
    }

    /// Takes the columns in a value that stands at a place of a result.
    fn add_columns(&mut self, at: &str, name: &str, json: &Json) {
        match json {
            Json::Array(items) => {
                let items = items.iter();
                items.for_each(|item| self.add_columns(at, name, item));
            }
            // The members of a record by position have no names here.
            Json::Object(map) if map.contains_key("values") => {}
            Json::Object(map) => {
                if let (Some(columns @ Json::Array(_)), 2) = (map.get("columns"), map.len()) {
                    let columns = columns.to_string();
                    self.columns.entry(columns).or_insert_with(|| at.to_owned());
                    return;
                }
                for (key, value) in map {
                    self.add_columns(&place(Some(key), name), name, value);
                }
            }
            _ => {}
        }
    }
}

/// Returns the words for a place of a result: the member there, if it has a name.
fn place(key: Option<&str>, name: &str) -> String {
    match key {
        Some(key) => format!("{key} of result {name}"),
        None => format!("result {name}"),
    }
}

/// Returns the JSON of a result, compact and with lists of records as `{"columns":[..],"rows":[[..],..]}`. Columns and keys
/// that an earlier result has are said by its name. `None` if it is not JSON, or a number in it would be spelt in another way.
pub(super) fn by_position(text: &str, name: &str, shapes: &Shapes) -> Option<String> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    // A member that stands twice is refused, and half of a surrogate pair would become another character.
    let (json, lone) = read_json(trimmed.as_bytes()).ok()?;
    if lone.places().next().is_some() {
        return None;
    }
    let spelt = json.to_string();
    if numbers(&compact(trimmed)) != numbers(&spelt) {
        return None;
    }
    let mut writer = Writer {
        name,
        shapes,
        own: Shapes::default(),
    };
    Some(writer.whole(&json).to_string())
}

/// Writes a result.
struct Writer<'s> {
    name: &'s str,
    shapes: &'s Shapes,
    /// What stands further up in the result itself.
    own: Shapes,
}

impl Writer<'_> {
    /// Returns the whole result: a record of known keys by position.
    fn whole(&mut self, json: &Json) -> Json {
        let known = json.as_object().filter(|map| map.len() >= KEYS);
        let known = known.and_then(|map| {
            let keys = names(map.keys().map(String::as_str));
            Some((map, self.shapes.keys.get(&keys)?))
        });
        let Some((map, of)) = known else {
            return self.placed(None, json);
        };
        // The values have no names here, so neither have the tables in them.
        let values: Vec<Json> = map.values().map(|value| self.placed(None, value)).collect();
        json!({ "keys": as_in(of), "values": values })
    }

    /// Returns the same value, the member under this key, with its lists of records by position.
    fn placed(&mut self, key: Option<&str>, json: &Json) -> Json {
        match json {
            Json::Array(items) => {
                match self.table(key, items).or_else(|| self.groups(key, items)) {
                    Some(table) => table,
                    None => items
                        .iter()
                        .map(|item| self.placed(key, item))
                        .collect::<Vec<_>>()
                        .into(),
                }
            }
            Json::Object(map) => {
                let members = map
                    .iter()
                    .map(|(key, value)| (key.clone(), self.placed(Some(key), value)));
                Json::Object(members.collect())
            }
            scalar => scalar.clone(),
        }
    }

    /// Returns a list of records as a table; `None` if its items are not records of one shape.
    fn table(&mut self, key: Option<&str>, items: &[Json]) -> Option<Json> {
        let records: Option<Vec<&Map<String, Json>>> = items.iter().map(Json::as_object).collect();
        let records = records?;
        let flat = flat(&records)?;
        let columns = names(flat.first()?.iter().map(|(name, _)| &**name));
        let is_known = self.known(&columns).is_some();
        if columns.len() <= 2 || records.len() < ROWS && !is_known {
            return None;
        }
        let columns = self.columns(key, columns);
        Some(json!({ "columns": columns, "rows": self.rows(key, &flat) }))
    }

    /// Returns lists of records of one shape as groups of rows under common columns.
    fn groups(&mut self, key: Option<&str>, items: &[Json]) -> Option<Json> {
        let lists: Option<Vec<&Vec<Json>>> = items.iter().map(Json::as_array).collect();
        let lists = lists.filter(|lists| lists.len() >= ROWS)?;
        let records = lists.iter().copied().flatten().map(Json::as_object);
        let records: Option<Vec<&Map<String, Json>>> = records.collect();
        let flat = flat(&records?)?;
        let columns = names(flat.first()?.iter().map(|(name, _)| &**name));
        if columns.len() <= 2 {
            return None;
        }
        let columns = self.columns(key, columns);
        let mut rest = &flat[..];
        let mut groups = Vec::new();
        for list in lists {
            let (group, behind) = rest.split_at_checked(list.len())?;
            groups.push(self.rows(key, group));
            rest = behind;
        }
        Some(json!({ "columns": columns, "groups": groups }))
    }

    fn rows(&mut self, key: Option<&str>, flat: &[Vec<(String, &Json)>]) -> Json {
        let rows = flat.iter().map(|row| {
            let cells = row.iter().map(|(_, value)| self.placed(key, value));
            Json::Array(cells.collect())
        });
        rows.collect()
    }

    /// Returns the result that has these columns.
    fn known(&self, columns: &str) -> Option<&String> {
        let own = self.own.columns.get(columns);
        own.or_else(|| self.shapes.columns.get(columns))
    }

    /// Returns columns, or where they stand.
    fn columns(&mut self, key: Option<&str>, columns: String) -> Json {
        if let Some(of) = self.known(&columns) {
            return as_in(of);
        }
        let names = serde_json::from_str(&columns).unwrap_or_default();
        self.own.columns.insert(columns, place(key, self.name));
        names
    }
}

fn as_in(place: &str) -> Json {
    format!("as in {place}").into()
}

/// Returns names as the JSON of a list.
fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(Json::from).collect::<Json>().to_string()
}

/// Returns the members of records that all have the same ones in the same order, with those of records inside beside them.
fn flat<'j>(records: &[&'j Map<String, Json>]) -> Option<Vec<Vec<(String, &'j Json)>>> {
    let keys: Vec<&String> = records.first()?.keys().collect();
    let is_alike = |record: &&&Map<String, Json>| record.keys().eq(keys.iter().copied());
    if !records.iter().all(|record| is_alike(&record))
        || keys.iter().any(|key| key.contains(INSIDE))
    {
        return None;
    }
    let mut rows: Vec<Vec<(String, &Json)>> = records.iter().map(|_| Vec::new()).collect();
    for key in keys {
        let values = records.iter().map(|record| &record[key.as_str()]);
        let values: Vec<&Json> = values.collect();
        let inner: Option<Vec<&Map<String, Json>>> =
            values.iter().map(|value| value.as_object()).collect();
        let inner = inner.filter(|inner| inner.iter().all(|record| !record.is_empty()));
        match inner.and_then(|inner| flat(&inner)) {
            Some(inner) => {
                for (row, inner) in rows.iter_mut().zip(inner) {
                    let named = inner.into_iter();
                    row.extend(named.map(|(name, value)| (format!("{key}{INSIDE}{name}"), value)));
                }
            }
            None => {
                for (row, value) in rows.iter_mut().zip(values) {
                    row.push((key.clone(), value));
                }
            }
        }
    }
    Some(rows)
}

/// Returns the numbers of compact JSON as they are spelt, in order.
fn numbers(json: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut inside, mut escaped, mut from) = (false, false, None);
    for (at, byte) in json.bytes().enumerate() {
        let is_part = matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let begins = !inside && (byte.is_ascii_digit() || byte == b'-');
        match from {
            Some(start) if !is_part => {
                found.push(&json[start..at]);
                from = None;
            }
            None if begins => from = Some(at),
            _ => {}
        }
        if inside {
            inside = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte == b'"' {
            inside = true;
        }
    }
    found
}

#[cfg(test)]
mod tests;

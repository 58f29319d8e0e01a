//! Rewrites the JSON of a result, so that records do not repeat their keys: their values stand by position under common
//! columns. A reader understands the new JSON without any explanation.

use accp_recordings::read_json;
use serde_json::{Map, Value as Json, json};

use super::shapes::{AS_IN, KEYS, Shape, Shapes, columns, flat, names, place};
use super::value::value;
use crate::raw::compact;

/// The fewest records of one shape that become a table.
const ROWS: usize = 2;

/// Returns a result with compact JSON, and with lists of records as `{"columns":[..],"rows":[[..],..]}`. A reference
/// replaces columns and keys that an earlier result has. Words before and behind the JSON stay exactly as they are.
/// `None` if there is no JSON, or a number in it would be written in another way.
pub(super) fn by_position(text: &str, name: &str, shapes: &Shapes) -> Option<String> {
    let range = value(text)?;
    let (before, behind) = (&text[..range.start], &text[range.end..]);
    let given = &text[range];
    // A repeated member is an error, and half of a surrogate pair would become another character.
    let (json, lone) = read_json(given.as_bytes()).ok()?;
    if lone.places().next().is_some() {
        return None;
    }
    let spelt = json.to_string();
    if numbers(&compact(given)) != numbers(&spelt) {
        return None;
    }
    let mut writer = Writer {
        name,
        shapes,
        own: Shapes::default(),
    };
    let written = writer.whole(&json);
    // If there is only white space around the value, it is layout and is left out.
    Some(if before.trim().is_empty() && behind.trim().is_empty() {
        written.to_string()
    } else {
        format!("{before}{written}{behind}")
    })
}

/// Writes a result.
struct Writer<'s> {
    name: &'s str,
    shapes: &'s Shapes,
    /// The columns that stand further up in the same result.
    own: Shapes,
}

impl Writer<'_> {
    /// Returns the whole result. A record may be a reference to an earlier record with the members that differ, or
    /// its values with a reference to its keys.
    fn whole(&mut self, json: &Json) -> Json {
        let Some(map) = json.as_object().filter(|map| map.len() >= KEYS) else {
            return self.placed(None, json);
        };
        let whole = self.with_known_keys(json, map);
        let whole = whole.unwrap_or_else(|| {
            // The attempt was dropped, so the columns that it noted are not in the result.
            self.own = Shapes::default();
            self.placed(None, json)
        });
        let changed = self.shapes.as_earlier(map);
        let is_shorter = |json: &Json| json.to_string().len() < whole.to_string().len();
        changed.filter(is_shorter).unwrap_or(whole)
    }

    /// Returns the values of a record whose keys stand in an earlier result.
    fn with_known_keys(&mut self, json: &Json, map: &Map<String, Json>) -> Option<Json> {
        let shapes = self.shapes;
        let keys = names(map.keys().map(String::as_str));
        let (of, shape) = shapes.layouts.get(&keys)?;
        let values = self.values(json, shape)?;
        Some(json!({ "keys and columns": as_in(of), "values": values }))
    }

    /// Returns a value without the names that an earlier value of this shape has; `None` if a reader would take the
    /// value for another one.
    fn values(&mut self, json: &Json, shape: &Shape) -> Option<Json> {
        match (shape, json) {
            (Shape::Record(members), Json::Object(map)) => {
                if !map.keys().eq(members.iter().map(|(key, _)| key)) {
                    return Some(self.placed(None, json));
                }
                let values = map.values().zip(members);
                let values = values.map(|(value, (_, shape))| self.values(value, shape));
                values.collect::<Option<Vec<_>>>().map(Json::from)
            }
            (Shape::Rows(known), Json::Array(items)) => {
                let records = items.iter().map(Json::as_object);
                let records: Vec<&Map<String, Json>> = records.collect::<Option<_>>()?;
                let flat = flat(&records).filter(|flat| !flat.is_empty());
                let Some(flat) = flat else {
                    return items.is_empty().then(|| json.clone());
                };
                (columns(flat.first()?) == *known).then(|| self.rows(None, &flat))
            }
            // A reader would take this array for the values of a record.
            (Shape::Record(_), Json::Array(_)) => None,
            _ => Some(self.placed(None, json)),
        }
    }

    /// Returns the value with its lists of records by position. `key` is the name of the member that has the value.
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
        let columns = columns(flat.first()?);
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
        let columns = columns(flat.first()?);
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

    /// Returns the place that has these columns.
    fn known(&self, columns: &str) -> Option<&String> {
        let own = self.own.columns.get(columns);
        own.or_else(|| self.shapes.columns.get(columns))
    }

    /// Returns columns, or a reference to the place that has them.
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
    format!("{AS_IN}{place}").into()
}

/// Returns the numbers of compact JSON as they are written, in order.
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

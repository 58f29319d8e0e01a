//! JSON of a result with its records by position, in JSON that explains itself.

use std::collections::{HashMap, VecDeque};

use accp_recordings::read_json;
use serde_json::{Map, Value as Json, json};

use crate::raw::compact;

/// The fewest records of one shape that become a table.
const ROWS: usize = 2;
/// The fewest keys of a record whose values stand by position where an earlier result has the keys.
const KEYS: usize = 4;
/// The newest results that are one record in which an equal record is looked for.
const RECORDS: usize = 40;
/// Stands before the place where columns or keys stand.
const AS_IN: &str = "as in ";
/// Stands between the names of a member and of a member inside it.
const INSIDE: char = '.';

/// The columns and keys that stand in the list, with the result in which they do, and records that stand there.
#[derive(Debug, Clone, Default)]
pub(super) struct Shapes {
    /// The names of columns, as JSON.
    columns: HashMap<String, String>,
    /// The results that are one record and stand with their names, by the JSON of their keys.
    layouts: HashMap<String, (String, Shape)>,
    /// The newest results that are one record, as they were given.
    records: VecDeque<(String, Map<String, Json>)>,
}

impl Shapes {
    /// Takes what a result says: as it stands in the list, and as it was given.
    pub(super) fn add(&mut self, name: &str, text: &str, given: &str) {
        if !text.trim_start().starts_with(['{', '[']) {
            return;
        }
        let Ok(json) = serde_json::from_str::<Json>(text) else {
            return;
        };
        self.add_columns(&place(None, name), name, &json);
        if let Json::Object(map) = &json {
            let keys = names(map.keys().map(String::as_str));
            let is_by_position = map.contains_key("rows") || map.contains_key("values");
            if map.len() >= KEYS && !is_by_position && !self.layouts.contains_key(&keys) {
                let shape = Shape::of(&json, self);
                self.layouts.insert(keys, (place(None, name), shape));
            }
        }
        if let Ok(Json::Object(record)) = serde_json::from_str(given.trim())
            && record.len() >= KEYS
        {
            self.records.truncate(RECORDS - 1);
            self.records.push_front((name.to_owned(), record));
        }
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

    /// Returns the columns that stand at a place.
    fn columns_at(&self, place: &str) -> Option<&String> {
        let mut all = self.columns.iter();
        all.find_map(|(columns, at)| (at == place).then_some(columns))
    }

    /// Returns a record as an earlier one with other members; `None` if none has most of them.
    fn as_earlier(&self, record: &Map<String, Json>) -> Option<Json> {
        let mut best: Option<(usize, Json)> = None;
        for (name, known) in &self.records {
            let is_longer = record.len() >= known.len();
            if !is_longer || !known.keys().eq(record.keys().take(known.len())) {
                continue;
            }
            let other = |(key, value): &(&String, &Json)| known.get(*key) != Some(*value);
            let others = record.iter().filter(other);
            let others: Map<String, Json> = others
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            let fewest = best
                .as_ref()
                .map_or(record.len().div_ceil(2), |best| best.0);
            if others.len() < fewest {
                best = Some((
                    others.len(),
                    json!({ format!("as {}, but", place(None, name)): others }),
                ));
            }
        }
        best.map(|(_, json)| json)
    }
}

/// How a value stands in a result, so that a later one can leave its names out.
#[derive(Debug, Clone)]
enum Shape {
    /// A record, with its keys.
    Record(Vec<(String, Shape)>),
    /// Records, with their columns as JSON.
    Rows(String),
    Other,
}

impl Shape {
    /// Returns the shape of a value as it stands in the list.
    fn of(json: &Json, shapes: &Shapes) -> Self {
        match json {
            Json::Object(map) => match (map.get("columns"), map.get("rows")) {
                (Some(Json::Array(columns)), Some(_)) => {
                    Self::Rows(Json::from(columns.clone()).to_string())
                }
                (Some(Json::String(at)), Some(_)) => {
                    let place = at.strip_prefix(AS_IN);
                    let columns = place.and_then(|place| shapes.columns_at(place));
                    columns.map_or(Self::Other, |columns| Self::Rows(columns.clone()))
                }
                _ if map.contains_key("columns") || map.contains_key("values") => Self::Other,
                _ => {
                    let members = map.iter();
                    let members =
                        members.map(|(key, value)| (key.clone(), Self::of(value, shapes)));
                    Self::Record(members.collect())
                }
            },
            Json::Array(items) => {
                let records = items.iter().map(Json::as_object);
                let records: Option<Vec<&Map<String, Json>>> = records.collect();
                let columns = records.and_then(|records| Some(columns(flat(&records)?.first()?)));
                let columns = columns.filter(|columns| columns != "[]");
                columns.map_or(Self::Other, Self::Rows)
            }
            _ => Self::Other,
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
    /// Returns the whole result: a record as an earlier one with other members, or with keys that stand in an earlier one.
    fn whole(&mut self, json: &Json) -> Json {
        let Some(map) = json.as_object().filter(|map| map.len() >= KEYS) else {
            return self.placed(None, json);
        };
        let whole = self.with_known_keys(json, map);
        let whole = whole.unwrap_or_else(|| {
            // What was tried does not stand.
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

    /// Returns a value without the names that stand in an earlier one of this shape; `None` if a reader would take it for
    /// another value.
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
            // An array stands for names that are left out.
            (Shape::Record(_), Json::Array(_)) => None,
            _ => Some(self.placed(None, json)),
        }
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
    format!("{AS_IN}{place}").into()
}

/// Returns the names of columns as JSON.
fn columns(row: &[(String, &Json)]) -> String {
    names(row.iter().map(|(name, _)| &**name))
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

//! The columns, keys and records that the results of a list have, so that later results can refer to them.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value as Json, json};

use super::value::value;

/// A record needs at least this many keys. Only then is it written by position, with the keys of an earlier result.
pub(super) const KEYS: usize = 4;
/// A record is compared with at most this many of the newest results that are one record.
const RECORDS: usize = 40;
/// These words stand before the place that has the columns or keys.
pub(super) const AS_IN: &str = "as in ";
/// Stands between the names of a member and of a member inside it.
pub(super) const INSIDE: char = '.';

/// The columns, keys and records of the results in a list, each with its place or its result.
#[derive(Debug, Clone, Default)]
pub(super) struct Shapes {
    /// For each JSON array of column names, the place that has these columns.
    pub(super) columns: HashMap<String, String>,
    /// For each JSON array of keys, the first result that is one record with these keys, and the shape of the record.
    pub(super) layouts: HashMap<String, (String, Shape)>,
    /// The newest results that are one record, as they were given.
    records: VecDeque<(String, Map<String, Json>)>,
}

impl Shapes {
    /// Adds a result: its text in the list, and the text as it was given.
    pub(super) fn add(&mut self, name: &str, text: &str, given: &str) {
        let Some(range) = value(text) else {
            return;
        };
        let Ok(json) = serde_json::from_str::<Json>(&text[range]) else {
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
        if let Some(range) = value(given)
            && let Ok(Json::Object(record)) = serde_json::from_str(&given[range])
            && record.len() >= KEYS
        {
            self.records.truncate(RECORDS - 1);
            self.records.push_front((name.to_owned(), record));
        }
    }

    /// Adds the columns of a value at a place of a result.
    fn add_columns(&mut self, at: &str, name: &str, json: &Json) {
        match json {
            Json::Array(items) => {
                let items = items.iter();
                items.for_each(|item| self.add_columns(at, name, item));
            }
            // A record by position has no names for its members, so no place inside it can be named.
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

    /// Returns a record as a reference to an earlier one, with the members that differ; `None` if no earlier record
    /// has most of its members.
    pub(super) fn as_earlier(&self, record: &Map<String, Json>) -> Option<Json> {
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

/// The names in a value of a result. A later value of the same shape can leave these names out.
#[derive(Debug, Clone)]
pub(super) enum Shape {
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

/// Returns the words that name a place of a result. `key` is the name of the member at this place, if it has a name.
pub(super) fn place(key: Option<&str>, name: &str) -> String {
    match key {
        Some(key) => format!("{key} of result {name}"),
        None => format!("result {name}"),
    }
}

/// Returns the names of columns as JSON.
pub(super) fn columns(row: &[(String, &Json)]) -> String {
    names(row.iter().map(|(name, _)| &**name))
}

/// Returns names as the JSON of a list.
pub(super) fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(Json::from).collect::<Json>().to_string()
}

/// Returns the members of records. Members of an inner record stand in its place, under joined names. `None` unless
/// all records have the same members in the same order.
pub(super) fn flat<'j>(records: &[&'j Map<String, Json>]) -> Option<Vec<Vec<(String, &'j Json)>>> {
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

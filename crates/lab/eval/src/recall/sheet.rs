//! Scalars and lines of a text, grouped into records.

use serde_json::Value as Json;

use super::escape::readings;
use super::find::{Finder, Needle};

/// The most characters of a value; a longer string is a text.
const VALUE_CHARS: usize = 60;

/// A text taken apart into records. In JSON each object, and each array in an array, is a record
/// of its scalars; a string that holds JSON is taken apart too. In other text each line is a
/// record.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) units: Vec<Unit>,
    pub(crate) records: Vec<Group>,
}

/// A scalar, or a line of text.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) text: String,
    /// The key of the unit; an element of an array has the key of the array. Empty without a key.
    pub(crate) key: String,
    /// Whether the unit is a line of text rather than a value.
    pub(crate) line: bool,
    pub(crate) record: usize,
}

/// Units that belong together.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) parent: Option<usize>,
    pub(crate) units: Vec<usize>,
}

/// A place of a value in a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    pub(crate) needle: Needle,
    pub(crate) unit: usize,
    /// The byte in the unit's text; `None` when the value is in the key.
    pub(crate) at: Option<usize>,
}

impl Sheet {
    /// Takes a prompt's text apart: JSON as a whole, or line by line.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut sheet = Self::default();
        if let Some(json) = structured(text) {
            sheet.add(&json, "", None);
            return sheet;
        }
        let mut plain = String::new();
        for line in text.split_inclusive('\n') {
            match structured(line) {
                Some(json) => sheet.add(&json, "", None),
                None => plain.push_str(line),
            }
        }
        sheet.add_lines(&plain, "", None);
        sheet
    }

    /// Adds a JSON value with this `key` in the record `parent`.
    pub(crate) fn add(&mut self, json: &Json, key: &str, parent: Option<usize>) {
        match json {
            Json::Object(fields) => {
                let record = self.record(parent);
                // In `{"k1": {..}, "k2": {..}}` the key is a value of the record.
                if !key.is_empty() {
                    self.unit(key.to_owned(), "", false, record);
                }
                for (key, value) in fields {
                    self.add(value, key, Some(record));
                }
            }
            Json::Array(items) => {
                let rows = items.iter().any(Json::is_array);
                for item in items {
                    match item {
                        Json::Object(_) => self.add(item, "", parent),
                        Json::Array(_) => {
                            let row = self.record(parent);
                            self.add(item, key, Some(row));
                        }
                        scalar if rows => {
                            let row = self.record(parent);
                            self.add(scalar, key, Some(row));
                        }
                        scalar => self.add(scalar, key, parent),
                    }
                }
            }
            Json::String(text) => match structured(text) {
                Some(json) => self.add(&json, key, parent),
                None => self.add_string(text, key, parent),
            },
            Json::Null => {}
            scalar => {
                let record = parent.unwrap_or_else(|| self.record(None));
                self.unit(scalar.to_string(), key, false, record);
            }
        }
    }

    /// Adds a record of named values.
    pub(crate) fn add_record<'p>(&mut self, pairs: impl Iterator<Item = (&'p str, &'p str)>) {
        let record = self.record(None);
        for (key, value) in pairs {
            self.unit(value.to_owned(), key, false, record);
        }
    }

    /// Returns the places of the values.
    pub(crate) fn hits(&self, finder: &Finder) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (unit, Unit { text, key, .. }) in self.units.iter().enumerate() {
            finder.each(text, |needle, at| {
                let at = Some(at);
                hits.push(Hit { needle, unit, at });
            });
            finder.each(key, |needle, _| {
                let at = None;
                hits.push(Hit { needle, unit, at });
            });
        }
        hits
    }

    fn add_string(&mut self, text: &str, key: &str, parent: Option<usize>) {
        let value =
            key != "content" && !text.contains('\n') && text.chars().nth(VALUE_CHARS).is_none();
        if value {
            let record = parent.unwrap_or_else(|| self.record(None));
            self.unit(text.to_owned(), key, false, record);
        } else {
            self.add_lines(text, key, parent);
        }
    }

    fn add_lines(&mut self, text: &str, key: &str, parent: Option<usize>) {
        for reading in readings(text) {
            for line in reading.lines().filter(|line| !line.trim().is_empty()) {
                let record = self.record(parent);
                self.unit(line.to_owned(), key, true, record);
            }
        }
    }

    fn record(&mut self, parent: Option<usize>) -> usize {
        self.records.push(Group {
            parent,
            units: Vec::new(),
        });
        self.records.len() - 1
    }

    fn unit(&mut self, text: String, key: &str, line: bool, record: usize) {
        self.records[record].units.push(self.units.len());
        self.units.push(Unit {
            text,
            key: key.to_owned(),
            line,
            record,
        });
    }
}

/// Returns the JSON object or array that a text holds.
fn structured(text: &str) -> Option<Json> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) || !text.ends_with(['}', ']']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

//! Segments of a prompt, and the pairs of key and value in them.

use std::sync::Arc;

use accp_frame::Value;

use super::Opening;
use super::message::{Kind, Message};

/// The key for the name of a record, if the name stands above the record.
const NAME: &str = "id";

/// A piece of a prompt. A prompt is the texts of its segments one after another, without anything
/// between them. End each text with a line feed.
///
/// Cloning is cheap. If a segment has not changed since the last prompt, return the same `Arc`
/// again: measurements then count it once.
#[derive(Debug, Clone)]
pub struct Segment {
    /// The kind, for statistics.
    pub kind: Kind,
    /// The text.
    pub text: Arc<str>,
    /// Pairs of key and value that a reader of JSON, tables and `key: value` cannot find in the
    /// text, because keys are abbreviated or values stand by position. A pair counts only if its
    /// value stands in the text.
    pub records: Arc<[Record]>,
    /// The index of the message that the segment shows, if it shows a single message.
    pub message: Option<usize>,
}

/// Values that belong together in a segment, each with the full name of its key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Record(
    /// Each key with its value.
    pub Vec<(String, String)>,
);

impl Segment {
    /// Makes a segment without records.
    pub fn new(kind: Kind, text: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            text: text.into(),
            records: Arc::default(),
            message: None,
        }
    }

    /// Makes the segment that shows a message as it was recorded.
    pub fn of(message: &Message) -> Self {
        Self {
            message: Some(message.index),
            ..Self::new(message.kind, Arc::clone(&message.text))
        }
    }

    /// Returns the tool schemas of a conversation, if it has any.
    pub fn tools(opening: &Opening) -> Option<Self> {
        let tools = opening.tools.as_ref()?;
        Some(Self::new(Kind::Tools, Arc::clone(tools)))
    }
}

impl Record {
    /// Returns the records in a value: its scalars with their keys, and nested records with the
    /// name that stands above each.
    ///
    /// ```
    /// use accp_runtime::Value;
    /// use accp_memory::policy::Record;
    /// use serde_json::json;
    ///
    /// let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    /// let stock = json!({ "rye": { "bags": 4 } });
    /// let records = Record::all_in(&Value::from_data(&stock));
    /// assert_eq!(records, [Record(vec![pair("id", "rye"), pair("bags", "4")])]);
    /// ```
    pub fn all_in(value: &Value<'_>) -> Vec<Self> {
        let mut records = Vec::new();
        bind(value, None, &mut records);
        records
    }

    /// Does the same for a value under a name, as facts stand under their entity.
    pub fn all_under(name: &Value<'_>, value: &Value<'_>) -> Vec<Self> {
        let name = scalar(name).map(|name| (NAME.to_owned(), name));
        let mut records = Vec::new();
        bind(value, name.as_ref(), &mut records);
        records
    }
}

fn bind(value: &Value<'_>, above: Option<&(String, String)>, out: &mut Vec<Record>) {
    match value {
        Value::Map(map) => {
            let mut record: Vec<(String, String)> = above.cloned().into_iter().collect();
            for (key, value) in map.iter() {
                match value {
                    Value::Array(items) => {
                        let scalars = items.iter().filter_map(scalar);
                        record.extend(scalars.map(|text| (key.to_owned(), text)));
                    }
                    value => record.extend(scalar(value).map(|text| (key.to_owned(), text))),
                }
            }
            for (key, value) in map.iter() {
                // The key may be data: the name of the record under it.
                bind(value, Some(&(NAME.to_owned(), key.to_owned())), out);
            }
            if !record.is_empty() {
                out.push(Record(record));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| bind(item, above, out)),
        _ => {}
    }
}

fn scalar(value: &Value<'_>) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        Value::Integer(_) | Value::Decimal(_) => Some(value.to_string()),
        Value::Number(_) => Some(value.to_string().trim_start_matches('#').to_owned()),
        _ => None,
    }
}

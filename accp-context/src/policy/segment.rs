//! A piece of a prompt, and what it binds together.

use std::sync::Arc;

use accp_frame::Value;

use super::Opening;
use super::message::{Kind, Message};

/// The key of a record's own name, where the name stands above the record.
const NAME: &str = "id";

/// A piece of a prompt. The prompt is the texts of its segments one after another, with
/// nothing added between; end each with a line feed.
///
/// Cloning is cheap. Give the same `Arc` again for what did not change since the last prompt:
/// whoever measures the prompts then counts it once.
#[derive(Debug, Clone)]
pub struct Segment {
    /// What it is, for the figures by kind.
    pub kind: Kind,
    /// Its text.
    pub text: Arc<str>,
    /// What the text binds together, where no reader of JSON, tables and `key: value` could
    /// tell: abbreviated keys, values by position. A pair counts only if its value stands in
    /// the text.
    pub records: Arc<[Record]>,
    /// The index of the message that it shows, where it shows one alone.
    pub message: Option<usize>,
}

/// Values that a segment binds together: each with the full name of its key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Record(
    /// Each key with its value.
    pub Vec<(String, String)>,
);

impl Segment {
    /// A segment that binds nothing beyond its text.
    pub fn new(kind: Kind, text: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            text: text.into(),
            records: Arc::default(),
            message: None,
        }
    }

    /// The segment that shows a message as it was recorded.
    pub fn of(message: &Message) -> Self {
        Self {
            message: Some(message.index),
            ..Self::new(message.kind, Arc::clone(&message.text))
        }
    }

    /// The tool schemas of a conversation, if it has any.
    pub fn tools(opening: &Opening) -> Option<Self> {
        let tools = opening.tools.as_ref()?;
        Some(Self::new(Kind::Tools, Arc::clone(tools)))
    }
}

impl Record {
    /// The records that a value is made of: its scalars under their keys, and for those further
    /// in the names that stand above them.
    ///
    /// ```
    /// use accp_runtime::Value;
    /// use accp_context::policy::Record;
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

    /// The same of a value that stands under a name, as facts stand under their entity.
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
                // The key may be data: the name of the record below it.
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

//! The layout of JSON that was recorded as text: arguments of tools, and results.
//!
//! A tool result is mostly JSON inside a string. As a value it costs fewer tokens than as escaped text, but the text
//! must be restored byte for byte. So the recorder sends the value. If the layout of the text differs from the last
//! layout, the recorder sends the layout, too: white space, the spelling of characters outside ASCII, and the order of
//! keys.

use std::fmt::Write as _;

use accp_frame::{Map, Value};
use serde_json::Value as Json;

/// The layout of a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Layout {
    space: Space,
    /// Whether characters outside ASCII are written as `\uXXXX`.
    ascii: bool,
    /// The keys, in an order that fits every object of the text.
    order: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Space {
    /// `{"a":1,"b":2}`
    #[default]
    Compact,
    /// `{"a": 1, "b": 2}`
    Spaced,
    /// One entry a line, indented by this many spaces a level.
    Indented(usize),
}

impl Layout {
    /// Reads a text that holds an object or an array, and finds its layout. The layout is `known` if `known` restores
    /// the text. Returns `None` if no layout restores the text.
    pub(crate) fn read(text: &str, known: &Layout) -> Option<(Json, Layout)> {
        if !text.starts_with(['{', '[']) {
            return None;
        }
        let json: Json = serde_json::from_str(text).ok()?;
        if known.write(&json) == text {
            return Some((json, known.clone()));
        }
        let order = key_order(&json)?;
        let layout = Layout {
            space: Space::of(text),
            ascii: text.is_ascii(),
            order,
        };
        // Both layouts give the same text if nothing needs an escape, so the simpler one is tried
        // first.
        [
            Layout {
                ascii: false,
                ..layout.clone()
            },
            layout,
        ]
        .into_iter()
        .find(|layout| layout.write(&json) == text)
        .map(|layout| (json, layout))
    }

    /// Writes a value in this layout.
    pub(crate) fn write(&self, json: &Json) -> String {
        let mut out = String::new();
        self.put(&mut out, json, 0);
        out
    }

    fn put(&self, out: &mut String, json: &Json, level: usize) {
        match json {
            Json::Array(items) => {
                self.list(out, level, ['[', ']'], items, |out, item| {
                    self.put(out, item, level + 1);
                });
            }
            Json::Object(object) => {
                let mut entries: Vec<_> = object.iter().collect();
                entries.sort_by_key(|(key, _)| (self.rank(key), key.as_str()));
                self.list(out, level, ['{', '}'], &entries, |out, (key, value)| {
                    self.string(out, key);
                    out.push_str(if self.space == Space::Compact {
                        ":"
                    } else {
                        ": "
                    });
                    self.put(out, value, level + 1);
                });
            }
            Json::String(text) => self.string(out, text),
            scalar => out.push_str(&scalar.to_string()),
        }
    }

    fn list<T>(
        &self,
        out: &mut String,
        level: usize,
        [open, close]: [char; 2],
        items: &[T],
        mut put: impl FnMut(&mut String, &T),
    ) {
        let line = |out: &mut String, level: usize| {
            if let Space::Indented(width) = self.space {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', width * level));
            }
        };
        out.push(open);
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                out.push_str(if self.space == Space::Spaced {
                    ", "
                } else {
                    ","
                });
            }
            line(out, level + 1);
            put(out, item);
        }
        if !items.is_empty() {
            line(out, level);
        }
        out.push(close);
    }

    fn string(&self, out: &mut String, text: &str) {
        let quoted = Json::from(text).to_string();
        if !self.ascii {
            out.push_str(&quoted);
            return;
        }
        for c in quoted.chars() {
            if c.is_ascii() {
                out.push(c);
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }

    /// Returns the same layout without its order of keys.
    pub(crate) fn without_keys(&self) -> Self {
        Self {
            order: Vec::new(),
            ..self.clone()
        }
    }

    /// Takes over a layout from a frame. The known keys stay unless the new order contradicts them, so that tools
    /// with differing results settle on one order.
    pub(crate) fn learn(&mut self, travelled: &Layout) {
        let mut order = std::mem::take(&mut self.order);
        let merged = merge_keys(&mut order, travelled.order.iter()).is_some();
        *self = travelled.clone();
        if merged {
            self.order = order;
        }
    }

    /// Returns the rank of a key. Keys that no text had so far come last, in ascending order.
    fn rank(&self, key: &str) -> usize {
        self.order
            .iter()
            .position(|k| k == key)
            .unwrap_or(usize::MAX)
    }

    /// Returns the layout as the value that a frame carries.
    pub(crate) fn to_value(&self) -> Value<'static> {
        let mut map = Map::new();
        match self.space {
            Space::Compact => None,
            Space::Spaced => map.insert("sp", Value::from(0)),
            Space::Indented(width) => map.insert("sp", Value::from(width as i64)),
        };
        if self.ascii {
            map.insert("ascii", Value::from(true));
        }
        if !self.order.is_empty() {
            let keys = self.order.iter().cloned().map(Value::from).collect();
            map.insert("keys", Value::Array(keys));
        }
        Value::Map(map)
    }

    /// Reads the layout from a value that [`Layout::to_value`] returned.
    pub(crate) fn from_value(value: &Value<'_>) -> Option<Self> {
        let Value::Map(map) = value else { return None };
        let space = match map.get("sp") {
            None => Space::Compact,
            Some(Value::Integer(0)) => Space::Spaced,
            Some(Value::Integer(width)) => {
                Space::Indented(usize::try_from(*width).ok().filter(|w| *w <= MAX_INDENT)?)
            }
            Some(_) => return None,
        };
        let order = match map.get("keys") {
            None => Vec::new(),
            Some(Value::Array(keys)) => keys
                .iter()
                .map(|key| key.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
            Some(_) => return None,
        };
        Some(Self {
            space,
            ascii: map.get("ascii").is_some(),
            order,
        })
    }
}

const MAX_INDENT: usize = 8;
/// A text with more different keys than this is sent as text, unless the known layout fits. Such a text is not a
/// record of a known shape, and the order of its keys would cost more than it saves.
const MAX_KEYS: usize = 256;

impl Space {
    fn of(text: &str) -> Self {
        let body = &text[1..];
        if let Some(line) = body.strip_prefix('\n') {
            let width = line.len() - line.trim_start_matches(' ').len();
            return Self::Indented(width.min(MAX_INDENT));
        }
        // The first separator decides. A separator inside a string does no harm: the caller
        // compares the whole text.
        match (text.find("\": "), text.find("\":"), text.contains(", ")) {
            (Some(spaced), Some(any), _) if spaced == any => Self::Spaced,
            (None, None, true) => Self::Spaced,
            _ => Self::Compact,
        }
    }
}

/// Returns an order of keys that fits every object of the text: empty when all keys are
/// ascending, `None` when two objects contradict each other.
fn key_order(json: &Json) -> Option<Vec<String>> {
    let mut order = Vec::new();
    merge(&mut order, json)?;
    Some(if ascending(json) { Vec::new() } else { order })
}

/// Merges the keys of all objects of a value into an order, as the text has them.
fn merge(order: &mut Vec<String>, json: &Json) -> Option<()> {
    match json {
        Json::Array(items) => items.iter().try_for_each(|item| merge(order, item)),
        Json::Object(object) => {
            merge_keys(order, object.keys())?;
            object.values().try_for_each(|value| merge(order, value))
        }
        _ => Some(()),
    }
}

fn merge_keys<'k>(order: &mut Vec<String>, keys: impl Iterator<Item = &'k String>) -> Option<()> {
    let mut next = 0;
    for key in keys {
        match order.iter().position(|k| k == key) {
            Some(at) if at >= next => next = at + 1,
            Some(_) => return None,
            None if order.len() == MAX_KEYS => return None,
            None => {
                order.insert(next, key.clone());
                next += 1;
            }
        }
    }
    Some(())
}

fn ascending(json: &Json) -> bool {
    match json {
        Json::Array(items) => items.iter().all(ascending),
        Json::Object(object) => object.keys().is_sorted() && object.values().all(ascending),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<String>().prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
                prop::collection::vec(("[a-d]{1,2}|é", inner), 0..5)
                    .prop_map(|entries| Json::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_text_that_is_read_comes_back(json in json(), width in 0..5_usize, ascii: bool) {
            prop_assume!(json.is_object() || json.is_array());
            let order = key_order(&json).unwrap_or_default();
            let space = match width { 0 => Space::Compact, 1 => Space::Spaced, n => Space::Indented(n) };
            let text = Layout { space, ascii, order }.write(&json);
            if let Some((value, layout)) = Layout::read(&text, &Layout::default()) {
                prop_assert_eq!(layout.write(&value), text.as_str());
                let travelled = Layout::from_value(&layout.to_value()).unwrap();
                // The value is sent as a map, so only the layout keeps the order of its keys.
                let sorted: Json = serde_json::from_str(&{
                    let mut sorted = value.clone();
                    sorted.sort_all_objects();
                    sorted.to_string()
                }).unwrap();
                prop_assert_eq!(travelled.write(&sorted), text.as_str());
                let (_, known) = Layout::read(&text, &layout).unwrap();
                prop_assert_eq!(known, layout);
            }
        }
    }

    #[test]
    fn usual_layouts_are_known() {
        for text in [
            r#"{"b":1,"a":[1,2]}"#,
            r#"{"b": 1, "a": [1, 2], "c": {"x": null, "a": "é, \": "}}"#,
            "{\n  \"b\": [],\n  \"a\": [\n    1\n  ]\n}",
            r#"["a", "b"]"#,
            r#"{"name": "\u00e9"}"#,
        ] {
            let (json, layout) = Layout::read(text, &Layout::default()).unwrap();
            assert_eq!(layout.write(&json), text);
        }
        for text in [
            "42",
            "not json",
            "{\"a\":1} ",
            "{\"a\":01}",
            r#"[{"a":1,"b":2},{"b":1,"a":2}]"#,
        ] {
            assert_eq!(Layout::read(text, &Layout::default()), None, "{text}");
        }
    }
}

//! Places in a JSON text: the byte offset of each JSON pointer, and the pointers of repeated keys.
//!
//! `serde_json` parses. This module asks it for the raw text of one level at a time, and computes
//! the offset of a raw text from its address.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the JSON pointer of a member or an element (RFC 6901).
///
/// ```
/// use accp_registry::checked::child;
///
/// assert_eq!(child("/keys", 3), "/keys/3");
/// assert_eq!(child("", "a/b"), "/a~1b");
/// ```
pub fn child(parent: &str, step: impl fmt::Display) -> String {
    let step = alloc::format!("{step}");
    alloc::format!("{parent}/{}", step.replace('~', "~0").replace('/', "~1"))
}

/// The places of all parts of a text.
#[derive(Default)]
pub(crate) struct Places {
    /// The offset of each part, by its pointer. A member has the offset of its key; an element or the document has
    /// the offset of its first byte. Of equal keys the last one counts, as in the parsed value.
    offsets: BTreeMap<String, usize>,
    /// The pointers of the keys that are repeated in their object.
    pub(crate) duplicates: Vec<String>,
}

impl Places {
    /// Finds the places in a text that is valid JSON.
    pub(crate) fn of(text: &str) -> Self {
        let mut places = Self::default();
        let root = Member {
            step: String::new(),
            at: offset(text, text.trim_start()),
            raw: text.trim(),
        };
        places.add(text, &root, "");
        places
    }

    fn add(&mut self, text: &str, member: &Member<'_>, pointer: &str) {
        if self.offsets.insert(pointer.to_owned(), member.at).is_some() {
            self.duplicates.push(pointer.to_owned());
            let below = child(pointer, "");
            let parts = self.offsets.range(below.clone()..);
            let parts = parts.take_while(|(other, _)| other.starts_with(&below));
            let parts: Vec<String> = parts.map(|(other, _)| other.clone()).collect();
            for part in parts {
                self.offsets.remove(&part);
            }
        }
        let parts = match member.raw.as_bytes().first() {
            Some(b'{') => members(text, member.raw),
            Some(b'[') => elements(text, member.raw),
            _ => return,
        };
        for part in parts {
            let pointer = child(pointer, &part.step);
            self.add(text, &part, &pointer);
        }
    }

    /// Returns whether the text has a part at this pointer.
    #[cfg(feature = "std")]
    pub(crate) fn has(&self, pointer: &str) -> bool {
        self.offsets.contains_key(pointer)
    }

    /// Returns the offset of the part at this pointer, or of the nearest part around it.
    pub(crate) fn find(&self, mut pointer: &str) -> usize {
        loop {
            match (self.offsets.get(pointer), pointer.rfind('/')) {
                (Some(at), _) => return *at,
                (None, Some(end)) => pointer = &pointer[..end],
                (None, None) => return 0,
            }
        }
    }
}

/// A member of an object, or an element of an array.
struct Member<'a> {
    /// The key, or the index.
    step: String,
    /// The offset of the key, or of the element.
    at: usize,
    raw: &'a str,
}

fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

fn members<'a>(text: &str, raw: &'a str) -> Vec<Member<'a>> {
    let Ok(Pairs(pairs)) = serde_json::from_str(raw) else {
        return Vec::new();
    };
    let mut end = offset(text, raw) + 1;
    let members = pairs.into_iter().map(|(key, value)| {
        let gap = text[end..].bytes().take_while(|b| *b != b'"').count();
        let at = end + gap;
        end = offset(text, value.get()) + value.get().len();
        Member {
            step: key,
            at,
            raw: value.get(),
        }
    });
    members.collect()
}

fn elements<'a>(text: &str, raw: &'a str) -> Vec<Member<'a>> {
    let elements: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
    let elements = elements
        .into_iter()
        .enumerate()
        .map(|(index, element)| Member {
            step: index.to_string(),
            at: offset(text, element.get()),
            raw: element.get(),
        });
    elements.collect()
}

/// The members of an object in their order, equal keys included.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i8>().prop_map(Value::from),
            ".{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let members = vec((".{0,3}", inner.clone()), 0..4);
            prop_oneof![
                vec(inner, 0..4).prop_map(Value::from),
                members.prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    /// Lists every part of a value: its pointer and the first character of its text.
    fn parts(json: &Value, pointer: &str, out: &mut Vec<(String, String)>) {
        let begins = |json: &Value| json.to_string().chars().take(1).collect::<String>();
        match json {
            Value::Object(members) => {
                for (key, value) in members {
                    let pointer = child(pointer, key);
                    out.push((pointer.clone(), Value::from(key.as_str()).to_string()));
                    parts(value, &pointer, out);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let pointer = child(pointer, index);
                    out.push((pointer.clone(), begins(item)));
                    parts(item, &pointer, out);
                }
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn finds_every_part_of_every_document(json in any_json(), padding in "[ \n]{0,3}") {
            let pretty = serde_json::to_string_pretty(&json).unwrap();
            for text in [json.to_string(), padding.clone() + &pretty + &padding] {
                let places = Places::of(&text);
                prop_assert_eq!(&places.duplicates, &Vec::<String>::new());
                let mut expected = Vec::new();
                parts(&json, "", &mut expected);
                prop_assert_eq!(places.offsets.len(), expected.len() + 1);
                for (pointer, start) in expected {
                    prop_assert!(json.pointer(&pointer).is_some());
                    prop_assert!(text[places.find(&pointer)..].starts_with(&start), "{}", pointer);
                }
            }
        }
    }

    #[test]
    fn takes_the_last_of_equal_keys_and_the_nearest_place_around_a_missing_one() {
        let text = r#"{ "a": { "x": 1, "y": 2 }, "a": { "x": 3 } }"#;
        let places = Places::of(text);
        assert_eq!(places.duplicates, ["/a"]);
        let second = text.rfind("\"a\"").unwrap();
        assert_eq!(
            (places.find("/a"), places.find("/a/y"), places.find("/b")),
            (second, second, 0)
        );
        assert_eq!(places.find("/a/x"), text.rfind("\"x\"").unwrap());
    }
}

//! JSON text as it was written: the place of a value in it, and the same text with other values.
//!
//! A value of `serde_json` forgets how a number was spelt and which white space stood between tokens. A
//! message that stays in a list has to stay as it is, so its text is kept, and a change replaces only the
//! bytes of the values that change.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Range;

use serde::Deserializer as _;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The length of an escape: the backslash, the `u` and four digits.
const ESCAPE: usize = 6;

/// A step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PointerStep {
    /// The member with this name; the last one, if there are several.
    Key(Cow<'static, str>),
    /// The item with this index.
    Index(usize),
}

impl From<&'static str> for PointerStep {
    fn from(key: &'static str) -> Self {
        Self::Key(Cow::Borrowed(key))
    }
}

impl From<usize> for PointerStep {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The place of a value in a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Pointer(Vec<PointerStep>);

impl Pointer {
    pub(crate) fn of<const N: usize>(steps: [PointerStep; N]) -> Self {
        Self(steps.into())
    }

    /// Returns the place of a value inside the value here.
    pub(crate) fn inside(&self, step: impl Into<PointerStep>) -> Self {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Self(steps)
    }

    /// Returns whether this place is `other`, or lies inside `other`.
    pub(crate) fn is_inside(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Returns the name of the member here; `None` for an item, or for the whole value.
    pub(crate) fn key(&self) -> Option<&str> {
        match self.0.last()? {
            PointerStep::Key(key) => Some(key),
            PointerStep::Index(_) => None,
        }
    }

    /// Returns the value here.
    pub(crate) fn value<'j>(&self, json: &'j serde_json::Value) -> Option<&'j serde_json::Value> {
        self.0.iter().try_fold(json, |json, step| match step {
            PointerStep::Key(key) => json.get(&**key),
            PointerStep::Index(index) => json.get(index),
        })
    }

    /// Returns the value here, to change it.
    pub(crate) fn value_mut<'j>(
        &self,
        json: &'j mut serde_json::Value,
    ) -> Option<&'j mut serde_json::Value> {
        self.0.iter().try_fold(json, |json, step| match step {
            PointerStep::Key(key) => json.get_mut(&**key),
            PointerStep::Index(index) => json.get_mut(index),
        })
    }

    /// Returns the bytes of the value here. `None` if there is no such value, or the text is not JSON.
    pub(crate) fn range(&self, text: &str) -> Option<Range<usize>> {
        let mut value = text;
        for step in &self.0 {
            let mut reader = serde_json::Deserializer::from_str(value);
            let found = reader.deserialize_any(Inside(step)).ok()??;
            value = found.get();
        }
        let value = value.trim();
        // `value` is a slice of `text`, so the difference of their addresses is its place.
        let start = (value.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        Some(start..start + value.len())
    }
}

/// Finds a member or an item.
struct Inside<'s>(&'s PointerStep);

impl<'de> Visitor<'de> for Inside<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some((key, value)) = map.next_entry::<Cow<'de, str>, &RawValue>()? {
            if matches!(self.0, PointerStep::Key(wanted) if *wanted == key) {
                found = Some(value);
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let mut index = 0;
        while let Some(value) = seq.next_element()? {
            if *self.0 == PointerStep::Index(index) {
                found = Some(value);
            }
            index += 1;
        }
        Ok(found)
    }
}

/// Returns the text with other values in these places. `None` if one of the places is not in the text, or two
/// overlap.
pub(crate) fn replaced(text: &str, values: &[(Pointer, String)]) -> Option<String> {
    let ranges = values
        .iter()
        .map(|(place, value)| Some((place.range(text)?, value)));
    let mut ranges: Vec<_> = ranges.collect::<Option<_>>()?;
    ranges.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, value) in ranges {
        out.push_str(text.get(at..range.start)?);
        out.push_str(value);
        at = range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Adds a character as JSON in ASCII has it: `\u00e9`.
pub(crate) fn push_escaped(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a text cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Returns a JSON text without white space between its tokens.
pub(crate) fn compact(text: &str) -> Cow<'_, str> {
    let mut inside = false;
    let mut escaped = false;
    let mut out = None::<String>;
    // All bytes that are left out are ASCII, so no piece ends within a character.
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if inside {
            inside = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte == b'"' {
            inside = true;
        } else if byte.is_ascii_whitespace() {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[from..at]);
            from = at + 1;
        }
    }
    match out {
        Some(mut out) => {
            out.push_str(&text[from..]);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(text),
    }
}

/// Returns a JSON text in which characters stand as themselves where JSON allows that: `ü` in the place of `\u00fc`,
/// and `/` in the place of `\/`. A model reads characters, and only some writers of JSON escape them.
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    let mut out = None::<String>;
    let (mut from, mut at) = (0, 0);
    // In JSON, a backslash stands only in a text.
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        let start = at + found;
        if let Some((c, length)) = character(&text[start..]) {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[from..start]);
            out.push(c);
            at = start + length;
            from = at;
        } else {
            // The character behind the backslash may be another backslash.
            at = start + 2;
        }
    }
    match out {
        Some(mut out) => {
            out.push_str(&text[from..]);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(text),
    }
}

/// Returns the character of the escape at the beginning of a text, and the length of the escape. `None` for what only
/// an escape can write: a quote, a backslash, a control character, or a lone surrogate.
fn character(text: &str) -> Option<(char, usize)> {
    if text.starts_with("\\/") {
        return Some(('/', 2));
    }
    let unit = |at: usize| {
        let digits = text.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    let (c, length) = if let Some(c) = char::from_u32(first.into()) {
        (c, ESCAPE)
    } else {
        let pair = [first, unit(ESCAPE)?];
        (char::decode_utf16(pair).next()?.ok()?, 2 * ESCAPE)
    };
    let is_plain = c >= ' ' && !matches!(c, '"' | '\\');
    is_plain.then_some((c, length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;

    fn any_json() -> impl Strategy<Value = Json> {
        let scalar = prop_oneof![
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            r#"[a-z"\\ é\n]{0,6}"#.prop_map(Json::from),
        ];
        scalar.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::vec((r#"[ab"\\]{0,2}"#, inner), 0..4)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Returns the places of all values, the whole first.
    fn places(json: &Json, at: &Pointer, out: &mut Vec<Pointer>) {
        out.push(at.clone());
        match json {
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    places(item, &at.inside(index), out);
                }
            }
            Json::Object(map) => {
                for (key, value) in map {
                    places(value, &at.inside(PointerStep::Key(key.clone().into())), out);
                }
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn a_value_is_replaced_in_its_place_and_nothing_else(json in any_json(), which: prop::sample::Index) {
            let text = serde_json::to_string_pretty(&json).unwrap();
            prop_assert_eq!(compact(&text), json.to_string());
            let mut all = Vec::new();
            places(&json, &Pointer::default(), &mut all);
            let place = which.get(&all);
            let range = place.range(&text).unwrap();
            let found: Json = serde_json::from_str(&text[range.clone()]).unwrap();
            prop_assert_eq!(Some(&found), place.value(&json));
            let new = replaced(&text, &[(place.clone(), "7".to_owned())]).unwrap();
            prop_assert_eq!(&new[..range.start], &text[..range.start]);
            prop_assert_eq!(&new[range.start + 1..], &text[range.end..]);
        }
    }

    #[test]
    fn characters_stand_as_themselves_where_json_allows_that() {
        for (text, plain) in [
            (r#""f\u00fcr \ud83d\udce6 a\/b""#, r#""für 📦 a/b""#),
            (r#""\u0041\u4eAC\u007f""#, "\"A京\u{7f}\""),
            (r#""\\u00fc \\\u00fc \n\\/""#, r#""\\u00fc \\ü \n\\/""#),
            (r#""\u0022 \u005c \u000a""#, r#""\u0022 \u005c \u000a""#),
            (
                r#""\ud83d \ud83d\u00fc \udce6""#,
                r#""\ud83d \ud83dü \udce6""#,
            ),
            (r#"{"a":"für"}"#, r#"{"a":"für"}"#),
        ] {
            assert_eq!(unescaped(text), plain);
        }
    }

    #[test]
    fn the_last_of_two_members_counts_as_in_a_value() {
        let text = r#"{ "a": 1, "a": [ 2.50 ] }"#;
        let place = Pointer::of(["a".into(), 0.into()]);
        let json: Json = serde_json::from_str(text).unwrap();
        assert_eq!(place.value(&json), Some(&json!(2.5)));
        assert_eq!(place.range(text).map(|range| &text[range]), Some("2.50"));
        assert_eq!(Pointer::of(["b".into()]).range(text), None);
        assert_eq!(Pointer::of(["a".into()]).range("[1"), None);
        assert_eq!(
            replaced(text, &[(place.clone(), "1".into()), (place, "2".into())]),
            None
        );
    }
}

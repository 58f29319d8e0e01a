//! Reads JSON text into a value without loss. A repeated member is refused, and lone surrogates are returned in
//! addition to the value.
//!
//! `serde_json` keeps the last of two members with one name. Its strings have no place for a lone surrogate, which is
//! half of a surrogate pair, as in a text that was cut in the middle of an emoji: `"\ud83d"`. Both are valid JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// The character that takes the place of a lone surrogate.
const REPLACED: char = '\u{FFFD}';
/// The length of an escape: the backslash, the `u` and four digits.
const ESCAPE: usize = 6;

/// Reads a JSON text. A lone surrogate becomes U+FFFD; [`LoneSurrogates`] says where and what it was.
///
/// ```
/// use accp_recordings::read_json;
///
/// let (json, lone) = read_json(br#"{ "said": "cut \ud83d" }"#)?;
/// assert_eq!(json["said"], "cut \u{FFFD}");
/// assert_eq!(lone.places().collect::<Vec<_>>(), ["/said"]);
/// assert_eq!(lone.write(&json), r#"{"said":"cut \ud83d"}"#);
///
/// let twice = read_json(br#"{ "a": [{ "b": 1, "b": 2 }] }"#).unwrap_err();
/// assert_eq!(
///     twice.to_string(),
///     "the member `b` stands twice at `/a/0`; keep one of the two at line 1 column 21"
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// When the text is not JSON, when an object has two members with one name, or when the name of a member holds
/// a lone surrogate. The error has the line and the column.
pub fn read_json(text: &[u8]) -> Result<(Json, LoneSurrogates), serde_json::Error> {
    let found = lone(text);
    let mended = mended(text, &found);
    let mut state = State {
        marks: if found.is_empty() {
            Vec::new()
        } else {
            marks(text, &found)
        },
        ..State::default()
    };
    let mut reader = serde_json::Deserializer::from_slice(&mended);
    let json = Exact(&mut state).deserialize(&mut reader)?;
    reader.end()?;
    Ok((json, LoneSurrogates(state.lone)))
}

/// Reads a JSON text of whole characters, as [`read_json`] does.
///
/// # Errors
/// Those of [`read_json`], and when a text has a lone surrogate.
pub fn read_whole_json(text: &str) -> Result<Json, serde_json::Error> {
    let (json, lone) = read_json(text.as_bytes())?;
    if lone.is_empty() {
        Ok(json)
    } else {
        // serde_json refuses lone surrogates and gives their place.
        serde_json::from_str(text)
    }
}

/// Returns a JSON text in which `\ufffd` stands for each lone surrogate. All other bytes stay in their places.
///
/// ```
/// use accp_recordings::replace_lone_surrogates;
///
/// let cut = r#"["\ud83d\udce6", "\ud83d", "\\ud83d"]"#;
/// assert_eq!(replace_lone_surrogates(cut), r#"["\ud83d\udce6", "\ufffd", "\\ud83d"]"#);
/// ```
pub fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    for (at, _) in lone(text.as_bytes()) {
        out.to_mut().replace_range(at..at + ESCAPE, "\\ufffd");
    }
    out
}

/// The lone surrogates of a JSON value, each with its place. The value has U+FFFD in their places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoneSurrogates(Vec<Lone>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Lone {
    /// The JSON pointer of the text.
    pointer: String,
    /// Which U+FFFD of the text takes the place of the lone surrogate, from 0.
    number: usize,
    /// The four digits of the escape.
    digits: String,
}

impl LoneSurrogates {
    /// Returns whether there are no lone surrogates.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns for each lone surrogate the JSON pointer of its text.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|lone| lone.pointer.as_str())
    }

    /// Writes a value as JSON text, with the escapes of the lone surrogates in their places.
    pub fn write(&self, json: &Json) -> String {
        let text = json.to_string();
        if self.0.is_empty() {
            return text;
        }
        let mut digits = Vec::new();
        self.each(json, &mut String::new(), &mut digits);
        let mut digits = digits.into_iter().peekable();
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            let is_replaced = c == REPLACED;
            match digits.next_if(|_| is_replaced).flatten() {
                Some(digits) => out.extend(["\\u", digits]),
                None => out.push(c),
            }
        }
        out
    }

    /// Collects for each U+FFFD of a value, in the order of the text, the digits of the lone surrogate there; `None`
    /// for a U+FFFD that was recorded.
    fn each<'l>(&'l self, json: &Json, at: &mut String, out: &mut Vec<Option<&'l str>>) {
        let begins = at.len();
        match json {
            Json::String(text) => {
                for number in 0..text.matches(REPLACED).count() {
                    let is_here = |lone: &&Lone| lone.pointer == *at && lone.number == number;
                    out.push(self.0.iter().find(is_here).map(|lone| &*lone.digits));
                }
            }
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    push(at, &index.to_string());
                    self.each(item, at, out);
                    at.truncate(begins);
                }
            }
            Json::Object(map) => {
                for (key, value) in map {
                    out.extend(key.matches(REPLACED).map(|_| None));
                    push(at, key);
                    self.each(value, at, out);
                    at.truncate(begins);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    /// Adds the lone surrogates of the item with this index.
    pub(crate) fn add(&mut self, index: usize, more: Self) {
        self.0.extend(more.0.into_iter().map(|lone| Lone {
            pointer: format!("/{index}{}", lone.pointer),
            ..lone
        }));
    }

    /// Returns the lone surrogates as JSON; `None` if there are none.
    pub(crate) fn to_json(&self) -> Option<Json> {
        let all = self.0.iter();
        let all = all.map(|lone| serde_json::json!([lone.pointer, lone.number, lone.digits]));
        (!self.0.is_empty()).then(|| all.collect())
    }

    /// Reads the JSON that [`to_json`](Self::to_json) returns; `None` for other JSON.
    pub(crate) fn of_json(json: &Json) -> Option<Self> {
        let all = json.as_array()?.iter().map(|lone| {
            Some(Lone {
                pointer: lone.get(0)?.as_str()?.to_owned(),
                number: usize::try_from(lone.get(1)?.as_u64()?).ok()?,
                digits: lone.get(2)?.as_str()?.to_owned(),
            })
        });
        all.collect::<Option<_>>().map(Self)
    }
}

/// Adds a step to a JSON pointer.
fn push(pointer: &mut String, step: &str) {
    pointer.push('/');
    pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
}

/// Returns the lone surrogates of a JSON text: the place of each escape, and its digits.
fn lone(text: &[u8]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) = text[at..].iter().position(|byte| *byte == b'\\') {
        at += step;
        match unit(text, at) {
            Some(0xD800..=0xDBFF) if matches!(unit(text, at + ESCAPE), Some(0xDC00..=0xDFFF)) => {
                at += 2 * ESCAPE;
            }
            Some(0xD800..=0xDFFF) => {
                let digits = String::from_utf8_lossy(&text[at + 2..at + ESCAPE]);
                found.push((at, digits.into_owned()));
                at += ESCAPE;
            }
            Some(_) => at += ESCAPE,
            // The character behind the backslash is escaped, so the search passes over it.
            None => at = (at + 2).min(text.len()),
        }
    }
    found
}

/// Returns the code unit of the escape at this place; `None` if no escape of this form begins there.
fn unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

fn mended<'t>(text: &'t [u8], found: &[(usize, String)]) -> Cow<'t, [u8]> {
    let mut out = Cow::Borrowed(text);
    for (at, _) in found {
        out.to_mut()[*at..*at + ESCAPE].copy_from_slice(b"\\ufffd");
    }
    out
}

/// Returns for each U+FFFD that the parsed texts will have, in their order, the digits of the lone surrogate there;
/// `None` for a U+FFFD that was recorded.
fn marks(text: &[u8], found: &[(usize, String)]) -> Vec<Option<String>> {
    let mut found = found.iter().peekable();
    let mut marks = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let lone = found.next_if(|(place, _)| *place == at);
        at += match (rest, lone) {
            (_, Some((_, digits))) => {
                marks.push(Some(digits.clone()));
                ESCAPE
            }
            ([b'\\', b'u', ..], None) => {
                if unit(text, at) == Some(0xFFFD) {
                    marks.push(None);
                }
                ESCAPE
            }
            ([b'\\', ..], None) => 2,
            ([0xEF, 0xBF, 0xBD, ..], None) => {
                marks.push(None);
                3
            }
            _ => 1,
        };
    }
    marks
}

/// The place of the reader in the document, and the lone surrogates found so far.
#[derive(Default)]
struct State {
    at: String,
    /// For each U+FFFD the digits of the lone surrogate there; empty if the document has no lone surrogate.
    marks: Vec<Option<String>>,
    /// How many U+FFFD were read so far.
    seen: usize,
    lone: Vec<Lone>,
}

impl State {
    /// Records the lone surrogates of a text. Returns whether the text has one.
    fn text(&mut self, text: &str) -> bool {
        let before = self.lone.len();
        if self.marks.is_empty() {
            return false;
        }
        for number in 0..text.matches(REPLACED).count() {
            if let Some(Some(digits)) = self.marks.get(self.seen) {
                self.lone.push(Lone {
                    pointer: self.at.clone(),
                    number,
                    digits: digits.clone(),
                });
            }
            self.seen += 1;
        }
        self.lone.len() > before
    }

    /// Returns the place in words, for an error.
    fn place(&self) -> String {
        match self.at.as_str() {
            "" => "the top".to_owned(),
            at => format!("`{at}`"),
        }
    }
}

/// Reads one value.
struct Exact<'s>(&'s mut State);

impl<'de> DeserializeSeed<'de> for Exact<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Json, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Exact<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        self.0.text(value);
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let begins = self.0.at.len();
        let mut items = Vec::new();
        loop {
            push(&mut self.0.at, &items.len().to_string());
            let item = seq.next_element_seed(Exact(self.0))?;
            self.0.at.truncate(begins);
            match item {
                Some(item) => items.push(item),
                None => return Ok(Json::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let begins = self.0.at.len();
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if self.0.text(&key) {
                let place = self.0.place();
                return Err(A::Error::custom(format!(
                    "the name of a member at {place} has half of a surrogate pair; write a whole character"
                )));
            }
            if map.contains_key(&key) {
                let place = self.0.place();
                return Err(A::Error::custom(format!(
                    "the member `{key}` stands twice at {place}; keep one of the two"
                )));
            }
            push(&mut self.0.at, &key);
            let value = members.next_value_seed(Exact(self.0))?;
            self.0.at.truncate(begins);
            map.insert(key, value);
        }
        Ok(Json::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The inside of a JSON text: characters, pairs, halves, and what looks like an escape.
    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a",
            "\\\\",
            "\\\"",
            "\\n",
            "\\ufffd",
            "\u{FFFD}",
            "\\ud83d\\udce6",
            "\\ud83d",
            "\\uDE9A",
            "ud83d",
            "\u{1F4E6}",
            "\\u00e9",
        ])
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(piece(), 0..8).prop_map(|all| all.concat())
    }

    proptest! {
        /// A value is equal after it is written and read again. Its lone surrogates are equal after they are written
        /// as JSON and read again.
        #[test]
        fn halves_come_back_in_their_places(texts in prop::collection::vec(text(), 1..5)) {
            let items = texts.iter().map(|text| format!("{{\"a/b\":[\"{text}\"]}}"));
            let written = format!("[{}]", items.collect::<Vec<_>>().join(","));
            let (json, lone) = read_json(written.as_bytes()).unwrap();
            let again = lone.write(&json);
            prop_assert_eq!(read_json(again.as_bytes()).unwrap(), (json.clone(), lone.clone()));
            let halves = super::lone(written.as_bytes()).len();
            prop_assert_eq!(super::lone(again.as_bytes()).len(), halves);
            prop_assert_eq!(lone.places().count(), halves);
            let kept = lone.to_json().map(|json| LoneSurrogates::of_json(&json).unwrap());
            prop_assert_eq!(kept.unwrap_or_default(), lone);
            let mended = replace_lone_surrogates(&written);
            prop_assert_eq!(serde_json::from_str::<Json>(&mended).unwrap(), json);
        }

        /// Without halves and repeated members, the value is that of `serde_json`.
        #[test]
        fn other_json_is_read_as_ever(text in ".{0,40}", odd in "[\\[\\]{}\":,0-9a-z .\\\\]{0,12}") {
            let valid = serde_json::json!({ "a": [text.clone(), 1.5, -3, u64::MAX, null, true], text: {} });
            let written = valid.to_string();
            prop_assert_eq!(read_json(written.as_bytes()).unwrap().0, valid);
            if let Ok(read) = read_json(odd.as_bytes()) {
                prop_assert_eq!(serde_json::from_str::<Json>(&odd).unwrap(), read.0);
            }
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused_with_its_place() {
        let refused = |text: &str| read_json(text.as_bytes()).unwrap_err().to_string();
        insta::assert_snapshot!(refused("{\"a\":1,\n \"a\":2}"), @"the member `a` stands twice at the top; keep one of the two at line 2 column 4");
        insta::assert_snapshot!(refused(r#"[0,{"\ud83d":1}]"#), @"the name of a member at `/1` has half of a surrogate pair; write a whole character at line 1 column 12");
    }
}

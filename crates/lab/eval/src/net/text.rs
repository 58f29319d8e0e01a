//! Texts in the form in which they are compared: white space collapsed, JSON taken apart into its scalars.

use serde_json::Value as Json;
use std::borrow::Cow;

/// Separates texts that nothing matches across. Collapsed texts do not contain it.
pub(crate) const SEPARATOR: char = '\0';

/// A text in which each run of white space and zero-width characters is one space, without such characters at its ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Collapsed {
    pub(crate) text: String,
    /// The byte in the original for each byte of `text`.
    origin: Vec<u32>,
}

impl Collapsed {
    pub(crate) fn of(original: &str) -> Self {
        let mut collapsed = Self::default();
        let mut gap = false;
        for (at, character) in original.char_indices() {
            if is_gap(character) {
                gap = true;
                continue;
            }
            if gap && !collapsed.text.is_empty() {
                collapsed.push(' ', at.saturating_sub(1));
            }
            gap = false;
            collapsed.push(character, at);
        }
        collapsed
    }

    fn push(&mut self, character: char, at: usize) {
        self.text.push(character);
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.origin.resize(self.text.len(), at);
    }

    /// Returns which byte of the original became this byte of the text.
    pub(crate) fn origin(&self, at: usize) -> usize {
        self.origin.get(at).map_or(0, |&at| at as usize)
    }
}

/// Returns a text in collapsed form, as [`Collapsed`] has it.
pub(crate) fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_collapsed(&mut out, text);
    out
}

/// Adds a text in collapsed form, as [`Collapsed`] has it.
pub(crate) fn push_collapsed(out: &mut String, text: &str) {
    let start = out.len();
    let mut gap = false;
    for character in text.chars() {
        if is_gap(character) {
            gap = true;
            continue;
        }
        if gap && out.len() > start {
            out.push(' ');
        }
        gap = false;
        out.push(character);
    }
}

/// Returns whether a character is white space, has no width, or separates texts.
fn is_gap(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            SEPARATOR | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
        )
}

/// Returns a text as the JSON object or array that it holds.
pub(crate) fn structured(text: &str) -> Option<Json> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) || !text.ends_with(['}', ']']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// A scalar of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar<'j> {
    /// A string.
    Text(&'j str),
    /// A number.
    Number(&'j serde_json::Number),
    /// A boolean or null.
    Word(&'static str),
}

/// Passes each scalar of a JSON value to `tell`, in order. A string that holds a JSON object or
/// array is passed itself and then taken apart.
pub(crate) fn each_scalar(json: &Json, tell: &mut impl FnMut(Scalar<'_>, IsWhole)) {
    match json {
        Json::Object(fields) => fields.values().for_each(|value| each_scalar(value, tell)),
        Json::Array(items) => items.iter().for_each(|item| each_scalar(item, tell)),
        Json::String(text) => match structured(text) {
            Some(inner) => {
                tell(Scalar::Text(text), IsWhole(false));
                each_scalar(&inner, tell);
            }
            None => tell(Scalar::Text(text), IsWhole(true)),
        },
        Json::Number(number) => tell(Scalar::Number(number), IsWhole(true)),
        Json::Bool(true) => tell(Scalar::Word("true"), IsWhole(true)),
        Json::Bool(false) => tell(Scalar::Word("false"), IsWhole(true)),
        Json::Null => tell(Scalar::Word("null"), IsWhole(true)),
    }
}

/// False for a string that holds JSON, whose scalars are passed after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsWhole(pub(crate) bool);

/// Returns the scalars of a JSON value as texts. Strings that hold JSON are taken apart.
pub(crate) fn scalars(json: &Json) -> Vec<String> {
    let mut scalars = Vec::new();
    each_scalar(json, &mut |scalar, IsWhole(whole)| {
        if whole {
            scalars.push(match scalar {
                Scalar::Text(text) => text.to_owned(),
                Scalar::Number(number) => number.to_string(),
                Scalar::Word(word) => word.to_owned(),
            });
        }
    });
    scalars
}

/// Returns the greatest boundary of a character at or before this byte.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or_default()
}

/// Returns the text without the control codes of a terminal, because nobody reads them. A code begins with an escape
/// and `[`, and ends with the first character from `@` to `~`.
pub(crate) fn without_codes(text: &str) -> Cow<'_, str> {
    const CODE: &str = "\u{1b}[";
    if !text.contains(CODE) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(CODE);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let bytes = part.bytes();
        let inside = bytes
            .take_while(|byte| (b' '..=b'?').contains(byte))
            .count();
        let is_code = part
            .as_bytes()
            .get(inside)
            .is_some_and(|end| (b'@'..=b'~').contains(end));
        if is_code {
            out.push_str(&part[inside + 1..]);
        } else {
            out.push_str(CODE);
            out.push_str(part);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn a_collapsed_text_knows_where_it_comes_from(original in "[ab \\n\\t\u{200b}\0é]{0,30}") {
            let collapsed = Collapsed::of(&original);
            prop_assert_eq!(&collapsed.text, &collapse(&original));
            prop_assert!(!collapsed.text.contains(SEPARATOR) && !collapsed.text.contains("  "));
            for (at, character) in collapsed.text.char_indices().filter(|(_, c)| *c != ' ') {
                prop_assert!(original[collapsed.origin(at)..].starts_with(character));
            }
        }
    }

    #[test]
    fn json_in_strings_is_taken_apart() {
        let json = json!({ "a": "{\"b\": [1, \"x y\"], \"c\": null}", "d": true, "e": "{no" });
        assert_eq!(scalars(&json), ["1", "x y", "null", "true", "{no"]);
    }
}

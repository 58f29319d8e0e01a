//! JSON with comments, as people write it in files of their own.

use alloc::borrow::Cow;
use alloc::string::String;

/// Returns the text as JSON: replaces each comment (`//` to the end of the line, `/* */`), and each comma before a
/// closing bracket, by blanks. Every other byte stays at its place. A comment without an end stays as it is, so that
/// the result is not valid JSON.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let mut bytes = text.as_bytes().to_vec();
    // `comma` is the place of the last comma after a value.
    let (mut comma, mut is_after_value) = (None, false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            b'"' => {
                (comma, is_after_value) = (None, true);
                string(rest)
            }
            b'/' => match comment(rest) {
                Some(length) => {
                    blank(&mut bytes[at..at + length]);
                    length
                }
                None => break,
            },
            b',' => {
                comma = is_after_value.then_some(at);
                is_after_value = false;
                1
            }
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    blank(&mut bytes[comma..=comma]);
                }
                is_after_value = true;
                1
            }
            b' ' | b'\t' | b'\n' | b'\r' => 1,
            _ => {
                (comma, is_after_value) = (None, !b"[{:".contains(&byte));
                1
            }
        };
        at += length;
    }
    if bytes == text.as_bytes() {
        return Cow::Borrowed(text);
    }
    // Whole comments become blanks, so no character is cut in two.
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the length of the string at the start of the text. Anything up to its closing quote belongs to it.
fn string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the length of the comment at the start of the text.
fn comment(text: &[u8]) -> Option<usize> {
    match text.get(1)? {
        b'/' => {
            let end = text.iter().position(|byte| *byte == b'\n');
            Some(end.unwrap_or(text.len()))
        }
        b'*' => {
            let end = text[2..].windows(2).position(|pair| pair == b"*/")?;
            Some(end + 4)
        }
        _ => None,
    }
}

/// Puts blanks in the place of everything but line ends.
fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| !b"\r\n".contains(byte)) {
        *byte = b' ';
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;
    use alloc::vec::Vec;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn comments_and_last_commas_are_blank_and_strings_stay() {
        for (text, expected) in [
            ("{} // é", "{}      "),
            ("[1,/* ,\n */2]", "[1,    \n   2]"),
            ("[1, // x\n]", "[1      \n]"),
            (r#"{"a": "// \" /* ,]",}"#, r#"{"a": "// \" /* ,]" }"#),
            ("[1,,]", "[1,,]"),
            ("[,]", "[,]"),
            ("[{},]", "[{} ]"),
            ("[] /* open", "[] /* open"),
            ("[] /", "[] /"),
            ("/**/[]", "    []"),
            ("[\"open", "[\"open"),
            ("[\"open\\", "[\"open\\"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    proptest! {
        /// Whatever stands between two tokens, the value is the same, and so is the place of each token.
        #[test]
        fn the_value_and_the_places_stay(
            words in proptest::collection::vec("[a-z/*,\"\\\\é]{0,4}", 0..4),
            gaps in proptest::collection::vec("( |\n|/\\*[a-z\"é/]{0,3}\\*/|//[a-z\"*é]{0,3}\n){0,3}", 5),
        ) {
            let value = json!({ "list": words });
            let items: Vec<_> = words.iter().map(|word| Value::from(word.as_str()).to_string()).collect();
            let items: String = items.iter().flat_map(|item| [item, &*gaps[0], ",", &gaps[1]]).collect();
            let text = [&gaps[2], "{\"list\":", &gaps[3], "[", &items, "]", &gaps[4], "}"].concat();
            let plain = plain(&text);
            prop_assert_eq!(plain.len(), text.len());
            prop_assert_eq!(serde_json::from_str::<Value>(&plain).unwrap(), value);
        }

        #[test]
        fn any_text_keeps_its_length(text in any::<String>()) {
            prop_assert_eq!(plain(&text).len(), text.len());
        }
    }
}

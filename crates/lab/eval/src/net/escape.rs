//! Escapes of JSON.

/// Returns the text with one level of JSON escapes undone, or `None` if it has none. A backslash
/// that is not part of a JSON escape stays.
pub(crate) fn json_unescaped(text: &str) -> Option<String> {
    text.contains('\\').then_some(())?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (read, length) = escape(&rest[at..]).unwrap_or(('\\', 1));
        out.push(read);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

/// Reads the escape at the beginning of the text. Returns its character and its length.
fn escape(text: &str) -> Option<(char, usize)> {
    let read = match text.as_bytes().get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode(text),
        _ => return None,
    };
    Some((read, 2))
}

/// Reads `\uXXXX`, or two of these for a character outside the Basic Multilingual Plane.
fn unicode(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u16> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    if let Some(read) = char::from_u32(u32::from(first)) {
        return Some((read, 6));
    }
    let read = char::decode_utf16([first, unit(6)?]).next()?.ok()?;
    Some((read, 12))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_string_is_found_however_often_it_was_escaped(text in "[ -~é😀\n\t]{0,20}", times in 0..4) {
            let mut escaped = text.clone();
            for _ in 0..times {
                let json = serde_json::Value::String(escaped).to_string();
                escaped = json[1..json.len() - 1].to_owned();
            }
            let mut readings = std::iter::successors(Some(escaped), |last| json_unescaped(last));
            prop_assert!(readings.any(|reading| reading == text));
        }
    }

    #[test]
    fn escapes_beyond_the_first_plane_are_two() {
        assert_eq!(json_unescaped("\\ud83d\\ude00!").unwrap(), "😀!");
        assert_eq!(json_unescaped("\\ud83d, \\x, \\"), None);
    }
}

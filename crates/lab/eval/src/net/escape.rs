//! Readings of a text with its escapes undone.

use std::borrow::Cow;

use accp_registry::lexical;
use accp_runtime::Frame;

/// The most levels of escapes: a JSON string in a JSON string in a line of JSON.
const LEVELS: usize = 3;

/// Returns the readings of a text: the text unchanged, a reading for each level of JSON escapes
/// undone, a reading with percent escapes undone, and a reading with frames unescaped. A text
/// without any of these has one reading.
pub(crate) fn readings(text: &str) -> Vec<Cow<'_, str>> {
    let mut readings = vec![Cow::Borrowed(text)];
    for _ in 0..LEVELS {
        let Some(next) = readings.last().and_then(|last| json_unescaped(last)) else {
            break;
        };
        readings.push(Cow::Owned(next));
    }
    let last = readings.last().and_then(|last| percent_unescaped(last));
    readings.extend(last.map(Cow::Owned));
    readings.extend(frames_read(text).map(Cow::Owned));
    readings
}

/// Returns the text with the escapes in its frames undone, including the escapes of text values.
/// Returns `None` if no line is a frame.
fn frames_read(text: &str) -> Option<String> {
    let mut found = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let frame = line.trim_end_matches('\n');
        if !frame.starts_with('@') || Frame::parse(frame).is_err() {
            return Cow::Borrowed(line);
        }
        found = true;
        let read = lexical::unescape(frame);
        Cow::Owned(format!("{}\n", lexical::decode_text(&read)))
    });
    let read: String = lines.collect();
    found.then_some(read)
}

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

/// Reads `\uXXXX`, or two of these for a character beyond the first plane.
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

/// Returns the text with `%XX` undone, or `None` if it has none or the bytes are not UTF-8.
fn percent_unescaped(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let hex = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut found = false;
    while let Some(&byte) = bytes.get(at) {
        if let (b'%', Some(high), Some(low)) = (byte, hex(at + 1), hex(at + 2)) {
            out.push((high * 16 + low) as u8);
            found = true;
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    found.then_some(())?;
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_string_is_found_however_often_it_was_escaped(text in "[ -~é😀\n\t]{0,20}", times in 0..=LEVELS) {
            let mut escaped = text.clone();
            for _ in 0..times {
                let json = serde_json::Value::String(escaped).to_string();
                escaped = json[1..json.len() - 1].to_owned();
            }
            let readings = readings(&escaped);
            prop_assert!(readings.iter().any(|reading| *reading == text), "{readings:?}");
        }

        #[test]
        fn percent_escapes_are_undone(text in "[a-zé]{0,5}") {
            let escaped = text.bytes().map(|byte| format!("%{byte:02X}"));
            let escaped = escaped.collect::<Vec<_>>().concat();
            prop_assert_eq!(readings(&escaped).pop().unwrap(), text);
        }
    }

    #[test]
    fn a_frame_is_read_as_one() {
        let text = "@a>done:chat{content:I_am_ann__lee\\,_d%C3%A9j%C3%A0}\n@a_b: c_d\n";
        let read = readings(text).pop().unwrap();
        assert_eq!(
            read,
            "@a>done:chat{content:I am ann_lee, déjà}\n@a_b: c_d\n"
        );
        assert_eq!(frames_read("@a_b: c_d\n"), None);
    }

    #[test]
    fn escapes_beyond_the_first_plane_are_two() {
        assert_eq!(json_unescaped("\\ud83d\\ude00!").unwrap(), "😀!");
        assert_eq!(json_unescaped("\\ud83d, \\x, \\"), None);
    }
}

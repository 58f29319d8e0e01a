//! The check that a text of a model invents no value.

use std::collections::BTreeSet;

use accp_context::read_head;
use accp_frame::{Frame, Registry, Value};

use crate::reference::UNBOUNDED;

/// Returns the words of a text that look like values and stand in none of these frames, each once.
/// In warm state a value is verbatim or absent, also in a summary that a model wrote.
///
/// A word looks like a value if it has a digit, `_`, `@` or `\`, or both `/` and `.`: numbers,
/// amounts, dates, codes, names in programs, addresses, paths. Words end at spaces, brackets, quotes
/// and most marks, but not at a mark that may belong to a value, such as the `-` of a date. Numbers
/// that are spelt out (`twelve`) and names without such a character pass.
///
/// The frames come without their metadata. A word may stand in a value or a name of a frame, or in `values`, the
/// values that the frames refer to.
pub(crate) fn invented<'t, 'f>(
    text: &'t str,
    frames: impl Iterator<Item = &'f str>,
    values: &[Value<'_>],
    registry: &Registry,
) -> Vec<&'t str> {
    let mut wanted = Vec::new();
    for word in words(text) {
        if is_value(word) && !wanted.contains(&word) {
            wanted.push(word);
        }
    }
    let mut present = BTreeSet::new();
    for frame in frames.filter(|_| !wanted.is_empty()) {
        if let Ok(message) = read_head(frame, registry) {
            note_words(&Value::Map(message.payload), &mut present);
        }
        // The wire text counts, too: it has the short names, and the schema of the frame may no longer be known.
        let Ok(frame) = Frame::parse_with(frame, &UNBOUNDED) else {
            continue;
        };
        for name in [&frame.agent, &frame.operation] {
            note_words(&Value::from(&**name), &mut present);
        }
        for param in &frame.payload {
            note_words(&Value::from(&*param.key), &mut present);
            note_words(&param.value.value().unwrap_or(Value::Null), &mut present);
        }
    }
    for value in values {
        note_words(value, &mut present);
    }
    wanted.retain(|word| !present.contains(*word));
    wanted
}

/// Adds the words of a value to `present`, including the words of keys in it.
fn note_words(value: &Value<'_>, present: &mut BTreeSet<String>) {
    let mut note = |text: &str| present.extend(words(text).into_iter().map(str::to_owned));
    match value {
        Value::Array(items) => items.iter().for_each(|item| note_words(item, present)),
        Value::Map(map) => {
            for (name, value) in map.iter() {
                note_words(&Value::from(name), present);
                note_words(value, present);
            }
        }
        Value::String(text) => note(text),
        scalar => note(&scalar.to_string()),
    }
}

fn is_value(word: &str) -> bool {
    let is_paths = word.contains('/') && word.contains('.');
    is_paths || word.contains(|c: char| c.is_numeric() || matches!(c, '_' | '@' | '\\'))
}

/// Returns the words of a text, in order. Some of them may be empty.
fn words(text: &str) -> Vec<&str> {
    let chars: Vec<_> = text.char_indices().collect();
    let (mut words, mut start) = (Vec::new(), 0);
    for (index, (at, c)) in chars.iter().enumerate() {
        let near = |index: Option<usize>| chars.get(index?).map(|(_, c)| *c);
        if !belongs(near(index.checked_sub(1)), *c, near(index.checked_add(1))) {
            words.push(&text[start..*at]);
            start = at + c.len_utf8();
        }
    }
    words.push(&text[start..]);
    words
}

/// Returns whether the character `c`, which stands between `before` and `after`, belongs to a word.
fn belongs(before: Option<char>, c: char, after: Option<char>) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_';
    match c {
        ',' | ':' => before.is_some_and(char::is_numeric) && after.is_some_and(char::is_numeric),
        '-' if !before.is_some_and(is_inner) => after.is_some_and(char::is_numeric),
        // Models write other dashes and hyphens, too.
        '.' | '-' | '/' | '\\' | '+' | '@' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}' => {
            before.is_some_and(is_inner) && after.is_some_and(is_inner)
        }
        c => c.is_alphanumeric(),
    }
}

#[cfg(test)]
mod tests {
    use accp_frame::{DynamicFrame, EncodeOptions, Limits};

    use super::*;

    const INLINE: EncodeOptions<'static> = EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        strict: false,
        externals: None,
    };

    #[test]
    fn a_word_with_a_digit_must_stand_in_a_frame() {
        let frames = ["@dev>done:schedule{task:T1|dead:2024-05-15|schema:TA}"];
        let invented = |text| invented(text, frames.into_iter(), &[], Registry::shared());
        assert!(invented("Dev finished T1, due on 2024-05-15.").is_empty());
        assert_eq!(invented("Dev finished T1 and T2 in 2024."), ["T2", "2024"]);
    }

    #[test]
    fn a_value_keeps_its_marks_when_a_text_is_checked() {
        // Each text is checked against a frame without values. The cases show what counts as a
        // value, and where it ends.
        for (text, expected) in [
            ("(T1), \"T2\"; T3's T1", &["T1", "T2", "T3"][..]),
            ("at 10:30, for $1,234.50.", &["10:30", "1,234.50"]),
            ("-5 to +7 - or 3-4, 50%", &["-5", "7", "3-4", "50"]),
            ("mia@x.org: https://x.org/a", &["mia@x.org", "x.org/a"]),
            (r"C:\temp\log and __a_b__", &[r"temp\log", "_a_b_"]),
            (
                "2024\u{2011}05 \u{2075} \u{661}",
                &["2024\u{2011}05", "\u{2075}", "\u{661}"],
            ),
            ("Planner and/or dev, e.g. a well-known one: dev.", &[]),
            ("", &[]),
        ] {
            let frames = ["@a>sync:b{}"].into_iter();
            let found = invented(text, frames, &[], Registry::shared());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_value_stands_in_a_frame_or_behind_its_references() {
        let written = |message: DynamicFrame<'_>, registry: &Registry| {
            let text = message.encode_with(registry, INLINE).unwrap();
            text.trim_end_matches("[]").to_owned()
        };
        let standard = Registry::shared();
        let message =
            |agent, intent, operation| DynamicFrame::new(agent, intent, operation).unwrap();
        let done = message("dev_1", "done", "schedule")
            .under("TA")
            .with("task", "a_b c");
        let deps = vec![Value::from("T1"), Value::from("x_y, z")];
        let query = message("qa", "req", "find_it").with("no", 12.5_f64.to_string());
        let query = query.with("q", vec![Value::from(-7), Value::from("at 10:30")]);
        let query = query
            .with("src", Value::Ref("cold.k1_1".into()))
            .with("t", "caf\u{e9}");
        let frames = [
            written(done.with("progress", 40).with("deps", deps), standard),
            written(query, standard),
            "@qa>req:x{id_2:W9|schema:ZZ}".to_owned(),
        ];
        let of = |text| {
            let frames = frames.iter().map(String::as_str);
            let behind = [Value::from("order W2, please"), Value::from(3)];
            invented(text, frames, &behind, standard)
        };
        for known in [
            "dev_1 find_it T1",
            "40 12.5 10:30",
            "W2 3 cold.k1_1",
            "W9 id_2",
        ] {
            assert_eq!(of(known), [""; 0], "{known}");
        }
        for unknown in [
            "dev_2", "4", "2.5", "30", "7", "W", "C3", "T1x", "k1_2", "W2.", "x_y_z",
        ] {
            let is_value = unknown != "W" && unknown != "W2.";
            assert_eq!(of(unknown).len(), usize::from(is_value), "{unknown}");
        }
    }
}

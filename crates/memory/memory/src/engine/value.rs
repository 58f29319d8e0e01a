//! Finds the JSON of a result, which may have words before and behind it.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Error};

/// A value with fewer bytes than this counts as part of the words around it.
const SHORT: usize = 40;
/// The search reads at most this many times the bytes of the text. Brackets that never close, and values inside
/// values that stand in words, would be read once for each place where a value could begin.
const EFFORT: usize = 32;

/// Returns the place of the JSON in a result: an object or an array. The JSON is the whole text, or else the longest
/// value that stands apart from the words around it. On its line, such a value has nothing before it, or words that
/// end with `>` or `:`, as tags and labels do. Behind it, the line ends or a tag begins. So a value in the middle of
/// a sentence or of code is not taken for the result. `None` if there is no such value.
pub(super) fn value(text: &str) -> Option<Range<usize>> {
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    let mut effort = text.len().saturating_mul(EFFORT);
    if trimmed.starts_with(['{', '[']) && length(trimmed, &mut effort) == Some(trimmed.len()) {
        return Some(start..start + trimmed.len());
    }
    let mut longest: Option<Range<usize>> = None;
    let mut from = 0;
    // The beginning of the line of the last bracket, and the place up to which line breaks were looked for.
    let (mut line, mut seen) = (0, 0);
    while let Some(at) = text[from..].find(['{', '[']).map(|at| from + at) {
        from = at + 1;
        if let Some(end) = text[seen..at].rfind('\n') {
            line = seen + end + 1;
        }
        seen = at;
        if !begins(&text[line..at]) {
            continue;
        }
        if effort == 0 {
            break;
        }
        let Some(length) = length(&text[at..], &mut effort) else {
            continue;
        };
        let end = at + length;
        if length < SHORT || !ends(&text[end..]) {
            continue;
        }
        if longest.as_ref().is_none_or(|range| range.len() < length) {
            longest = Some(at..end);
        }
        from = end;
    }
    longest
}

/// Returns the bytes of the value that a text begins with. Takes the bytes that it reads from `effort`.
fn length(text: &str, effort: &mut usize) -> Option<usize> {
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let error = values.next()?.err();
    let read = match &error {
        Some(error) => place(text, error),
        None => values.byte_offset(),
    };
    *effort = effort.saturating_sub(read);
    error.is_none().then_some(read)
}

/// Returns how many bytes of a text were read before an error.
fn place(text: &str, error: &Error) -> usize {
    let lines = text.split_inclusive('\n');
    let before = lines.take(error.line().saturating_sub(1)).map(str::len);
    before.sum::<usize>() + error.column()
}

/// Returns whether a value may begin behind the part of its line that stands before it.
fn begins(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with(['>', ':'])
}

/// Returns whether a value may end before a text.
fn ends(behind: &str) -> bool {
    let line = behind.split('\n').next().unwrap_or_default();
    let line = line.trim_start_matches([' ', '\t', '\r']);
    line.is_empty() || line.starts_with('<')
}

#[cfg(test)]
mod tests {
    use super::value;

    const JSON: &str = r#"[{"id": 1, "name": "rye", "stock": [4, 2]},
 {"id": 2, "name": "oat", "stock": []}, {"id": 3, "name": "corn", "stock": []}]"#;

    #[track_caller]
    fn stands(before: &str, behind: &str) {
        let text = format!("{before}{JSON}{behind}");
        let found = value(&text).map(|range| &text[range]);
        assert_eq!(found, Some(JSON), "{before:?} {behind:?}");
    }

    #[test]
    fn a_value_is_found_between_words() {
        stands("", "");
        stands(" \n", "\n");
        stands("", "\n\n<system-reminder>\nBe kind.\n</system-reminder>\n");
        stands("Exit code: 0\nWall time: 0.4 seconds\nOutput:\n", "\r\n");
        stands("OBSERVATION:\n", "\nthat is [all] there {is}");
        stands("Observation: ", "");
        stands("Here it is:\n\n```json\n", "\n```\nÄ");
        stands("<result>\n<stdout>", "</stdout>\n</result>");
        // The longest one is the result.
        stands(
            "{\"took\": 4, \"of\": \"the first page\", \"and\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}\n",
            "\n{}",
        );
    }

    #[test]
    fn what_stands_in_words_or_code_is_no_result() {
        for text in [
            format!("rows = {JSON}"),
            format!("rows: {JSON};"),
            format!("f({JSON})"),
            format!("see {JSON} there"),
            format!("{JSON}, 3"),
            "[1, 2]\nis short".to_owned(),
            "[".repeat(10_000),
            "[\n".repeat(10_000),
            "{\"a\":\n".repeat(10_000),
            String::new(),
        ] {
            assert_eq!(value(&text), None, "{text:.40}");
        }
    }

    #[test]
    fn the_search_takes_time_that_grows_with_the_text() {
        // Each of these texts would be read again from hundreds of thousands of places.
        for text in ["[\n", "{\"a\":\n", "x [ ", "[{"] {
            assert_eq!(value(&text.repeat(300_000)), None, "{text}");
        }
        let inside = format!("{}{}", "[\n".repeat(100_000), "],\n".repeat(100_000));
        assert_eq!(value(&inside), None);
        // What stands before a value does not hide it.
        let before = "[INFO] one more line\n".repeat(100_000);
        stands(&before, "\n");
    }
}

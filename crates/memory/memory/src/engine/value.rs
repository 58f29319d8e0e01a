//! Finds the JSON of a result, which may have words before and behind it.

use std::ops::Range;

use serde::de::IgnoredAny;

/// A value with fewer bytes than this counts as part of the words around it.
const SHORT: usize = 40;

/// Returns the place of the JSON in a result: an object or an array. The JSON is the whole text, or else the longest
/// value that stands apart from the words around it. On its line, such a value has nothing before it, or words that
/// end with `>` or `:`, as tags and labels do. Behind it, the line ends or a tag begins. So a value in the middle of
/// a sentence or of code is not taken for the result. `None` if there is no such value.
pub(super) fn value(text: &str) -> Option<Range<usize>> {
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    if trimmed.starts_with(['{', '[']) && length(trimmed) == Some(trimmed.len()) {
        return Some(start..start + trimmed.len());
    }
    let mut longest: Option<Range<usize>> = None;
    let mut from = 0;
    while let Some(at) = text[from..].find(['{', '[']).map(|at| from + at) {
        from = at + 1;
        if !begins(&text[..at]) {
            continue;
        }
        let Some(length) = length(&text[at..]) else {
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

/// Returns the bytes of the value that a text begins with.
fn length(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// Returns whether a value may begin behind a text.
fn begins(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let line = line.trim_end_matches([' ', '\t']);
    line.is_empty() || line.ends_with(['>', ':'])
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
}

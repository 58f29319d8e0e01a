//! Moves a text of several lines out of a result's JSON and below the JSON. There its lines can be read, referred to
//! and left out like the lines of other results.

use accp_recordings::read_json;
use serde_json::Value as Json;

use crate::raw::{Pointer, PointerStep, compact, replaced};

/// The fewest lines of a text that is moved below the JSON.
const LINES: usize = 4;

/// Returns a result with the lines of its longest text below its JSON; `None` if the result is no JSON object, or has
/// no such text.
pub(super) fn below(text: &str) -> Option<String> {
    let (head, lines) = parts(text)?;
    Some(format!("{head}\n{lines}"))
}

/// Returns the JSON object of a result without its longest text, and this text. The longest text is that with the
/// most lines.
pub(super) fn parts(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let (json, lone) = read_json(text.as_bytes()).ok()?;
    let members = json.as_object()?.iter();
    let texts = members.filter_map(|(key, value)| Some((key, value.as_str()?)));
    let (key, longest) = texts.max_by_key(|(_, text)| text.matches('\n').count())?;
    let lines = longest.split('\n').count();
    if lines < LINES || lone.places().next().is_some() {
        return None;
    }
    let said = format!("(the {lines} lines below)");
    let place = Pointer::of([PointerStep::Key(key.clone().into())]);
    let head = replaced(text, &[(place, Json::from(&*said).to_string())])?;
    let head = compact(&head);
    // If the object had these words twice, a reader could not tell which of them stands for the lines below.
    let is_plain = head.matches(&*said).count() == 1;
    is_plain.then(|| (head.into_owned(), longest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_text_stands_below() {
        let text = " {\n  \"code\": 1.50,\n  \"error\": \"a\\nb\",\n  \"output\": \"1\\n2\\t\\n\\u00e9\\n\"\n}\n";
        assert_eq!(
            below(text).as_deref(),
            Some(
                "{\"code\":1.50,\"error\":\"a\\nb\",\"output\":\"(the 4 lines below)\"}\n1\n2\t\n\u{e9}\n"
            )
        );
        for other in [
            "",
            "[1]",
            r#"{"a":"1\n2\n3"}"#,
            r#"{"a":{"b":"1\n2\n3\n4"}}"#,
            r#"{"a":"1\n2\n3\n4","b":"(the 4 lines below)"}"#,
            r#"{"a":"1\n2\n3\n4","b":"\ud800"}"#,
            r#"{"a":"1\n2\n3\n4"} and more"#,
        ] {
            assert_eq!(below(other), None, "{other}");
        }
    }
}

//! Splits long lines of a result into shorter ones, because a result is cut by whole lines.

use std::collections::HashSet;

use super::value::value;
use crate::raw::compact;

/// The most bytes of a line.
const WIDE: usize = 400;
/// The most spaces before a line of JSON. Without a bound, the spaces before deep values would take the square of the
/// bytes of the text.
const DEEP: usize = 32;

/// Returns a text with its long lines split; `None` unless most of the text is in long lines. JSON is split between
/// members and items, and its texts behind each `\n`. Other lines are split between words. Only white space between
/// the tokens of JSON is left out.
pub(super) fn lined(text: &str) -> Option<String> {
    let long = text.split('\n').map(str::len).filter(|bytes| *bytes > WIDE);
    if long.sum::<usize>() * 2 <= text.len() {
        return None;
    }
    let laid_out = match value(text) {
        Some(range) => {
            let (before, behind) = (&text[..range.start], &text[range.end..]);
            format!("{before}{}{behind}", laid_out(&compact(&text[range])))
        }
        None => text.to_owned(),
    };
    let mut out = String::with_capacity(laid_out.len() * 2);
    for (at, line) in laid_out.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        wrap(line, &mut out);
    }
    Some(out)
}

/// Splits a line into lines that are not too long. Each ends behind a space, if it has one.
fn wrap(mut line: &str, out: &mut String) {
    while line.len() > WIDE {
        let mut end = WIDE;
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        end = line[..end].rfind(' ').map_or(end, |space| space + 1);
        out.push_str(&line[..end]);
        out.push('\n');
        line = &line[end..];
    }
    out.push_str(line);
}

/// Returns compact JSON with the members and items of each wide value on lines of their own.
fn laid_out(json: &str) -> String {
    let wide = wide(json);
    let mut out = String::with_capacity(json.len() * 2);
    // For each value that encloses the token, whether the value is wide; and the number of wide ones.
    let mut around: Vec<bool> = Vec::new();
    let mut depth = 0;
    for (at, token) in (Tokens { json, at: 0 }) {
        match token.as_bytes()[0] {
            b'{' | b'[' => {
                let is_wide = wide.contains(&at);
                around.push(is_wide);
                depth += usize::from(is_wide);
                out.push_str(token);
                if is_wide {
                    begin_line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                if around.pop() == Some(true) {
                    depth -= 1;
                    begin_line(&mut out, depth);
                }
                out.push_str(token);
            }
            b',' => {
                out.push_str(token);
                if around.last() == Some(&true) {
                    begin_line(&mut out, depth);
                }
            }
            b'"' if token.len() > WIDE => break_lines(token, &mut out),
            _ => out.push_str(token),
        }
    }
    out
}

fn begin_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth.min(DEEP)));
}

/// Writes a string of JSON with a break behind each line feed in it.
fn break_lines(string: &str, out: &mut String) {
    let mut is_escape = false;
    for character in string.chars() {
        out.push(character);
        if is_escape && character == 'n' {
            out.push('\n');
        }
        is_escape = character == '\\' && !is_escape;
    }
}

/// Returns where the objects and arrays begin that do not fit into a line.
fn wide(json: &str) -> HashSet<usize> {
    let mut open = Vec::new();
    let mut wide = HashSet::new();
    for (at, token) in (Tokens { json, at: 0 }) {
        match token.as_bytes()[0] {
            b'{' | b'[' => open.push(at),
            b'}' | b']' => {
                let start = open.pop().unwrap_or(at);
                if at - start >= WIDE {
                    wide.insert(start);
                }
            }
            _ => {}
        }
    }
    wide
}

/// The tokens of compact JSON, each with its place.
struct Tokens<'j> {
    json: &'j str,
    at: usize,
}

impl<'j> Iterator for Tokens<'j> {
    type Item = (usize, &'j str);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        let rest = self.json.get(start..)?.as_bytes();
        let is_mark = |byte: &u8| matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"');
        let length = match *rest.first()? {
            b'"' => {
                let mut escaped = false;
                let end = rest.iter().skip(1).position(|byte| {
                    let ends = *byte == b'"' && !escaped;
                    escaped = *byte == b'\\' && !escaped;
                    ends
                });
                end.map_or(rest.len(), |end| end + 2)
            }
            byte if is_mark(&byte) => 1,
            _ => rest.iter().position(is_mark).unwrap_or(rest.len()),
        };
        self.at += length;
        Some((start, &self.json[start..start + length]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn json_breaks_between_its_values() {
        let rows: Vec<Json> = (0..9)
            .map(|n| json!({"id": n, "name": "n".repeat(60)}))
            .collect();
        let text = json!({"took": 4, "rows": rows, "tags": ["a", "b"]}).to_string();
        let broken = lined(&text).unwrap();
        let lines: Vec<&str> = broken.split('\n').collect();
        assert_eq!(lines[..3], ["{", " \"took\":4,", " \"rows\":["]);
        assert!(lines[3].starts_with("  {\"id\":0,\"name\":\"nn") && lines[3].ends_with("\"},"));
        assert_eq!(lines[12..], [" ],", " \"tags\":[\"a\",\"b\"]", "}"]);
    }

    #[test]
    fn a_long_text_breaks_at_its_lines_and_between_words() {
        let page = "one line of the page\n".repeat(30);
        let text = json!({"code": 0, "output": page}).to_string();
        let shown = lined(&text).unwrap();
        assert_eq!(
            shown
                .lines()
                .filter(|line| line.ends_with(r"one line of the page\n"))
                .count(),
            30
        );
        let words = "word ".repeat(200);
        let shown = lined(&words).unwrap();
        assert_eq!(shown.replace('\n', ""), words);
        assert!(
            shown
                .lines()
                .all(|line| line.len() <= WIDE && line.ends_with(' '))
        );
        assert!(
            lined(&"\u{1F35E}".repeat(300))
                .unwrap()
                .lines()
                .all(|line| line.len() <= WIDE)
        );
        // Most of the text is in short lines.
        assert_eq!(
            lined(&format!("{}\n{}", "x".repeat(500), "short\n".repeat(100))),
            None
        );
        assert_eq!(lined(""), None);
    }

    #[test]
    fn deep_json_takes_room_that_grows_with_the_text() {
        let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
        let shown = lined(&deep).unwrap();
        assert!(
            shown.len() < deep.len() * (DEEP + 2),
            "{} bytes",
            shown.len()
        );
        assert!(shown.replace(['\n', ' '], "") == deep);
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let scalar = prop_oneof![
            any::<i64>().prop_map(Json::from),
            "[a-z\"\\\\ \u{e9}\n,:{}\\[\\]]{0,90}".prop_map(Json::from),
        ];
        scalar.prop_recursive(4, 60, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Json::from),
                prop::collection::vec(("[ab\"\\\\]{0,9}", inner), 0..8)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_in_lines_is_the_same_json(json in any_json()) {
            let text = json.to_string();
            let mut laid_out = laid_out(&text);
            // Line breaks stand between tokens, or behind a `\n` of a text.
            laid_out = laid_out.replace("\\n\n", "\\n");
            prop_assert_eq!(serde_json::from_str::<Json>(&laid_out).unwrap(), json);
            if let Some(lined) = lined(&text) {
                prop_assert!(lined.split('\n').all(|line| line.len() <= WIDE));
            }
        }
    }
}

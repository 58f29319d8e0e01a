//! The place of a fault in a frame, and its cure.
//!
//! The text before a fault is the beginning of a frame, so its last bytes show the part before the
//! fault. The rules that pest tried show the expected part.

use std::borrow::Cow;

use accp_registry::lexical;

use crate::error::{Expected, Explain};
use crate::pest_parser::Rule;

impl Explain for Rule {
    /// Returns `None` for `escaped-char`, because it only continues a string that could also end here.
    fn expected(self) -> Option<Expected> {
        Some(match self {
            Rule::agent_id => Expected::AgentId,
            Rule::intent => Expected::Intent,
            Rule::operation => Expected::Operation,
            Rule::key => Expected::Key,
            Rule::value => Expected::Value,
            Rule::ref_key => Expected::RefKey,
            Rule::delimiter => Expected::Delimiter,
            Rule::header_at => Expected::Mark('@'),
            Rule::header_greater => Expected::Mark('>'),
            Rule::body_colon | Rule::param_colon | Rule::map_colon => Expected::Mark(':'),
            Rule::body_open => Expected::Mark('{'),
            Rule::body_close | Rule::map_close => Expected::Mark('}'),
            Rule::metadata_open => Expected::Mark('['),
            Rule::metadata_close | Rule::array_close => Expected::Mark(']'),
            Rule::payload_bar => Expected::Mark('|'),
            Rule::meta_pairs_comma | Rule::array_comma | Rule::map_comma => Expected::Mark(','),
            Rule::EOI => Expected::End,
            _ => return None,
        })
    }

    fn place(rules: &[Self], before: &str) -> String {
        place(rules, before)
    }

    fn cure(rules: &[Self], before: &str, found: Option<char>) -> Option<Cow<'static, str>> {
        cure(rules, before, found)
    }
}

/// Names the part before the fault: `after the agent id`.
fn place(rules: &[Rule], before: &str) -> String {
    let last = before.chars().next_back();
    for rule in rules {
        return match rule {
            Rule::header_at => "at the start of the frame".to_owned(),
            Rule::header_greater => "after the agent id".to_owned(),
            Rule::body_colon => "after the intent".to_owned(),
            Rule::body_open => "after the operation".to_owned(),
            Rule::param_colon | Rule::map_colon => {
                let is_other = |c: char| !lexical::is_key_char(c as u8);
                let key = before.rsplit(is_other).next().unwrap_or_default();
                format!("after the key `{}`", shorten(key))
            }
            Rule::value if last == Some(':') => format!("after `{}:`", last_key(before)),
            Rule::payload_bar | Rule::meta_pairs_comma | Rule::map_comma => {
                format!("after the value of `{}`", last_key(before))
            }
            Rule::array_comma => format!("after an element of `{}`", last_key(before)),
            Rule::metadata_open => "after the body".to_owned(),
            Rule::EOI if !rules.contains(&Rule::metadata_open) => "after the metadata".to_owned(),
            _ => continue,
        };
    }
    last.map(|last| format!("after '{last}'"))
        .unwrap_or_default()
}

/// Returns the cure of a fault, if the cure says more than the list of expected parts.
fn cure(rules: &[Rule], before: &str, found: Option<char>) -> Option<Cow<'static, str>> {
    let expects = |any: &[Rule]| any.iter().any(|rule| rules.contains(rule));
    let ends_value = expects(&[
        Rule::payload_bar,
        Rule::meta_pairs_comma,
        Rule::array_comma,
        Rule::map_comma,
    ]);
    let Some(found) = found else {
        return Some(Cow::Borrowed("the frame is cut short"));
    };
    if expects(&[Rule::delimiter]) {
        let delimiters: Vec<_> = lexical::DELIMITERS.split("").collect();
        return Some(Cow::Owned(format!(
            r"the delimiters are {}, so a backslash is written '\\'",
            delimiters.join(" ").trim()
        )));
    }
    if expects(&[Rule::header_at]) {
        return Some(Cow::Borrowed(match found {
            ' ' | '\t' => "a frame begins at the start of its line; remove the blanks before it",
            _ => "a frame begins with its sender: @agent>intent:operation{}",
        }));
    }
    if !found.is_ascii_graphic() {
        let is_value = ends_value || expects(&[Rule::value]);
        return Some(unprintable(found, before, is_value, expects(&[Rule::EOI])));
    }
    if expects(&[Rule::value]) {
        return Some(for_value(found));
    }
    if ends_value {
        return after_value(rules, before, found);
    }
    let is_mark = lexical::is_delimiter(found as u8);
    Some(Cow::Borrowed(if expects(&[Rule::key]) {
        match found {
            ']' if before.ends_with('[') => "empty metadata is left out, with its brackets",
            '|' | ',' | '}' | ']' => "a separator stands only between two entries",
            _ => "a key holds letters, digits and '_'",
        }
    } else if expects(&[Rule::param_colon, Rule::map_colon]) {
        match found {
            '|' | ',' | '}' | ']' => "an entry is written key:value",
            _ => "a key holds letters, digits and '_'",
        }
    } else if expects(&[Rule::ref_key]) {
        REFERENCE
    } else if expects(&[Rule::metadata_open]) {
        "only the metadata may follow the body"
    } else if expects(&[Rule::EOI]) {
        "nothing may follow the metadata"
    } else if expects(&[Rule::body_open]) && found == '[' {
        "an empty body is written '{}'"
    } else if is_mark {
        "the header and the body are written @agent>intent:operation{}"
    } else if expects(&[Rule::agent_id, Rule::header_greater]) {
        "an agent id holds letters, digits, '-' and '_'"
    } else if expects(&[Rule::intent, Rule::body_colon]) {
        "an intent holds letters only"
    } else {
        "an operation holds letters, digits and '_'"
    }))
}

const REFERENCE: &str =
    r"a reference is '$' and letters, digits, '_' or '.'; a '$' in a value is written '\$'";

/// Returns the cure for a delimiter at a place where a value should begin. All other characters can begin a value.
fn for_value(found: char) -> Cow<'static, str> {
    match found {
        '@' => Cow::Borrowed(
            r"'@' starts an agent id and must be escaped as '\@' inside a value; `accp fix` repairs it",
        ),
        '|' | '}' | ',' | ']' => Cow::Borrowed(
            "a value has at least one character; null is '~', empty text '\"', or '%' in a text field",
        ),
        _ => Cow::Owned(format!(r"inside a value '{found}' is written '\{found}'")),
    }
}

/// Returns the cure for a character that cannot follow a value.
fn after_value(rules: &[Rule], before: &str, found: char) -> Option<Cow<'static, str>> {
    let expects = |rule: Rule| rules.contains(&rule);
    // After a string, pest reports that it tried an escape, which identifies the string. The first
    // or the last byte identifies the other values.
    let value = before
        .rfind([':', ',', '['])
        .map_or(before, |at| &before[at + 1..]);
    let is_string = expects(Rule::escaped_char);
    Some(Cow::Borrowed(match found {
        ':' if expects(Rule::array_comma) => {
            "an array holds values without keys, pairs stand in a map {k:v}; `accp fix` repairs it"
        }
        _ if !is_string && value.starts_with('$') => REFERENCE,
        _ if !is_string && value == "~" => {
            r"'~' is null and stands alone; inside a value it is written '\~'"
        }
        _ if !is_string && value.ends_with([']', '}']) => return None,
        ',' if expects(Rule::payload_bar) => {
            r"the params of a payload are separated by '|'; inside a value ',' is written '\,'"
        }
        '}' if expects(Rule::array_comma) => {
            r"an array ends with ']'; inside a value '}' is written '\}'"
        }
        ']' if expects(Rule::map_comma) => {
            r"a map ends with '}'; inside a value ']' is written '\]'"
        }
        '|' if !expects(Rule::payload_bar) => {
            r"only the params of a payload are separated by '|'; inside a value it is written '\|'"
        }
        _ => {
            return Some(Cow::Owned(format!(
                r"inside a value '{found}' is written '\{found}'"
            )));
        }
    }))
}

/// Returns the cure for a character outside printable ASCII.
fn unprintable(found: char, before: &str, is_value: bool, may_end: bool) -> Cow<'static, str> {
    let fixed = match found {
        '\n' | '\r' if may_end => "a frame is one line; leave out the line end",
        ' ' if before.ends_with(['|', ',', ':', '{', '[']) => {
            "a space cannot stand in a frame; `accp fix` removes one after a separator"
        }
        ' ' if is_value => "a space cannot stand in a frame; in a text value it is written '_'",
        ' ' => "a space cannot stand in a frame",
        _ if is_value => {
            let mut bytes = [0; 4];
            let mut written = String::new();
            lexical::write_text(&mut written, found.encode_utf8(&mut bytes));
            return Cow::Owned(format!(
                "only printable ASCII can stand in a frame; in a text value this is written '{written}'"
            ));
        }
        _ => "only printable ASCII can stand in a frame",
    };
    Cow::Borrowed(fixed)
}

/// Returns the key of the innermost value at the end of the text, shortened.
fn last_key(before: &str) -> String {
    // For each open bracket: where its current entry starts, and where the key of this entry ends.
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let mut is_escaped = false;
    for (at, byte) in before.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'{' | b'[' => open.push((at + 1, None)),
            b'}' | b']' => drop(open.pop()),
            b'|' | b',' => {
                if let Some(entry) = open.last_mut() {
                    *entry = (at + 1, None);
                }
            }
            b':' => {
                if let Some((_, end @ None)) = open.last_mut() {
                    *end = Some(at);
                }
            }
            _ => {}
        }
    }
    let key = open
        .iter()
        .rev()
        .find_map(|(start, end)| before.get(*start..(*end)?));
    shorten(key.unwrap_or_default())
}

/// Returns a key for an error, shortened.
pub(crate) fn shorten(key: &str) -> String {
    const SHOWN: usize = 32;
    match key.get(..SHOWN) {
        Some(shown) if key.len() > SHOWN => format!("{shown}..."),
        _ => key.to_owned(),
    }
}

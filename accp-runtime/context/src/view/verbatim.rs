//! The check that a text of a model invents no value.

use std::collections::BTreeSet;

use accp_frame::{Frame, Registry, Value};

use crate::hot::read_head;
use crate::preview::UNBOUNDED;

/// Returns the words of a text that look like values and stand in none of these frames, each once.
/// In warm state a value is verbatim or absent, also in a summary that a model wrote.
///
/// A word looks like a value if it has a digit, `_`, `@` or `\`, or both `/` and `.`: numbers,
/// amounts, dates, codes, names in programs, addresses, paths. Words end at spaces, brackets, quotes
/// and most marks, but not at a mark that may belong to a value, such as the `-` of a date. Numbers
/// that are spelt out (`twelve`) and names without such a character pass.
///
/// The frames come without their metadata. A word may stand in a value or a name of a frame, or in
/// `values`: what the references of the frames lead to.
///
/// ```
/// use accp_context::view::invented;
/// use accp_runtime::Registry;
///
/// let frames = ["@dev>done:schedule{task:T1|dead:2024-05-15|schema:TA}"];
/// let invented = |text| invented(text, frames.into_iter(), &[], Registry::shared());
/// assert!(invented("Dev finished T1, due on 2024-05-15.").is_empty());
/// assert_eq!(invented("Dev finished T1 and T2 in 2024."), ["T2", "2024"]);
/// ```
pub fn invented<'t, 'f>(
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
    let mut said = BTreeSet::new();
    for frame in frames.filter(|_| !wanted.is_empty()) {
        if let Ok(message) = read_head(frame, registry) {
            say(&Value::Map(message.payload), &mut said);
        }
        // As it stands on the wire, for short names, and if its schema is not known any more.
        let Ok(frame) = Frame::parse_with(frame, &UNBOUNDED) else {
            continue;
        };
        for name in [&frame.agent, &frame.operation] {
            say(&Value::from(&**name), &mut said);
        }
        for param in &frame.payload {
            say(&Value::from(&*param.key), &mut said);
            say(&param.value.value().unwrap_or(Value::Null), &mut said);
        }
    }
    for value in values {
        say(value, &mut said);
    }
    wanted.retain(|word| !said.contains(*word));
    wanted
}

/// Notes the words of a value, those of names too.
fn say(value: &Value<'_>, said: &mut BTreeSet<String>) {
    let mut note = |text: &str| said.extend(words(text).into_iter().map(str::to_owned));
    match value {
        Value::Array(items) => items.iter().for_each(|item| say(item, said)),
        Value::Map(map) => {
            for (name, value) in map.iter() {
                say(&Value::from(name), said);
                say(value, said);
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

/// Returns the words of a text, in order, and perhaps some that are empty.
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

/// Returns whether the character belongs to a word, between these two.
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

//! Returns the lines of a message, without layout that has no meaning.

use serde_json::{Deserializer, Value as Json};

use super::repeats::guarded;
use crate::layout::without_padding;
use crate::policy::Kind;

/// The search for JSON in a message ends after this many places without JSON.
const VAIN: usize = 16;

/// Returns the lines of a message's text, depending on the kind of the message:
///
/// - In results, without the spaces before the numbers of numbered lines.
/// - In the words of agents, without the indentation of JSON over several lines. In a code block,
///   indentation stays.
/// - With a backslash before each line that looks like one of our marks.
///
/// If `spaces` is false, all white space stays.
pub(super) fn lines(kind: Kind, text: &str, spaces: bool) -> Vec<String> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    match kind {
        Kind::Result if spaces => without_padding(&mut lines),
        Kind::Agent | Kind::Call if spaces => without_indentation(text, &mut lines),
        _ => {}
    }
    lines.into_iter().map(guarded).collect()
}

/// Removes the indentation of JSON that begins on a line of its own.
fn without_indentation(text: &str, lines: &mut [&str]) {
    let mut starts = Vec::with_capacity(lines.len());
    let mut at = 0;
    for line in lines.iter() {
        starts.push(at);
        at += line.len() + 1;
    }
    let mut is_code = false;
    let mut vain = 0;
    let mut from = 0;
    while from < lines.len() && vain < VAIN {
        let line = lines[from].trim();
        is_code ^= line.starts_with("```");
        let opens = matches!(line, "{" | "[" | "[{");
        let end = (opens && !is_code).then(|| json_end(&text[starts[from]..]));
        match end {
            Some(Some(end)) => {
                let end = starts[from] + end;
                let to = starts.partition_point(|&start| start < end);
                for line in &mut lines[from..to] {
                    *line = line.trim_start();
                }
                from = to;
                continue;
            }
            Some(None) => vain += 1,
            None => {}
        }
        from += 1;
    }
}

/// Returns the number of bytes of the JSON with which a text begins.
fn json_end(text: &str) -> Option<usize> {
    let mut values = Deserializer::from_str(text).into_iter::<Json>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kind: Kind, text: &str) -> String {
        lines(kind, text, true).join("\n")
    }

    #[test]
    fn line_numbers_lose_the_spaces_before_them() {
        let page = "head\n     9\tfn a() {\n    10\t    b()\n    11\t}\n    13\tx";
        let expected = "head\n9\tfn a() {\n10\t    b()\n11\t}\n    13\tx";
        assert_eq!(shown(Kind::Result, page), expected);
        assert_eq!(shown(Kind::Agent, page), page);
        let code = "match n {\n    1: a,\n    2: b,\n    4: c,";
        assert_eq!(shown(Kind::Result, code), code);
    }

    #[test]
    fn json_in_words_loses_its_indentation_and_code_keeps_it() {
        let ledger = "Ledger:\n{\n  \"done\": {\n    \"why\": \"a  b\"\n  }\n} so\n  far";
        let expected = "Ledger:\n{\n\"done\": {\n\"why\": \"a  b\"\n}\n} so\n  far";
        assert_eq!(shown(Kind::Agent, ledger), expected);
        for other in [
            format!("```json\n{ledger}\n```"),
            "{\n  not JSON\n}".to_owned(),
            "{\n  \"cut\": [".to_owned(),
        ] {
            assert_eq!(shown(Kind::Agent, &other), other);
        }
        assert_eq!(shown(Kind::Result, ledger), ledger);
    }
}

//! The preview of a result that left the list: its first lines, lines that look like errors, and its last lines.

use std::borrow::Cow;
use std::collections::BTreeSet;

use accp_frame::TokenCounter;

use crate::grapheme;
use crate::media::named;

/// The most lines at the beginning.
const LINES: usize = 10;
/// The most kinds of errors that are shown.
const ERRORS: usize = 3;
/// The preview shows the last lines only if the text has at least this many tokens.
const LONG: u64 = 4_000;
/// The most lines at the end.
const LAST: usize = 3;
/// Stands at the end of a line that was cut.
const CUT: &str = " [cut]";
/// A run of base64 digits with fewer bytes than this is shown as it is.
const RUN: usize = 64;
/// Parts of words in lines about a failure, in lower case.
const SIGNS: [&str; 14] = [
    "error",
    "exception",
    "fail",
    "fatal",
    "panic",
    "traceback",
    "denied",
    "refused",
    "abort",
    "fehler",
    "erreur",
    "ошибка",
    "错误",
    "エラー",
];
/// Words right before such a part that deny a failure: `0 errors`.
const NONE: [&str; 4] = ["0", "no", "without", "zero"];

/// Returns the first lines, quoted, in at most `most` tokens.
pub(super) fn head(text: &str, most: u64, counter: &dyn TokenCounter) -> String {
    if let Some(name) = named(text) {
        return quoted(&[name.into()], most, counter);
    }
    let lines: Vec<_> = text.lines().take(LINES).map(readable).collect();
    quoted(&lines, most, counter)
}

/// Returns later lines that look like errors, and the last lines, each with its number; nothing for a short text.
/// `tokens` counts the whole text, and `most` limits the first lines.
pub(super) fn rest(text: &str, tokens: u64, most: u64, counter: &dyn TokenCounter) -> String {
    if named(text).is_some() {
        return String::new();
    }
    let lines: Vec<_> = text.lines().enumerate().skip(LINES).collect();
    // Only the preview of a long text also shows the last lines. In a shorter text they would cost
    // too many of the saved tokens.
    let last = match tokens {
        LONG.. => lines.len().saturating_sub(LAST),
        _ => lines.len(),
    };
    let numbered =
        |&(at, line): &(usize, &str)| Cow::Owned(format!("{}: {}", at + 1, readable(line)));
    let mut out = String::new();
    // Errors that differ only in digits count as one kind.
    let mut kinds = BTreeSet::new();
    let mut errors = Vec::new();
    let mut all = 0;
    for line in lines[..last].iter().filter(|(_, line)| is_error(line)) {
        all += 1;
        let shape: String = line
            .1
            .chars()
            .filter(|c| !c.is_ascii_digit())
            .take(120)
            .collect();
        if errors.len() < ERRORS && kinds.insert(shape) {
            errors.push(numbered(line));
        }
    }
    let blocks = [
        (format!("**Look like errors:** {all}"), errors, most / 2),
        (
            "**End:**".to_owned(),
            lines[last..].iter().map(numbered).collect(),
            most / 3,
        ),
    ];
    for (title, lines, most) in blocks {
        let shown = quoted(&lines, most, counter);
        if !shown.is_empty() {
            for part in [&title, "\n", &shown, "\n\n"] {
                out.push_str(part);
            }
        }
    }
    out
}

/// Returns whether a line speaks of a failure.
pub(crate) fn is_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    let words: Vec<_> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.iter().enumerate().any(|(at, word)| {
        let is_sign = *word == "err" || SIGNS.iter().any(|sign| word.contains(sign));
        let before = at.checked_sub(1).map(|before| words[before]);
        is_sign && !before.is_some_and(|before| NONE.contains(&before))
    })
}

/// Returns a line in which the name of the data replaces a run of base64 digits.
fn readable(line: &str) -> Cow<'_, str> {
    if line.len() < RUN {
        return Cow::Borrowed(line);
    }
    let is_digit = |c: char| c.is_ascii_alphanumeric() || "+/-_=".contains(c);
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (run, behind) = rest.split_at(rest.find(|c| !is_digit(c)).unwrap_or(rest.len()));
        match named(run).filter(|_| run.len() >= RUN) {
            Some(name) => out.extend(["[", &name, "]"]),
            None => out.push_str(run),
        }
        let (between, next) = behind.split_at(behind.find(is_digit).unwrap_or(behind.len()));
        out.push_str(between);
        rest = next;
    }
    Cow::Owned(out)
}

/// Returns lines, quoted, in at most `most` tokens. The first line that does not fit is cut.
fn quoted(lines: &[Cow<'_, str>], most: u64, counter: &dyn TokenCounter) -> String {
    let count = |text: &str| counter.count(text) as u64;
    let mut out = String::new();
    for line in lines {
        let with = |line: &str| {
            let gap = if out.is_empty() { "" } else { "\n" };
            format!("{out}{gap}> {line}")
        };
        // Hardly any token has more than 64 bytes: only a run of one character makes such a token.
        // So a longer line cannot fit, and its tokens are not counted.
        let most_bytes = usize::try_from(most)
            .unwrap_or(usize::MAX)
            .saturating_mul(64);
        if line.len() <= most_bytes {
            let whole = with(line);
            if count(&whole) <= most {
                out = whole;
                continue;
            }
        }
        let ends = line.char_indices().map(|(at, _)| at);
        let ends: Vec<_> = ends.take_while(|at| *at <= most_bytes).collect();
        let fits = |&at: &usize| count(&with(&format!("{}{CUT}", &line[..at]))) <= most;
        let fitting = ends.partition_point(fits);
        if let Some(end) = fitting.checked_sub(1).and_then(|last| ends.get(last)) {
            let end = grapheme::before(line, *end);
            out = with(&format!("{}{CUT}", &line[..end]));
        }
        break;
    }
    out
}

#[cfg(test)]
mod tests {
    use accp_tokens::Bpe;

    use super::*;

    #[test]
    fn a_long_line_is_cut_where_a_character_ends() {
        let counter = Bpe::o200k_base();
        let text = "ä→🌾".repeat(500);
        let cut = head(&text, 50, &counter);
        assert!(cut.ends_with(CUT) && counter.count(&cut) <= 50, "{cut}");
        assert_eq!(head("", 50, &counter), "");
    }

    #[test]
    fn a_long_result_shows_its_errors_and_its_end() {
        let counter = Bpe::o200k_base();
        let mut lines: Vec<_> = (1..=100_000).map(|n| format!("{n} ok, 0 errors")).collect();
        lines[61_233] = "E: connection to db-7 REFUSED".to_owned();
        for at in [70_000, 70_001, 80_000] {
            lines[at] = format!("ValueError in step {at}");
        }
        let shown = rest(&lines.join("\n"), LONG, 200, &counter);
        assert_eq!(
            shown,
            "**Look like errors:** 4\n> 61234: E: connection to db-7 REFUSED\n> 70001: ValueError in step 70000\n\n\
             **End:**\n> 99998: 99998 ok, 0 errors\n> 99999: 99999 ok, 0 errors\n> 100000: 100000 ok, 0 errors\n\n"
        );
        assert!(counter.count(&shown) <= 200);
        assert_eq!(rest("one\ntwo", 2, 200, &counter), "");
        let short = rest(&lines[60_000..60_040].join("\n"), LONG - 1, 200, &counter);
        assert_eq!(short, "");
        lines.truncate(61_234);
        let failed = rest(&lines[61_200..].join("\n"), LONG - 1, 200, &counter);
        assert_eq!(
            failed,
            "**Look like errors:** 1\n> 34: E: connection to db-7 REFUSED\n\n"
        );
    }

    #[test]
    fn base64_in_a_text_says_what_it_is() {
        let counter = Bpe::o200k_base();
        let jpeg = format!("/9j/{}", "4AAQSkZJ".repeat(50_000));
        assert_eq!(head(&jpeg, 50, &counter), "> base64 of a JPEG, 301 KB");
        let json = format!(r#"{{"screen":"data:image/jpeg;base64,{jpeg}","ok":true}}"#);
        assert_eq!(
            head(&json, 50, &counter),
            r#"> {"screen":"data:image/jpeg;base64,[base64 of a JPEG, 301 KB]","ok":true}"#
        );
        let words = "thequickbrownfoxjumpsoverthelazydog".repeat(200);
        assert!(head(&words, 50, &counter).starts_with("> thequick"));
        let wrapped: Vec<_> = jpeg
            .as_bytes()
            .chunks(76)
            .map(String::from_utf8_lossy)
            .collect();
        assert!(head(&wrapped.join("\n"), 50, &counter).starts_with("> base64 of a JPEG, "));
    }
}

//! Finds the terms of a text that the index stores: its words, and its whole identifiers.
//!
//! `ORD-12345` has the words `ord` and `12345`, and is an identifier: a search for it should not find `ORD-12346`.

use accp_context::search;

use crate::grapheme::floor;

/// The longest identifier, in bytes. Longer ones are found by their words and by exact text. If a single run of letters
/// and digits is longer, its beginning counts as an identifier.
const LONGEST: usize = 256;
/// A run of letters and digits with at most this many bytes is a word.
const DATA: usize = 64;
/// How many ends of a path count as identifiers too.
const ENDS: usize = 8;

/// The words and identifiers of a text, in small letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The words in their order, also those of identifiers.
    pub(crate) words: Vec<String>,
    /// The identifiers in their order.
    pub(crate) whole: Vec<String>,
}

impl Terms {
    pub(crate) fn of(text: &str) -> Self {
        let (text, behind) = unescaped(text);
        let mut words: Vec<_> = search::words(&text).collect();
        words.extend(search::words(&behind));
        let mut whole: Vec<_> = identifiers(&text).map(str::to_lowercase).collect();
        for run in data(&text).map(str::to_lowercase) {
            if !whole.contains(&run) {
                whole.push(run);
            }
        }
        Self { words, whole }
    }

    /// Adds the ends of the paths, so that a file is found by its name alone.
    pub(crate) fn with_ends(mut self) -> Self {
        let ends = |whole: &String| {
            let slashes = whole.match_indices('/').take(ENDS);
            let ends = slashes.map(|(at, _)| whole[at + 1..].to_owned());
            ends.filter(|end| is_identifier(end)).collect::<Vec<_>>()
        };
        let ends: Vec<_> = self.whole.iter().flat_map(ends).collect();
        self.whole.extend(ends);
        self
    }
}

/// Returns the identifiers of a text: runs of letters and digits with marks between them, and words with digits.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    // The text is split at characters that no identifier has, such as quotes, equals signs and brackets.
    let runs = text.split(|c: char| !(is_inside(c) || is_between(c)));
    runs.flat_map(parted)
        .filter(|run| run.len() <= LONGEST && is_identifier(run))
}

/// Returns the runs of letters and digits that are too long to be words: digests, and data in base64.
fn data(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    let long = runs.filter(|run| run.len() > DATA && search::words(run).next().is_none());
    long.map(|run| &run[..floor(run, LONGEST)])
}

fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_between(c: char) -> bool {
    matches!(c, '-' | '.' | '/' | '@' | '+' | '#' | ':' | ',')
}

/// Splits a run at colons and commas that do not stand between digits, and removes punctuation at the ends.
fn parted(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(run);
    std::iter::from_fn(move || {
        let run = rest?;
        let end = run.match_indices([':', ',']).find(|(at, _)| {
            let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            !(is_digit(run[..*at].chars().next_back()) && is_digit(run[at + 1..].chars().next()))
        });
        let (part, behind) = match end {
            Some((at, _)) => (&run[..at], Some(&run[at + 1..])),
            None => (run, None),
        };
        rest = behind;
        Some(part.trim_matches(is_between))
    })
}

fn is_identifier(run: &str) -> bool {
    let is_mark = |c: char| is_between(c) || c == '_' || c.is_numeric();
    run.contains(is_mark) && run.contains(char::is_alphanumeric)
}

/// Returns a text without the escapes of JSON strings, which would otherwise stick to words (`\nThe`). But a backslash
/// may also not begin an escape, as in `C:\new`. For this case, the second text has the whole words behind such
/// backslashes: `new`.
fn unescaped(text: &str) -> (std::borrow::Cow<'_, str>, String) {
    let mut behind = String::new();
    if !text.contains('\\') {
        return (text.into(), behind);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        // JSON in JSON has its backslashes doubled, so a whole run of backslashes counts as one.
        rest = rest[at..].trim_start_matches('\\');
        if let Some((c, after)) = unicode(rest) {
            out.push(c);
            rest = after;
            continue;
        }
        out.push(' ');
        if rest.starts_with(['n', 't', 'r', 'b', 'f']) {
            let end = rest.find(|c: char| !c.is_alphanumeric());
            behind.push_str(&rest[..end.unwrap_or(rest.len())]);
            behind.push(' ');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    (out.into(), behind)
}

/// Reads the four digits of `\u00e9`, and the second half of a pair.
fn unicode(rest: &str) -> Option<(char, &str)> {
    let unit = |text: &str| {
        let digits = text.strip_prefix('u')?.get(..4)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex
            .then(|| u16::from_str_radix(digits, 16).ok())
            .flatten()
    };
    let first = unit(rest)?;
    if let Some(Ok(c)) = char::decode_utf16([first]).next() {
        return Some((c, &rest[5..]));
    }
    let second = rest[5..].trim_start_matches('\\');
    let c = char::decode_utf16([first, unit(second)?]).next()?.ok()?;
    Some((c, &second[5..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn identifiers_count_whole() {
        for (text, expected) in [
            ("Order ORD-12345.", &["ord-12345"][..]),
            ("\"user_id\": \"mia_li_3668\",", &["user_id", "mia_li_3668"]),
            ("flight HAT170, then hat", &["hat170"]),
            ("see /src/a.b/c.rs:12", &["src/a.b/c.rs", "12"]),
            (
                "<Ann.Lee+x@rye-mill.example>",
                &["ann.lee+x@rye-mill.example"],
            ),
            ("on 2026-01-29 at 14:25:30", &["2026-01-29", "14:25:30"]),
            ("costs $1,250.50 (12.5%)", &["1,250.50", "12.5"]),
            ("std::vec, __init__ and C#", &["__init__"]),
            ("key=ä-ö; a,b", &["ä-ö"]),
            ("... -- _ 7", &["7"]),
        ] {
            assert_eq!(Terms::of(text).whole, expected, "{text}");
        }
    }

    #[test]
    fn a_run_that_is_too_long_to_be_a_word_counts_whole() {
        let (letters, digits) = ("Ab".repeat(40), "0f".repeat(40));
        let long = "x9".repeat(300);
        let terms = Terms::of(&format!("{letters} sha256-{digits}, {digits}/{long}"));
        let whole = [
            format!("sha256-{digits}"),
            letters.to_lowercase(),
            digits,
            "x9".repeat(128),
        ];
        assert_eq!(terms.whole, whole);
        assert_eq!(terms.words, ["sha256"]);
    }

    #[test]
    fn a_file_is_found_by_its_name() {
        let terms = Terms::of("/shop/src/main.rs").with_ends();
        assert_eq!(terms.whole, ["shop/src/main.rs", "src/main.rs", "main.rs"]);
    }

    #[test]
    fn escapes_of_json_do_not_stick_to_words() {
        let terms = Terms::of(r#"{\"a\": \"Cal\\u00e9donie\nThe\ud83d\ude00 end\"} C:\new"#);
        assert_eq!(
            terms.words,
            ["a", "calédonie", "the", "end", "c", "ew", "nthe", "new"]
        );
    }

    proptest! {
        #[test]
        fn any_text_has_terms_without_spaces(text in r#"([a-zA-Z0-9_./@:,+#\\"u-]|\PC|\s){0,40}"#) {
            let terms = Terms::of(&text).with_ends();
            for term in terms.words.iter().chain(&terms.whole) {
                prop_assert!(!term.is_empty() && !term.contains(char::is_whitespace), "{term:?}");
                prop_assert!(!term.contains(['"', '\'', '\0']), "{term:?}");
            }
        }
    }
}

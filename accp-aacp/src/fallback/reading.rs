//! An instruction taken to pieces: its verbs, its keywords, its values.

use std::collections::BTreeSet;

use super::lexicon::{is_filler, is_qualifier, is_verb, stem};
use super::value::{self, Value};

/// The parts of an instruction that decide whether it may share a packet with another (draft section
/// 6.3, tier 2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reading {
    /// The stems of the verbs.
    pub(super) verbs: BTreeSet<String>,
    /// The stems of all words that carry meaning, verbs too; values are not among them.
    pub(super) keywords: BTreeSet<String>,
    /// The values, in the order of the text.
    pub(super) values: Vec<Value>,
    /// The words that change the sense of others, sorted.
    pub(super) qualifiers: Vec<String>,
    /// The stems of who receives: the words after "to".
    pub(super) receivers: BTreeSet<String>,
    /// The stems of where it comes from, and by what it goes: the words after "from" and "by".
    pub(super) sources: BTreeSet<String>,
}

/// A word of the text, or a quoted text.
#[derive(Debug)]
struct Token<'t> {
    text: &'t str,
    is_quoted: bool,
    /// Whether a sentence begins here.
    starts: bool,
    /// Whether a comma, a semicolon or a bracket stands before it.
    is_apart: bool,
}

impl Reading {
    /// Takes an instruction in its normal form to pieces.
    pub(super) fn of(text: &str) -> Self {
        let mut reading = Self::default();
        let mut values: Vec<Value> = Vec::new();
        let mut joined: Vec<bool> = Vec::new();
        // Whether a verb may come: at the start of a sentence, and after "and", "then" or "to".
        let mut at_start = true;
        let mut after_value = false;
        let mut place = Place::Elsewhere;
        let tokens = tokens(text);
        for (index, token) in tokens.iter().enumerate() {
            at_start |= token.starts;
            if token.is_apart || token.starts {
                place = Place::Elsewhere;
            }
            let small = token.text.to_lowercase();
            let known = !token.is_quoted
                && (is_filler(&small) || is_qualifier(&small))
                && !(small == "may" && is_month(&tokens, index));
            // A capital letter in a sentence makes "Will" and "May" names.
            let is_plain = token.starts || token.text == small || token.text == "I";
            let is_word = known && (is_plain || is_qualifier(&small))
                || !token.is_quoted && at_start && is_verb(&stem(&small), true);
            let is_first = reading.keywords.is_empty() && values.is_empty();
            if let Some(found) = value_of(token, is_word, is_first && token.starts) {
                if let [.., Value::Name(last)] = &mut values[..]
                    && let Value::Name(next) = &found
                    && after_value
                    && !token.is_apart
                    && !token.starts
                    && [&last[..], next].iter().all(|name| is_person(name))
                {
                    last.push(' ');
                    last.push_str(next);
                } else {
                    joined.push(after_value);
                    values.push(found);
                    for sign in signs(token.text) {
                        joined.push(false);
                        values.push(Value::Sign(sign));
                    }
                }
                (after_value, at_start, place) = (true, false, Place::Elsewhere);
                continue;
            }
            after_value &= matches!(&small[..], "of" | "the");
            if known {
                if is_qualifier(&small) {
                    reading.qualifiers.push(small.clone());
                }
                place = place.after(&small);
                at_start |= matches!(&small[..], "and" | "then" | "to" | "also" | "or");
                continue;
            }
            for part in small.split('-').filter(|part| !part.is_empty()) {
                let stem = stem(part);
                // The first word of an instruction is its verb, whether the lexicon has it or not.
                if is_verb(&stem, at_start) || at_start && is_first {
                    reading.verbs.insert(stem.clone());
                    place = Place::Elsewhere;
                }
                match place {
                    Place::Receiver => reading.receivers.insert(stem.clone()),
                    Place::Source => reading.sources.insert(stem.clone()),
                    Place::Elsewhere => false,
                };
                reading.keywords.insert(stem);
                at_start = false;
            }
        }
        reading.qualifiers.sort_unstable();
        reading.values = value::dates(&values, &joined);
        reading
    }

    /// Returns the values of one kind that are like this one, in their order.
    pub(super) fn like<'v>(&'v self, value: &'v Value) -> impl Iterator<Item = &'v Value> {
        self.values.iter().filter(|other| other.is_like(value))
    }

    /// Returns the keywords with the values among them, sorted.
    pub(super) fn words(&self) -> Vec<String> {
        let values = self.values.iter().map(ToString::to_string);
        let words: BTreeSet<String> = self.keywords.iter().cloned().chain(values).collect();
        words.into_iter().collect()
    }
}

/// What the words at a place of an instruction say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Receiver,
    Source,
    Elsewhere,
}

impl Place {
    /// Returns what the words after this filler say.
    fn after(self, word: &str) -> Self {
        match word {
            "to" => Self::Receiver,
            "from" | "by" => Self::Source,
            "a" | "an" | "the" | "our" | "my" | "your" | "their" | "its" | "all" | "each"
            | "every" => self,
            // "to the director and the manager"
            "and" | "or" => self,
            _ => Self::Elsewhere,
        }
    }
}

/// Returns whether the "may" at a place is the month: a number or a preposition stands beside it.
fn is_month(tokens: &[Token<'_>], index: usize) -> bool {
    const BEFORE: &str = " in for of during since until till from to by and after before ";
    let before = index.checked_sub(1).and_then(|before| tokens.get(before));
    let is_number = |token: Option<&Token<'_>>| {
        token.is_some_and(|token| token.text.starts_with(|c: char| c.is_ascii_digit()))
    };
    let word = before.map(|token| format!(" {} ", token.text.to_lowercase()));
    is_number(tokens.get(index + 1))
        || is_number(before)
        || word.is_some_and(|word| BEFORE.contains(&word))
}

/// Returns the value that a token is. `is_word` tells that it is an ordinary word with a capital letter.
fn value_of(token: &Token<'_>, is_word: bool, at_start: bool) -> Option<Value> {
    if token.is_quoted {
        return Some(Value::Quoted(token.text.to_owned()));
    }
    let word = token.text.trim_matches(is_sign);
    let word = word
        .strip_suffix("'s")
        .or(word.strip_suffix("’s"))
        .unwrap_or(word);
    let is_capital_alone = word.chars().skip(1).all(char::is_lowercase);
    if is_word && is_capital_alone {
        return None;
    }
    value::read(word, at_start)
}

/// Returns whether a name is a capital letter and small letters: such names stand together, as in
/// "Acme Ltd".
fn is_person(name: &str) -> bool {
    name.split(' ').all(|part| {
        let mut letters = part.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase)
    })
}

fn is_sign(character: char) -> bool {
    matches!(
        character,
        '%' | '$' | '£' | '€' | '¥' | '₹' | '#' | '±' | '<' | '>' | '=' | '~'
    )
}

/// Returns the signs before and after a number.
fn signs(text: &str) -> impl Iterator<Item = char> {
    let before = text.chars().take_while(|c| is_sign(*c));
    before.chain(text.chars().rev().take_while(|c| is_sign(*c)))
}

/// Splits a text into words and quoted texts.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut starts, mut is_apart) = (true, false);
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else {
            break;
        };
        if let Some(quoted) = quoted(rest, text.get(..at).unwrap_or_default()) {
            tokens.push(Token {
                text: quoted,
                is_quoted: true,
                starts,
                is_apart,
            });
            (starts, is_apart) = (false, false);
            at += quoted.len() + 2 * first.len_utf8();
            continue;
        }
        let end = rest.find(is_break).unwrap_or(rest.len());
        let (word, ends) = trimmed(rest.get(..end).unwrap_or_default());
        for (index, part) in pieces(word).enumerate() {
            let is_apart = is_apart || index > 0;
            tokens.push(Token {
                text: part,
                is_quoted: false,
                starts,
                is_apart,
            });
            starts = false;
        }
        is_apart = !ends.is_empty() || is_apart && word.is_empty();
        starts = (starts && word.is_empty()) || ends.contains(['.', '!', '?', ':']);
        let broken = rest.get(end..).and_then(|rest| rest.chars().next());
        is_apart |= broken.is_some_and(|c| c != ' ');
        at += end + broken.map_or(0, char::len_utf8);
    }
    tokens
}

/// Returns whether a character stands between words.
fn is_break(character: char) -> bool {
    matches!(
        character,
        ' ' | ';'
            | '('
            | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | '|'
            | '—'
            | '–'
            | '"'
            | '“'
            | '”'
            | '«'
            | '»'
            | '`'
    )
}

/// Takes the punctuation after a word away, and returns it beside the word.
fn trimmed(word: &str) -> (&str, &str) {
    let word = word.trim_start_matches(['\'', '‘', ',', '.']);
    let end = word
        .trim_end_matches(['.', ',', ':', '!', '?', '\'', '’', '…'])
        .len();
    (
        word.get(..end).unwrap_or_default(),
        word.get(end..).unwrap_or_default(),
    )
}

/// Splits a list such as `dept,grp` at its commas; a number keeps those between its digits.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let is_number = word
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, ',' | '.' | '-') || is_sign(c));
    let separator = move |c: char| c == ',' && !is_number;
    word.split(separator).filter(|part| !part.is_empty())
}

/// Returns the text in the quotation marks at the start of `rest`.
fn quoted<'t>(rest: &'t str, before: &str) -> Option<&'t str> {
    let first = rest.chars().next()?;
    let close = match first {
        '"' => '"',
        '“' => '”',
        '«' => '»',
        '`' => '`',
        '‘' => '’',
        '\'' => '\'',
        _ => return None,
    };
    let inner = rest.get(first.len_utf8()..)?;
    let is_apostrophe = matches!(first, '\'' | '‘');
    if is_apostrophe
        && before
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric)
    {
        return None;
    }
    let mut ends = inner.match_indices(close);
    let end = ends.find(|(at, _)| {
        let after = inner
            .get(at + close.len_utf8()..)
            .and_then(|rest| rest.chars().next());
        !is_apostrophe || !after.is_some_and(char::is_alphanumeric)
    });
    // The caller counts on marks of one length.
    let (end, _) = end.filter(|_| first.len_utf8() == close.len_utf8())?;
    inner.get(..end)
}

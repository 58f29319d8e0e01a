//! An instruction split into its words and its values, in their order.

use std::collections::BTreeSet;

use super::lexicon::{courtesy, is_keyword, is_link, is_plural};
use super::value::{self, Value};

/// The words and values of an instruction, by which tier 2 compares it with others (draft section 6.3).
///
/// Courtesy and "the" are left out, and so is "all" before a plural: "all invoices" are "the
/// invoices". "For August 2024, fetch it" is read as "fetch it for August 2024".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reading {
    pub(super) pieces: Vec<Piece>,
}

/// A word or a value, and the gap before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) what: What,
    pub(super) gap: Gap,
}

/// A piece of an instruction: a word or a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A word, in small letters.
    Word(String),
    Value(Value),
}

/// The text between two pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    Space,
    /// A comma, a semicolon, a bracket or a dash.
    Comma,
    /// The end of a sentence, or a colon.
    Sentence,
}

/// A word of the text, or a quoted text.
#[derive(Debug)]
struct Token<'t> {
    text: &'t str,
    is_quoted: bool,
    gap: Gap,
}

impl Piece {
    /// Returns the word; `None` for a value.
    pub(super) fn word(&self) -> Option<&str> {
        match &self.what {
            What::Word(word) => Some(word),
            What::Value(_) => None,
        }
    }

    /// Returns the value; `None` for a word.
    pub(super) fn value(&self) -> Option<&Value> {
        match &self.what {
            What::Word(_) => None,
            What::Value(value) => Some(value),
        }
    }
}

impl Reading {
    /// Splits an instruction in its normal form.
    pub(super) fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        let mut polite = 0;
        while let Some(more) = words.get(polite..).and_then(courtesy) {
            polite += more;
        }
        let rest = tokens.get(polite..).unwrap_or_default();
        let mut pieces: Vec<Piece> = Vec::with_capacity(rest.len());
        // The gap before a word that is left out counts for the next word.
        let mut gap = Gap::Space;
        for (index, token) in rest.iter().enumerate() {
            gap = gap.max(if index == 0 { Gap::Space } else { token.gap });
            let at_start = index == 0 || token.gap == Gap::Sentence;
            if !token.is_quoted && matches!(token.text, "please" | "kindly" | "the" | "The") {
                continue;
            }
            let what = read(rest, index, at_start);
            if let Some(What::Value(Value::Name(next))) = &what
                && gap == Gap::Space
                && let Some(What::Value(Value::Name(last))) =
                    pieces.last_mut().map(|piece| &mut piece.what)
                && [&last[..], next].iter().all(|name| is_person(name))
            {
                last.push(' ');
                last.push_str(next);
                continue;
            }
            for what in what.into_iter().chain(signs(token)) {
                pieces.push(Piece { what, gap });
                gap = Gap::Space;
            }
        }
        let mut pieces = dates(&pieces);
        leave_out_all(&mut pieces);
        move_the_date(&mut pieces);
        Self { pieces }
    }

    /// Returns the values, in their order.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.pieces.iter().filter_map(Piece::value)
    }

    /// Returns the words that carry meaning.
    pub(super) fn keywords(&self) -> BTreeSet<&str> {
        let words = self.pieces.iter().filter_map(Piece::word);
        words.filter(|word| is_keyword(word)).collect()
    }

    /// Returns the keywords and the values, sorted together.
    pub(super) fn words(&self) -> Vec<String> {
        let words = self.keywords().into_iter().map(str::to_owned);
        let words: BTreeSet<String> = words
            .chain(self.values().map(ToString::to_string))
            .collect();
        words.into_iter().collect()
    }
}

/// Reads the token at a place as a value or a word; `None` if the token has only signs.
fn read(tokens: &[Token<'_>], index: usize, at_start: bool) -> Option<What> {
    let token = tokens.get(index)?;
    if token.is_quoted {
        return Some(What::Value(Value::Quoted(token.text.to_owned())));
    }
    let word = token.text.trim_matches(is_sign);
    let owner = word.strip_suffix("'s").or(word.strip_suffix("’s"));
    let word = owner.unwrap_or(word);
    if word.is_empty() {
        return None;
    }
    let is_may = word.eq_ignore_ascii_case("may") && !is_month(tokens, index);
    let value = value::read(word, at_start).filter(|_| !is_may);
    Some(value.map_or_else(|| What::Word(word.to_lowercase()), What::Value))
}

/// Leaves out every "all" that stands before a plural.
fn leave_out_all(pieces: &mut Vec<Piece>) {
    let is_one = |at: usize| {
        let after = pieces.get(at + 1..).unwrap_or_default().iter();
        let words = after.map_while(|piece| {
            let word = piece.word().filter(|word| !is_link(word));
            word.filter(|_| piece.gap == Gap::Space)
        });
        pieces.get(at).and_then(Piece::word) == Some("all") && words.last().is_some_and(is_plural)
    };
    let found: Vec<usize> = (0..pieces.len()).filter(|at| is_one(*at)).collect();
    for at in found.into_iter().rev() {
        let gap = pieces.remove(at).gap;
        if let Some(next) = pieces.get_mut(at) {
            next.gap = next.gap.max(gap);
        }
    }
}

/// Moves "for August 2024," from the start of an instruction to its end.
fn move_the_date(pieces: &mut [Piece]) {
    let begins = match pieces {
        [link, date, next, ..] => {
            let is_date = date.value().is_some_and(Value::is_date);
            is_date && matches!(link.word(), Some("for" | "in")) && next.gap == Gap::Comma
        }
        _ => false,
    };
    if begins {
        pieces.rotate_left(2);
        if let Some(first) = pieces.first_mut() {
            first.gap = Gap::Space;
        }
    }
}

/// Joins months with their years and days: "August 2024", "15 August 2024", "August 15, 2024", "15th of
/// August 2024".
fn dates(pieces: &[Piece]) -> Vec<Piece> {
    let mut found = Vec::with_capacity(pieces.len());
    let mut rest = pieces;
    while let [first, after @ ..] = rest {
        let date = date(rest).map(|(value, after)| (What::Value(value), after));
        let (what, after) = date.unwrap_or_else(|| (first.what.clone(), after));
        found.push(Piece {
            what,
            gap: first.gap,
        });
        rest = after;
    }
    found
}

/// Reads a date at the start of some pieces, and returns the pieces after it.
fn date(pieces: &[Piece]) -> Option<(Value, &[Piece])> {
    let (first, after) = pieces.split_first()?;
    let first = first.value()?;
    if let Some(day) = first.as_day()
        && let (Value::Month(month), after) = value_and_rest(after)?
        && let (year, after) = value_and_rest(after)?
    {
        return Some((Value::Date(year.as_year()?, *month, day), after));
    }
    let Value::Month(month) = first else {
        return None;
    };
    let (next, after) = value_and_rest(after)?;
    if let Some(year) = next.as_year() {
        return Some((Value::Period(year, *month), after));
    }
    let (year, after) = value_and_rest(after)?;
    Some((Value::Date(year.as_year()?, *month, next.as_day()?), after))
}

/// Returns the value at the start of some pieces, perhaps after "of", and the pieces after it.
fn value_and_rest(pieces: &[Piece]) -> Option<(&Value, &[Piece])> {
    let is_of = |piece: &Piece| piece.word() == Some("of") && piece.gap == Gap::Space;
    let of = usize::from(pieces.first().is_some_and(is_of));
    let (first, after) = pieces.get(of..)?.split_first()?;
    let value = first.value().filter(|_| first.gap != Gap::Sentence)?;
    Some((value, after))
}

/// Returns whether the "may" at a place is the month: a number or a preposition is beside it.
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

/// Returns whether each word of a name is a capital letter with small letters after it. Such names may be parts of one
/// name, as in "Acme Ltd".
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

/// Returns the signs before and after a word, or all signs of a token that has no word.
fn signs(token: &Token<'_>) -> impl Iterator<Item = What> {
    let text = if token.is_quoted { "" } else { token.text };
    let word = text.trim_start_matches(is_sign);
    let before = text.get(..text.len() - word.len()).unwrap_or_default();
    let after = word.trim_end_matches(is_sign).len();
    let after = word.get(after..).unwrap_or_default();
    let signs = before.chars().chain(after.chars());
    signs.map(|sign| What::Value(Value::Sign(sign)))
}

/// Splits a text into words and quoted texts.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut gap = Gap::Sentence;
    let mut marks = Marks::default();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else {
            break;
        };
        if let Some(quoted) = marks.quoted(rest, text.get(..at).unwrap_or_default()) {
            tokens.push(Token {
                text: quoted,
                is_quoted: true,
                gap,
            });
            gap = Gap::Space;
            at += quoted.len() + 2 * first.len_utf8();
            continue;
        }
        let end = rest.find(is_break).unwrap_or(rest.len());
        let (word, ends) = trimmed(rest.get(..end).unwrap_or_default());
        for part in parts(word) {
            tokens.push(Token {
                text: part,
                is_quoted: false,
                gap,
            });
            gap = Gap::Comma;
        }
        if !word.is_empty() {
            gap = Gap::Space;
        }
        if !ends.is_empty() {
            let is_end = ends.contains(['.', '!', '?', ':']);
            gap = gap.max(if is_end { Gap::Sentence } else { Gap::Comma });
        }
        let broken = rest.get(end..).and_then(|rest| rest.chars().next());
        if broken.is_some_and(|c| c != ' ') {
            gap = gap.max(Gap::Comma);
        }
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

/// Splits a word from the punctuation after it.
fn trimmed(word: &str) -> (&str, &str) {
    let start = word.trim_start_matches(['\'', '‘', ',', '.']);
    // A point before digits is a part of the number.
    let is_fraction = start.starts_with(|c: char| c.is_ascii_digit());
    let point = word
        .get(..word.len() - start.len())
        .is_some_and(|cut| cut.ends_with('.'));
    let cut = word.len() - start.len() - usize::from(is_fraction && point);
    let word = word.get(cut..).unwrap_or(start);
    let end = word
        .trim_end_matches(['.', ',', ':', '!', '?', '\'', '’', '…'])
        .len();
    (
        word.get(..end).unwrap_or_default(),
        word.get(end..).unwrap_or_default(),
    )
}

/// Splits a list such as `dept,grp` at its commas. A number keeps the commas between its digits.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let is_number = word
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, ',' | '.' | '-') || is_sign(c));
    let separator = move |c: char| c == ',' && !is_number;
    word.split(separator).filter(|part| !part.is_empty())
}

/// Finds quoted texts. If a mark has no closing mark, later marks of this kind are not searched.
#[derive(Default)]
struct Marks {
    open: Vec<char>,
}

impl Marks {
    /// Returns the text in the quotation marks at the start of `rest`.
    fn quoted<'t>(&mut self, rest: &'t str, before: &str) -> Option<&'t str> {
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
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_apostrophe = matches!(first, '\'' | '‘');
        // The caller relies on marks of equal length.
        if self.open.contains(&first)
            || first.len_utf8() != close.len_utf8()
            || is_apostrophe && is_letter(before.chars().next_back())
        {
            return None;
        }
        let inner = rest.get(first.len_utf8()..)?;
        let mut ends = inner.match_indices(close);
        let end = ends.find(|(at, mark)| {
            let after = inner.get(at + mark.len()..);
            !is_apostrophe || !is_letter(after.and_then(|rest| rest.chars().next()))
        });
        if end.is_none() {
            self.open.push(first);
        }
        inner.get(..end?.0)
    }
}

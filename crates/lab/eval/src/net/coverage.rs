//! The rule of first sight: the next prompt of an agent has to show each message that is new to the agent.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;

use super::matcher::{Matcher, Needle, is_word};
use super::message_text::MessageText;
use super::segment_index::SegmentIndex;
use super::text::{collapse, structured};

/// The tokens that the first prompt has to show of a longer message.
pub(crate) const SHOWN_TOKENS: usize = 2000;
/// How many of the shown tokens are from the head of a longer message; the others are from its tail.
pub(crate) const HEAD_TOKENS: usize = 1333;
/// The share of the characters that the prompt has to show, in percent.
const STANDS: usize = 98;
/// The most characters between neighbouring lines.
const BETWEEN: usize = 120;
/// This many breaks between neighbouring lines are always allowed.
const BREAKS: usize = 4;

/// What a message has to show at first sight.
#[derive(Debug)]
pub(crate) struct RequiredText {
    units: Vec<Unit>,
    characters: usize,
    /// The keys above the scalars of the message's JSON, each with its number of characters.
    keys: BTreeMap<Needle, usize>,
    /// The ranges of tokens that the agent fetches if the prompt does not show the message.
    pub(crate) windows: Vec<Range<usize>>,
}

/// A line, or a scalar of JSON.
#[derive(Debug)]
struct Unit {
    needle: Needle,
    characters: usize,
    bytes: usize,
    /// Whether text is left out before this unit.
    is_after_gap: bool,
}

impl RequiredText {
    /// Takes a message apart, and adds its lines to the matcher. A line without a letter or digit does not count.
    pub(crate) fn of(message_text: &MessageText, matcher: &mut Matcher) -> Self {
        let tokens = message_text.tokens();
        let mut windows = Vec::with_capacity(2);
        if tokens <= SHOWN_TOKENS {
            windows.push(0..tokens);
        } else {
            windows.extend([
                0..HEAD_TOKENS,
                tokens - (SHOWN_TOKENS - HEAD_TOKENS)..tokens,
            ]);
        }
        let mut required = Self {
            units: Vec::new(),
            characters: 0,
            keys: BTreeMap::new(),
            windows,
        };
        let lines = lines(message_text);
        for (part, tokens) in required.windows.clone().iter().enumerate() {
            let shown = message_text.window(tokens);
            let start = shown.as_ptr().addr() - message_text.raw.as_ptr().addr();
            let end = start + shown.len();
            let mut first = part > 0;
            for Line { place, text, keys } in &lines {
                let line = text;
                let Some(line) = clipped(line, place, start, end) else {
                    continue;
                };
                for key in keys {
                    let key = collapse(key);
                    let needle = matcher.add(&key);
                    let known = needle.map(|needle| (needle, key.chars().count()));
                    required.keys.extend(known);
                }
                let text = collapse(without_number(&line));
                let Some(needle) = matcher.add(&text) else {
                    continue;
                };
                let characters = text.chars().count();
                required.characters += characters;
                required.units.push(Unit {
                    needle,
                    characters,
                    bytes: text.len(),
                    is_after_gap: std::mem::take(&mut first),
                });
            }
        }
        required
    }

    /// Returns whether these segments have enough keys of the message's JSON.
    pub(crate) fn has_keys(&self, indexes: &[Arc<SegmentIndex>]) -> bool {
        let stands = |key: Needle| {
            indexes
                .iter()
                .any(|segment_index| !segment_index.places(key).is_empty())
        };
        let standing = self.keys.iter().filter(|(key, _)| stands(**key));
        let standing: usize = standing.map(|(_, characters)| characters).sum();
        standing * 100 >= self.keys.values().sum::<usize>() * STANDS
    }

    /// Returns whether these segments show the message: they have lines with 98 % of its characters, and either at
    /// most four lines that do not follow their neighbour, or half of the characters in lines that do.
    pub(crate) fn stands(&self, indexes: &[&SegmentIndex]) -> bool {
        let places = |unit: &Unit| -> Vec<(usize, usize)> {
            let places = indexes.iter().enumerate().flat_map(|(at, segment_index)| {
                let places = segment_index.places(unit.needle).iter();
                places.map(move |&(_, byte)| (at, byte as usize))
            });
            places.collect()
        };
        let mut standing = 0;
        let mut linked = 0;
        let mut breaks = 0;
        let mut before: Option<(Vec<(usize, usize)>, usize)> = None;
        for unit in &self.units {
            let here = places(unit);
            if !here.is_empty() {
                standing += unit.characters;
            }
            match before {
                Some((before, bytes)) if !unit.is_after_gap => {
                    if follows(indexes, &before, bytes, &here) {
                        linked += unit.characters;
                    } else {
                        breaks += 1;
                    }
                }
                _ => linked += if here.is_empty() { 0 } else { unit.characters },
            }
            before = Some((here, unit.bytes));
        }
        standing * 100 >= self.characters * STANDS
            && (breaks <= BREAKS || linked * 2 >= self.characters)
    }
}

/// Returns whether one of the places `after` lies at most 120 characters after the end of one of the places `before`.
fn follows(
    indexes: &[&SegmentIndex],
    before: &[(usize, usize)],
    bytes: usize,
    after: &[(usize, usize)],
) -> bool {
    let mut at = 0;
    before.iter().any(|&(segment_index, start)| {
        let end = start + bytes;
        while after
            .get(at)
            .is_some_and(|&next| next < (segment_index, end))
        {
            at += 1;
        }
        after.get(at).is_some_and(|&(other, next)| {
            let between = indexes[segment_index].text.get(end..next);
            other == segment_index
                && between.is_some_and(|text| {
                    text.len() <= BETWEEN || text.chars().nth(BETWEEN).is_none()
                })
        })
    })
}

/// A line of a message, or of a scalar of its JSON.
struct Line {
    /// The place of the line in the raw text of the message. For a line of a scalar, the empty range where
    /// the scalar begins.
    place: Range<usize>,
    text: String,
    /// The keys above the scalar; none for a line of text.
    keys: Vec<String>,
}

/// Returns the lines of a message, or, if a piece is JSON, the lines of its scalars.
fn lines(message_text: &MessageText) -> Vec<Line> {
    let mut lines = Vec::new();
    for piece in 0..message_text.pieces.len() {
        let place = message_text.whole(piece);
        let raw = &message_text.raw[place.clone()];
        let Some(json) = structured(raw) else {
            let mut at = place.start;
            for line in raw.split_inclusive('\n') {
                lines.push(Line {
                    place: at..at + line.len(),
                    text: line.to_owned(),
                    keys: Vec::new(),
                });
                at += line.len();
            }
            continue;
        };
        let mut at = 0;
        for (keys, scalar) in keyed(&json) {
            let spelt = serde_json::Value::String(scalar.clone()).to_string();
            let spelt = &spelt[1..spelt.len() - 1];
            if let Some(next) = raw[at..].find(spelt) {
                at += next;
            }
            let here = place.start + at;
            lines.extend(scalar.lines().map(|line| Line {
                place: here..here,
                text: line.to_owned(),
                keys: keys.clone(),
            }));
        }
    }
    lines
}

/// Returns the scalars of JSON, each with the keys above it.
fn keyed(json: &Json) -> Vec<(Vec<String>, String)> {
    let under = |key: Option<&String>, value: &Json| {
        let mut inner = keyed(value);
        for (keys, _) in &mut inner {
            keys.extend(key.cloned());
        }
        inner
    };
    match json {
        Json::Object(fields) => {
            let fields = fields.iter();
            fields
                .flat_map(|(key, value)| under(Some(key), value))
                .collect()
        }
        Json::Array(items) => items.iter().flat_map(|item| under(None, item)).collect(),
        Json::String(text) => match structured(text) {
            Some(inner) => keyed(&inner),
            None => vec![(Vec::new(), text.clone())],
        },
        scalar => vec![(Vec::new(), scalar.to_string())],
    }
}

/// Returns the part of a line that lies within these bytes of the raw text, or `None`. A scalar lies within them if
/// its beginning does.
fn clipped(line: &str, place: &Range<usize>, start: usize, end: usize) -> Option<String> {
    if place.is_empty() {
        return (start..end).contains(&place.start).then(|| line.to_owned());
    }
    let from = start.max(place.start);
    let to = end.min(place.end);
    if from >= to {
        return None;
    }
    let (from, to) = (from - place.start, to - place.start);
    let mut part = line.get(from..to)?;
    // Words are found only as a whole, so parts of words are cut off at both ends.
    if line[..from].ends_with(is_word) {
        part = part.trim_start_matches(is_word);
    }
    if line[to..].starts_with(is_word) {
        part = part.trim_end_matches(is_word);
    }
    Some(part.to_owned())
}

/// Returns the line without a number at its beginning: `12: x`, `12| x`, `12<tab>x`, `12 x`.
fn without_number(line: &str) -> &str {
    let line = line.trim();
    let after = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = line.len() - after.len();
    let marks = [':', '|', '\t', '→', '-', ' '];
    match after.strip_prefix(marks) {
        Some(rest) if (1..=6).contains(&digits) && !rest.trim().is_empty() => rest.trim(),
        _ => line,
    }
}

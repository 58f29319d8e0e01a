//! What a segment of a prompt says, and the needles that occur in it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use accp_memory::policy::{Kind, Segment};
use serde_json::Value as Json;

use super::escape::json_unescaped;
use super::matcher::{Matcher, Needle};
use super::text::{
    IsWhole, SEPARATOR, Scalar, each_scalar, push_collapsed, structured, without_codes,
};

/// The most levels of JSON escapes that are undone.
const LEVELS: usize = 3;

/// Returns the readings of a segment's text, collapsed, each followed by [`SEPARATOR`]. JSON is read as its
/// scalars; a string that holds JSON is read whole and taken apart. Other text is read as it is, then without the
/// guards of its lines if it has any, then with one more level of JSON escapes undone each time.
pub(crate) fn normalized(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    if let Some(json) = structured(text) {
        add_scalars(&mut out, &json);
        return out;
    }
    add(&mut out, text);
    let mut last = without_guards(text);
    if last != text {
        add(&mut out, &last);
    }
    for _ in 0..LEVELS {
        let Some(next) = json_unescaped(&last) else {
            break;
        };
        add(&mut out, &next);
        last = Cow::Owned(next);
    }
    out
}

fn add_scalars(out: &mut String, json: &Json) {
    each_scalar(json, &mut |scalar, _: IsWhole| match scalar {
        Scalar::Text(text) => add(out, text),
        Scalar::Number(number) => add(out, &number.to_string()),
        Scalar::Word(word) => add(out, word),
    });
}

fn add(out: &mut String, text: &str) {
    push_collapsed(out, &without_codes(text));
    out.push(SEPARATOR);
}

/// Returns the text without guards: a `\` at the beginning of a line, before `@` or `[` or before
/// more `\` and one of these.
fn without_guards(text: &str) -> Cow<'_, str> {
    let is_guarded = |line: &str| {
        line.starts_with('\\') && line.trim_start_matches('\\').starts_with(['@', '['])
    };
    if !text.lines().any(is_guarded) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n');
    let lines = lines.map(|line| if is_guarded(line) { &line[1..] } else { line });
    Cow::Owned(lines.collect())
}

/// What a segment says, and which texts occur in it.
#[derive(Debug)]
pub(crate) struct SegmentIndex {
    pub(crate) text: String,
    /// Each text that occurs in the reading, with the byte at which it begins; ordered.
    hits: Vec<(Needle, u32)>,
    /// The texts that count for the needs and the memory of a prompt, and the numbers of actions.
    pub(crate) counted: Vec<Needle>,
}

impl SegmentIndex {
    pub(crate) fn at(text: String, matcher: &Matcher) -> Self {
        let mut hits = Vec::new();
        matcher.each(&text, |needle, at| {
            hits.push((needle, u32::try_from(at).unwrap_or(u32::MAX)));
        });
        hits.sort_unstable();
        Self {
            text,
            hits,
            counted: Vec::new(),
        }
    }

    /// Returns the distinct texts that occur in the reading.
    pub(crate) fn needles(&self) -> impl Iterator<Item = Needle> {
        self.hits
            .chunk_by(|(left, _), (right, _)| left == right)
            .map(|same| same[0].0)
    }

    /// Returns the places of a text in the reading, each with the byte at which it begins.
    pub(crate) fn places(&self, needle: Needle) -> &[(Needle, u32)] {
        let from = self.hits.partition_point(|hit| hit.0 < needle);
        let to = from + self.hits[from..].partition_point(|hit| hit.0 == needle);
        &self.hits[from..to]
    }
}

/// The clues and the handles of a segment: words and numbers that can lead to a place, and the messages that
/// the segment names.
#[derive(Debug, Default)]
pub(crate) struct References {
    clues: HashSet<String>,
    /// The first and last message of each handle.
    handles: Vec<(usize, usize)>,
}

impl References {
    pub(crate) fn of(segment: &Segment, reading: &str) -> Self {
        let apart = matches!(segment.kind, Kind::System | Kind::Tools | Kind::Primer);
        let handles = match segment.message {
            Some(message) => vec![(message, message)],
            None if apart => Vec::new(),
            None => handles(reading).collect(),
        };
        if handles.is_empty() {
            return Self::default();
        }
        let phrases: Vec<_> = match segment.message {
            Some(_) => Vec::new(),
            None => phrases(reading).map(|(place, _)| place).collect(),
        };
        let mut rest = 0;
        let mut parts = Vec::new();
        for place in phrases {
            parts.push(&reading[rest..place.start]);
            rest = place.end;
        }
        parts.push(&reading[rest..]);
        let clues = parts.into_iter().flat_map(clues);
        Self {
            clues: clues.map(str::to_owned).collect(),
            handles,
        }
    }

    /// Returns whether the segment has a handle of the message, and at least one of the clues in `near`.
    pub(crate) fn to(&self, message: usize, near: &str) -> bool {
        self.handles
            .iter()
            .any(|&(first, last)| (first..=last).contains(&message))
            && clues(near).any(|clue| self.clues.contains(clue))
    }
}

/// Returns the number at the beginning of a text, and how many digits it has.
fn number(text: &str) -> Option<(usize, usize)> {
    let digits = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..digits].parse().ok()?, digits))
}

/// Returns the places at which a text names messages as `message 12` or `messages 12 to 15`, each with the first
/// and the last of these messages.
fn phrases(text: &str) -> impl Iterator<Item = (Range<usize>, (usize, usize))> {
    const WORD: &str = "message";
    text.match_indices(WORD).filter_map(move |(at, _)| {
        let behind = at + WORD.len();
        let behind = behind + usize::from(text[behind..].starts_with('s'));
        if text[..at].ends_with(super::matcher::is_word) || !text[behind..].starts_with(' ') {
            return None;
        }
        let whole = |from: usize| {
            let (number, digits) = number(text.get(from..)?)?;
            let end = from + digits;
            (!text[end..].starts_with(super::matcher::is_word)).then_some((number, end))
        };
        let (first, end) = whole(behind + 1)?;
        let last = text[end..].strip_prefix(" to ").map(|_| end + 4);
        let (last, end) = last.and_then(whole).unwrap_or((first, end));
        Some((at..end, (first, last)))
    })
}

/// Returns the messages that a text names, as `p12`, `p12-15` or `p12-p15`, or in [phrases].
fn handles(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let short = text.match_indices('p').filter_map(move |(at, _)| {
        if text[..at].ends_with(super::matcher::is_word) {
            return None;
        }
        let (first, digits) = number(&text[at + 1..])?;
        let rest = &text[at + 1 + digits..];
        let behind = rest.strip_prefix("..").or(rest.strip_prefix('-'));
        let last = behind.and_then(|rest| number(rest.strip_prefix('p').unwrap_or(rest)));
        match last {
            Some((last, _)) => Some((first, last)),
            None if rest.starts_with(super::matcher::is_word) => None,
            None => Some((first, first)),
        }
    });
    short.chain(phrases(text).map(|(_, named)| named))
}

/// Returns the clues of a text: words of five letters or more, numbers of two digits or more.
/// The number of a handle is not a clue.
fn clues(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    let words = words.filter(|word| !is_handle(word));
    words.flat_map(|word| {
        let letters = word.split(|character: char| !character.is_alphabetic());
        let digits = word.split(|character: char| !character.is_ascii_digit());
        letters
            .filter(|run| run.chars().nth(4).is_some())
            .chain(digits.filter(|run| run.len() >= 2))
    })
}

fn is_handle(word: &str) -> bool {
    word.strip_prefix('p')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let reading = normalized(text);
        reading
            .split_terminator(SEPARATOR)
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn json_is_read_by_its_scalars_and_text_with_its_escapes_undone() {
        let json = r#"{"role":"tool","content":"{\"a\": \"x\\ny\", \"n\": 4}"}"#;
        let expected = ["tool", r#"{"a": "x\ny", "n": 4}"#, "x y", "4"];
        assert_eq!(texts(json), expected);
        assert_eq!(texts("a  b\n\\@c\n"), ["a b \\@c", "a b @c"]);
        assert_eq!(texts(r"say \n it"), [r"say \n it", "say it"]);
    }

    #[test]
    fn a_handle_names_a_message_or_a_range() {
        let named: Vec<_> = handles("[4 lines: p37] p1-4, p6..p9; up12 p3a cp5").collect();
        // The end of the range `p6..p9` also counts as a single message.
        assert_eq!(named, [(37, 37), (1, 4), (6, 9), (9, 9)]);
        let text = "3 more, messages 7 to 13; seat (message 9), message 4x, messages 5 to 6y, submessage 2";
        assert_eq!(handles(text).collect::<Vec<_>>(), [(7, 13), (9, 9), (5, 5)]);
        let clues: Vec<_> = clues("[412 lines: p37] of QuerySet_2024 in p12").collect();
        assert_eq!(clues, ["412", "lines", "QuerySet", "2024"]);
    }

    #[test]
    fn a_lead_is_a_handle_with_a_clue_in_one_segment() {
        let lead = |kind, message, text: &str| {
            let mut segment = Segment::new(kind, text);
            segment.message = message;
            References::of(&segment, &normalized(text)).to(7, "the invoice of May")
        };
        assert!(lead(Kind::Facts, None, "p5-9: an invoice"));
        assert!(lead(Kind::Result, Some(7), "an invoice"));
        assert!(lead(Kind::Facts, None, "an invoice (message 7)"));
        assert!(lead(Kind::Facts, None, "an invoice in messages 5 to 9"));
        assert!(!lead(Kind::Facts, None, "an invoice (message 6)"));
        assert!(!lead(Kind::User, Some(3), "an invoice (message 7)"));
        assert!(!lead(Kind::System, None, "an invoice (message 7)"));
        // The words of a handle do not count as clues.
        let named = |near: &str| {
            let text = "a bill (message 7), messages 10 to 12";
            References::of(&Segment::new(Kind::Facts, text), &normalized(text)).to(7, near)
        };
        assert!(!named("a message about 12 invoices"));
        assert!(!lead(Kind::Facts, None, "p5-9: 12 invoices"));
        assert!(!lead(Kind::Facts, None, "p5: an invoice"));
        assert!(!lead(Kind::Result, Some(6), "an invoice, p7"));
        assert!(!lead(Kind::Primer, None, "p7 is an invoice"));
    }
}

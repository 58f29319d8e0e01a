//! Summaries of the frames that leave the context.

use accp_registry::{Intent, lexical};

use crate::frozen::Frozen;
use crate::preview::UNBOUNDED;
use accp_frame::{Reader, TokenCounter};

/// The most bytes of a summary on the wire, whatever its tokens.
const BYTES: usize = 1_000;
/// The end of a summary that was cut.
const CUT: &str = "...";

/// Sums up in a few words the frames that a checkpoint moves out of the context (draft section 5.3,
/// item 3).
///
/// The caller enforces the limit of 100 tokens: it cuts a longer summary after a word or a `;` and appends `...`. Any
/// whitespace becomes a space. An implementation should give the same text for the same frames. If it does not, no
/// harm is done, because members copy the host's text. An implementation must not fail; if it has nothing to say, it
/// returns an empty text. It must answer at once, so it cannot ask a model. With `Rules::late_summaries`, a session
/// also asks for a better summary, such as one by a model, which may come later.
///
/// ```
/// use accp_runtime::context::{Frozen, Summarizer};
///
/// struct Senders;
/// impl Summarizer for Senders {
///     fn summarize(&self, frozen: &Frozen<'_>) -> String {
///         let senders = frozen.leaving().filter_map(|(_, text)| text.split('>').next());
///         senders.collect::<Vec<_>>().join(" ")
///     }
/// }
/// ```
pub trait Summarizer {
    /// Sums up the frames that leave.
    fn summarize(&self, frozen: &Frozen<'_>) -> String;

    /// Makes one summary of several, oldest first, when their checkpoints are merged. A late summary takes the place
    /// of the first summary of its checkpoint, so any of the summaries may be free text. A value in a summary must be
    /// kept as it is, or left out.
    fn merge(&self, summaries: &[&str]) -> String {
        summaries.join(" ")
    }
}

/// Counts headers: `planner.req.schedule;dev.done.execute*2`. The summary has no spaces, so a frame
/// holds it without escapes. A merge leaves free text, which a model may have written, as it is.
///
/// ```
/// use accp_runtime::context::{Headers, Summarizer};
///
/// let summaries = ["a.req.plan*2;b.done.plan", "b.done.plan"];
/// assert_eq!(Headers.merge(&summaries), "a.req.plan*2;b.done.plan*2");
/// let summaries = ["a.req.plan", "Dev planned T1; T1*2 is open", "a.req.plan"];
/// assert_eq!(Headers.merge(&summaries), "a.req.plan*2;Dev planned T1; T1*2 is open");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Headers;

impl Summarizer for Headers {
    fn summarize(&self, frozen: &Frozen<'_>) -> String {
        let headers = frozen.leaving().filter_map(|(_, text)| {
            let header = Reader::new(text, UNBOUNDED).and_then(|mut r| r.header());
            let header = header.ok()?;
            Some((
                format!("{}.{}.{}", header.agent, header.intent, header.operation),
                1,
            ))
        });
        counted(headers)
    }

    fn merge(&self, summaries: &[&str]) -> String {
        let words = summaries.iter().flat_map(|text| text.split(';'));
        // A summary that was cut ends with `CUT`. This mark is not an event, so the merge leaves
        // it out.
        let words = words.filter(|word| !word.is_empty() && *word != CUT);
        counted(words.map(|word| {
            let counted = word.rsplit_once('*');
            let counted = counted.and_then(|(name, count)| Some((name, count.parse().ok()?)));
            let counted = counted.filter(|(name, _)| is_header(name));
            let (name, count) = counted.unwrap_or((word, 1));
            (String::from(name), count)
        }))
    }
}

/// Returns whether the text is a header, `agent.intent.operation`, and not free text.
fn is_header(text: &str) -> bool {
    let mut rest = text.split('.').skip(1);
    let has_intent = rest.any(|part| Intent::lookup(part).is_some());
    has_intent && !text.contains(char::is_whitespace)
}

/// Joins the names, each once, in the order of first use, with the sum of its counts. Free text is
/// not counted.
fn counted(names: impl Iterator<Item = (String, u64)>) -> String {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for (name, count) in names {
        let known = sums.iter_mut().find(|(known, _)| *known == name);
        match known.filter(|_| is_header(&name)) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => sums.push((name, count)),
        }
    }
    let words = sums.into_iter().map(|(name, sum)| match sum {
        1 => name,
        sum => format!("{name}*{sum}"),
    });
    words.collect::<Vec<_>>().join(";")
}

/// Shortens the text to at most this many tokens, as written in a frame.
pub(crate) fn clip(text: &str, limit: u32, counter: &dyn TokenCounter) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fits = |text: &str| {
        let mut wire = String::new();
        lexical::write_untyped(&mut wire, text);
        wire.len() <= BYTES && counter.count(&wire) <= limit as usize
    };
    if fits(&text) {
        return text;
    }
    let ends = text.match_indices([' ', ';']).map(|(at, end)| match end {
        ";" => at + 1,
        _ => at,
    });
    let ends: Vec<usize> = ends.take_while(|end| *end <= BYTES).collect();
    // Binary search for the longest text that fits: the ends before `first` fit, and the ends from
    // `last` on do not.
    let mut best = String::new();
    let (mut first, mut last) = (0, ends.len());
    while first < last {
        let middle = usize::midpoint(first, last);
        let kept = &text[..ends[middle]];
        let cut = if kept.ends_with(';') {
            format!("{kept}{CUT}")
        } else {
            format!("{kept} {CUT}")
        };
        if fits(&cut) {
            (first, best) = (middle + 1, cut);
        } else {
            last = middle;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Bytes;

    impl TokenCounter for Bytes {
        fn name(&self) -> &'static str {
            "bytes"
        }

        fn count(&self, text: &str) -> usize {
            text.len()
        }
    }

    proptest! {
        #[test]
        fn a_summary_is_cut_after_a_word(
            text in "([a-z:;_é%]{0,9}[ \n]){0,9}", times in 0..200_usize, limit in 0..120_u32,
        ) {
            let text = text.repeat(times);
            let clipped = clip(&text, limit, &Bytes);
            let mut wire = String::new();
            lexical::write_untyped(&mut wire, &clipped);
            prop_assert!(clipped.is_empty() || wire.len() <= limit as usize);
            let normal = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let kept = clipped.strip_suffix("...").unwrap_or(&clipped).trim_end();
            let after = normal.strip_prefix(kept);
            let ends = after.is_some_and(|after| after.is_empty() || after.starts_with(' ') || kept.ends_with(';'));
            prop_assert!(clipped.is_empty() || ends, "{}", clipped);
        }
    }

    #[test]
    fn a_word_more_has_no_room() {
        assert_eq!(clip("one two\nthree", 15, &Bytes), "one two three");
        assert_eq!(clip("one two three", 12, &Bytes), "one two ...");
        assert_eq!(clip("one two three", 10, &Bytes), "one ...");
        assert_eq!(clip("one;two;three", 11, &Bytes), "one;two;...");
        assert_eq!(clip("onetwothree", 9, &Bytes), "");
        assert_eq!(clip(&"one ".repeat(1_000), u32::MAX, &Bytes).len(), 999);
    }
}

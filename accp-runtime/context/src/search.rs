//! Full-text search: the words of a text, and the texts that match a query best.

use std::collections::BTreeSet;
use std::ops::Range;

/// The most words of a query; further ones are left out.
const QUERY: usize = 64;
/// The most characters of a word. A longer run of letters and digits is data.
const WORD: usize = 64;
/// The most bytes of such a run that are looked for.
const DATA: usize = 256;

/// Returns the words of a text in their order: runs of letters and digits, in small letters.
///
/// ```
/// use accp_context::search::words;
///
/// let all: Vec<String> = words("B/12: Größe_of rye").collect();
/// assert_eq!(all, ["b", "12", "größe", "of", "rye"]);
/// ```
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let words = runs(text).filter(|(_, is_word)| *is_word);
    words.map(|(run, _)| text[run].to_lowercase())
}

/// Returns what a search finds of a text, in order: its [`words`], and also longer runs of letters and digits, such as
/// digests, keys and what is written in base64. Such a run counts whole, by its first 256 bytes.
///
/// ```
/// use accp_context::search::terms;
///
/// let digest = "0f".repeat(64);
/// let all: Vec<String> = terms(&format!("sha512-{digest}")).collect();
/// assert_eq!(all, ["sha512".to_owned(), digest]);
/// ```
pub fn terms(text: &str) -> impl Iterator<Item = String> {
    spans(text).map(|span| text[span].to_lowercase())
}

/// Returns the places of the terms of a text.
fn spans(text: &str) -> impl Iterator<Item = Range<usize>> {
    runs(text).map(|(run, is_word)| {
        let mut end = run.end;
        if !is_word {
            end = end.min(run.start + DATA);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
        }
        run.start..end
    })
}

/// Returns the places of the runs of letters and digits of a text, and whether each is a word.
fn runs(text: &str) -> impl Iterator<Item = (Range<usize>, bool)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(char::is_alphanumeric)?;
        let rest = &text[start..];
        let length = rest.find(|c: char| !c.is_alphanumeric());
        at = start + length.unwrap_or(rest.len());
        let is_word = at - start <= WORD || text[start..at].chars().count() <= WORD;
        Some((start..at, is_word))
    })
}

/// The words that are looked for, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<String>);

impl Query {
    /// Takes the [`terms`] of a text. A query has at most 64.
    pub fn new(text: &str) -> Self {
        let all: BTreeSet<String> = terms(text).collect();
        Self(all.into_iter().take(QUERY).collect())
    }

    /// Returns the words, ascending.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// Returns each occurrence of a query word in a text: the place in the text, and the index of the word in the
    /// query. The occurrences are in the order of the text.
    fn hits<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (Range<usize>, usize)> + 't {
        let find = |span: Range<usize>| {
            let word = text[span.clone()].to_lowercase();
            Some((span, self.0.binary_search(&word).ok()?))
        };
        spans(text).filter_map(find)
    }

    /// Returns the part of a text, of at most `most` characters, that has the most query words; `None` if the text
    /// has no query word. Of equally good parts, the first is returned.
    ///
    /// ```
    /// use accp_context::search::Query;
    ///
    /// let text = "rye is on the first shelf, and spelt on the second; there are 4 bags of spelt";
    /// let part = Query::new("bags of spelt").part(text, 24);
    /// assert_eq!(&text[part.expect("it has them")], "are 4 bags of spelt");
    /// ```
    pub fn part(&self, text: &str, most: usize) -> Option<Range<usize>> {
        let hits: Vec<_> = self.hits(text).collect();
        let mut best: Option<(usize, Range<usize>)> = None;
        for (at, (first, _)) in hits.iter().enumerate() {
            let mut seen = BTreeSet::new();
            let mut range = first.clone();
            for (span, word) in &hits[at..] {
                if text[first.start..span.end].chars().count() > most && span != first {
                    break;
                }
                if seen.insert(word) {
                    range.end = span.end;
                }
            }
            if best.as_ref().is_none_or(|(count, _)| *count < seen.len()) {
                best = Some((seen.len(), range));
            }
            if best
                .as_ref()
                .is_some_and(|(count, _)| *count == self.0.len())
            {
                break;
            }
        }
        best.map(|(_, range)| widened(text, range, most))
    }
}

/// Widens a part of a text on both sides, so that it begins and ends with whole words. A side that needs less than its
/// half of the room leaves the rest to the other side, so that a short text is shown whole.
fn widened(text: &str, part: Range<usize>, most: usize) -> Range<usize> {
    let (before, after) = (&text[..part.start], &text[part.end..]);
    let room = most.saturating_sub(text[part.clone()].chars().count());
    let left = before.chars().rev().take(room).count();
    let right = after.chars().take(room).count();
    let left = left.min((room / 2).max(room - right));
    let right = right.min(room - left);
    let first = before.char_indices().rev().take(left).last();
    let mut start = first.map_or(part.start, |(at, _)| at);
    let last = after.char_indices().take(right).last();
    let mut end = last.map_or(part.end, |(at, c)| part.end + at + c.len_utf8());
    if start > 0 && !text[..start].ends_with(separates) {
        let mut letters = text[start..part.start].char_indices();
        let separator = letters.find(|(_, c)| separates(*c));
        start = separator.map_or(part.start, |(at, c)| start + at + c.len_utf8());
    }
    if end < text.len() && !text[end..].starts_with(separates) {
        let separator = text[part.end..end].rfind(separates);
        end = separator.map_or(part.end, |at| part.end + at);
    }
    let shown = &text[start..end];
    let skipped = shown.len() - shown.trim_start().len();
    start + skipped..start + skipped + shown.trim().len()
}

/// Returns whether a text may be cut at this character: at white space, and between the parts of a frame, which has no
/// spaces.
fn separates(c: char) -> bool {
    c.is_whitespace() || matches!(c, '{' | '}' | '[' | ']' | '|' | ',')
}

/// Ranks texts by how well they match a query: Okapi BM25, with the constants and the formula of `bm25()` of
/// `SQLite`'s FTS5.
///
/// ```
/// use accp_context::search::{Query, Ranking};
///
/// let query = Query::new("bags of spelt");
/// let mut ranking = Ranking::new(&query);
/// for (number, text) in ["rye of the year", "4 bags: spelt", "oats"].into_iter().enumerate() {
///     ranking.add(number, [text]);
/// }
/// assert_eq!(ranking.best(2), [1, 0]);
/// ```
#[derive(Debug)]
pub struct Ranking<'q, I> {
    query: &'q Query,
    texts: usize,
    words: usize,
    /// The texts with at least one query word: the id, the length in words, and the count of each query word.
    found: Vec<(I, usize, Vec<u32>)>,
}

impl<'q, I> Ranking<'q, I> {
    /// Begins a ranking without texts.
    pub fn new(query: &'q Query) -> Self {
        Self {
            query,
            texts: 0,
            words: 0,
            found: Vec::new(),
        }
    }

    /// Adds a text, which may be given in pieces.
    pub fn add<'t>(&mut self, id: I, pieces: impl IntoIterator<Item = &'t str>) {
        let mut counts = vec![0; self.query.0.len()];
        let mut length = 0;
        let mut has = false;
        for word in pieces.into_iter().flat_map(terms) {
            length += 1;
            if let Ok(at) = self.query.0.binary_search(&word) {
                counts[at] += 1;
                has = true;
            }
        }
        self.texts += 1;
        self.words += length;
        if has {
            self.found.push((id, length, counts));
        }
    }

    /// Returns the best texts that have any of the words, the best first. Of two equally good texts, the later one
    /// comes first.
    pub fn best(self, limit: usize) -> Vec<I> {
        const K: f64 = 1.2;
        const B: f64 = 0.75;
        let has = |at: usize| move |(.., counts): &&(I, usize, Vec<u32>)| counts[at] > 0;
        let hits = |at: usize| self.found.iter().filter(has(at)).count();
        let weights = (0..self.query.0.len()).map(|at| weight(self.texts, hits(at)));
        let weights: Vec<f64> = weights.collect();
        let mean = self.words as f64 / self.texts.max(1) as f64;
        let scored = self.found.into_iter().map(|(id, length, counts)| {
            let share = 1.0 - B + B * length as f64 / mean;
            let all = counts.iter().zip(&weights);
            let scores = all.map(|(&count, weight)| {
                let count = f64::from(count);
                weight * (count * (K + 1.0)) / (count + K * share)
            });
            (id, scores.sum::<f64>())
        });
        let mut scored: Vec<(I, f64)> = scored.collect();
        scored.reverse();
        scored.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let best = scored.into_iter().take(limit);
        best.map(|(id, _)| id).collect()
    }
}

/// Returns the weight of a word that occurs in `hits` of `texts` texts: the rarer the word, the
/// higher. It is never 0.
pub(crate) fn weight(texts: usize, hits: usize) -> f64 {
    let (texts, hits) = (texts as f64, hits as f64);
    ((texts - hits + 0.5) / (hits + 0.5)).ln().max(1e-6)
}

/// Returns the index of the line that matches the query best. Each query word of the line counts with its weight, and
/// each other query word of the two lines before and the two lines after with half of its weight. Of equally good
/// lines, the first is returned.
pub fn best_line(lines: &[String], query: &Query) -> Option<usize> {
    let sets = lines.iter().map(|line| {
        let hits = query.hits(line).map(|(_, word)| word);
        hits.collect::<BTreeSet<usize>>()
    });
    let sets: Vec<BTreeSet<usize>> = sets.collect();
    let hits = |word: usize| sets.iter().filter(|set| set.contains(&word)).count();
    let weights = (0..query.0.len()).map(|word| weight(lines.len(), hits(word)));
    let weights: Vec<f64> = weights.collect();
    let score = |at: usize| {
        let own: f64 = sets[at].iter().map(|&word| weights[word]).sum();
        let near = at.saturating_sub(2)..(at + 3).min(sets.len());
        let near: BTreeSet<usize> = sets[near].iter().flatten().copied().collect();
        let more: f64 = near.difference(&sets[at]).map(|&word| weights[word]).sum();
        own + more / 2.0
    };
    let with = (0..lines.len()).filter(|&at| !sets[at].is_empty());
    let mut best: Option<(usize, f64)> = None;
    for at in with {
        let score = score(at);
        if best.is_none_or(|(_, most)| most < score) {
            best = Some((at, score));
        }
    }
    best.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_rare_word_counts_more_than_a_common_one() {
        let query = Query::new("the price of spelt");
        let mut ranking = Ranking::new(&query);
        let texts = [
            "the day of the bread and the price of the oven of the house",
            "spelt costs 4",
            "the rye of the year, the oats of the field",
            "the last",
        ];
        for (number, text) in texts.into_iter().enumerate() {
            ranking.add(number, [text]);
        }
        assert_eq!(ranking.best(2), [1, 0]);
    }

    #[test]
    fn of_equal_texts_the_later_comes_first_and_data_is_no_word() {
        let data = "a".repeat(65);
        let query = Query::new(&format!("rye {data}"));
        assert_eq!(query.words(), [&*data, "rye"]);
        assert_eq!(words(&data).count(), 0);
        let mut ranking = Ranking::new(&query);
        for number in 0..3 {
            ranking.add(number, ["rye", "bread"]);
        }
        assert_eq!(ranking.best(9), [2, 1, 0]);
        assert!(Ranking::<u8>::new(&query).best(9).is_empty());
    }

    #[test]
    fn the_best_line_has_the_words_nearby() {
        let lines = [
            "def union",
            "",
            "a",
            "b",
            "c",
            "def other",
            "# of union",
            "x",
        ];
        let lines = lines.map(str::to_owned);
        assert_eq!(best_line(&lines, &Query::new("union other")), Some(5));
        assert_eq!(best_line(&lines, &Query::new("def")), Some(0));
        assert_eq!(best_line(&lines, &Query::new("none")), None);
    }

    #[test]
    fn long_runs_count_by_their_beginnings() {
        let query = Query::new(&"\u{e9}9".repeat(200));
        // Of a letter that takes several bytes, no part is looked for.
        assert_eq!(query.words(), ["\u{e9}9".repeat(85)]);
        let mut ranking = Ranking::new(&query);
        ranking.add(0, [&*format!("x{}", "\u{e9}9".repeat(200))]);
        ranking.add(1, [&*format!("({})", "\u{c9}9".repeat(300))]);
        assert_eq!(ranking.best(9), [1]);
        let text = format!("the key is {} and no other", "\u{e9}9".repeat(200));
        let part = query.part(&text, 20).unwrap();
        assert_eq!(text[part], *"\u{e9}9".repeat(85));
    }

    #[test]
    fn a_part_of_a_frame_has_whole_fields() {
        let frame = "@cook>done:case{number:55|state:open}[mid:101000001005,cid:103000001001]";
        let part = |words: &str, most: usize| {
            let part = Query::new(words).part(frame, most);
            part.map(|part| &frame[part])
        };
        assert_eq!(part("open", 80), Some(frame));
        assert_eq!(part("cook", 80), Some(frame));
        assert_eq!(
            part("cook", 40),
            Some("@cook>done:case{number:55|state:open}")
        );
        assert_eq!(
            part("open", 40),
            Some("number:55|state:open}[mid:101000001005")
        );
        assert_eq!(part("103000001001", 30), Some("cid:103000001001]"));
        assert_eq!(part("bread", 80), None);
    }

    proptest! {
        /// A part of a text has a query word, is not longer than the limit, and ends at spaces. A text that fits is shown
        /// whole.
        #[test]
        fn a_part_has_a_word(text in "[a-cÄ %\n]{0,60}", asked in "[a-cä]{1,2}( [a-c]{1,2})?", most in 8usize..40) {
            let query = Query::new(&asked);
            let has = words(&text).any(|word| query.words().contains(&word));
            let part = query.part(&text, most);
            prop_assert_eq!(part.is_some(), has);
            if let Some(part) = part {
                let part = &text[part];
                prop_assert!(words(part).any(|word| query.words().contains(&word)), "{:?}", part);
                let longest = words(part).map(|word| word.chars().count()).max();
                prop_assert!(part.chars().count() <= most.max(longest.unwrap_or(0)));
                if text.chars().count() <= most {
                    prop_assert_eq!(part, text.trim());
                }
            }
        }
    }
}

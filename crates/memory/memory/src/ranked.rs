//! The ranker for everything that left a list, on disk and in memory: it sorts sections of texts by how well they fit
//! a query.

pub(crate) mod cut;
pub(crate) mod rank;
pub(crate) mod terms;

use std::collections::HashMap;
use std::ops::Range;

use rank::{Asked, Places, Weights, score, total, weight};
use terms::Terms;

/// A text to search, with the tools that it is about.
pub(crate) struct Searched<'t> {
    pub(crate) tools: String,
    pub(crate) text: &'t str,
}

/// A section that fits a query.
#[derive(Debug, PartialEq)]
pub(crate) struct Section {
    /// The index of the text among the searched texts.
    pub(crate) text: usize,
    /// The first and the last line, from 0.
    pub(crate) lines: (usize, usize),
    pub(crate) bytes: Range<usize>,
}

/// A section, with its words that the query asks for.
struct Looked {
    section: Section,
    places: Places,
    length: usize,
}

/// Returns the sections that fit a query best, the best first. Later texts count as newer.
pub(crate) fn search(texts: &[Searched<'_>], query: &str, most: usize) -> Vec<Section> {
    let asked = Asked::of(query);
    let mut all: Vec<Looked> = Vec::new();
    let mut long: HashMap<usize, (Vec<f64>, usize)> = HashMap::new();
    for (number, searched) in texts.iter().enumerate() {
        let about = asked.numbers(&Terms::of(&searched.tools).words);
        let pieces = cut::pieces(searched.text);
        let is_long = pieces.len() > 1;
        for piece in pieces {
            let terms = Terms::of(&searched.text[piece.bytes.clone()]).with_ends();
            let mut places = asked.places(&terms);
            places.about.clone_from(&about);
            if is_long {
                let (counts, length) = long
                    .entry(number)
                    .or_insert_with(|| (vec![0.0; asked.words.len()], 0));
                *length += terms.words.len();
                for (_, word) in &places.words {
                    counts[*word] += 1.0;
                }
                for word in &about {
                    counts[*word] += 1.0;
                }
            }
            all.push(Looked {
                section: Section {
                    text: number,
                    lines: piece.lines,
                    bytes: piece.bytes,
                },
                length: terms.words.len(),
                places,
            });
        }
    }
    let weights = weights(&asked, &all);
    let around = around(&long);
    let words: usize = all.iter().map(|looked| looked.length).sum();
    let mean = (words as f64 / all.len().max(1) as f64).max(1.0);
    let count = all.len().max(1) as f64;
    let found = all
        .into_iter()
        .enumerate()
        .filter(|(_, looked)| looked.places.is_any());
    let mut found: Vec<(f64, usize, Section)> = found
        .map(|(at, looked)| {
            let fit = score(
                &asked,
                &weights,
                &looked.places,
                looked.length as f64 / mean,
            );
            let around = around.get(&looked.section.text).copied().unwrap_or(0.0);
            // The index on disk numbers sections from 1, so they are numbered in the same way here.
            let total = total(fit, around, (at + 1) as f64 / count);
            (total, at, looked.section)
        })
        .collect();
    // Of two sections with the same score, the later one comes first.
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    found
        .into_iter()
        .take(most)
        .map(|(.., section)| section)
        .collect()
}

/// Returns how much each word and identifier weighs among all sections.
fn weights(asked: &Asked, all: &[Looked]) -> Weights {
    let sections = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let of = |count: usize, has: &dyn Fn(&Places, usize) -> bool| {
        let with = |number: usize| {
            all.iter()
                .filter(|looked| has(&looked.places, number))
                .count()
        };
        let with = (0..count).map(with);
        with.map(|with| weight(sections, i64::try_from(with).unwrap_or(i64::MAX)))
            .collect()
    };
    Weights {
        words: of(asked.words.len(), &|places, number| {
            let mut words = places.words.iter();
            words.any(|(_, word)| *word == number) || places.about.contains(&number)
        }),
        whole: of(asked.whole.len(), &|places, number| {
            places.whole.contains(&number)
        }),
    }
}

/// Returns the BM25 scores of the long texts that have any of the words, by the index of the text.
fn around(long: &HashMap<usize, (Vec<f64>, usize)>) -> HashMap<usize, f64> {
    let texts = i64::try_from(long.len()).unwrap_or(i64::MAX);
    let words: usize = long.values().map(|(_, length)| length).sum();
    let mean = (words as f64 / long.len().max(1) as f64).max(1.0);
    let with = |word: usize| {
        let with = long.values().filter(|(counts, _)| counts[word] > 0.0);
        i64::try_from(with.count()).unwrap_or(i64::MAX)
    };
    let of = |(counts, length): &(Vec<f64>, usize)| {
        let counts = counts.iter().enumerate();
        let words = counts.map(|(word, count)| {
            rank::saturated(*count, *length as f64 / mean) * weight(texts, with(word))
        });
        words.sum()
    };
    long.iter()
        .map(|(number, text)| (*number, of(text)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_that_says_most_comes_first() {
        let long = format!(
            "{}\nport 8080 of the mill",
            "nothing is said here\n".repeat(60)
        );
        let texts = ["the mill has no port", &long, "rye at 8080"].map(|text| Searched {
            tools: "look".to_owned(),
            text,
        });
        let found = search(&texts, "look port 8080", 2);
        assert_eq!((found[0].text, found[0].lines), (1, (50, 61)));
        assert!(long[found[0].bytes.clone()].ends_with("port 8080 of the mill"));
        assert!(search(&texts, "", 9).is_empty() && search(&[], "rye", 9).is_empty());
    }
}

//! Which sections say most of what is asked.
//!
//! Three things count: BM25 of all words; identifiers that stand whole in a section; and words that stand near
//! each other.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::terms::Terms;

/// Words within so many words of each other are near.
const NEAR: usize = 16;
/// What an identifier counts against a word that is as rare.
const WHOLE: f64 = 3.0;
/// What an identifier counts whose words stand in their order, but not alone, as in `call_ORD-12345`.
const PARTS: f64 = 1.0;
/// What words near each other count against words anywhere.
const CLOSE: f64 = 1.0;
/// The most words and identifiers of a query; further ones are left out.
const MOST: usize = 64;

/// The words and identifiers that are looked for, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub(super) words: Vec<String>,
    pub(super) whole: Vec<String>,
}

impl Asked {
    pub(super) fn of(query: &str) -> Self {
        let terms = Terms::of(query);
        let once = |terms: Vec<String>| {
            let mut seen = HashSet::new();
            let once = terms.into_iter().filter(|term| seen.insert(term.clone()));
            once.take(MOST).collect()
        };
        Self {
            words: once(terms.words),
            whole: once(terms.whole),
        }
    }
}

/// How much each word and identifier of a query tells.
#[derive(Debug, Default)]
pub(super) struct Weights {
    pub(super) words: Vec<f64>,
    pub(super) whole: Vec<f64>,
}

/// Returns how much a term tells that so many of all sections have.
pub(super) fn weight(sections: i64, with: i64) -> f64 {
    let (all, with) = (sections.max(with) as f64, with as f64);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// Returns what a text gets beside its BM25.
pub(super) fn bonus(asked: &Asked, weights: &Weights, text: &str) -> f64 {
    let terms = Terms::of(text).with_ends();
    let near = CLOSE * nearest(asked, weights, &terms.words);
    let all: HashSet<&str> = terms.whole.iter().map(String::as_str).collect();
    let whole = asked
        .whole
        .iter()
        .zip(&weights.whole)
        .map(|(whole, weight)| {
            if all.contains(&**whole) {
                WHOLE * weight
            } else if has_parts(&terms.words, whole) {
                PARTS * weight
            } else {
                0.0
            }
        });
    near + whole.sum::<f64>()
}

/// Returns the most that words near each other tell.
fn nearest(asked: &Asked, weights: &Weights, words: &[String]) -> f64 {
    let numbers: HashMap<&str, usize> = asked
        .words
        .iter()
        .enumerate()
        .map(|(at, word)| (&**word, at))
        .collect();
    let hits = words.iter().enumerate();
    let hits: Vec<_> = hits
        .filter_map(|(at, word)| Some((at, *numbers.get(&**word)?)))
        .collect();
    let told = |from: usize| {
        let near = hits[from..]
            .iter()
            .take_while(|(at, _)| at - hits[from].0 < NEAR);
        let near: BTreeSet<usize> = near.map(|(_, word)| *word).collect();
        near.into_iter()
            .filter_map(|word| weights.words.get(word))
            .sum::<f64>()
    };
    (0..hits.len()).map(told).fold(0.0, f64::max)
}

/// Returns whether the words of an identifier stand in their order.
fn has_parts(words: &[String], whole: &str) -> bool {
    let parts = Terms::of(whole).words;
    !parts.is_empty() && words.windows(parts.len()).any(|run| run == parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bonus_of(query: &str, text: &str) -> f64 {
        let asked = Asked::of(query);
        let weights = Weights {
            words: vec![1.0; asked.words.len()],
            whole: vec![1.0; asked.whole.len()],
        };
        bonus(&asked, &weights, text)
    }

    #[test]
    fn whole_identifiers_count_most() {
        let of = |text| bonus_of("ORD-12345", text);
        assert!(of("is ORD-12345.") > of("call_ORD-12345-x"));
        assert!(of("call_ORD-12345-x") > of("ord of 12345"));
        assert!(of("ord of 12345") > of("ORD-12346"));
        assert!(of("none") == 0.0);
    }

    #[test]
    fn words_near_each_other_count_more() {
        let far = format!("rye {} spelt", "x ".repeat(20));
        assert!(bonus_of("rye spelt", "rye or spelt") > bonus_of("rye spelt", &far));
    }

    #[test]
    fn a_rare_word_tells_more() {
        assert!(weight(100, 1) > weight(100, 50));
        assert!(weight(0, 7) > 0.0);
    }
}

//! Which sections say most of what is asked.
//!
//! Three things count: BM25 of all words; identifiers that stand whole in a section; and words that stand near
//! each other.

use std::collections::HashSet;

use super::terms::Terms;

/// Words within so many words of each other are near.
const NEAR: usize = 32;
/// What an identifier counts against a word that is as rare.
const WHOLE: f64 = 3.0;
/// What an identifier counts whose words stand in their order, but not alone, as in `call_ORD-12345`.
const PARTS: f64 = 1.0;
/// So many words between halve what words near each other tell.
const BETWEEN: f64 = 6.0;
/// What words near each other count against words anywhere.
const CLOSE: f64 = 3.0;
/// The most words and identifiers of a query; further ones are left out.
const MOST: usize = 64;

/// The words and identifiers that are looked for, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub(super) words: Vec<String>,
    pub(super) whole: Vec<String>,
    /// The words of each identifier.
    parts: Vec<Vec<String>>,
}

impl Asked {
    pub(super) fn of(query: &str) -> Self {
        let terms = Terms::of(query);
        let once = |terms: Vec<String>| {
            let mut seen = HashSet::new();
            let once = terms.into_iter().filter(|term| seen.insert(term.clone()));
            once.take(MOST).collect()
        };
        let whole: Vec<String> = once(terms.whole);
        Self {
            words: once(terms.words),
            parts: whole.iter().map(|whole| Terms::of(whole).words).collect(),
            whole,
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

/// Returns what a section gets beside its BM25, for its words and identifiers with spaces between them.
pub(super) fn bonus(asked: &Asked, weights: &Weights, plain: &str, whole: &str) -> f64 {
    let words: Vec<&str> = plain.split(' ').collect();
    let all: HashSet<&str> = match asked.whole.is_empty() {
        true => HashSet::new(),
        false => whole.split(' ').collect(),
    };
    let identifiers = asked.whole.iter().zip(&asked.parts).zip(&weights.whole);
    let identifiers = identifiers.map(|((whole, parts), weight)| {
        if all.contains(&**whole) {
            WHOLE * weight
        } else if has_parts(&words, parts) {
            PARTS * weight
        } else {
            0.0
        }
    });
    CLOSE * nearest(asked, weights, &words) + identifiers.sum::<f64>()
}

/// Returns the most that words near each other tell. The words between them lessen it.
fn nearest(asked: &Asked, weights: &Weights, words: &[&str]) -> f64 {
    let number = |word: &str| asked.words.iter().position(|asked| asked == word);
    let hits = words.iter().enumerate();
    let hits: Vec<_> = hits.filter_map(|(at, word)| Some((at, number(word)?))).collect();
    let mut seen = vec![usize::MAX; asked.words.len()];
    let mut best = 0.0f64;
    for (from, &(start, first)) in hits.iter().enumerate() {
        let mut told = 0.0;
        let mut count = 0;
        for &(at, word) in hits[from..].iter().take_while(|(at, _)| at - start < NEAR) {
            // A word counts once, and a run that begins and goes on with the same word begins later.
            if seen[word] == from || (word == first && count > 0) {
                continue;
            }
            seen[word] = from;
            told += weights.words.get(word).copied().unwrap_or(0.0);
            count += 1;
            if count > 1 {
                let between = (at - start + 1 - count) as f64;
                best = best.max(told / (1.0 + between / BETWEEN));
            }
        }
    }
    best
}

/// Returns whether the words of an identifier stand in their order.
fn has_parts(words: &[&str], parts: &[String]) -> bool {
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
        let terms = Terms::of(text).with_ends();
        bonus(&asked, &weights, &terms.words.join(" "), &terms.whole.join(" "))
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

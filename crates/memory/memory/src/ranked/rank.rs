//! Scores how well a section fits a query.
//!
//! Three things count: BM25 of the words; identifiers that stand whole in the section; and words that stand near
//! each other.

use super::terms::Terms;
use std::collections::HashSet;

/// The usual constants of BM25.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;
/// The factor of an identifier, compared with an equally rare word.
const WHOLE: f64 = 3.0;
/// The factor of an identifier that is a part of a longer one, as in `call_ORD-12345`.
const PARTS: f64 = 1.0;
/// The factor of words near each other.
const CLOSE: f64 = 4.0;
/// Words are near if their distance is less than this, in words.
const NEAR: u32 = 32;
/// A word of the query counts half if this many other words stand between it and the previous word of the query.
const BETWEEN: f64 = 8.0;
/// The factor of a section that has all words of the query in its order, with nothing between.
const RUN: f64 = 3.0;
/// The factor of the words of a long message, compared with those of its section.
const AROUND: f64 = 0.25;
/// How much more the newest section counts than the oldest: results of one tool have the same words, and mostly the newer one
/// is meant.
const RECENT: f64 = 0.1;
/// The most words and identifiers of a query; further ones are left out.
const MOST: usize = 64;

/// The words and identifiers that are looked for, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) words: Vec<String>,
    pub(crate) whole: Vec<String>,
    /// For each identifier, the indices of its words in `words`.
    parts: Vec<Vec<usize>>,
    /// The indices in `words` of all words in the order of the query; empty if some words were left out.
    run: Vec<usize>,
}

impl Asked {
    pub(crate) fn of(query: &str) -> Self {
        let terms = Terms::of(query);
        let once = |terms: Vec<String>| {
            let mut seen = HashSet::new();
            let once = terms.into_iter().filter(|term| seen.insert(term.clone()));
            once.take(MOST).collect::<Vec<_>>()
        };
        let all = terms.words.clone();
        let (words, whole) = (once(terms.words), once(terms.whole));
        let number = |part: &String| words.iter().position(|word| word == part);
        let parts = |whole: &String| Terms::of(whole).words.iter().map(number).collect();
        let run: Option<Vec<usize>> = all.iter().map(number).collect();
        Self {
            run: run.unwrap_or_default(),
            // An identifier whose words were left out has no parts.
            parts: whole
                .iter()
                .map(|whole| Option::unwrap_or_default(parts(whole)))
                .collect(),
            words,
            whole,
        }
    }
}

impl Asked {
    /// Finds which of these words the query has, and returns their indices in `self.words`.
    pub(crate) fn numbers(&self, words: &[String]) -> Vec<usize> {
        let number = |word| self.words.iter().position(|asked| asked == word);
        words.iter().filter_map(number).collect()
    }

    /// Returns where the words stand in a section, and which identifiers it has.
    pub(crate) fn places(&self, terms: &Terms) -> Places {
        let number = |word: &String| self.words.iter().position(|asked| asked == word);
        let words = terms.words.iter().zip(0..);
        Places {
            about: Vec::new(),
            words: words
                .filter_map(|(word, at)| Some((at, number(word)?)))
                .collect(),
            whole: (0..self.whole.len())
                .filter(|at| terms.whole.contains(&self.whole[*at]))
                .collect(),
        }
    }
}

/// How much each word and identifier of a query weighs.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    pub(crate) words: Vec<f64>,
    pub(crate) whole: Vec<f64>,
}

/// Returns the weight of a term that `with` of all sections have: rare terms weigh more.
pub(crate) fn weight(sections: i64, with: i64) -> f64 {
    let (all, with) = (sections.max(with) as f64, with as f64);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// Where the words of a query stand in a section, and which identifiers it has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// The places of the words, ascending, each with the index of its word.
    pub(crate) words: Vec<(u32, usize)>,
    /// The indices of the words that the names of the tools have.
    pub(crate) about: Vec<usize>,
    /// The indices of the identifiers.
    pub(crate) whole: Vec<usize>,
}

impl Places {
    /// Returns whether the section has any word or identifier of the query.
    pub(crate) fn is_any(&self) -> bool {
        !(self.words.is_empty() && self.about.is_empty() && self.whole.is_empty())
    }
}

/// Returns the total score of a section. `around` is the score of the long message around it. `place` is its place
/// among all sections, from 0 for the oldest to 1 for the newest.
pub(crate) fn total(score: f64, around: f64, place: f64) -> f64 {
    (score + AROUND * around) * (1.0 + RECENT * place)
}

/// Returns the weight of a word's count in a text. `length` is the length of the text, divided by the mean length of
/// all texts.
pub(crate) fn saturated(count: f64, length: f64) -> f64 {
    let share = 1.0 - LENGTH + LENGTH * length;
    count * (SATURATION + 1.0) / (count + SATURATION * share)
}

/// Returns how well a section fits a query. `length` is its number of words, divided by the mean of all sections.
pub(crate) fn score(asked: &Asked, weights: &Weights, places: &Places, length: f64) -> f64 {
    let mut counts = vec![0.0; asked.words.len()];
    let plain = places.words.iter().map(|(_, word)| word);
    for word in plain.chain(&places.about) {
        counts[*word] += 1.0;
    }
    let words = counts.iter().zip(&weights.words);
    let words = words.map(|(count, weight)| weight * saturated(*count, length));
    let identifiers = weights.whole.iter().enumerate().map(|(number, weight)| {
        if places.whole.contains(&number) {
            WHOLE * weight
        } else if has_run(&places.words, &asked.parts[number]) {
            PARTS * weight
        } else {
            0.0
        }
    });
    let run = if asked.run.len() > 1 && has_run(&places.words, &asked.run) {
        RUN * weights.words.iter().sum::<f64>()
    } else {
        0.0
    };
    run + words.sum::<f64>() + identifiers.sum::<f64>() + CLOSE * nearest(weights, places)
}

/// Returns the highest sum of weights of words that stand near each other. Each word counts once. It counts less, the
/// more other words stand between it and the word before it.
///
/// Words of the tool's name do not count here: a call has the name, and its result does not.
fn nearest(weights: &Weights, places: &Places) -> f64 {
    let is_about = |word: &usize| places.about.contains(word);
    let words = places.words.iter().filter(|(_, word)| !is_about(word));
    let places: Vec<_> = words.copied().collect();
    let mut seen = vec![usize::MAX; weights.words.len()];
    let mut best = 0.0f64;
    for (from, &(start, _)) in places.iter().enumerate() {
        let (mut sum, mut before, mut count) = (0.0, start, 0);
        for &(at, word) in places[from..]
            .iter()
            .take_while(|(at, _)| at - start < NEAR)
        {
            if seen[word] != from {
                seen[word] = from;
                let between = f64::from((at - before).saturating_sub(1));
                sum += weights.words[word] / (1.0 + between / BETWEEN);
                count += 1;
            }
            before = at;
        }
        if count > 1 {
            best = best.max(sum);
        }
    }
    best
}

/// Returns whether the words of `run` stand directly one after the other, in this order.
fn has_run(places: &[(u32, usize)], run: &[usize]) -> bool {
    let stands = |window: &[(u32, usize)]| {
        let mut pairs = window.iter().zip(run).enumerate();
        pairs.all(|(at, (&(place, word), wanted))| {
            word == *wanted && place == window[0].0 + at as u32
        })
    };
    !run.is_empty() && places.windows(run.len()).any(stands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score_of(query: &str, text: &str) -> f64 {
        let asked = Asked::of(query);
        let weights = Weights {
            words: vec![1.0; asked.words.len()],
            whole: vec![1.0; asked.whole.len()],
        };
        let places = asked.places(&Terms::of(text).with_ends());
        score(&asked, &weights, &places, 1.0)
    }

    #[test]
    fn whole_identifiers_count_most() {
        let of = |text| score_of("ORD-12345", text);
        assert!(of("is ORD-12345.") > of("call_ORD-12345-x"));
        assert!(of("call_ORD-12345-x") > of("ord of 12345"));
        assert!(of("ord of 12345") > of("ORD-12346"));
        assert!(of("none") == 0.0);
    }

    #[test]
    fn words_near_each_other_count_more() {
        let far = format!("rye {} spelt", "x ".repeat(8));
        let of = |text| score_of("rye spelt", text);
        assert!(of("rye spelt") > of("rye or spelt"));
        assert!(of("rye or spelt") > of(&far));
        assert!(of(&far) > of(&format!("rye {} spelt", "x ".repeat(40))));
    }

    #[test]
    fn a_rare_word_tells_more() {
        assert!(weight(100, 1) > weight(100, 50));
        assert!(weight(0, 7) > 0.0);
    }
}

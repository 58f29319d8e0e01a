//! Judges whether a constraint of the archive is missing from the list.

use std::collections::BTreeSet;

use super::case::{Case, Sign};
use super::kind::Indicator;
use crate::parsed::Parsed;
use crate::prose::{Sentence, plain, sentences, topics};

/// Returns a sign for each constraint that neither stands in the list nor has been replaced.
pub(super) fn judge(case: &Case<'_>) -> Vec<Sign> {
    let constraints = &case.content.constraints;
    let stands: Vec<String> = case.list.iter().map(|one| plain(&text(one))).collect();
    let stands_plain = |constraint: &str| {
        let wanted = plain(constraint);
        stands.iter().any(|text| text.contains(wanted.trim()))
    };
    let missing = constraints.iter().filter(|one| one.replaced.is_none());
    let mut missing = missing
        .filter(|one| !stands_plain(&one.item.text))
        .peekable();
    if missing.peek().is_none() {
        return Vec::new();
    }
    // A sentence that has one rule verbatim is not a paraphrase of another rule, even if only a few
    // words differ.
    let rules: Vec<_> = constraints
        .iter()
        .map(|one| plain(&one.item.text))
        .collect();
    let is_rule = |sentence: &Sentence| {
        rules
            .iter()
            .any(|rule| sentence.plain.contains(rule.trim()))
    };
    let others = case.list.iter().flat_map(|one| sentences(&text(one)));
    let others: Vec<_> = others
        .filter(|sentence| !is_rule(sentence))
        .map(|sentence| (topics(&sentence.text), numbers(&sentence.plain)))
        .collect();
    missing
        .filter(|one| !paraphrased(&one.item.text, &others))
        .map(|one| {
            let evidence = format!("a constraint does not stand in the list: {}", one.item.text);
            let sign = Sign::new(Indicator::Constraint, evidence, vec![one.item.message]);
            sign.with_passage(&one.item.text)
        })
        .collect()
}

/// Returns the words of a message without the marks of quotations.
fn text(message: &Parsed) -> String {
    message.text.replace("\n> ", "\n").replace("\n  > ", "\n")
}

fn numbers(plain: &str) -> BTreeSet<String> {
    let words = plain.split_whitespace();
    let numbers = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()));
    numbers.map(str::to_owned).collect()
}

/// Returns whether a sentence of the list has nearly all the words of a constraint, and its numbers.
fn paraphrased(constraint: &str, others: &[(BTreeSet<String>, BTreeSet<String>)]) -> bool {
    let (wanted, values) = (topics(constraint), numbers(&plain(constraint)));
    wanted.len() > 2
        && others.iter().any(|(topics, numbers)| {
            let shared = topics.intersection(&wanted).count();
            shared * 5 >= wanted.len() * 4 && values.is_subset(numbers)
        })
}

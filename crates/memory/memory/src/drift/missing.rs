//! A constraint of the archive does not stand in the list.

use std::collections::BTreeSet;

use super::case::{Case, Sign};
use super::kind::Indicator;
use crate::parsed::Parsed;
use crate::prose::{Sentence, plain, sentences, topics};
use crate::summary::Force;

/// Returns a sign for each constraint that neither stands in the list nor has been replaced.
pub(super) fn judge(case: &Case<'_>) -> Vec<Sign> {
    let stands: Vec<String> = case.list.iter().map(|said| plain(&text(said))).collect();
    let stands_plain = |constraint: &str| {
        let wanted = plain(constraint);
        stands.iter().any(|text| text.contains(wanted.trim()))
    };
    let constraints = case.content.constraints.iter();
    let missing = constraints.filter(|one| {
        let binds = one.force == Force::Rule || one.force == Force::Wish;
        binds && one.replaced.is_none() && !stands_plain(&one.item.text)
    });
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let said = case.list.iter().flat_map(|said| sentences(&text(said)));
    // A rule that stands in the list is not another rule in other words, however few of its words differ.
    let rules = case.content.constraints.iter();
    let rules: Vec<_> = rules.map(|one| plain(&one.item.text)).collect();
    let is_rule = |sentence: &Sentence| {
        rules
            .iter()
            .any(|rule| sentence.plain.contains(rule.trim()))
    };
    let said = said.filter(|sentence| !is_rule(sentence));
    let said: Vec<_> = said
        .map(|sentence| (topics(&sentence.text), numbers(&sentence.plain)))
        .collect();
    let others = missing
        .into_iter()
        .filter(|one| !paraphrased(&one.item.text, &said));
    others
        .map(|one| {
            let evidence = format!("does not stand in the list: {}", one.item.text);
            let sign = Sign::new(Indicator::Constraint, evidence, vec![one.item.message]);
            sign.with_passage(&one.item.text)
        })
        .collect()
}

/// Returns the words of a message without the marks of quotations.
fn text(said: &Parsed) -> String {
    said.text.replace("\n> ", "\n").replace("\n  > ", "\n")
}

fn numbers(plain: &str) -> BTreeSet<String> {
    let words = plain.split_whitespace();
    let numbers = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()));
    numbers.map(str::to_owned).collect()
}

/// Returns whether a sentence of the list has nearly all the words of a constraint, and its numbers.
fn paraphrased(constraint: &str, said: &[(BTreeSet<String>, BTreeSet<String>)]) -> bool {
    let (wanted, values) = (topics(constraint), numbers(&plain(constraint)));
    wanted.len() > 2
        && said.iter().any(|(topics, numbers)| {
            let shared = topics.intersection(&wanted).count();
            shared * 5 >= wanted.len() * 4 && values.is_subset(numbers)
        })
}

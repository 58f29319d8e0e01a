//! Recognises a text that a program wrote, by its beginning or end: a tag, a bracket, a label or a fence.

use std::collections::BTreeMap;

use crate::message::Role;
use crate::parsed::Parsed;

/// A label has at most this many characters.
const LABEL: usize = 40;
/// A label has at most this many words.
const WORDS: usize = 4;
/// If at least this many messages of the assistant have a label, the label marks actions.
const ACTIONS: usize = 3;

/// Returns the mark with which a text begins, if programs write such marks: a tag, a bracket, a fence, or a label
/// before a colon. All digits become `0`, so that marks with other numbers are equal.
pub(super) fn opening(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    if line.starts_with("```") {
        return Some("```".to_owned());
    }
    if let Some(name) = tag(line) {
        return Some(format!("<{name}"));
    }
    if let Some(inside) = line.strip_prefix('[') {
        let word: String = inside.chars().take_while(|c| is_name(*c)).collect();
        return (!word.is_empty()).then(|| format!("[{}", without_numbers(&word)));
    }
    label(line).map(|label| without_numbers(label) + ":")
}

/// Returns the mark with which a text ends, if programs write such marks in its last two lines: a label in brackets,
/// or the prompt of a shell. All digits become `0`, so that marks with other numbers are equal.
pub(super) fn closing(text: &str) -> Option<String> {
    let foot = |line: &str| {
        if let Some(inside) = line
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
        {
            return label(inside).map(|label| format!("({label}:"));
        }
        let is_prompt = line.ends_with(['$', '#']) && !line.contains(char::is_whitespace);
        is_prompt.then(|| line.to_owned())
    };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (last, before) = (lines.next_back()?, lines.next_back()?);
    Some(without_numbers(&format!(
        "{} {}",
        foot(before)?,
        foot(last)?
    )))
}

/// Returns the name of the tag that a line begins with.
pub(super) fn tag(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('<')?;
    let end = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
    let (name, rest) = inside.split_at_checked(end)?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let ends = rest.starts_with(['>', ' ', '/']);
    (begins && ends && rest.contains('>')).then_some(name)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Returns the words before the colon that a line begins with.
fn label(line: &str) -> Option<&str> {
    let (label, rest) = line.split_once(':')?;
    let is_mark = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let is_short = label.chars().count() <= LABEL && label.split_whitespace().count() <= WORDS;
    let is_words = label.starts_with(char::is_alphabetic) && !label.contains(['.', '?', '!', ',']);
    (is_mark && is_short && is_words).then_some(label)
}

/// Returns a text in which each digit is `0`.
fn without_numbers(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect()
}

/// Returns whether a text ends in a fenced block, or with the end of a tag.
pub(super) fn ends_in_block(text: &str) -> bool {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let last = last.trim();
    let is_tag = last.ends_with('>') && last.rfind("</").is_some();
    is_tag || last.ends_with("```") && text.matches("```").count() > 1
}

/// Recognises the messages in which an assistant writes an action as text.
pub(super) struct Actions {
    /// The labels that most messages of the assistant have.
    labels: Vec<String>,
}

impl Actions {
    pub(super) fn of(messages: &[Parsed]) -> Self {
        let speaks =
            |message: &&Parsed| message.role == Role::Assistant && !message.text.trim().is_empty();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut all = 0;
        for message in messages.iter().filter(speaks) {
            all += 1;
            let mut labels: Vec<_> = labels(&message.text).collect();
            labels.sort();
            labels.dedup();
            for label in labels {
                *counts.entry(label).or_default() += 1;
            }
        }
        let is_usual = |count: usize| count >= ACTIONS && 2 * count >= all;
        let labels = counts.into_iter().filter(|(_, count)| is_usual(*count));
        Self {
            labels: labels.map(|(label, _)| label).collect(),
        }
    }

    /// Returns whether a message of the assistant has an action in its text: it ends in a block, or has a usual label.
    pub(super) fn has(&self, message: &Parsed) -> bool {
        message.role == Role::Assistant
            && message.calls.is_empty()
            && (ends_in_block(&message.text)
                || labels(&message.text).any(|label| self.labels.contains(&label)))
    }
}

/// Returns the labels of lines.
fn labels(text: &str) -> impl Iterator<Item = String> {
    text.lines()
        .filter_map(|line| label(line.trim()))
        .map(without_numbers)
}

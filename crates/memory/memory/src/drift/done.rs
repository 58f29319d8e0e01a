//! Judges whether the assistant says that the task is complete although a deliverable is missing.

use std::collections::BTreeSet;

use super::case::{Case, Sign};
use super::kind::Indicator;
use super::untouched::{looks_by_name, untouched};
use crate::message::Role;
use crate::parsed::{Parsed, ParsedCall, ParsedResult};
use crate::prose::{Sentence, sentences, topics};
use crate::summary::Item;
use crate::writes::{Writes, reported};

words! {
    "done.json";
    /// Words that say that work has ended.
    ends,
    /// Words that refer to the whole task.
    whole,
    /// Words that say that the end is partial, conditional or in the future.
    parts,
    /// Verbs of a request for a file.
    makes,
    /// Words before a file that is only read.
    reads,
}

/// A message with more bytes is a document. It may name files without asking for them.
const DOCUMENT: usize = 1500;

/// Returns a sign if a message ends the task, but a part of the task is still open.
pub(super) fn judge(case: &Case<'_>) -> Option<Sign> {
    let all = sentences(&case.message.text);
    let end = all.iter().position(ends)?;
    // A message that announces more work does not end the task.
    let goes_on =
        |sentence: &Sentence| sentence.has(&["next i", "now i'll", "i will now", "i'll now"]);
    if !case.message.calls.is_empty() || all.get(end + 1..)?.iter().any(goes_on) {
        return None;
    }
    let claim = &all.get(end)?.text;
    let open = files(case)
        .or_else(|| partial(case))
        .or_else(|| promised(case))
        .or_else(|| untouched(case));
    let (message, what) = open?;
    Some(Sign::new(
        Indicator::Done,
        format!("the assistant says \"{claim}\", but {what}"),
        vec![message],
    ))
}

fn ends(sentence: &Sentence) -> bool {
    let short = sentence.count() <= 3;
    !sentence.asks
        && sentence.has(&WORDS.ends)
        && (short || sentence.has(&WORDS.whole))
        && !sentence.has(&WORDS.parts)
}

/// Returns a file that the objectives ask for, and that nothing seems to have written.
fn files(case: &Case<'_>) -> Option<(usize, String)> {
    let written = written(case);
    let objectives = case.content.intent.iter().chain(&case.content.request);
    for Item { message, text } in objectives.filter(|item| item.text.len() <= DOCUMENT) {
        let asked = sentences(text)
            .into_iter()
            .filter(|sentence| sentence.has(&WORDS.makes));
        let asked: Vec<_> = asked.collect();
        let words = asked
            .iter()
            .flat_map(|sentence| sentence.text.split_whitespace());
        let mut files = words.filter_map(file).filter(|file| asked_for(text, file));
        let is_open =
            |file: &&str| !written.iter().any(|path| path.ends_with(*file)) && !touched(case, file);
        if let Some(file) = files.find(is_open) {
            return Some((*message, format!("nothing reports that {file} is written")));
        }
    }
    None
}

/// Returns whether the assistant may have written the file by a command. This is so if a block of code names the file,
/// or a call whose tool no table knows.
fn touched(case: &Case<'_>, file: &str) -> bool {
    let writes = Writes::default();
    let runs = |call: &ParsedCall| {
        !looks_by_name(call)
            && writes.of(&call.tool, &call.arguments).is_none()
            && call.arguments.to_string().contains(file)
    };
    let all = case.archive.iter().chain(case.list);
    let mut own = all.filter(|message| message.role == Role::Assistant);
    own.any(|message| {
        let mut blocks = message.text.split("```").skip(1).step_by(2);
        blocks.any(|block| block.contains(file)) || message.calls.iter().any(runs)
    })
}

/// Returns the name of a file in a word.
fn file(word: &str) -> Option<&str> {
    let word =
        word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '.' && c != '_');
    let word = word.trim_end_matches('.');
    let (name, end) = word.rsplit_once('.')?;
    let is_end = (1..=5).contains(&end.len()) && end.chars().all(|c| c.is_ascii_alphanumeric());
    let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_short = name.len() < 2 || word.contains("://") || word.contains('@');
    (is_end && !is_number && !is_short && end.contains(|c: char| c.is_ascii_alphabetic()))
        .then_some(word)
}

/// Returns whether a text asks for a file to be made. A file that the text only wants to be read does not count.
fn asked_for(text: &str, file: &str) -> bool {
    let before = text.split(file).next().unwrap_or_default();
    let near: Vec<_> = before.split_whitespace().rev().take(3).collect();
    !near
        .iter()
        .any(|word| WORDS.reads.contains(&&*word.to_lowercase()))
}

/// Returns the paths that successful calls have written.
fn written(case: &Case<'_>) -> BTreeSet<String> {
    let writes = Writes::default();
    let mut found: BTreeSet<String> = BTreeSet::new();
    for messages in [case.archive, case.list] {
        for (at, message) in messages.iter().enumerate() {
            for call in &message.calls {
                let answer = answer(messages, at, &call.id);
                if answer.and_then(reported) == Some(true)
                    && let Some(write) = writes.of(&call.tool, &call.arguments)
                {
                    found.extend(write.paths);
                }
            }
        }
    }
    found
}

fn answer<'s>(messages: &'s [Parsed], at: usize, id: &str) -> Option<&'s ParsedResult> {
    let later = messages.get(at + 1..)?;
    later
        .iter()
        .flat_map(|message| &message.results)
        .find(|result| result.id == id)
}

/// Returns a file whose last write has not been reported as a success.
fn partial(case: &Case<'_>) -> Option<(usize, String)> {
    let written = written(case);
    let artifacts = case.content.artifacts.iter();
    let mut open = artifacts.filter(|one| !one.complete && !written.contains(&one.path));
    let one = open.next()?;
    Some((
        one.message,
        format!(
            "the last write of {} is not reported as a success",
            one.path
        ),
    ))
}

/// Returns a call without a result, or a promise that nothing after it has kept.
fn promised(case: &Case<'_>) -> Option<(usize, String)> {
    let left = &case.content.progress.remaining;
    let steps = case.content.progress.next.iter().chain(left);
    let mut open = steps.filter(|step| is_task(step) && !kept(step, case));
    let step = open.next()?;
    Some((step.message, format!("this is open: {}", step.text)))
}

/// Returns whether a step is work, and not an answer or a question.
fn is_task(step: &Item) -> bool {
    !step.text.starts_with("Answer the last") && !step.text.starts_with("Unanswered:")
}

/// Returns whether a later call or a statement of an assistant has words of a step.
fn kept(step: &Item, case: &Case<'_>) -> bool {
    let here = case
        .archive
        .iter()
        .find(|message| message.index == step.message);
    if here.is_some_and(|message| !message.calls.is_empty() || message.text.contains("```")) {
        // The message has a call or a block of code, so it already does what it announces. Only a
        // step that waits for a result is still open.
        return !step.text.starts_with("Wait for the result");
    }
    let wanted = topics(&step.text);
    let later = case.archive.iter().chain(case.list);
    let mut later =
        later.filter(|message| message.index >= step.message && message.role == Role::Assistant);
    wanted.is_empty()
        || later.any(|message| {
            let calls = message.calls.iter();
            let calls =
                calls.map(|call| format!("{} {}", call.tool.replace('_', " "), call.arguments));
            let words = if message.index > step.message {
                message.text.clone()
            } else {
                String::new()
            };
            calls
                .chain([words])
                .any(|text| topics(&text).intersection(&wanted).count() > 0)
        })
}

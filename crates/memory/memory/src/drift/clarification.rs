//! Judges whether the assistant asks for something that the archive answers.

use std::collections::BTreeSet;

use super::case::{Case, Sign};
use super::kind::Indicator;
use super::noun_phrases::noun_phrases;
use crate::message::Role;
use crate::parsed::Parsed;
use crate::prose::{Sentence, sentences, stem, topics};

words! {
    "clarification.json";
    /// Phrases that ask for something without a question mark.
    wants,
    /// Beginnings of questions that offer something, ask for permission, or are not for the user.
    offers,
    /// Phrases that ask for a wish or for permission, and not for something that the user has said.
    consent,
    /// Words of a statement that gives a value.
    tells,
    /// Phrases of a statement that gives no value.
    tells_not,
    /// Phrases of a reply that does not answer.
    evasive,
    /// Words of the question itself, which do not say what is asked for.
    asking,
}

/// Returns a sign for each question that the archive answers.
pub(super) fn judge(case: &Case<'_>) -> Vec<Sign> {
    let all = sentences(&case.message.text);
    let mut found: Vec<Sign> = Vec::new();
    for (at, sentence) in all.iter().enumerate() {
        let wants = sentence.has(&WORDS.wants);
        if !(sentence.asks || wants)
            || sentence.begins(&WORDS.offers)
            || sentence.has(&WORDS.consent)
        {
            continue;
        }
        let mut wanted = wanted(sentence);
        if wanted.is_empty() && at > 0 {
            // The sentence before may name what is wanted: "I don't have the code. Would you send it?"
            let before = all.get(at - 1).filter(|before| before.has(&WORDS.wants));
            wanted = before.map(self::wanted).unwrap_or_default();
        }
        if let Some((message, answer)) = answer(&wanted, sentence, case) {
            let evidence = format!(
                "the assistant asks \"{}\", and message {message} answers: {}",
                sentence.text,
                clipped(&answer)
            );
            if found.iter().all(|known| known.messages != [message]) {
                found.push(Sign::new(Indicator::Clarification, evidence, vec![message]));
            }
        }
    }
    found
}

fn clipped(text: &str) -> String {
    text.chars().take(160).collect()
}

/// Returns the words for what a sentence asks for: the words of the first thing that it names, or else all its words.
fn wanted(sentence: &Sentence) -> BTreeSet<String> {
    let phrases = noun_phrases(&sentence.text).into_iter();
    let mut phrases = phrases.map(|phrase| without_asking(topics(&phrase)));
    let first = phrases.find(|words| !words.is_empty());
    first.unwrap_or_else(|| without_asking(topics(&sentence.text)))
}

fn without_asking(mut wanted: BTreeSet<String>) -> BTreeSet<String> {
    for word in WORDS.asking.iter().copied() {
        wanted.remove(&stem(word));
        wanted.remove(word);
    }
    wanted
}

/// Returns the message that answers a question, and what it says.
fn answer(
    wanted: &BTreeSet<String>,
    question: &Sentence,
    case: &Case<'_>,
) -> Option<(usize, String)> {
    if wanted.is_empty() {
        return None;
    }
    let known = case
        .content
        .facts
        .iter()
        .rev()
        .filter(|fact| !fact.name.is_empty());
    let fact = known.into_iter().find(|fact| {
        let name = topics(&fact.name.replace(['_', '.'], " "));
        !name.is_empty() && wanted.is_subset(&name)
    });
    stated(wanted, question, case.archive)
        .or_else(|| fact.map(|fact| (fact.message, format!("{} {}", fact.name, fact.value))))
        .or_else(|| replied(wanted, case.archive))
        .or_else(|| decided(wanted, question, case))
        .or_else(|| called(wanted, case.archive))
}

/// Returns the argument with this name in an earlier call. The agent knew the value when it made the call.
fn called(wanted: &BTreeSet<String>, archive: &[Parsed]) -> Option<(usize, String)> {
    let calls = archive.iter().rev();
    let mut calls =
        calls.flat_map(|message| message.calls.iter().map(|call| (message.index, call)));
    calls.find_map(|(index, call)| {
        let mut arguments = call.arguments.as_object()?.iter();
        let (name, value) = arguments.find(|(name, value)| {
            let is_value = value.is_string() || value.is_number();
            is_value && wanted.len() > 1 && *wanted == topics(&name.replace('_', " "))
        })?;
        Some((index, format!("{name} {value}")))
    })
}

/// Returns a statement of the user that has all wanted words and gives a value.
fn stated(
    wanted: &BTreeSet<String>,
    question: &Sentence,
    archive: &[Parsed],
) -> Option<(usize, String)> {
    let speaks = archive
        .iter()
        .rev()
        .filter(|message| message.role == Role::User);
    for message in speaks {
        for sentence in sentences(&message.text) {
            let says = topics(&sentence.text);
            let states = !sentence.asks && sentence.plain != question.plain && tells(&sentence);
            if states && wanted.is_subset(&says) && specific(wanted, &says) {
                return Some((message.index, sentence.text));
            }
        }
    }
    None
}

/// Returns whether a statement gives a value: a number, a name, or a word such as those in `tells`.
fn tells(sentence: &Sentence) -> bool {
    let mut words = sentence.text.split_whitespace().skip(1);
    let names = |word: &str| {
        let is_name = word.starts_with(char::is_uppercase) && word.len() > 1;
        let is_speaker = word.starts_with("I'") || word.starts_with("I\u{2019}");
        let is_kind = word.trim_end_matches(|c: char| !c.is_alphanumeric()) == "ID";
        word.contains(|c: char| c.is_ascii_digit()) || is_name && !is_speaker && !is_kind
    };
    !sentence.has(&WORDS.tells_not) && (words.any(names) || sentence.has(&WORDS.tells))
}

/// Returns whether a sentence that has the wanted words is surely about them: several words are wanted, or the sentence
/// is short.
fn specific(wanted: &BTreeSet<String>, says: &BTreeSet<String>) -> bool {
    wanted.len() > 1 || says.len() <= 6
}

/// Returns the reply of a user to an earlier question for the same thing.
fn replied(wanted: &BTreeSet<String>, archive: &[Parsed]) -> Option<(usize, String)> {
    let pairs = archive.iter().zip(archive.iter().skip(1)).rev();
    for (asked, reply) in pairs {
        let answers = asked.role == Role::Assistant && reply.role == Role::User;
        if !answers || reply.text.trim_end().ends_with('?') || reply.text.trim().is_empty() {
            continue;
        }
        let questions = sentences(&asked.text);
        let mut questions = questions
            .iter()
            .filter(|sentence| sentence.asks || sentence.has(&WORDS.wants));
        let same = questions.any(|sentence| {
            let earlier = self::wanted(sentence);
            let shared = earlier.intersection(wanted).count();
            shared > 0 && shared == wanted.len() && shared * 2 >= earlier.len()
        });
        if same && !evades(&reply.text) {
            return Some((reply.index, reply.text.clone()));
        }
    }
    None
}

/// Returns whether a reply does not answer.
fn evades(reply: &str) -> bool {
    let all = sentences(reply);
    let is_short = reply.split_whitespace().count() <= 5;
    let tells = is_short || all.iter().any(tells);
    !tells || all.iter().any(|sentence| sentence.has(&WORDS.evasive))
}

/// Returns the decision or constraint that answers a question with "or" or "which".
fn decided(
    wanted: &BTreeSet<String>,
    question: &Sentence,
    case: &Case<'_>,
) -> Option<(usize, String)> {
    if !question.has(&["or", "which"]) {
        return None;
    }
    let constraints = case.content.constraints.iter().map(|one| &one.item);
    let items = case.content.decisions.iter().chain(constraints);
    let mut items = items.filter(|item| {
        let says = topics(&item.text);
        let shared = says.intersection(wanted).count();
        shared > 0 && shared * 2 >= wanted.len()
    });
    items.next().map(|item| (item.message, item.text.clone()))
}

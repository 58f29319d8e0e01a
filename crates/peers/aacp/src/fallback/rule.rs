//! Tier 2, the second half: an instruction that has the meaning of a hop of a workflow (draft section 6.3).

use super::lexicon::{is_keyword, is_neutral, singular};
use super::reading::{Gap, Piece, Reading, What};
use super::value::Value;
use crate::owned::PacketBuf;
use crate::vocabulary::Kind;
use crate::workflow::{Hop, Parameter, Rewrite, Workflow};

/// Words that may stand between the words that a hop knows.
const JOINTS: [&str; 9] = ["a", "an", "all", "and", "as", "each", "every", "for", "of"];

/// The packet that a hop makes of an instruction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ruled {
    /// The hop, as `workflow.hop`.
    pub(super) name: String,
    pub(super) packet: PacketBuf,
}

/// Finds the hop of this domain that an instruction asks for; `None` if no hop fits, or several hops do.
pub(super) fn find(
    workflows: &[Workflow],
    asked: &Reading,
    dom: &str,
    [receiver, priority]: [&str; 2],
) -> Option<Ruled> {
    let mut hops = workflows.iter().flat_map(|workflow| {
        let hops = workflow.hops.iter().filter(|hop| hop.dom == dom);
        hops.filter_map(move |hop| Some((workflow, hop, fit(hop, asked)?)))
    });
    let (Some((workflow, hop, values)), None) = (hops.next(), hops.next()) else {
        return None;
    };
    let own = values.iter().map(|(name, value)| (*name, &value[..]));
    let all: Vec<_> = own.chain([("return", receiver), ("p", priority)]).collect();
    let packets = workflow.encode(Some(&hop.name), &all).ok()?;
    let (_, packet) = packets.into_iter().next()?;
    let name = format!("{}.{}", workflow.name, hop.name);
    Some(Ruled { name, packet })
}

/// Compares an instruction with a hop, and finds the values of its parameters. The hop must know every word of the
/// instruction, because an additional word may ask for something else.
fn fit<'h>(hop: &'h Hop, asked: &Reading) -> Option<Vec<(&'h str, String)>> {
    let words: Vec<Option<String>> = asked.pieces.iter().map(plain).collect();
    let verbs = hop.keywords.verbs.iter();
    let verb = verbs.filter_map(|verb| begins(&words, verb)).max()?;
    if asked.pieces.iter().any(|piece| piece.gap == Gap::Sentence) {
        return None;
    }
    let singulars: Vec<Option<String>> = words
        .iter()
        .map(|word| word.as_deref().map(singular))
        .collect();
    let phrases = phrases(hop);
    let mut free = Vec::new();
    let mut at = verb;
    while let Some(piece) = asked.pieces.get(at) {
        let rest = singulars.get(at..).unwrap_or_default();
        let known = phrases.iter().filter_map(|phrase| begins(rest, phrase));
        at += match (known.max(), piece.word(), piece.value()) {
            (Some(known), ..) => known,
            (None, Some(word), _) if JOINTS.contains(&word) || is_neutral(word) => 1,
            (None, _, Some(value)) => {
                free.push(value);
                1
            }
            _ => return None,
        };
    }
    let nouns = &hop.keywords.nouns;
    let is_named = |noun: &String| singulars.contains(&Some(singular(&noun.to_lowercase())));
    let is_meant = !nouns.is_empty() && nouns.iter().all(is_named);
    is_meant.then(|| assign(&hop.parameters, free))?
}

/// Returns a piece as a word: small letters, or capital letters alone as in "VPN" and "JSON".
fn plain(piece: &Piece) -> Option<String> {
    match &piece.what {
        What::Word(word) => Some(word.clone()),
        What::Value(Value::Name(name)) if name.chars().all(char::is_uppercase) => {
            Some(name.to_lowercase())
        }
        What::Value(_) => None,
    }
}

/// Returns the texts that an instruction for a hop may have: its nouns, the names of its parameters, the words of its
/// meaning, and the constant items of its fields. All are singular and in small letters.
fn phrases(hop: &Hop) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |text: &str| {
        let parts = text.split(|c: char| !c.is_alphanumeric());
        let parts = parts.filter(|part| !part.is_empty());
        let parts: Vec<String> = parts.map(|part| singular(&part.to_lowercase())).collect();
        if !parts.is_empty() {
            found.push(parts.join(" "));
        }
    };
    hop.keywords.nouns.iter().for_each(|noun| add(noun));
    hop.parameters
        .iter()
        .for_each(|parameter| add(&parameter.name));
    // The first word of the meaning is a verb, and is left out.
    let meaning = hop.meaning.split_whitespace().skip(1);
    let meaning = meaning.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    meaning.filter(|word| is_keyword(word)).for_each(&mut add);
    for (_, text) in hop.fields() {
        let items = text
            .split(',')
            .map(|item| item.rsplit('=').next().unwrap_or(item));
        items.filter(|item| !item.contains('{')).for_each(&mut add);
    }
    found
}

/// Returns the number of words of a phrase, if `words` begin with this phrase.
fn begins(words: &[Option<String>], phrase: &str) -> Option<usize> {
    let parts = phrase.split(' ');
    let count = parts.clone().count();
    let mut words = words.iter();
    let is_same = |part: &str| {
        words
            .next()
            .is_some_and(|word| word.as_deref() == Some(part))
    };
    parts.into_iter().all(is_same).then_some(count)
}

/// Assigns each value of an instruction to the only parameter that it fits. Every parameter without a default needs
/// a value, and no value may be left.
fn assign<'h>(
    parameters: &'h [Parameter],
    mut free: Vec<&Value>,
) -> Option<Vec<(&'h str, String)>> {
    let mut open: Vec<&Parameter> = parameters
        .iter()
        .filter(|parameter| parameter.default.is_none())
        .collect();
    let mut found = Vec::new();
    while !open.is_empty() {
        // A parameter that only one value fits is assigned first, so that no other parameter takes
        // this value.
        let single = open.iter().enumerate().find_map(|(at, parameter)| {
            let mut fitting = (0..)
                .zip(&free)
                .filter(|(_, value)| takes(parameter, value));
            match (fitting.next(), fitting.next()) {
                (Some((value, _)), None) => Some((at, value)),
                _ => None,
            }
        });
        let (at, value) = single?;
        let value: &Value = free.remove(value);
        found.push((&open.remove(at).name[..], value.to_string()));
    }
    free.is_empty().then_some(found)
}

/// Returns whether a value fits a parameter.
fn takes(parameter: &Parameter, value: &Value) -> bool {
    match (&parameter.name[..], parameter.kind, value) {
        ("period", _, value) => matches!(value, Value::Period(..)),
        (_, Kind::Number, value) => matches!(value, Value::Number(_)),
        ("email", _, Value::Name(text)) => text.contains('@'),
        (_, Kind::Code, Value::Quoted(text)) => !text.contains(' '),
        // "HR" and "Berlin" are not identifiers, but "GBP" is a currency.
        (_, Kind::Code, Value::Name(text)) if parameter.rewriting().contains(&Rewrite::Upper) => {
            text.chars().all(|c| c.is_uppercase() || c.is_ascii_digit())
        }
        (_, Kind::Code, Value::Name(text)) => {
            !text.contains(' ') && text.contains(|c: char| !c.is_alphabetic())
        }
        (_, Kind::Text, Value::Name(_) | Value::Quoted(_)) => true,
        _ => false,
    }
}

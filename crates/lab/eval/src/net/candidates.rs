//! The texts of a turn that may have been said before: quotes, arguments and identifiers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use accp_memory::policy::{Kind, Message};
use serde_json::Value as Json;

use super::automaton::{Automaton, symbols};
use super::matcher::{Matcher, Needle};
use super::message_text::{MessageText, TextKind};
use super::text::{IsWhole, Scalar, collapse, each_scalar};
use crate::transcript::Transcript;

/// The fewest characters of a quote.
const QUOTE: usize = 24;
/// The number of characters of an argument or an identifier.
const VALUE: std::ops::RangeInclusive<usize> = 3..=60;

/// The class of a need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NeedClass {
    /// A span of a piece, 24 characters or more.
    Quote,
    /// A scalar argument of a call.
    Argument,
    /// A name in the text of an agent that makes no calls.
    Identifier,
}

impl NeedClass {
    /// Returns the word for the class.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quote => "quote",
            Self::Argument => "argument",
            Self::Identifier => "identifier",
        }
    }
}

/// A text of a turn that may have been said before.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) needle: Needle,
    pub(crate) class: NeedClass,
    /// Whether the text is in a command or an argument.
    pub(crate) is_command: bool,
    /// Whether the text is only in observations.
    pub(crate) is_observed: bool,
}

/// Returns the candidates of each turn, each text once, and adds them to the matcher.
pub(crate) fn candidates(
    transcript: &Transcript,
    message_texts: &[MessageText],
    matcher: &mut Matcher,
) -> BTreeMap<usize, Vec<Candidate>> {
    let callers: BTreeSet<_> = transcript
        .messages
        .iter()
        .filter(|message| message.recorded().calls().next().is_some())
        .filter_map(|message| Some(transcript.agent(message)?.name))
        .collect();
    let mut before = Automaton::default();
    let mut turns = BTreeMap::new();
    for (message, message_text) in transcript.messages.iter().zip(message_texts) {
        if let Some(agent) = transcript.agent(message) {
            let mut found = Found {
                matcher,
                candidates: Vec::new(),
                at: HashMap::new(),
            };
            found.quotes(message_text, &before);
            found.arguments(message);
            if !callers.contains(&agent.name) {
                found.identifiers(message_text);
            }
            turns.insert(message.index, found.candidates);
        }
        if message.kind != Kind::System {
            for piece in &message_text.pieces {
                before.add(&piece.text.text);
            }
        }
    }
    turns
}

struct Found<'f> {
    matcher: &'f mut Matcher,
    candidates: Vec<Candidate>,
    /// The place of each text among the candidates.
    at: HashMap<Needle, usize>,
}

impl Found<'_> {
    fn add(&mut self, text: &str, class: NeedClass, kind: TextKind) {
        let Some(needle) = self.matcher.add(text) else {
            return;
        };
        let at = *self.at.entry(needle).or_insert(self.candidates.len());
        if at == self.candidates.len() {
            self.candidates.push(Candidate {
                needle,
                class,
                is_command: false,
                is_observed: true,
            });
        }
        if let Some(known) = self.candidates.get_mut(at) {
            known.is_command |= kind == TextKind::Command;
            known.is_observed &= kind == TextKind::Observation;
        }
    }

    /// Adds the spans that were said before, from left to right, each as long as possible.
    fn quotes(&mut self, message_text: &MessageText, before: &Automaton) {
        for (piece, text) in message_text.pieces.iter().enumerate() {
            let text = &text.text.text;
            let symbols: Vec<(usize, &str)> = symbols(text).collect();
            let mut at = 0;
            while at < symbols.len() {
                let rest = &symbols[at..];
                let mut length = before.longest(rest.iter().map(|(_, symbol)| *symbol));
                while length > 0 && rest[length - 1].1 == " " {
                    length -= 1;
                }
                let start = rest[0].0;
                let end = match length.checked_sub(1) {
                    Some(last) => rest[last].0 + rest[last].1.len(),
                    None => start,
                };
                let span = &text[start..end];
                if rest[0].1 == " "
                    || span.chars().nth(QUOTE - 1).is_none()
                    || !span.contains(char::is_alphabetic)
                {
                    at += 1;
                    continue;
                }
                self.add(
                    span,
                    NeedClass::Quote,
                    message_text.kind_at(piece, &(start..end)),
                );
                at += length;
            }
        }
    }

    fn arguments(&mut self, message: &Message) {
        for call in message.recorded().calls() {
            if let Some(arguments) = call.arguments() {
                scalar_texts(&arguments, |text| {
                    if VALUE.contains(&text.chars().count()) {
                        self.add(&text, NeedClass::Argument, TextKind::Command);
                    }
                });
            }
        }
    }

    fn identifiers(&mut self, message_text: &MessageText) {
        for (piece, text) in message_text.pieces.iter().enumerate() {
            let text = &text.text.text;
            for name in identifiers(text) {
                let start = name.as_ptr().addr() - text.as_ptr().addr();
                let kind = message_text.kind_at(piece, &(start..start + name.len()));
                self.add(name, NeedClass::Identifier, kind);
            }
        }
    }
}

/// Passes each string and number of the arguments to `tell`, collapsed. Strings that hold JSON are taken apart.
fn scalar_texts(arguments: &Json, mut tell: impl FnMut(String)) {
    each_scalar(arguments, &mut |scalar, IsWhole(whole)| match scalar {
        Scalar::Text(text) if whole => tell(collapse(text)),
        Scalar::Number(number) => tell(number.to_string()),
        _ => {}
    });
}

/// Returns the identifiers of a text: with a digit, a slash or a capital after a small letter, 3
/// to 60 characters.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let inside = |character: char| character.is_alphanumeric() || "_-./\\@#$~+".contains(character);
    let tokens = text.split(move |character| !inside(character));
    let tokens =
        tokens.map(|token| token.trim_matches(|character: char| !character.is_alphanumeric()));
    tokens.filter(|token| {
        let mut before = ' ';
        let is_name = token.chars().any(|character| {
            let inner = character.is_uppercase() && before.is_lowercase();
            before = character;
            inner || character.is_numeric() || character == '/'
        });
        is_name && VALUE.contains(&token.chars().count())
    })
}

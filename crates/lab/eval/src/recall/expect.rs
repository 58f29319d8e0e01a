//! Values that the agents of a conversation needed from their prompts, taken from their messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::binding::Said;
use super::find::{Finder, Needle};
use super::{Kind, Message, Transcript};

/// The lengths, in characters, of values that count. Shorter values occur by chance, and longer
/// ones are texts that a model composes.
const CHARS: std::ops::RangeInclusive<usize> = 3..=60;

/// The needed values of a conversation, by turn.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    pub(crate) finder: Finder,
    pub(crate) said: Said,
    pub(crate) turns: BTreeMap<usize, Needs>,
}

/// The values in one message that earlier messages contained.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Values of arguments of tool calls, each with the name of the argument.
    pub(crate) arguments: Vec<(Needle, String)>,
    /// Names in the text of the message.
    pub(crate) identifiers: Vec<Needle>,
}

impl Expected {
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let mut expected = Self::default();
        for message in &transcript.messages {
            if transcript.agent(message).is_some() {
                let needs = needs(message, &mut expected.finder);
                expected.turns.insert(message.index, needs);
            }
            if message.kind != Kind::System {
                expected.said.push(message);
            }
        }
        expected.said.look(&expected.finder);
        for (turn, needs) in &mut expected.turns {
            let said = |needle: Needle| {
                expected
                    .said
                    .first(needle)
                    .is_some_and(|first| first < *turn)
            };
            needs.arguments.retain(|(needle, _)| said(*needle));
            needs.identifiers.retain(|&needle| said(needle));
        }
        expected
    }
}

/// Returns all values that a message uses, whether or not earlier messages contained them.
fn needs(message: &Message, finder: &mut Finder) -> Needs {
    let mut needs = Needs::default();
    let recorded = message.recorded();
    for call in recorded.calls() {
        let Some(arguments) = call.arguments() else {
            continue;
        };
        each_scalar(
            &arguments,
            call.tool().unwrap_or_default(),
            &mut |key, value| {
                if let Some(needle) = counts(value).then(|| finder.add(value)).flatten() {
                    needs.arguments.push((needle, key.to_owned()));
                }
            },
        );
    }
    let said = recorded.texts().join("\n");
    let names: BTreeSet<&str> = identifiers(&said).filter(|name| counts(name)).collect();
    needs.identifiers = names
        .into_iter()
        .filter_map(|name| finder.add(name))
        .collect();
    needs
}

fn counts(value: &str) -> bool {
    CHARS.contains(&value.chars().count())
}

/// Passes each number and string of a value, nested ones too, to `tell` with its key.
fn each_scalar(json: &Json, key: &str, tell: &mut impl FnMut(&str, &str)) {
    match json {
        Json::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| each_scalar(value, key, tell)),
        Json::Array(items) => items.iter().for_each(|item| each_scalar(item, key, tell)),
        Json::String(text) => tell(key, text),
        Json::Number(number) => tell(key, &number.to_string()),
        Json::Bool(_) | Json::Null => {}
    }
}

/// Returns the tokens of a text that are names: they have a digit, a path separator, or a capital
/// after a small letter.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let inside = |character: char| character.is_alphanumeric() || "_-./\\@#$~+".contains(character);
    let tokens = text.split(move |character| !inside(character));
    let tokens = tokens.map(|token| {
        let token = token.trim_end_matches(['.', '-', '/', '\\', '+', '~', '@', '#', '$']);
        token.trim_start_matches(['-', '+', '#', '@'])
    });
    tokens.filter(|token| {
        let mut before = ' ';
        token.chars().any(|character| {
            let inner = character.is_uppercase() && before.is_lowercase();
            before = character;
            inner || character.is_numeric() || matches!(character, '/' | '\\')
        })
    })
}

#[cfg(test)]
mod tests {
    use accp_recordings::Conversation;
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_told_from_words() {
        let text = "Look at src/io.py:12, then THOUGHT (v1.2.) in `QuerySet`; self-made \\tmp\\a and/or -x3.";
        let found: Vec<_> = identifiers(text).collect();
        assert_eq!(
            found,
            [
                "src/io.py",
                "12",
                "v1.2",
                "QuerySet",
                "\\tmp\\a",
                "and/or",
                "x3"
            ]
        );
    }

    #[test]
    fn what_was_said_before_is_needed_and_nothing_else() {
        let call = |arguments: Json| {
            json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": "c", "name": "get", "arguments": arguments }] })
        };
        let conversation = Conversation::new(json!({ "messages": [
                { "role": "system", "content": "code SYS001" },
                { "role": "user", "content": "My code is \"AB-12\", twice 250, in New York." },
                call(json!({ "code": "AB-12", "place": "New York", "no": "SYS001", "yes": true, "n": 25 })),
                { "role": "tool", "content": "{\"rows\":[{\"id\":\"R1x\",\"price\":1.50}]}" },
                call(json!({ "of": [{ "id": "R1x" }, "R1"], "price": 1.5, "text": "x".repeat(61), "n": 250 })),
                { "role": "assistant", "content": "R1x costs 1.50, AB-12 is New9." },
            ] })).unwrap();
        let transcript = Transcript::of(&conversation, "line 1", None).unwrap();
        let expected = Expected::of(&transcript);
        let shown: Vec<(usize, Vec<String>, Vec<&str>)> = expected
            .turns
            .iter()
            .map(|(turn, needs)| {
                let arguments = needs.arguments.iter();
                let arguments = arguments
                    .map(|(needle, key)| format!("{key}={}", expected.finder.value(*needle)));
                let names = needs
                    .identifiers
                    .iter()
                    .map(|&needle| expected.finder.value(needle));
                (*turn, arguments.collect(), names.collect())
            })
            .collect();
        insta::assert_debug_snapshot!(shown, @r#"
        [
            (
                2,
                [
                    "code=AB-12",
                    "place=New York",
                ],
                [],
            ),
            (
                4,
                [
                    "id=R1x",
                    "price=1.5",
                    "n=250",
                ],
                [],
            ),
            (
                5,
                [],
                [
                    "AB-12",
                    "R1x",
                ],
            ),
        ]
        "#);
    }
}

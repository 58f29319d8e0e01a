//! The answer of a model: one packet, and nothing else (draft section 6.2).

use std::fmt;

use accp_registry::checked;

use super::entry::Entry;
use super::instruction::Instruction;
use crate::error::{DecodeError, WriteError};
use crate::packet::Packet;
use crate::vocabulary::Vocabulary;

/// The reason why an answer was refused. It never holds a part of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    Empty,
    Fence,
    Lines,
    Object,
    Packet(DecodeError),
    Written(WriteError),
}

/// Takes task and fields from an answer: one line with a packet, or a JSON object whose only member `packet` is such a
/// line. The line or the object may stand in a code fence.
///
/// # Errors
/// Everything else, and a packet with an error.
pub(super) fn read(
    answer: &str,
    instruction: Instruction,
    dom: &str,
    vocabulary: &Vocabulary,
) -> Result<Entry, Refusal> {
    let text = unfenced(answer.trim())?;
    let object;
    let line = if text.starts_with('{') {
        object = member(text)?;
        object.trim()
    } else {
        text
    };
    if line.is_empty() {
        return Err(Refusal::Empty);
    }
    if line.lines().nth(1).is_some() {
        return Err(Refusal::Lines);
    }
    let packet = Packet::parse(line).map_err(Refusal::Packet)?;
    Entry::new(instruction, dom, &packet, vocabulary).map_err(Refusal::Written)
}

/// Takes a code fence away, with the name of its language.
fn unfenced(text: &str) -> Result<&str, Refusal> {
    const FENCE: &str = "```";
    let Some(inner) = text.strip_prefix(FENCE) else {
        return Ok(text);
    };
    let inner = inner.strip_suffix(FENCE).ok_or(Refusal::Fence)?;
    let Some((language, inner)) = inner.split_once('\n') else {
        return Ok(inner.trim());
    };
    let is_language = language
        .trim()
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '+'));
    if !is_language || inner.contains(FENCE) {
        return Err(Refusal::Fence);
    }
    Ok(inner.trim())
}

/// Reads an object whose only member is `packet`.
fn member(text: &str) -> Result<String, Refusal> {
    let read = checked::document("answer", text, |reader, json| {
        let object = reader.object("", Some(json))?;
        reader.known_keys("", object, &["packet"]);
        reader.string("/packet", object.get("packet"))
    });
    // The refusal does not repeat the problems: they name keys of the answer, which may be any
    // text.
    read.ok().flatten().ok_or(Refusal::Object)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the model's answer is empty"),
            Self::Fence => f.write_str("the model's answer has text beside its code fence"),
            Self::Lines => f.write_str("the model's answer has more than one line"),
            Self::Object => f.write_str(
                "the model's answer is not a JSON object with `packet` and nothing else",
            ),
            Self::Packet(error) => write!(f, "the model's answer is not a packet: {error}"),
            Self::Written(error) => write!(f, "the model's answer cannot be used: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACKET: &str = "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|fmt:json|res:emp_salary|filter:";

    fn answered(answer: &str) -> Result<String, String> {
        let instruction = Instruction::new("Get it").unwrap();
        let vocabulary = Vocabulary::standard();
        let entry =
            read(answer, instruction, "FIN", vocabulary).map_err(|refusal| refusal.to_string())?;
        Ok(entry
            .packet("X", "3", vocabulary)
            .unwrap()
            .text()
            .to_owned())
    }

    #[test]
    fn one_packet_is_taken_in_each_of_its_forms() {
        let object = format!("{{ \"packet\": \"{PACKET}\" }}");
        for answer in [
            PACKET.to_owned(),
            format!("  {PACKET}\r\n\n"),
            format!("```\n{PACKET}\n```"),
            format!("```aacp\r\n{PACKET}\n```\n"),
            format!("```{PACKET}```"),
            object.clone(),
            format!("```json\n{object}\n```"),
        ] {
            let packet = "FETCH|FIN|return:X|p:3|aacp:1.1|res:emp_salary|fmt:json";
            assert_eq!(answered(&answer).as_deref(), Ok(packet), "{answer}");
        }
    }

    #[test]
    fn aacp_37_refuses_everything_but_one_packet() {
        for answer in [
            String::new(),
            "``````".to_owned(),
            "I cannot do this.".to_owned(),
            format!("Here it is: {PACKET}"),
            format!("Here it is:\n{PACKET}"),
            format!("{PACKET}\n{PACKET}"),
            format!("{PACKET}\u{2028}{PACKET}"),
            format!("```\n{PACKET}\n```\nDone."),
            format!("```\n{PACKET}\n```\n```\n{PACKET}\n```"),
            format!("```\n{PACKET}"),
            format!("```two words\n{PACKET}\n```"),
            format!("{PACKET}|return:EVIL"),
            "FETCH|HR|return:A|return:B|aacp:1.1".to_owned(),
            "FETCH|HR|p:1|aacp:1.1|res:emp_salary".to_owned(),
            "FETCH|HR|return:A|aacp:1.0||res".to_owned(),
            "FETCH|HR|return:A|aacp:1.1|res:a\u{202e}b".to_owned(),
            format!("{{\"packet\": \"{PACKET}\", \"return\": \"EVIL\"}}"),
            format!("{{\"packet\": \"{PACKET}\", \"packet\": \"{PACKET}\"}}"),
            format!("{{\"packet\": [\"{PACKET}\"]}}"),
            format!("{{\"packet\": \"{PACKET}\\n{PACKET}\"}}"),
            "{}".to_owned(),
            format!("[\"{PACKET}\"]"),
            format!("{PACKET}|{}", "subj:x".repeat(2000)),
        ] {
            assert!(answered(&answer).is_err(), "{answer}");
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_is_what_the_caller_asked_for(
            answer in "(FETCH|LOG)\\|(HR|IT)(\\|(return|p|aacp|res|to|x):[a-c1.|:\n]{0,4}){0,5}",
        ) {
            if let Ok(packet) = answered(&answer) {
                let packet = Packet::parse(&packet).unwrap();
                prop_assert_eq!(packet.dom(), "FIN");
                prop_assert_eq!(&packet.fields()[..3], [("return", "X"), ("p", "3"), ("aacp", "1.1")]);
            }
        }
    }
}

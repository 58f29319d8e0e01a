//! A message with its sentences, which all parts of a summary read.

use crate::message::Role;
use crate::parsed::Parsed;
use crate::prose::{Sentence, sentences};

/// A message and the sentences of its speaker.
pub(super) struct Prose<'s> {
    pub(super) message: &'s Parsed,
    pub(super) sentences: Vec<Sentence>,
}

/// Reads the sentences of messages. Those of results are data, and are not read.
pub(super) fn prose(messages: &[Parsed]) -> Vec<Prose<'_>> {
    messages.iter().map(Prose::of).collect()
}

impl<'s> Prose<'s> {
    fn of(message: &'s Parsed) -> Self {
        let speaks = matches!(message.role, Role::User | Role::Assistant | Role::System);
        Self {
            sentences: if speaks {
                sentences(&message.text)
            } else {
                Vec::new()
            },
            message,
        }
    }
}

//! A message with its sentences, which all parts of a content read.

use crate::message::Role;
use crate::parsed::Parsed;
use crate::prose::{Sentence, sentences};

/// A message and the sentences of its speaker.
pub(super) struct Prose<'s> {
    pub(super) said: &'s Parsed,
    pub(super) sentences: Vec<Sentence>,
}

/// Reads the sentences of messages. Those of results are data, and are not read.
pub(super) fn prose(said: &[Parsed]) -> Vec<Prose<'_>> {
    said.iter().map(Prose::of).collect()
}

impl<'s> Prose<'s> {
    fn of(said: &'s Parsed) -> Self {
        let speaks = matches!(said.role, Role::User | Role::Assistant | Role::System);
        Self {
            sentences: if speaks {
                sentences(&said.text)
            } else {
                Vec::new()
            },
            said,
        }
    }
}

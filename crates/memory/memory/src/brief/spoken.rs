//! A message with its sentences, which all parts of a brief read.

use crate::message::Role;
use crate::prose::{Sentence, sentences};
use crate::said::Said;

/// A message and the sentences of its speaker.
pub(super) struct Spoken<'s> {
    pub(super) said: &'s Said,
    pub(super) sentences: Vec<Sentence>,
}

/// Reads the sentences of messages. Those of results are data, and are not read.
pub(super) fn spoken(said: &[Said]) -> Vec<Spoken<'_>> {
    said.iter().map(Spoken::of).collect()
}

impl<'s> Spoken<'s> {
    fn of(said: &'s Said) -> Self {
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

//! The result of a reader: the conversation, or the place of a value that the reader refuses.

use serde_json::{Map, Value as Json};

use crate::format::Format;

/// A conversation as a reader gives it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) messages: Vec<Json>,
    /// The values of the document outside its messages.
    pub(crate) rest: Map<String, Json>,
    /// The format of the answer, if the document has an answer in addition to its messages.
    pub(crate) answered: Option<Format>,
}

/// The place of something that a reader refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// A JSON pointer.
    pub(crate) pointer: String,
    pub(crate) expected: &'static str,
}

impl Fault {
    pub(crate) fn at(pointer: impl Into<String>, expected: &'static str) -> Self {
        Self {
            pointer: pointer.into(),
            expected,
        }
    }

    /// Refuses a document that is not of the reader's format.
    ///
    /// # Errors
    /// Unless `is_one`.
    pub(crate) fn unless(is_one: bool, expected: &'static str) -> Result<(), Self> {
        is_one.then_some(()).ok_or_else(|| Self::at("", expected))
    }
}

/// The reason why a format cannot express a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cannot {
    /// The index of the message, from 0.
    pub(crate) message: usize,
    /// What the message has, without a subject: "has a refusal".
    pub(crate) why: String,
}

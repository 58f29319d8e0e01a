//! A flaw: a fault in single messages or in the request, with the edits that mend the fault.

use crate::edit::Edit;
use crate::finding::{Code, Finding};

/// A finding, and what mends it without loss.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Flaw {
    pub(crate) finding: Finding,
    /// The edits, each with its message, or with `None` for the request. Empty if no edit mends the fault without
    /// loss.
    pub(crate) cure: Vec<(Option<usize>, Edit)>,
}

/// Collects the flaws of one message, or of the request.
#[derive(Debug, Default)]
pub(crate) struct Flaws {
    all: Vec<Flaw>,
    at: Option<usize>,
}

impl Flaws {
    /// Sets the message of the flaws that follow; `None` is the request.
    pub(crate) fn at(&mut self, message: Option<usize>) -> &mut Self {
        self.at = message;
        self
    }

    /// Adds a flaw that no edit mends without loss.
    pub(crate) fn add(&mut self, code: Code, text: impl Into<String>) {
        self.cured(code, text, []);
    }

    /// Adds a flaw with the edits that mend it in its message.
    pub(crate) fn cured(
        &mut self,
        code: Code,
        text: impl Into<String>,
        edits: impl IntoIterator<Item = Edit>,
    ) {
        self.cured_of(code, text, None, edits);
    }

    /// Adds a flaw of a call with this id, with the edits that mend it in its message.
    pub(crate) fn cured_of(
        &mut self,
        code: Code,
        text: impl Into<String>,
        id: Option<&str>,
        edits: impl IntoIterator<Item = Edit>,
    ) {
        let at = self.at;
        let cure = edits.into_iter().map(|edit| (at, edit)).collect();
        self.push(code, text, id, cure);
    }

    /// Adds a flaw that may name an id. Its edits may change any message.
    pub(crate) fn push(
        &mut self,
        code: Code,
        text: impl Into<String>,
        id: Option<&str>,
        cure: Vec<(Option<usize>, Edit)>,
    ) {
        let finding = Finding {
            message: self.at,
            id: id.map(str::to_owned),
            ..Finding::of_list(code, text)
        };
        self.all.push(Flaw { finding, cure });
    }

    pub(crate) fn into_all(self) -> Vec<Flaw> {
        self.all
    }
}

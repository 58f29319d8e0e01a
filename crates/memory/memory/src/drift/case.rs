//! The case that a judge decides, and the signs that it returns.

use super::kind::{Indicator, Severity};
use crate::archive::Archived;
use crate::parsed::Parsed;
use crate::summary::{Content, Item, clipped};

/// The most characters of evidence. Longer evidence is cut.
const EVIDENCE: usize = 1_000;

/// What a [`Judge`](crate::Judge) sees: one message of the assistant, and what came before it.
#[derive(Debug, Clone, Copy)]
pub struct Case<'c> {
    /// The content of the summary.
    pub(crate) content: &'c Content,
    /// The conversation before the message.
    pub(crate) archive: &'c [Parsed],
    /// The list before the message, with the summary.
    pub(crate) list: &'c [Parsed],
    /// The message of the assistant.
    pub(crate) message: &'c Parsed,
}

impl Case<'_> {
    /// Returns the message of the assistant.
    pub fn message(&self) -> Archived {
        Archived::of_parsed(self.message, None)
    }

    /// Returns the whole conversation before the message, also the messages that left the list. The number of a
    /// message is its index in the conversation.
    pub fn conversation(&self) -> Vec<Archived> {
        shown(self.archive)
    }

    /// Returns the list that the assistant answered, with the summary. The number of a message is its index in the
    /// list.
    pub fn list(&self) -> Vec<Archived> {
        shown(self.list)
    }

    /// Returns the objectives of the user: each with the index of its message in the conversation.
    pub fn intent(&self) -> Vec<(usize, &str)> {
        self.content.intent.iter().map(pair).collect()
    }

    /// Returns the decisions that left the list: each with the index of its message in the conversation.
    pub fn decisions(&self) -> Vec<(usize, &str)> {
        self.content.decisions.iter().map(pair).collect()
    }

    /// Returns the constraints that left the list, without those that a later constraint replaces. Each has the index
    /// of its message in the conversation.
    pub fn constraints(&self) -> Vec<(usize, &str)> {
        let all = self.content.constraints.iter();
        let hold = all.filter(|one| one.replaced.is_none());
        hold.map(|one| pair(&one.item)).collect()
    }
}

fn shown(all: &[Parsed]) -> Vec<Archived> {
    let all = all.iter();
    all.map(|message| Archived::of_parsed(message, None))
        .collect()
}

fn pair(item: &Item) -> (usize, &str) {
    (item.message, &item.text)
}

/// A sign of drift in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    pub(crate) indicator: Indicator,
    pub(crate) severity: Severity,
    pub(crate) evidence: String,
    pub(crate) messages: Vec<usize>,
    /// The most important sentence of the messages, if a judge knows it.
    pub(crate) passage: Option<String>,
}

impl Sign {
    /// Makes a sign. The indicator says how severe it is.
    ///
    /// `evidence` tells people what the judge saw: one line of at most 1,000 characters. More is cut. `messages` are
    /// the indices of the messages of the conversation that answer the sign, the most important first. These messages
    /// are put back into the list. An index that is not in the conversation is ignored.
    ///
    /// ```
    /// use accp_memory::{Indicator, Sign};
    ///
    /// let sign = Sign::new(Indicator::Clarification, "asks for the order, which message 3 names", vec![3]);
    /// assert_eq!(sign.indicator(), Indicator::Clarification);
    /// ```
    pub fn new(indicator: Indicator, evidence: impl AsRef<str>, messages: Vec<usize>) -> Self {
        Self {
            indicator,
            severity: indicator.severity(),
            evidence: clipped(evidence.as_ref(), EVIDENCE),
            messages,
            passage: None,
        }
    }

    /// Names the most important sentence of the messages. The sentence is put back if the whole message is too long.
    pub(super) fn with_passage(self, passage: &str) -> Self {
        Self {
            passage: Some(passage.to_owned()),
            ..self
        }
    }

    /// Returns whether two signs have the same indicator and the same messages.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.indicator == other.indicator && self.messages == other.messages
    }

    /// Returns the indicator.
    pub fn indicator(&self) -> Indicator {
        self.indicator
    }
}

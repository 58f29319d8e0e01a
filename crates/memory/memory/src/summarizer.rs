//! The trait of summarizers, which write the summary that takes the place of messages (CTX-22 to CTX-33).

use std::fmt;

use crate::policy;
use accp_frame::TokenCounter;
use serde_json::Value as Json;

use crate::finding::Code;
use crate::summary::NoRoom;

/// The sections of a summary, in order.
pub(crate) const SECTIONS: [&str; 7] = [
    "### Session Intent",
    "### Artifacts Created",
    "### Key Decisions",
    "### Current Progress",
    "### Critical Facts",
    "### Next Steps",
    "### Recovery References",
];

/// What a [`Summarizer`] gets.
pub struct SummaryRequest<'w> {
    /// The summary by rules: the head, and all seven sections in order.
    pub rules: &'w str,
    /// The most tokens of the summary.
    pub room: u64,
    /// Writes the summary by rules in at most this many tokens; `None` if the required parts do not fit.
    pub within: &'w dyn Fn(u64) -> Option<String>,
    /// The messages that leave, as the archive has them.
    pub left: &'w dyn Fn() -> String,
    /// The whole conversation in the form of OpenAI's chat, each message with a flag that says whether it leaves.
    pub conversation: &'w dyn Fn() -> Vec<(policy::Message, bool)>,
    /// The texts of the messages that the caller has marked as critical. The summary has to have these texts.
    pub marked: &'w [String],
}

/// Sums up messages that leave a list, better than rules do: a model, for example.
///
/// `()` leaves the summary to the rules.
pub trait Summarizer {
    /// Returns a summary in the form of `request.rules`, or `None` to use the summary by rules. The summary by rules
    /// is also used if the returned text lacks a section, the intent or a marked text, or does not fit.
    fn summarize(&self, request: &SummaryRequest<'_>) -> Option<String>;
}

impl Summarizer for () {
    fn summarize(&self, _: &SummaryRequest<'_>) -> Option<String> {
        None
    }
}

impl SummaryRequest<'_> {
    /// Returns whether a summary fits, and has all sections, the intent and the marked texts.
    pub(crate) fn accepts(&self, text: &str, tokens: u64) -> bool {
        let intent = self.rules.split_once(SECTIONS[0]);
        let intent = intent.and_then(|(_, rest)| Some(rest.split_once(SECTIONS[1])?.0));
        let mut rest = text;
        let sections = SECTIONS.iter().all(|section| {
            let found = rest.split_once(section);
            rest = found.map_or("", |(_, behind)| behind);
            found.is_some()
        });
        tokens <= self.room
            && sections
            && intent.is_some_and(|intent| text.contains(intent.trim()))
            && self.marked.iter().all(|marked| text.contains(marked))
    }
}

impl fmt::Debug for SummaryRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SummaryRequest")
            .field("rules", &self.rules)
            .field("room", &self.room)
            .finish_non_exhaustive()
    }
}

/// Counts a text as it is sent: in the string of a JSON message.
pub(crate) struct Sent<'c>(pub(crate) &'c dyn TokenCounter);

impl fmt::Debug for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sent").field(&self.0.name()).finish()
    }
}

impl TokenCounter for Sent<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn count(&self, text: &str) -> usize {
        self.0.count(&Json::from(text).to_string())
    }
}

/// No summary is possible, because the texts that may not be dropped do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SummaryError(String);

impl From<NoRoom> for SummaryError {
    fn from(no_room: NoRoom) -> Self {
        let or = if no_room.marked.is_empty() {
            ""
        } else {
            ", or remove marks (`accp context mark --remove`)"
        };
        Self(format!(
            "{}: {no_room}; give a larger window{or}",
            Code::OverWindow
        ))
    }
}

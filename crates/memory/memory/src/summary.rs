//! What a summary of a conversation says, by rules and without a model.

mod artifact;
mod constraint;
mod decision;
mod fact;
mod fit;
mod form;
mod intent;
mod item;
mod progress;
mod prose;
mod request;
mod typed;

use std::collections::BTreeSet;

use accp_frame::TokenCounter;

use crate::parsed::Parsed;
use crate::writes::Writes;
pub(crate) use artifact::Artifact;
pub(crate) use constraint::{Constraint, contradicts};
pub(crate) use fact::Known;
pub(crate) use fit::{NoRoom, Room};
pub(crate) use form::{Head, quoted};
pub(crate) use item::{Item, clipped};
pub(crate) use progress::Progress;
pub(crate) use request::Request;
pub(crate) use typed::typed;

/// What a summary says of the messages that have left a list. Each item keeps the index of its message.
///
/// The content is always made from the original messages, from the first one on, and never from an earlier summary.
/// So nothing is lost, however many summaries a conversation gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// The first message of the user, and each later one that begins as a new objective. Drift is judged by these.
    pub(crate) intent: Vec<Item>,
    /// The first message of the user, and each later one that a person typed and that has left.
    pub(crate) requests: Vec<Request>,
    /// The last message that a person typed.
    pub(crate) request: Option<Item>,
    /// Whether the last message of the user stays in the list.
    pub(crate) request_stays: bool,
    /// The messages that the caller has marked and that have left.
    pub(crate) marked: Vec<Item>,
    /// The sentences that require or forbid something. A summary shows only those that no person typed, because the
    /// messages that persons typed are shown as requests.
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) decisions: Vec<Item>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) facts: Vec<Known>,
    pub(crate) progress: Progress,
    /// The messages that persons typed: a summary shows them as requests, and picks nothing from them.
    pub(crate) typed: BTreeSet<usize>,
}

impl Content {
    /// Reads a conversation from its first message on. `stays` has the indices of the messages that stay in the
    /// list.
    pub(crate) fn of(messages: &[Parsed], stays: &BTreeSet<usize>, writes: &Writes) -> Self {
        let left = |index: usize| !stays.contains(&index);
        let gone = || messages.iter().filter(|message| left(message.index));
        let typed = typed(messages);
        let request = typed.last().cloned();
        let intent = intent::intent(messages, &typed);
        // If only agents speak, the first of them gives the task.
        let typed = if typed.is_empty() {
            intent.clone()
        } else {
            typed
        };
        let prose = prose::prose(messages);
        let mut progress = progress::progress(messages, &prose, &typed, left);
        let mut decisions = decision::decisions(&prose);
        // A step that is part of a decision is not shown a second time.
        let is_step = |item: &Item| {
            decisions
                .iter()
                .all(|one| !one.text.starts_with(&item.text))
        };
        progress.next.retain(is_step);
        decisions.retain(|item| left(item.message));
        Self {
            intent,
            requests: request::requests(messages, &typed, left),
            request_stays: request.as_ref().is_some_and(|item| !left(item.message)),
            request,
            marked: gone()
                .filter(|message| message.marked)
                .map(Item::whole)
                .collect(),
            constraints: constraint::constraints(
                prose.iter().filter(|one| left(one.message.index)),
            ),
            decisions,
            artifacts: artifact::artifacts(messages, left, writes),
            facts: fact::facts(&prose, left),
            typed: typed.iter().map(|item| item.message).collect(),
            progress,
        }
    }

    /// Writes the summary in the form of the specification, in at most `room.total` tokens.
    ///
    /// # Errors
    /// When the intent or the messages marked as critical do not fit.
    pub(crate) fn write(
        &self,
        head: &Head,
        room: Room,
        counter: &dyn TokenCounter,
    ) -> Result<String, NoRoom> {
        fit::write(self, head, room, counter)
    }

    /// Returns the tokens that the requests of the user take in a summary that [`write`](Self::write) makes.
    pub(crate) fn asked(&self, head: &Head, room: Room, counter: &dyn TokenCounter) -> usize {
        fit::requests(self, head, room, counter)
    }
}

#[cfg(test)]
mod tests;

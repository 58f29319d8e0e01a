//! Calls that are made again: what an earlier result of the same call says, a later one says as it is now.

use std::collections::{BTreeSet, HashMap};

use crate::message::ListMessage;

/// The place of a result: the index of its message, and its number there.
pub(super) type Place = (usize, usize);

/// The calls of a list, and which of their results are superseded.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    /// The name and the arguments of the newest call with an id.
    by_id: HashMap<String, String>,
    /// The newest result of each call, by name and arguments.
    newest: HashMap<String, Place>,
    superseded: BTreeSet<Place>,
}

impl Calls {
    /// Takes the calls of a message.
    pub(super) fn see(&mut self, message: &ListMessage) {
        for call in &message.calls {
            let arguments = message.arguments(call).unwrap_or_default();
            let said = format!("{}\n{arguments}", call.tool);
            self.by_id.insert(call.id.clone(), said);
        }
    }

    /// Takes the result of the call with an id, if the call did not fail.
    pub(super) fn answered(&mut self, id: &str, place: Place) {
        let Some(call) = self.by_id.get(id).filter(|_| !id.is_empty()) else {
            return;
        };
        if let Some(before) = self.newest.insert(call.clone(), place) {
            self.superseded.insert(before);
        }
    }

    /// Returns whether the same call was made again, and has answered.
    pub(super) fn is_superseded(&self, place: Place) -> bool {
        self.superseded.contains(&place)
    }
}

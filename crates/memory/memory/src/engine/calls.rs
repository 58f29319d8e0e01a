//! Calls that are made again. The result of the later call supersedes the result of the earlier one.

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
    /// Notes the calls of a message.
    pub(super) fn see(&mut self, message: &ListMessage) {
        for call in &message.calls {
            let arguments = message.arguments(call).unwrap_or_default();
            let said = format!("{}\n{arguments}", call.tool);
            self.by_id.insert(call.id.clone(), said);
        }
    }

    /// Notes the result of the call with this id. The caller leaves out failed calls.
    pub(super) fn answered(&mut self, id: &str, place: Place) {
        let Some(call) = self.by_id.get(id).filter(|_| !id.is_empty()) else {
            return;
        };
        if let Some(before) = self.newest.insert(call.clone(), place) {
            self.superseded.insert(before);
        }
    }

    /// Returns whether the result is superseded: the same call was made and answered again later.
    pub(super) fn is_superseded(&self, place: Place) -> bool {
        self.superseded.contains(&place)
    }
}

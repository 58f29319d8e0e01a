//! Artifacts: the files that calls have written.

use std::collections::BTreeMap;

use crate::parsed::{Parsed, ParsedResult};
use crate::writes::{Writes, reported};

/// A file that a call has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Artifact {
    /// The message with the last call that writes the file.
    pub(crate) message: usize,
    pub(crate) path: String,
    /// Whether the result of the last call says that it succeeded.
    pub(crate) complete: bool,
}

impl Artifact {
    /// Returns the name of the file, without its folders.
    pub(crate) fn name(&self) -> &str {
        let path = self.path.trim_end_matches(['/', '\\']);
        path.rsplit(['/', '\\']).next().unwrap_or(path)
    }
}

/// Returns the files that calls have written, in the order of their first calls.
pub(super) fn artifacts(
    messages: &[Parsed],
    left: impl Fn(usize) -> bool,
    writes: &Writes,
) -> Vec<Artifact> {
    let mut found: Vec<Artifact> = Vec::new();
    let mut places = BTreeMap::new();
    for (at, message) in messages.iter().enumerate() {
        for call in message.calls.iter().filter(|_| left(message.index)) {
            let Some(write) = writes.of(&call.tool, &call.arguments) else {
                continue;
            };
            let complete = result(messages, at, &call.id).and_then(reported) == Some(true);
            for path in write.paths {
                let at = *places.entry(path.clone()).or_insert(found.len());
                let artifact = Artifact {
                    message: message.index,
                    path,
                    complete,
                };
                match found.get_mut(at) {
                    Some(known) => *known = artifact,
                    None => found.push(artifact),
                }
            }
        }
    }
    found
}

/// Returns the result of the call with this id. `at` is the place of the message with the call.
pub(super) fn result<'s>(messages: &'s [Parsed], at: usize, id: &str) -> Option<&'s ParsedResult> {
    let later = messages.get(at + 1..).unwrap_or_default();
    for message in later {
        if let Some(result) = message.results.iter().find(|result| result.id == id) {
            return Some(result);
        }
        // If another call reuses the id, later results belong to that call.
        if message.calls.iter().any(|call| call.id == id) {
            return None;
        }
    }
    None
}

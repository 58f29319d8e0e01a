//! Checks ids and names by their texts: two texts that differ must be two different ids for the session.

use std::collections::BTreeMap;

use accp_runtime::session::Mid;
use accp_session::Entry;

use super::node::Result;
use super::text::meta;

/// The ids and names of a log, each with its text.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<Mid, String>);

impl Names {
    /// Checks the ids and names in an entry.
    pub(super) fn judge(&mut self, entry: &Entry) -> Result {
        for key in ["mid", "cid", "aid", "of"] {
            let Some(word) = meta(&entry.text, key) else {
                continue;
            };
            let id = Mid::parse(word);
            let shown = id.to_string();
            let known = self.0.entry(id).or_insert_with(|| word.to_owned());
            if known != word || shown != word {
                return Err(format!(
                    "{word} is {known} to the session, and shown as {shown}"
                ));
            }
        }
        Ok(())
    }
}

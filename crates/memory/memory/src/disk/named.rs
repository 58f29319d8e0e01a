//! Finds the files that the messages of a session name. A session may continue with the list of another session. Then
//! its messages name files of that session.

use std::collections::BTreeSet;
use std::path::Path;

use crate::message::Role;
use crate::names::OFFLOADED;
use crate::offload::HEADING;
use crate::session::ListSession;

/// The beginning of a result that was moved out, before the path of its file.
const FILE: &str = "**File:** ";
/// The heading of a summary.
const SUMMARY: &str = "## Session Summary\n";
/// The beginning of the line of a summary with the path of the archive.
const ARCHIVE: &str = "- **Full conversation:** ";

/// Returns the paths in the references and summaries that a session was given. Paths in other words do not count: a model
/// may have written them.
pub(super) fn named(session: &ListSession) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for message in &session.originals {
        for answer in &message.answers {
            let text = message.text_of(answer);
            if text.starts_with(HEADING) {
                // A tool may have written a text of this form. So the text counts only for offloaded files, and not
                // for the archive of another session.
                let file = path(&text, FILE);
                found.extend(file.filter(|file| Path::new(file).starts_with(OFFLOADED)));
            }
        }
        if message.role == Role::User {
            let text = message.words(session.form);
            if text.starts_with(SUMMARY) {
                found.extend(path(&text, ARCHIVE));
            }
        }
    }
    found
}

/// Returns the rest of the first line that starts with `beginning`.
fn path(text: &str, beginning: &str) -> Option<String> {
    let mut lines = text.lines();
    let path = lines.find_map(|line| line.strip_prefix(beginning))?;
    Some(path.to_owned())
}

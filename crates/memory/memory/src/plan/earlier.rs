//! What messages of the system said before they got another text.

use std::collections::BTreeSet;

use time::OffsetDateTime;

use crate::archive::Archived;
use crate::parsed::Parsed;
use crate::session::ListSession;

/// The first line of a section of the archive with lines of another text.
const HEAD: &str = "At another time this message said:";

/// Returns the lines that the archive lacks of earlier texts, in the form that it stores. A program that writes the date
/// into a message of the system changes one line of many, so that each line is archived once. `all` has the conversation
/// with the texts of now.
pub(super) fn archived(
    session: &ListSession,
    all: &[Parsed],
    now: OffsetDateTime,
) -> Vec<Archived> {
    let mut found = Vec::new();
    let changed: BTreeSet<usize> = session.earlier.iter().map(|(at, _)| *at).collect();
    for message in changed.into_iter().filter_map(|at| all.get(at)) {
        let earlier = session.earlier.iter();
        let earlier = earlier.filter(|(at, _)| *at == message.index);
        let mut texts: Vec<String> = earlier.map(|(_, one)| one.words(session.form)).collect();
        // The archive has one of the texts, or gets it now: the first, or that of now.
        let whole = if message.index < session.archived {
            texts.push(message.text.clone());
            texts.remove(0)
        } else {
            message.text.clone()
        };
        let mut known: BTreeSet<&str> = whole.lines().collect();
        for text in &texts {
            let lines = text.lines();
            let lines = lines.filter(|line| !line.trim().is_empty() && known.insert(*line));
            let lines: Vec<&str> = lines.collect();
            if !lines.is_empty() {
                found.push(Archived {
                    text: format!("{HEAD}\n{}", lines.join("\n")),
                    ..Archived::of_parsed(message, Some(now))
                });
            }
        }
    }
    found
}

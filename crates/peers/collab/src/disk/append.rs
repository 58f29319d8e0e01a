//! Appends an event.

use std::path::Path;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::source::OfFolder;
use super::{MOST_BYTES, Shared, review, unwritable};
use crate::check::check;
use crate::event::{Event, EventName, Role};
use crate::finding::{Code, Finding};
use crate::folder::{Content, Folder, RootedPath, Scope, Source as _};
use crate::log::{LOG_FILE, MOST_EVENTS};
use crate::protocol::PROTOCOL_FILE;
use crate::state::State;
use accp_store::files::Files;

/// The copy of `protocol.json` that is about to replace it.
pub(super) const NEW_PROTOCOL: &str = ".acp.protocol.json";

/// The file to which an incomplete last line of the log is moved.
const TORN_FILE: &str = "events.jsonl.torn";

/// What a participant wants to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The participant.
    pub from: String,
    /// The name of the event.
    pub event: String,
    /// One short sentence.
    pub summary: String,
    /// The document that the event is about.
    pub doc: Option<String>,
    /// The number of the event that this event answers.
    pub reply_to: Option<u64>,
    /// The role of the deliverable.
    pub role: Option<Role>,
    /// The SHA-256 of the document.
    pub sha256: Option<String>,
    /// Whether the SHA-256 is computed from the document.
    pub has_hash: bool,
    /// A review, which goes into `review.md` under its heading.
    pub review: Option<String>,
}

impl Draft {
    /// Makes a draft that has only the fields which every event has.
    pub fn new(from: &str, event: &str, summary: &str) -> Self {
        Self {
            from: from.to_owned(),
            event: event.to_owned(),
            summary: summary.to_owned(),
            doc: None,
            reply_to: None,
            role: None,
            sha256: None,
            has_hash: false,
            review: None,
        }
    }
}

/// What was appended.
#[derive(Debug, Clone)]
pub struct Appended {
    /// The event, with its number and its time.
    pub event: Event,
    /// The state after the event.
    pub state: State,
}

impl<F: Files> Shared<F> {
    /// Appends an event, under the lock. When this method returns, the event is on the disk.
    ///
    /// # Errors
    /// Every reason to refuse the event, [`Code::Busy`] if the lock is not free, and [`Code::Unwritable`]
    /// if the disk fails. The folder does not change then.
    pub fn append(&self, draft: &Draft) -> Result<Appended, Vec<Finding>> {
        let held = self.lock_there()?;
        review::settle(&self.files, &self.path)?;
        let folder = self.read(Scope::All);
        let event = self.event(draft, &folder)?;
        let mut wrong = check(&event, &folder);
        wrong.extend(lacks_room(&folder, &event));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let (protocol, state) = folder.standing()?;
        let mut state = state.clone();
        state.apply(&event)?;
        held.check()?;
        let text = protocol.to_text(&state, &event.at);
        self.prepare(text.as_bytes())
            .map_err(|finding| vec![finding])?;
        let written = draft
            .review
            .as_ref()
            .map_or(Ok(()), |text| {
                review::prepare(&self.files, &self.path, &event, text)
            })
            .and_then(|()| self.write_line(&folder, &event));
        if let Err(findings) = written {
            // The prepared protocol.json and the prepared review are useless without the line.
            // The next writer replaces what remains of them.
            let _ = self.files.remove(&self.path.join(NEW_PROTOCOL));
            review::forget(&self.files, &self.path);
            return Err(findings);
        }
        // The event is in the log, so the append has succeeded. The next writer repeats what
        // fails here.
        let _ = self.publish();
        let _ = review::settle(&self.files, &self.path);
        Ok(Appended { event, state })
    }

    /// Makes the event, with its number and its time.
    fn event(&self, draft: &Draft, folder: &Folder) -> Result<Event, Vec<Finding>> {
        let name = EventName::named(&draft.event).ok_or_else(|| {
            let names: Vec<&str> = EventName::ALL.iter().map(|name| name.as_str()).collect();
            let text = format!(
                "the event `{}` is unknown; name one of {}",
                crate::finding::shortened(&draft.event),
                names.join(", ")
            );
            vec![Finding::new(Code::EventUnknown, text)]
        })?;
        let doc = draft.doc.clone().filter(|doc| !doc.is_empty());
        let computed = || doc.as_ref().and_then(|doc| folder.sha256(doc));
        let sha256 = if draft.has_hash {
            computed()
        } else {
            draft.sha256.clone()
        };
        let mut wrong = Vec::new();
        if draft.review.is_some() && name != EventName::ReviewSubmitted {
            let text = "a review goes with review_submitted; leave --review out";
            wrong.push(Finding::new(Code::EventUnknown, text));
        }
        if let Some(doc) = &doc {
            wrong.extend(self.leads_out(doc, folder));
        }
        let event = Event {
            seq: folder.last().map_or(0, |event| event.seq).saturating_add(1),
            from: draft.from.clone(),
            event: name,
            at: at(folder.last()),
            summary: draft.summary.clone(),
            doc,
            reply_to: draft.reply_to,
            role: draft.role,
            sha256: sha256.filter(|sha256| !sha256.is_empty()),
        };
        if wrong.is_empty() {
            return Ok(event);
        }
        wrong.extend(check(&event, folder));
        Err(wrong)
    }

    /// Returns a finding if a document is a link that leads out of the folder or of the repository.
    fn leads_out(&self, doc: &str, folder: &Folder) -> Option<Finding> {
        let protocol = folder.protocol()?;
        let file = doc.strip_prefix("external:");
        let path = file.map_or_else(|| doc.to_owned(), |file| protocol.path_of(file));
        if crate::path::fault(&path).is_some() {
            return None;
        }
        let root = file.and_then(|_| protocol.root());
        let path = RootedPath { root, path: &path };
        match OfFolder::new(&self.files, &self.path).look(path) {
            Content::Refused(code @ Code::PathEscape, why) => {
                Some(Finding::new(code, why).within(&crate::finding::shortened(doc), None))
            }
            _ => None,
        }
    }

    /// Writes the copy that will replace `protocol.json`.
    pub(super) fn prepare(&self, text: &[u8]) -> Result<(), Finding> {
        let path = self.path.join(NEW_PROTOCOL);
        let written = self
            .files
            .write(&path, text)
            .and_then(|()| self.files.sync(&path));
        written.map_err(|error| {
            let _ = self.files.remove(&path);
            unwritable(Path::new(PROTOCOL_FILE), &error)
        })
    }

    /// Replaces `protocol.json` by the copy.
    pub(super) fn publish(&self) -> Result<(), Finding> {
        let path = self.path.join(PROTOCOL_FILE);
        self.files
            .rename(&self.path.join(NEW_PROTOCOL), &path)
            .and_then(|()| self.files.sync(&self.path))
            .map_err(|error| unwritable(Path::new(PROTOCOL_FILE), &error))
    }

    /// Moves an incomplete last line out of the log. Returns the length of the log.
    pub(super) fn put_torn_aside(&self, folder: &Folder) -> Result<u64, Finding> {
        let path = self.path.join(LOG_FILE);
        let of = |error| unwritable(Path::new(LOG_FILE), &error);
        let Some(start) = folder.log().torn() else {
            return Ok(folder.log().length() as u64);
        };
        let bytes = self.files.read(&path).map_err(of)?;
        let mut torn = bytes.get(start..).unwrap_or_default().to_vec();
        torn.push(b'\n');
        let aside = self.path.join(TORN_FILE);
        self.files
            .append(&aside, &torn)
            .and_then(|()| self.files.sync(&aside))
            .and_then(|()| self.files.sync(&self.path))
            .map_err(|error| unwritable(Path::new(TORN_FILE), &error))?;
        let start = start as u64;
        self.files
            .cut(&path, start)
            .and_then(|()| self.files.sync(&path))
            .map_err(of)?;
        Ok(start)
    }

    /// Writes the line, and removes it if it cannot be synced.
    fn write_line(&self, folder: &Folder, event: &Event) -> Result<(), Vec<Finding>> {
        let path = self.path.join(LOG_FILE);
        let before = self
            .put_torn_aside(folder)
            .map_err(|finding| vec![finding])?;
        let mut line = event.to_line();
        if folder.log().lacks_feed() {
            line.insert(0, '\n');
        }
        let written = self
            .files
            .append(&path, line.as_bytes())
            .and_then(|()| self.files.sync(&path));
        if let Err(error) = written {
            let _ = self
                .files
                .cut(&path, before)
                .and_then(|()| self.files.sync(&path));
            return Err(vec![unwritable(Path::new(LOG_FILE), &error)]);
        }
        self.check_line(&path, before, line.as_bytes())
    }

    /// Checks that the line is in its position: a participant that takes no lock may have written at the same time.
    fn check_line(&self, path: &Path, before: u64, line: &[u8]) -> Result<(), Vec<Finding>> {
        let bytes = self.files.read(path).unwrap_or_default();
        let start = usize::try_from(before).unwrap_or(usize::MAX);
        if bytes
            .get(start..)
            .is_some_and(|rest| rest.starts_with(line))
        {
            return Ok(());
        }
        // The other participant's line came first and keeps the number. This process removes its
        // own line, if it is still the last.
        if bytes.ends_with(line) {
            let length = (bytes.len() - line.len()) as u64;
            let _ = self
                .files
                .cut(path, length)
                .and_then(|()| self.files.sync(path));
        }
        let text = "another participant appended at the same time without the lock; look at `accp collab next`, and try again";
        Err(vec![Finding::new(Code::Busy, text).within(LOG_FILE, None)])
    }
}

/// Returns a finding if the log has no room for the event. Nobody could read a log that has more than it may have.
fn lacks_room(folder: &Folder, event: &Event) -> Option<Finding> {
    let log = folder.log();
    // The line before may lack its line feed. An incomplete last line leaves the log.
    let bytes = log.torn().unwrap_or(log.length()) + event.to_line().len() + 1;
    let text = if log.events().len() >= MOST_EVENTS {
        format!(
            "the log has {MOST_EVENTS} events, and cannot take another one; begin a new round in a new folder"
        )
    } else if bytes as u64 > MOST_BYTES {
        "the log would have more than 64 MiB with this event; write a shorter summary, or begin a new round in a new folder".to_owned()
    } else {
        return None;
    };
    Some(Finding::new(Code::Unwritable, text).within(LOG_FILE, None))
}

/// Returns the time of a new event: now, but never earlier than the last event.
fn at(last: Option<&Event>) -> String {
    let now = OffsetDateTime::now_utc();
    let now = now.replace_nanosecond(0).unwrap_or(now);
    match last {
        Some(last) if last.instant() > Some(now.unix_timestamp_nanos()) => last.at.clone(),
        _ => now.format(&Rfc3339).unwrap_or_default(),
    }
}

/// Returns the current time, as the protocol writes it.
pub(super) fn now() -> String {
    at(None)
}

//! A review that goes into `review.md` in the same step as its event.
//!
//! The review waits in a file until the event is in the log. If `review.md` lacks the review then, the next writer
//! adds it. If the event never got into the log, the next writer removes the review.

use std::io;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::{MOST_BYTES, unwritable};
use crate::event::Event;
use crate::finding::{Code, Finding};
use crate::log::{LOG_FILE, Log};
use crate::texts::{REVIEW_FILE, reviews};
use accp_store::files::Files;

/// The review that waits.
const WAITING: &str = ".acp.review.json";

/// Writes a review to the file in which it waits for its event. Refuses a review that could not get into `review.md`
/// after its event.
pub(super) fn prepare(
    files: &impl Files,
    folder: &Path,
    event: &Event,
    text: &str,
) -> Result<(), Vec<Finding>> {
    let before = files
        .read(&folder.join(REVIEW_FILE))
        .map_err(|error| vec![unwritable(Path::new(REVIEW_FILE), &error)])?;
    let path = folder.join(WAITING);
    let json = json!({ "line": event.to_line(), "text": text }).to_string();
    let longest = with_review(&before, event, text).len().max(json.len());
    if longest as u64 > MOST_BYTES {
        let text = "the review does not fit: a file has at most 64 MiB; make the review shorter";
        return Err(vec![
            Finding::new(Code::Unwritable, text).within(REVIEW_FILE, None),
        ]);
    }
    files
        .write(&path, json.as_bytes())
        .and_then(|()| files.sync(&path))
        .and_then(|()| files.sync(folder))
        .map_err(|error| vec![unwritable(Path::new(WAITING), &error)])
}

/// Removes a review that waits.
pub(super) fn forget(files: &impl Files, folder: &Path) {
    let _ = files.remove(&folder.join(WAITING));
}

/// Adds a review that waits to `review.md`, if its event is in the log.
pub(super) fn settle(files: &impl Files, folder: &Path) -> Result<(), Vec<Finding>> {
    let waiting = match files.read(&folder.join(WAITING)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(vec![unwritable(Path::new(WAITING), &error)]),
    };
    let json: Json = serde_json::from_slice(&waiting).unwrap_or_default();
    let member = |key: &str| json.get(key).and_then(Json::as_str);
    let event = member("line").and_then(|line| Event::from_line(line).ok());
    // An incomplete review belongs to an event that never got into the log, so the review is
    // dropped.
    if let (Some(event), Some(text)) = (event, member("text")) {
        let log = files.read(&folder.join(LOG_FILE)).unwrap_or_default();
        if Log::read(&log).events().contains(&event) {
            write(files, folder, &event, text)
                .map_err(|error| vec![unwritable(Path::new(REVIEW_FILE), &error)])?;
        }
    }
    forget(files, folder);
    Ok(())
}

fn write(files: &impl Files, folder: &Path, event: &Event, text: &str) -> io::Result<()> {
    let path = folder.join(REVIEW_FILE);
    let before = files.read(&path)?;
    let heading = reviews::heading(&event.at, &event.from, event.seq);
    let has_heading = before
        .split(|byte| *byte == b'\n')
        .any(|line| line == heading.as_bytes());
    if has_heading {
        return Ok(());
    }
    let new = with_review(&before, event, text);
    // The file is replaced whole, so a reader never sees half of it.
    let beside = folder.join(".acp.review.md");
    files.write(&beside, &new)?;
    files.sync(&beside)?;
    files.rename(&beside, &path)?;
    files.sync(folder)
}

/// Returns the bytes of `review.md` with a review at their end, under its heading.
fn with_review(before: &[u8], event: &Event, text: &str) -> Vec<u8> {
    let heading = reviews::heading(&event.at, &event.from, event.seq);
    let gap = if before.ends_with(b"\n") || before.is_empty() {
        ""
    } else {
        "\n"
    };
    let review = format!("{gap}\n{heading}\n\n{}\n", text.trim_end());
    [before, review.as_bytes()].concat()
}

//! A review that goes into `review.md` in the same step as its event.
//!
//! The review waits in a file until the event is in the log. If `review.md` lacks the review then, the next writer
//! adds it. If the event never got into the log, the next writer removes the review.

use std::io;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::unwritable;
use crate::event::Event;
use crate::finding::Finding;
use crate::log::{LOG_FILE, Log};
use crate::texts::{REVIEW_FILE, reviews};
use accp_store::files::Files;

/// The review that waits.
const WAITING: &str = ".acp.review.json";

/// Writes a review to the file in which it waits for its event.
pub(super) fn prepare(
    files: &impl Files,
    folder: &Path,
    event: &Event,
    text: &str,
) -> Result<(), Vec<Finding>> {
    let path = folder.join(WAITING);
    let json = json!({ "line": event.to_line(), "text": text });
    files
        .write(&path, json.to_string().as_bytes())
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
    let gap = if before.ends_with(b"\n") || before.is_empty() {
        ""
    } else {
        "\n"
    };
    let new = [
        &before[..],
        format!("{gap}\n{heading}\n\n{}\n", text.trim_end()).as_bytes(),
    ]
    .concat();
    // The file is replaced whole, so a reader never sees half of it.
    let beside = folder.join(".acp.review.md");
    files.write(&beside, &new)?;
    files.sync(&beside)?;
    files.rename(&beside, &path)?;
    files.sync(folder)
}

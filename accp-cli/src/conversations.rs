//! Recorded conversations from a file, one at a time.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use accp_recordings::{Documents, Fault, conversations};
use serde_json::Value as Json;

use crate::input::Input;
use crate::outcome::Failure;

/// A fault of the input in its place.
pub(crate) fn at(name: &str, line: u64, message: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("{name}:{line}: {message}"))
}

/// Takes the recorded conversations of a file one at a time: the name of the file, the line
/// and the JSON.
pub fn each_conversation(
    path: &Path,
    mut take: impl FnMut(&str, u64, Json) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Input { name, reader } = Input::open(Some(path))?;
    let mut documents = Documents::new(reader);
    let progress = progress(path);
    loop {
        let (line, json) = match documents.next() {
            Ok(Some(document)) => document,
            Ok(None) => break,
            Err(Fault::Io(error)) => return Err(Failure::at(path)(error)),
            Err(Fault::Text {
                line,
                column,
                message,
            }) => return Err(at(&format!("{name}:{line}"), column, message)),
        };
        progress.set_position(documents.bytes());
        for json in conversations(json) {
            take(&name, line, json)?;
        }
    }
    progress.finish_and_clear();
    Ok(())
}

/// A bar over the bytes of a long file, where a terminal is there to show it.
fn progress(path: &Path) -> indicatif::ProgressBar {
    const LONG: u64 = 1 << 20;
    let length = path.metadata().map_or(0, |file| file.len());
    if length < LONG || !io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    indicatif::ProgressBar::new(length)
}

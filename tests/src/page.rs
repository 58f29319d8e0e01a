//! What the programs share that write pages of the book.

use std::{fs, io};

use crate::program::Result;

/// Writes a page, unless it has this text already. With `checks` nothing is written. `command` is the command that writes
/// the page.
///
/// # Errors
/// If the page cannot be read or written. With `checks`, also if the page has another text.
pub fn write(page: &str, text: &str, command: &str, checks: bool) -> Result<()> {
    let old = match fs::read_to_string(page) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        old => old.map_err(|error| format!("{page}: {error}"))?,
    };
    if old == text {
        return Ok(());
    }
    if checks {
        return Err(format!("{page} is not what its command writes; run `{command}`").into());
    }
    fs::write(page, text).map_err(|error| format!("{page}: {error}").into())
}

/// Returns a code fence that does not occur in the text.
#[must_use]
pub fn fence(text: &str) -> String {
    let runs = text.split(|character| character != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or_default().max(2) + 1)
}

/// Returns a number with commas: `12,345`.
#[must_use]
pub fn thousands(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1000), number % 1000),
    }
}

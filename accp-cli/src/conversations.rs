//! Recorded conversations from a file, one at a time.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use accp_recordings::{Conversation, Document, Documents, Format, ReadError};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use crate::input::Input;
use crate::outcome::Failure;

/// The option for the format of recorded conversations.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct FormatIn {
    /// Read the conversations in this format; without it, the format is found out by the content
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format_in: Option<Format>,
}

/// Makes the parser for the name of a format.
fn formats() -> impl clap::builder::TypedValueParser<Value = Format> {
    // clap accepts no other names.
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .map(|name| Format::named(&name).unwrap_or(Format::OpenAi))
}

/// Makes the failure for a fault of the input at its place.
pub(crate) fn at(name: &str, line: u64, message: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("{name}:{line}: {message}"))
}

/// Reads the recorded conversations of a file one at a time. Hands over the name of the file, the
/// line and the conversation.
pub(crate) fn each_conversation(
    path: &Path,
    format: FormatIn,
    mut take: impl FnMut(&str, u64, Conversation) -> Result<(), Failure>,
) -> Result<(), Failure> {
    each_document(path, |name, document| {
        let line = document.line;
        let conversation = document.conversation(format.format_in);
        take(
            name,
            line,
            conversation.map_err(|error| failure(name, &error))?,
        )
    })
}

/// Reads the JSON documents of a file one at a time, and hands each over with the name of the file.
pub(crate) fn each_document(
    path: &Path,
    mut take: impl FnMut(&str, Document) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Input { name, reader } = Input::open(Some(path))?;
    let mut documents = Documents::new(reader);
    let progress = progress(path);
    while let Some(document) = documents.next() {
        let document = document.map_err(|error| match error {
            ReadError::Io(error) => Failure::at(path)(error),
            error => failure(&name, &error),
        })?;
        progress.set_position(documents.bytes());
        take(&name, document)?;
    }
    progress.finish_and_clear();
    Ok(())
}

fn failure(name: &str, error: &ReadError) -> Failure {
    Failure::Input(format!("{name}:{error}"))
}

/// Returns a progress bar over the bytes of a long file, if stderr is a terminal.
fn progress(path: &Path) -> indicatif::ProgressBar {
    const LONG: u64 = 1 << 20;
    let length = path.metadata().map_or(0, |file| file.len());
    if length < LONG || !io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    indicatif::ProgressBar::new(length)
}

//! Reads recorded conversations from a file, one at a time.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use accp_recordings::{
    Conversation, Document, Documents, Format, ReadError, RestoreError, Restorer,
};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};

use crate::externals::{self, path_for};
use crate::input::{Input, PRINTABLE};
use crate::outcome::Failure;
use crate::output::on_one_line;

/// The option for the format of recorded conversations.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct FormatIn {
    /// Read the conversations in this format; without it, the format is found out by the content
    #[arg(long, value_name = "FORMAT", value_parser = formats(|_| true))]
    format_in: Option<Format>,
}

/// Makes the parser for the names of the formats for which `fits` returns true.
pub fn formats(
    fits: impl Fn(&Format) -> bool,
) -> impl clap::builder::TypedValueParser<Value = Format> {
    // clap accepts only the names in `values`, so the default is never used.
    let values = Format::ALL.into_iter().filter(fits);
    let values = values.map(|format| PossibleValue::new(format.name()).help(format.title()));
    PossibleValuesParser::new(values).map(|name| Format::named(&name).unwrap_or(Format::OpenAi))
}

/// Makes the failure for a fault on this line of the input `name`. Line breaks are escaped: what a conversation says may
/// have some.
pub fn at(name: &str, line: u64, message: impl std::fmt::Display) -> Failure {
    let message = message.to_string();
    Failure::Input(format!("{name}:{line}: {}", on_one_line(&message)))
}

/// Reads the recorded conversations of a file one at a time. Gives `take` the name of the file, the line and the
/// conversation. The file may also hold frames, as `accp convert` writes them.
pub fn each_conversation(
    path: &Path,
    format: FormatIn,
    mut take: impl FnMut(&str, u64, Conversation) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut input = Input::open(Some(path))?;
    let begins = input.reader.fill_buf().map_err(Failure::at(path))?;
    if format.format_in.is_none() && begins.trim_ascii_start().starts_with(b"@") {
        return each_restored(input, path, None, take);
    }
    each_document(input, path, |name, document| {
        let line = document.line;
        let conversation = document.conversation(format.format_in);
        let conversation = conversation.map_err(|error| failure(name, &error))?;
        take(name, line, conversation)
    })
}

/// Restores the conversations of a file of frames one at a time. Gives `take` the name of the file, the line on which
/// the conversation ended, and the conversation. If `externals` names no side file, the function reads the side file
/// in the folder of the frames, if there is one.
pub fn each_restored(
    input: Input,
    path: &Path,
    externals: Option<&Path>,
    mut take: impl FnMut(&str, u64, Conversation) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let own = path_for(path);
    let externals = externals.or_else(|| own.exists().then_some(own.as_path()));
    let values = externals
        .map(externals::load)
        .transpose()?
        .unwrap_or_default();
    let mut lines = input.into_lines();
    let mut restorer = Restorer::default();
    let mut last = 0;
    let name = path.display().to_string();
    while let Some(line) = lines.next_line()? {
        last = line.number;
        let text = line.text();
        let text = text.map_err(|error| {
            let byte = error.valid_up_to();
            let expected = format_args!("expected {PRINTABLE} at byte {byte}");
            at(&name, last, expected)
        })?;
        let ended = restorer.line(text, last, &values).map_err(|error| {
            let has_cure = matches!(error, RestoreError::Reference(_));
            let cure = has_cure.then_some(": name their side file with --externals");
            at(
                &name,
                last,
                format_args!("{error}{}", cure.unwrap_or_default()),
            )
        })?;
        ended.map_or(Ok(()), |conversation| take(&name, last, conversation))?;
    }
    let ended = restorer.end().map_err(|error| at(&name, last, error))?;
    ended.map_or(Ok(()), |conversation| take(&name, last, conversation))
}

/// Reads the JSON documents of a file one at a time, and hands each over with the name of the file.
pub fn each_document(
    input: Input,
    path: &Path,
    mut take: impl FnMut(&str, Document) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Input { name, reader } = input;
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
    let error = error.to_string();
    Failure::Input(format!("{name}:{}", on_one_line(&error)))
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

//! `accp encode`: converts JSON to frames.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use accp_registry::Registry;
use accp_runtime::{EncodeError, EncodeOptions, ErrorCode, External, Message, exact_numbers};
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Value as Json};

use crate::input::InputArg;
use crate::outcome::{Failure, Outcome};
use crate::output::{self, Output};
use crate::registries::RegistryArgs;
use crate::side::Side;

/// Turn JSON messages into frames, one a line
///
/// A message is an object as `accp decode` writes it, with `agent`, `intent`, `operation` and, as
/// needed, `schema`, `payload` and `metadata`. Objects may stand on one line each or be indented. A
/// message that does not fit any frame is reported and left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp encode messages.jsonl > frames.accp
  accp encode --externals values.jsonl messages.jsonl -o frames.accp
  accp encode --inline messages.jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    /// Send values of more than 50 characters in the frame
    #[arg(long)]
    inline: bool,
    /// Send values of more than 50 characters by reference even if the registry lists the field as
    /// inline
    #[arg(long, conflicts_with = "inline")]
    strict: bool,
    /// The file for values that are sent by reference, one JSON object a line; written if there are
    /// no faults
    #[arg(long, value_name = "FILE")]
    externals: Option<PathBuf>,
    /// The file to write if there are no faults; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    registry: RegistryArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let registry = args.registry.load_for_frames()?;
    let mut input = args.input.open()?;
    input.skip_mark()?;
    let name = input.name;
    let mut out = Output::to(args.output.as_deref(), output::OWN)?;
    let mut externals = args.externals.as_deref().map(Side::create).transpose()?;
    let place = Place::default();
    let reader = Placed {
        reader: input.reader,
        place: &place,
    };
    let mut stream = Deserializer::from_reader(reader).into_iter::<Box<RawValue>>();
    let mut faults = 0;
    loop {
        place.value.set(None);
        let raw = match stream.next() {
            None => break,
            Some(Ok(raw)) => raw,
            Some(Err(error)) => return Err(no_json(&name, 0, error)),
        };
        let before = place.value.get().map_or(0, |line| line - 1);
        let json = serde_json::from_str(&exact_numbers(raw.get()));
        let json = json.map_err(|error| no_json(&name, before, error))?;
        match encode(&json, args, &registry, externals.as_mut()) {
            Ok(frame) => out.record(frame)?,
            Err(error) => {
                if let Some(externals) = &mut externals {
                    externals.failed()?;
                }
                faults += 1;
                let line = place.value.get().unwrap_or_default();
                output::error(format_args!("{name}:{line}: {}", explained(&error, &json)));
            }
        }
    }
    // The values are completed first, so that a complete frame file never refers to missing values.
    // Frames on stdout are out already, so their values have to be kept in any case.
    if let Some(externals) = externals.filter(|_| faults == 0 || out.is_stdout()) {
        externals.finish()?;
    }
    out.conclude(faults)
}

fn encode(
    json: &Json,
    args: &Args,
    registry: &Registry,
    externals: Option<&mut Side>,
) -> Result<String, EncodeError> {
    let message = Message::from_json(json)?;
    let mut nowhere = Nowhere;
    let externals: &mut dyn accp_runtime::Externals = match externals {
        Some(side) => &mut side.file,
        None => &mut nowhere,
    };
    let options = EncodeOptions {
        inline: args.inline,
        strict: args.strict,
        externals: Some(externals),
        ..EncodeOptions::default()
    };
    message.encode_with(registry, options)
}

/// Refuses every value. The error names the options that would help.
#[derive(Debug)]
struct Nowhere;

impl accp_runtime::Externals for Nowhere {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        let value = external.value.to_json().to_string();
        let mut shown: String = value.chars().take(30).collect();
        if shown.len() < value.len() {
            shown.push_str("..");
        }
        let or_inline = match external.reason {
            accp_runtime::Reason::Characters => ", or --inline to send it in the frame",
            _ => "",
        };
        let reason = external.reason;
        let message = format!(
            "{shown}: {reason}; give --externals FILE to keep it in a side file{or_inline}"
        );
        Err(EncodeError::new(ErrorCode::INVALID_TYPE, message))
    }
}

/// Returns the text of the error, with the option that would help.
fn explained(error: &EncodeError, json: &Json) -> String {
    let cure = match error.code() {
        _ if json.is_array() => "; write one message a line, as `jq -c '.[]'` does",
        ErrorCode::UNKNOWN_SCHEMA => "; name the registry that holds it with --registry",
        _ => "",
    };
    format!("{error}{cure}")
}

/// Makes the failure for JSON that cannot be read, which begins behind this line. Nothing after it can be read either.
fn no_json(name: &str, before: u64, error: serde_json::Error) -> Failure {
    let (line, column) = (error.line(), error.column());
    let category = error.classify();
    let message = error.to_string();
    let message = message
        .strip_suffix(&format!(" at line {line} column {column}"))
        .unwrap_or(&message);
    let line = before + line as u64;
    let cure = match category {
        Category::Io => return Failure::Io(name.to_owned(), error.into()),
        Category::Eof => "the input ends within a message; is the file complete?",
        _ if message.starts_with("invalid unicode") => {
            "this is not UTF-8; save the messages as UTF-8"
        }
        _ if message.starts_with("recursion limit") => "JSON is read to a depth of 127",
        _ => "this is not JSON; write messages as `accp decode` gives them",
    };
    Failure::Input(format!("{name}:{line}:{column}: {message}; {cure}"))
}

/// The place in an input.
#[derive(Debug, Default)]
struct Place {
    /// The number of line ends so far.
    ends: Cell<u64>,
    /// The line of the first character since this was cleared that is not white space.
    value: Cell<Option<u64>>,
}

/// A reader that keeps its place. The parser asks for one byte at a time and looks at most one byte
/// ahead, so the place belongs to the value that is being read.
struct Placed<'p> {
    reader: Box<dyn BufRead>,
    place: &'p Place,
}

impl Read for Placed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let Place { ends, value } = self.place;
        for byte in buffer.iter().take(count) {
            if *byte == b'\n' {
                ends.set(ends.get() + 1);
            } else if value.get().is_none() && !byte.is_ascii_whitespace() {
                value.set(Some(ends.get() + 1));
            }
        }
        Ok(count)
    }
}

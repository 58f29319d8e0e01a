//! `accp encode`: converts JSON to frames.

mod mistakes;

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use accp_frame::{DynamicFrame, EncodeError, EncodeOptions, ErrorCode, External, exact_numbers};
use accp_recordings::read_whole_json;
use accp_registry::checked::{self, Reader as Checked};
use accp_registry::{Position, Problem, Registry};
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Value as Json};

use crate::registries::RegistryArgs;
use accp_console::externals::ExternalsFile;
use accp_console::input::InputArg;
use accp_console::outcome::{Failure, Outcome};
use accp_console::output::{self, Output};

/// Turn JSON messages into frames, one a line
///
/// A message is an object as `accp decode` writes it, with `agent`, `intent`, `operation` and, as
/// needed, `schema`, `payload` and `metadata`. Objects may stand on one line each or be indented. A
/// message that does not fit any frame is left out, and each of its mistakes is reported with its place.
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
    // The output may take the place of the input. The file of values may take the place of neither.
    for other in [&args.input.file, &args.output] {
        let files = [other, &args.externals].into_iter().flatten();
        output::distinct(files.map(PathBuf::as_path))?;
    }
    let registry = args.registry.load_for_frames()?;
    let mut input = args.input.open()?;
    input.skip_mark()?;
    let name = input.name;
    let mut out = Output::to(args.output.as_deref(), output::PRIVATE)?;
    let mut externals = args
        .externals
        .as_deref()
        .map(ExternalsFile::create)
        .transpose()?;
    let position = ReadPosition::default();
    let reader = PositionReader {
        reader: input.reader,
        position: &position,
    };
    let mut stream = Deserializer::from_reader(reader).into_iter::<Box<RawValue>>();
    let mut faults = 0;
    loop {
        position.begin();
        let raw = match stream.next() {
            None => break,
            Some(Ok(raw)) => raw,
            Some(Err(error)) => return Err(no_json(&name, 0, error)),
        };
        let before = position.start.get().0 - 1;
        let json = read_whole_json(&exact_numbers(raw.get()));
        let json = json.map_err(|error| no_json(&name, before, error))?;
        match encode(&json, args, &registry, externals.as_mut()) {
            Ok(frame) => out.record(frame)?,
            Err(error) => {
                if let Some(externals) = &mut externals {
                    externals.failed()?;
                }
                faults += 1;
                report(&name, &position, &json, &registry, args, error);
            }
        }
    }
    // The file of values is completed first, so that a complete frame file never refers to missing values. If the
    // frames go to stdout, they are already printed. So their values are kept even if there are faults.
    if let Some(externals) = externals.filter(|_| faults == 0 || out.is_stdout()) {
        externals.finish()?;
    }
    out.conclude(faults)
}

fn encode(
    json: &Json,
    args: &Args,
    registry: &Registry,
    externals: Option<&mut ExternalsFile>,
) -> Result<String, EncodeError> {
    let message = DynamicFrame::from_json(json)?;
    let mut refuse = RefuseExternals;
    let externals: &mut dyn accp_frame::Externals = match externals {
        Some(externals) => &mut externals.file,
        None => &mut refuse,
    };
    message.encode_with(registry, options(args, externals))
}

fn options<'e>(args: &Args, externals: &'e mut dyn accp_frame::Externals) -> EncodeOptions<'e> {
    EncodeOptions {
        inline: args.inline,
        strict: args.strict,
        externals: Some(externals),
        ..EncodeOptions::default()
    }
}

/// Reports all mistakes of a message. `reason` is the error that encoding the whole message gave.
fn report(
    name: &str,
    position: &ReadPosition,
    json: &Json,
    registry: &Registry,
    args: &Args,
    reason: EncodeError,
) {
    let encode = |message: &DynamicFrame<'_>| {
        let (mut refuse, mut accept) = (RefuseExternals, AcceptExternals);
        let externals: &mut dyn accp_frame::Externals = match args.externals {
            Some(_) => &mut accept,
            None => &mut refuse,
        };
        message
            .encode_with(registry, options(args, externals))
            .map(drop)
    };
    let found = mistakes::all(json, registry, &encode, reason);
    let text = String::from_utf8_lossy(&position.text.borrow()).into_owned();
    let placed = checked::document(name, &text, |reader: &mut Checked<'_>, _| {
        for mistake in &found {
            let cure = mistakes::cure(&mistake.error, json, registry);
            let problem = format!("{}{cure}", mistake.error);
            reader.report(Problem::new(mistake.pointer.clone(), problem));
        }
    });
    for problem in placed.err().into_iter().flatten() {
        let at = problem
            .position
            .map_or(position.start.get(), |at| position.of(at));
        output::error(format_args!(
            "{name}:{}:{}: {}",
            at.0,
            at.1,
            output::on_one_line(&problem.message)
        ));
    }
}

/// Refuses every value that would be sent by reference. The error names the options that would help.
#[derive(Debug)]
struct RefuseExternals;

impl accp_frame::Externals for RefuseExternals {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        // Where a part of the message is tried alone, references stand for the values beside it.
        let value = external.value.to_json().to_string();
        let value = value.replace(&mistakes::reference().to_string(), "..");
        let mut shown: String = value.chars().take(30).collect();
        if shown.len() < value.len() {
            shown.push_str("..");
        }
        let or_inline = match external.reason {
            accp_frame::Reason::Characters => ", or --inline to send it in the frame",
            _ => "",
        };
        let reason = external.reason;
        let message = format!(
            "{shown}: {reason}; give --externals FILE to keep it in a side file{or_inline}"
        );
        Err(EncodeError::new(ErrorCode::INVALID_TYPE, message))
    }
}

/// Accepts every value that would be sent by reference, and keeps none. Used to find the other mistakes of a message.
#[derive(Debug)]
struct AcceptExternals;

impl accp_frame::Externals for AcceptExternals {
    fn put(&mut self, _: External<'_, '_>) -> Result<String, EncodeError> {
        Ok("cold.k1".to_owned())
    }
}

/// Makes the failure for JSON that cannot be read, and after which no more JSON can be read. The JSON begins after
/// line `before`.
fn no_json(name: &str, before: usize, error: serde_json::Error) -> Failure {
    let (line, column) = (error.line(), error.column());
    let category = error.classify();
    let message = error.to_string();
    let message = message
        .strip_suffix(&format!(" at line {line} column {column}"))
        .unwrap_or(&message);
    let line = before + line;
    let cure = match category {
        Category::Io => return Failure::Io(name.to_owned(), error.into()),
        Category::Eof => "the input ends within a message; is the file complete?",
        _ if message.starts_with("invalid unicode") => {
            "this is not UTF-8; save the messages as UTF-8"
        }
        _ if message.starts_with("recursion limit") => "JSON is read to a depth of 127",
        // For such an error, the message of the parser already names the member and the cure.
        Category::Data => return Failure::Input(format!("{name}:{line}:{column}: {message}")),
        Category::Syntax => "this is not JSON; write messages as `accp decode` gives them",
    };
    Failure::Input(format!("{name}:{line}:{column}: {message}; {cure}"))
}

/// The position of a reader in an input.
#[derive(Debug, Default)]
struct ReadPosition {
    /// The number of line ends so far.
    ends: Cell<usize>,
    /// The number of characters since the last line end.
    column: Cell<usize>,
    /// The line and the column of the value that is being read, from 1.
    start: Cell<(usize, usize)>,
    /// The text of the value so far.
    text: RefCell<Vec<u8>>,
}

impl ReadPosition {
    /// Begins a value. Its first character is the next character that is not white space.
    fn begin(&self) {
        self.text.borrow_mut().clear();
        self.start.set((self.ends.get() + 1, self.column.get() + 1));
    }

    fn read(&self, byte: u8) {
        let mut text = self.text.borrow_mut();
        if text.is_empty() && !byte.is_ascii_whitespace() {
            self.start.set((self.ends.get() + 1, self.column.get() + 1));
        }
        if !text.is_empty() || !byte.is_ascii_whitespace() {
            text.push(byte);
        }
        if byte == b'\n' {
            self.ends.set(self.ends.get() + 1);
            self.column.set(0);
        } else if byte & 0xc0 != 0x80 {
            // A character counts at its first byte.
            self.column.set(self.column.get() + 1);
        }
    }

    /// Turns a place in the value into the line and the column in the input.
    fn of(&self, at: Position) -> (usize, usize) {
        let (line, column) = self.start.get();
        let before = if at.line == 1 { column - 1 } else { 0 };
        (line + at.line - 1, before + at.column)
    }
}

/// A reader that counts lines and columns. The parser asks for one byte at a time and looks at most one byte ahead.
/// So the position is always in the value that is being read.
struct PositionReader<'p> {
    reader: Box<dyn BufRead>,
    position: &'p ReadPosition,
}

impl Read for PositionReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        for byte in buffer.iter().take(count) {
            self.position.read(*byte);
        }
        Ok(count)
    }
}

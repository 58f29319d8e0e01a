//! `accp explain`: explains a frame in plain words.

mod explanation;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use accp_frame::{DynamicFrame, ErrorCode, Frame, FrameTokens};
use accp_registry::Registry;
use accp_tokens::ModelCounter;

use self::explanation::Explanation;
use super::tokens::CounterArgs;
use crate::fault::Fault;
use crate::registries::RegistryArgs;
use accp_console::choices::Format;
use accp_console::input::{Input, Line};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Explain frames in plain words
///
/// Shows the sender, the request, each field under its full name with its type, the defaults that
/// the frame leaves out, and the envelope. For an error code, shows its name, its meaning, and
/// whether sending again may help.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp explain '@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}'
  accp explain --tokens frames.accp
  accp explain E3003
  tail -1 hub.log | accp explain --registry our.json")]
pub(crate) struct Args {
    /// A frame, which starts with '@', an error code, or a file of frames; stdin by default
    #[arg(value_name = "FILE|FRAME|CODE")]
    input: Option<OsString>,
    /// Also count the tokens
    #[arg(long)]
    tokens: bool,
    #[command(flatten)]
    counter: CounterArgs,
    #[command(flatten)]
    registry: RegistryArgs,
    /// json: one object a line; for an error code `code`, `name`, `meaning` and `retry`, which are null for a code that
    /// the draft does not have
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(code) = code(args.input.as_deref())? {
        match args.format {
            Format::Text => {
                let words = explanation::words_of(&code);
                Output::print_line(format_args!("{code}  {words}"))?;
            }
            Format::Json => Output::print_record(explanation::json_of(&code))?,
        }
        return Ok(Verdict::Fine);
    }
    let registry = args.registry.load_for_frames()?;
    let counter = args.tokens.then(|| args.counter.counter()).transpose()?;
    // A shell takes the rest of a frame without quotes for itself, from its `>` on.
    let mut is_cut = false;
    let input = match args.input.as_deref().map(OsStr::as_encoded_bytes) {
        Some(frame) if frame.starts_with(b"@") => {
            is_cut = !frame.contains(&b'>');
            Input::of_bytes("frame", frame)
        }
        _ => Input::open(args.input.as_deref().map(Path::new))?,
    };
    let mut lines = input.into_lines();
    let name = lines.name.clone();
    let mut out = Output::stdout();
    let styled = output::is_styled(&std::io::stderr());
    let (mut explained, mut faults) = (0_u64, 0);
    while let Some(line) = lines.next_line()? {
        let found = explain(line, &registry, counter.as_ref());
        let found = found.map_err(|fault| {
            if is_cut {
                fault.cured("put the frame into quotes: a shell takes `>` for itself")
            } else {
                fault
            }
        });
        faults += u64::from(found.is_err());
        match (args.format, found) {
            (Format::Text, Ok(found)) => {
                let gap = if explained > 0 { "\n" } else { "" };
                out.line(format_args!("{gap}{found}"))?;
                explained += 1;
            }
            (Format::Text, Err(fault)) => output::show(&fault.render(&name, line, styled)),
            (Format::Json, Ok(found)) => out.record(found.to_json(line.number))?,
            (Format::Json, Err(fault)) => out.record(fault.to_json(line.number))?,
        }
    }
    out.finish()?;
    Ok(Verdict::of(faults))
}

/// Returns the error code that the input is, if it is one. A text that is nearly a code, and names no file, is misuse.
fn code(input: Option<&OsStr>) -> Result<Option<String>, Failure> {
    let Some(input) = input.and_then(OsStr::to_str) else {
        return Ok(None);
    };
    let code = input.to_ascii_uppercase();
    let digits = code.strip_prefix('E').unwrap_or(&code);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || (code != input && Path::new(input).exists()) {
        return Ok(None);
    }
    match code.parse::<ErrorCode>() {
        Ok(_) => Ok(Some(code)),
        Err(_) if Path::new(input).exists() => Ok(None),
        Err(error) => Err(Failure::Misuse(format!(
            "{input} is neither a file nor an error code: {error}"
        ))),
    }
}

fn explain(
    line: Line<'_>,
    registry: &Registry,
    counter: Option<&ModelCounter>,
) -> Result<Explanation, Fault> {
    let fault = |error| Fault::of_message(&error, line.bytes, registry);
    let text = Fault::or_text(line)?;
    let frame = Frame::parse(text).map_err(fault)?;
    let message = DynamicFrame::decode(text, registry).map_err(fault)?;
    let mut explanation = Explanation::new(&frame, &message, registry);
    explanation.tokens = counter.map(|counter| {
        (
            FrameTokens::count(&frame, &counter.counter),
            counter.to_string(),
        )
    });
    Ok(explanation)
}

//! `accp fix`: repairs frames that use the shorthands of the draft's examples.

use std::path::PathBuf;

use accp_frame::{Frame, Repair};
use accp_registry::Registry;
use serde_json::{Value as Json, json};

use super::check;
use crate::fault::Fault;
use crate::registries::RegistryArgs;
use accp_console::choices::Format;
use accp_console::input::{InputArg, Line};
use accp_console::outcome::Outcome;
use accp_console::output::{self, Output};

/// Repair frames that a model wrote in the shorthands of the draft's examples
///
/// It repairs only a bare @agent or @agent:op in the place of a value, an array of k:v pairs that
/// is meant as a map, and spaces after separators. The frames go to stdout, each repair to stderr.
/// A line that cannot be repaired, or that `accp check` refuses even then, is reported and left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo '@planner>req:plan{who:@dev|team:[qa, ops]|pri:high}' | accp fix
  accp fix model-output.txt -o frames.accp
  accp fix --registry our.json model-output.txt")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    /// The file to write if there are no faults; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Check repaired frames only against the grammar
    #[arg(long, conflicts_with = "registry")]
    syntax_only: bool,
    #[command(flatten)]
    registry: RegistryArgs,
    /// json: one object a line with `line`, `frame` and `repairs`, or `line`, `code`, `at` and
    /// `message`. `at` counts in `frame`, if there is one. With `-o`, faults go to stderr
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let registry = (!args.syntax_only).then(|| args.registry.load_for_frames());
    let registry = registry.transpose()?;
    let mut lines = args.input.open()?.into_lines();
    let name = lines.name.clone();
    let mut out = Output::to(args.output.as_deref(), output::PRIVATE)?;
    let styled = output::is_styled(&std::io::stderr());
    let mut faults = 0;
    while let Some(line) = lines.next_line()? {
        let fixed = fix(line, registry.as_ref());
        faults += u64::from(fixed.is_err());
        match (args.format, fixed) {
            (Format::Text, Ok((frame, repairs))) => {
                for Repair { at, what, from, to } in &repairs {
                    let place = format!("{name}:{}:{}", line.number, at + 1);
                    output::note(format_args!("{place}: {what}: `{from}` is `{to}`"));
                }
                out.record(frame)?;
            }
            (Format::Text, Err((fault, frame))) => {
                let bytes = frame.as_deref().map_or(line.bytes, str::as_bytes);
                output::show(&fault.render(&name, Line { bytes, ..line }, styled));
            }
            (Format::Json, Ok((frame, repairs))) => out.record(json!({
                "line": line.number,
                "frame": frame,
                "repairs": repairs.iter().map(repair_to_json).collect::<Json>(),
            }))?,
            (Format::Json, Err((fault, frame))) => {
                let mut found = fault.to_json(line.number);
                if let Some(frame) = frame {
                    found["frame"] = frame.into();
                }
                // A file is not written if there are faults, so it cannot tell them.
                if args.output.is_some() {
                    output::record(&found);
                }
                out.record(found)?;
            }
        }
    }
    out.conclude(faults)
}

/// Repairs a line, and checks the frame as `accp check` does. For an error of the check, also returns the repaired
/// frame, because the error gives a place in that frame.
fn fix(
    line: Line<'_>,
    registry: Option<&Registry>,
) -> Result<(String, Vec<Repair>), (Fault, Option<String>)> {
    let text = Fault::or_text(line).map_err(|fault| (fault, None))?;
    let repaired = Frame::parse_lenient(text);
    let (frame, repairs) =
        repaired.map_err(|error| (Fault::of_decode(&error, line.bytes), None))?;
    let frame = frame.to_string();
    let bytes = frame.as_bytes();
    match check::check(Line { bytes, ..line }, registry, false, None) {
        Ok(_) => Ok((frame, repairs)),
        Err(fault) => Err((fault, Some(frame))),
    }
}

fn repair_to_json(repair: &Repair) -> Json {
    let Repair { at, what, from, to } = repair;
    json!({ "at": at, "what": what.to_string(), "from": from, "to": to })
}

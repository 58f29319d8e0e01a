//! `accp fix`: turns the shorthands of the draft's examples into strict frames.

use std::path::PathBuf;

use accp_runtime::{Frame, Repair};
use serde_json::{Value as Json, json};

use crate::choices::Format;
use crate::fault::Fault;
use crate::input::{InputArg, Line};
use crate::outcome::Outcome;
use crate::output::{self, Output};

/// Repair frames that a model wrote in the shorthands of the draft's examples
///
/// It repairs only a bare @agent or @agent:op in the place of a value, an array of k:v pairs that
/// is meant as a map, and spaces after separators. The frames go to stdout, each repair to stderr.
/// A line that cannot be repaired is reported and left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo '@planner>req:plan{who:@dev|team:[qa, ops]|pri:high}' | accp fix
  accp fix model-output.txt -o frames.accp")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    /// The file to write if there are no faults; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// json: one object a line with `line`, `frame` and `repairs`, or `line`, `code`, `at` and
    /// `message`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut lines = args.input.open()?.into_lines();
    let name = lines.name.clone();
    let mut out = Output::to(args.output.as_deref())?;
    let styled = output::is_styled(&std::io::stderr());
    let mut faults = 0;
    while let Some(line) = lines.next()? {
        let fixed = fix(line);
        faults += u64::from(fixed.is_err());
        match (args.format, fixed) {
            (Format::Text, Ok((frame, repairs))) => {
                for Repair { at, what, from, to } in &repairs {
                    let place = format!("{name}:{}:{}", line.number, at + 1);
                    output::note(format_args!("{place}: {what}: `{from}` is `{to}`"));
                }
                out.line(frame)?;
            }
            (Format::Text, Err(fault)) => output::note(fault.render(&name, line, styled)),
            (Format::Json, Ok((frame, repairs))) => out.line(json!({
                "line": line.number,
                "frame": frame.to_string(),
                "repairs": repairs.iter().map(repair_to_json).collect::<Json>(),
            }))?,
            (Format::Json, Err(fault)) => out.line(fault.to_json(line.number))?,
        }
    }
    out.conclude(faults)
}

fn fix(line: Line<'_>) -> Result<(Frame<'static>, Vec<Repair>), Fault> {
    let text = line.text()?;
    Frame::parse_lenient(text).map_err(|error| Fault::of_decode(&error, line.bytes))
}

fn repair_to_json(repair: &Repair) -> Json {
    let Repair { at, what, from, to } = repair;
    json!({ "at": at, "what": what.to_string(), "from": from, "to": to })
}

//! `accp decode`: converts frames to JSON.

use std::path::PathBuf;

use accp_frame::{DynamicFrame, ErrorCode, Exact};
use accp_recordings::{Unresolved, Values};
use accp_registry::Registry;
use serde_json::Value as Json;

use crate::fault::Fault;
use crate::registries::RegistryArgs;
use accp_console::externals;
use accp_console::input::{InputArg, Line};
use accp_console::outcome::{Failure, Outcome};
use accp_console::output::{self, Output};

/// Turn frames into JSON, one object a line, with full names and defaults
///
/// A reference is written as {"$ref": "tier.key"}. A line that is not a valid frame is reported and
/// left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp decode frames.accp
  accp decode --externals values.jsonl frames.accp
  accp decode frames.accp | jq .payload")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    /// Replace references with their values from this side file
    #[arg(long, value_name = "FILE")]
    externals: Option<PathBuf>,
    /// Break and indent the JSON
    #[arg(long)]
    pretty: bool,
    /// The file to write if there are no faults; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    registry: RegistryArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let files = [&args.externals, &args.output].into_iter().flatten();
    output::distinct(files.map(PathBuf::as_path))?;
    let registry = args.registry.load_for_frames()?;
    let externals = args.externals.as_deref().map(externals::load).transpose()?;
    let mut lines = args.input.open()?.into_lines();
    let name = lines.name.clone();
    let mut out = Output::to(args.output.as_deref(), output::PRIVATE)?;
    let styled = output::is_styled(&std::io::stderr());
    let mut faults = 0;
    while let Some(line) = lines.next_line()? {
        match decode(line, &registry, externals.as_ref()) {
            Ok(json) => out.record(written(&json, args.pretty)?)?,
            Err(fault) => {
                faults += 1;
                output::show(&fault.render(&name, line, styled));
            }
        }
    }
    out.conclude(faults)
}

/// Writes JSON as text. Each number keeps the digits that it has in the frame.
fn written(json: &Json, pretty: bool) -> Result<String, Failure> {
    let text = if pretty {
        serde_json::to_string_pretty(&Exact(json))
    } else {
        serde_json::to_string(&Exact(json))
    };
    text.map_err(|error| Failure::Misuse(error.to_string()))
}

fn decode(line: Line<'_>, registry: &Registry, externals: Option<&Values>) -> Result<Json, Fault> {
    let message = DynamicFrame::decode_bytes(line.bytes, registry)
        .map_err(|error| Fault::of_message(&error, line.bytes, registry))?;
    let mut json = message.to_exact_json();
    if let Some(externals) = externals {
        for (key, value) in message.payload.iter() {
            let value = externals
                .resolve(value)
                .map_err(|error| unresolved(error, line))?;
            json["payload"][key] = value.to_exact_json();
        }
    }
    Ok(json)
}

fn unresolved(error: Unresolved, line: Line<'_>) -> Fault {
    let reference = format!("${}", error.key);
    let mut places = line.bytes.windows(reference.len());
    Fault {
        code: ErrorCode::REF_NOT_FOUND,
        at: places
            .position(|place| place == reference.as_bytes())
            .unwrap_or_default(),
        message: error.message,
        cure: Some("give the side file that was written together with these frames".to_owned()),
    }
}

//! `accp check`: checks whether every line is a frame, and reports every fault.

use accp_registry::Registry;
use accp_runtime::Message;
use serde_json::json;

use crate::fault::Fault;
use crate::format::Format;
use crate::input::{InputArg, Line};
use crate::outcome::{Outcome, Verdict};
use crate::output::{self, Output};
use crate::registries::RegistryArgs;

/// Check frames, one a line: grammar, schema and types
///
/// Every line that is not a valid frame is shown with the place of the fault, what was expected
/// there, and the cure. Blank lines are skipped. The reference parser checks the grammar, the
/// registry the schema and the types.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp check frames.accp
  tail -f hub.log | accp check --syntax-only
  accp check --registry our.json --format json frames.accp")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    /// Check only the grammar
    #[arg(long, conflicts_with = "registry")]
    syntax_only: bool,
    #[command(flatten)]
    registry: RegistryArgs,
    /// json: one object a line with `line` and `ok`, and for a faulty line `code`, `at` (the byte,
    /// from 0) and `message`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let registry = if args.syntax_only {
        None
    } else {
        Some(args.registry.load()?)
    };
    let mut lines = args.input.open()?.into_lines();
    let name = lines.name.clone();
    let mut out = Output::stdout();
    let styled = output::is_styled(&std::io::stdout());
    let (mut frames, mut faults) = (0_u64, 0);
    while let Some(line) = lines.next()? {
        frames += 1;
        let verdict = check(line, registry.as_ref());
        faults += u64::from(verdict.is_err());
        match (args.format, verdict) {
            (Format::Text, Ok(warnings)) => {
                for warning in warnings {
                    output::note(format_args!("warning: {name}:{}: {warning}", line.number));
                }
            }
            (Format::Text, Err(fault)) => {
                out.line(format_args!("{}\n", fault.render(&name, line, styled)))?;
            }
            (Format::Json, Ok(_)) => out.line(json!({ "line": line.number, "ok": true }))?,
            (Format::Json, Err(fault)) => {
                let (code, message) = (fault.code.to_string(), fault.to_string());
                out.line(json!({
                    "line": line.number, "ok": false, "code": code, "at": fault.at, "message": message,
                }))?;
            }
        }
    }
    out.finish()?;
    if args.format == Format::Text {
        output::note(summary(frames, faults));
    }
    Ok(Verdict::of(faults))
}

/// Checks a line, and returns warnings for usage that the draft recommends against.
fn check(line: Line<'_>, registry: Option<&Registry>) -> Result<Vec<String>, Fault> {
    accp_grammar::parse_bytes(line.bytes).map_err(|error| Fault::of_syntax(&error, line.bytes))?;
    match registry {
        Some(registry) => match Message::decode_bytes(line.bytes, registry) {
            Ok(message) => Ok(message.warnings(registry)),
            Err(error) => Err(Fault::of_decode(&error, line.bytes)),
        },
        None => Ok(Vec::new()),
    }
}

fn summary(frames: u64, faults: u64) -> String {
    let lines = if frames == 1 { "line" } else { "lines" };
    match faults {
        0 => format!("{frames} {lines}: all fine"),
        faults => format!(
            "{frames} {lines}: {} fine, {faults} at fault",
            frames - faults
        ),
    }
}

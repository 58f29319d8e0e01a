//! `accp check`: checks whether every line is a frame, and reports every fault.

mod session_rules;

use std::path::PathBuf;

use accp_frame::DynamicFrame;
use accp_registry::{Registry, nearest};
use serde_json::json;

use crate::fault::Fault;
use crate::registries::RegistryArgs;
use crate::words::counted;
use accp_console::choices::Format;
use accp_console::input::{Input, Line, Lines};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};
use session_rules::{Numbering, SessionRules};

/// Check frames, one a line: grammar, schema and types
///
/// Every line that is not a valid frame is shown with the place of the fault, what was expected
/// there, and the cure. Blank lines are skipped. The reference parser checks the grammar, the
/// registry the schema and the types.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp check frames.accp
  tail -f hub.log | accp check --syntax-only
  accp check --session logs/*.accp
  accp check --registry our.json --format json frames.accp")]
pub(crate) struct Args {
    /// The files to read; stdin by default, or for `-`
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Check only the grammar
    #[arg(long, conflicts_with_all = ["registry", "envelope", "session"])]
    syntax_only: bool,
    /// Expect mid, seq and ts in every frame, as a session sends them
    #[arg(long)]
    envelope: bool,
    /// Take each file as the frames of one session, in their order: numbers, ids, times, chains and
    /// changes of the shared state have to fit the frames before
    #[arg(long, value_name = "NUMBERING", num_args = 0..=1, require_equals = true, default_missing_value = "shared")]
    session: Option<Numbering>,
    #[command(flatten)]
    registry: RegistryArgs,
    /// json: one object a line with `line` and `ok`, for a faulty line `code`, `at` (the byte, from
    /// 0) and `message`, and `warnings` where there are some
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let registry = (!args.syntax_only).then(|| args.registry.load_for_frames());
    let registry = registry.transpose()?;
    let mut report = Report {
        out: Output::stdout(),
        styled: output::is_styled(&std::io::stdout()),
        names_file: args.files.len() > 1,
        frames: 0,
        faults: 0,
    };
    if args.files.is_empty() {
        report.read(args, registry.as_ref(), Input::open(None)?.into_lines())?;
    }
    for file in &args.files {
        let lines = Input::open(Some(file))?.into_lines();
        report.read(args, registry.as_ref(), lines)?;
    }
    report.out.finish()?;
    if args.format == Format::Text {
        output::note(summary(report.frames, report.faults));
    }
    Ok(Verdict::of(report.faults))
}

/// The results for all files.
struct Report {
    out: Output,
    styled: bool,
    /// Whether each object of JSON names its file.
    names_file: bool,
    frames: u64,
    faults: u64,
}

impl Report {
    /// Reads a file to its end.
    fn read(
        &mut self,
        args: &Args,
        registry: Option<&Registry>,
        mut lines: Lines,
    ) -> Result<(), Failure> {
        let name = lines.name.clone();
        let mut rules = args.session.map(SessionRules::new);
        while let Some(line) = lines.next_line()? {
            self.frames += 1;
            let verdict = check(line, registry, args.envelope, rules.as_mut());
            self.faults += u64::from(verdict.is_err());
            match args.format {
                Format::Text => self.print(&name, line, verdict)?,
                Format::Json => {
                    let mut found = match verdict {
                        Ok(warnings) if warnings.is_empty() => {
                            json!({ "line": line.number, "ok": true })
                        }
                        Ok(warnings) => {
                            json!({ "line": line.number, "ok": true, "warnings": warnings })
                        }
                        Err(fault) => json!({
                            "line": line.number, "ok": false, "code": fault.code.to_string(),
                            "at": fault.at, "message": fault.to_string(),
                        }),
                    };
                    if self.names_file {
                        found["file"] = name.as_str().into();
                    }
                    self.out.record(found)?;
                }
            }
        }
        Ok(())
    }

    fn print(
        &mut self,
        name: &str,
        line: Line<'_>,
        verdict: Result<Vec<String>, Fault>,
    ) -> Result<(), Failure> {
        match verdict {
            Ok(warnings) => {
                for warning in warnings {
                    output::note(format_args!("warning: {name}:{}: {warning}", line.number));
                }
                Ok(())
            }
            Err(fault) => {
                self.out.show(&fault.render(name, line, self.styled))?;
                self.out.line("")
            }
        }
    }
}

/// Checks a line, and returns warnings for usage that the draft recommends against.
pub(super) fn check(
    line: Line<'_>,
    registry: Option<&Registry>,
    envelope: bool,
    rules: Option<&mut SessionRules>,
) -> Result<Vec<String>, Fault> {
    accp_grammar::parse_bytes(line.bytes).map_err(|error| Fault::of_syntax(&error, line.bytes))?;
    let Some(registry) = registry else {
        return Ok(Vec::new());
    };
    let message = DynamicFrame::decode_bytes(line.bytes, registry);
    let message = message.map_err(|error| Fault::of_message(&error, line.bytes, registry))?;
    let text = Fault::or_text(line)?;
    if envelope {
        session_rules::envelope(text, &message, true)?;
    }
    if let Some(rules) = rules {
        rules.check(text, line.number, &message)?;
    }
    let mut warnings = message.warnings(registry);
    warnings.extend(misspelt(&message, registry));
    Ok(warnings)
}

/// Returns a warning for each field that the schema lacks and that is nearly the name of one of its fields. A sender
/// may add fields, so any other field is no mistake.
fn misspelt(message: &DynamicFrame<'_>, registry: &Registry) -> Vec<String> {
    let Some(schema) = message.schema_in(registry) else {
        return Vec::new();
    };
    let warning = |key: &str| {
        let names = schema.fields.iter().map(|field| field.name.as_str());
        let near = nearest(key, names)?;
        let code = &schema.code;
        Some(format!(
            "schema {code} has no field `{key}`; did you mean `{near}`?"
        ))
    };
    let keys = message.payload.iter().map(|(key, _)| key);
    let others = keys.filter(|key| schema.field(key).is_none());
    others.filter_map(warning).collect()
}

fn summary(frames: u64, faults: u64) -> String {
    let lines = counted(frames, "line");
    match faults {
        0 => format!("{lines}: all fine"),
        faults => format!("{lines}: {} fine, {faults} at fault", frames - faults),
    }
}

//! `accp aacp validate`: checks packets, and reports all findings.

use serde_json::json;

use super::lines::Packets;
use super::report;
use super::vocabulary::{VocabularyArgs, validator};
use crate::words::counted;
use accp_console::choices::Format;
use accp_console::input::InputArg;
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::{self, Output};

/// Check packets, one a line
///
/// Errors prevent sending; warnings do not. All findings are reported, each with its field, its byte
/// and the cure. No finding shows a part of the packet.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp validate packets.aacp
  accp aacp validate --unwrap document.txt
  accp aacp validate --vocabulary own.json --format json packets.aacp")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    /// Join a line that ends in `|` with the next, for packets printed in documents
    #[arg(long)]
    unwrap: bool,
    #[command(flatten)]
    vocabulary: VocabularyArgs,
    /// json: one object a line with `line`, `valid`, `errors` and `warnings`, which have each
    /// code once, with its first place
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let vocabulary = args.vocabulary.load()?;
    let validator = validator(&vocabulary);
    let mut packets = Packets::new(args.input.open()?.into_lines(), args.unwrap);
    let name = packets.name().to_owned();
    let mut out = Output::stdout();
    let (mut count, mut faults) = (0_u64, 0);
    while let Some(line) = packets.next()? {
        let report = validator.validate(line.bytes);
        count += 1;
        faults += u64::from(!report.is_valid());
        match args.format {
            Format::Text => {
                for text in report::lines(&name, line.number, &report) {
                    out.line(text)?;
                }
            }
            Format::Json => out.record(json!({
                "line": line.number, "valid": report.is_valid(),
                "errors": report::errors(&report), "warnings": report::warnings(&report),
            }))?,
        }
    }
    out.finish()?;
    if args.format == Format::Text {
        let packets = counted(count, "packet");
        output::note(format_args!("{packets}: {} valid", count - faults));
    }
    Ok(Verdict::of(faults))
}

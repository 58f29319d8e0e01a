//! `accp aacp decode`: reads packets into their fields and explains them.

use accp_aacp::Packet;
use serde_json::json;

use super::lines::Packets;
use super::report;
use super::vocabulary::{VocabularyArgs, validator};
use crate::choices::Format;
use crate::input::InputArg;
use crate::outcome::{Outcome, Verdict};
use crate::output::{self, Output};

/// Turn packets into their fields, with structured English
///
/// The packet is the record, and the English is advice. A packet with an error is reported and not
/// read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp decode packets.aacp
  accp aacp decode --format json packets.aacp | accp aacp encode")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    #[command(flatten)]
    vocabulary: VocabularyArgs,
    /// json: one object a line with `line`, `packet`, `task`, `dom`, `fields` and `english`, or for
    /// a packet with errors `line` and `errors`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let vocabulary = args.vocabulary.load()?;
    let validator = validator(&vocabulary);
    let mut packets = Packets::new(args.input.open()?.into_lines(), false);
    let name = packets.name().to_owned();
    let mut out = Output::stdout();
    let mut faults = 0;
    while let Some(line) = packets.next()? {
        let number = line.number;
        let Ok(packet) = Packet::parse_bytes(line.bytes) else {
            faults += 1;
            let report = validator.validate(line.bytes);
            match args.format {
                Format::Text => report::told(&name, number, &report)
                    .iter()
                    .for_each(output::note),
                Format::Json => {
                    out.line(json!({ "line": number, "errors": report::errors(&report) }))?;
                }
            }
            continue;
        };
        let english = vocabulary.english(&packet);
        match args.format {
            Format::Text => {
                out.line(packet.text())?;
                for (key, value) in [("task", packet.task()), ("dom", packet.dom())]
                    .iter()
                    .chain(packet.fields())
                {
                    out.line(format_args!("  {key}: {value}"))?;
                }
                out.line(format_args!("  {english}\n"))?;
            }
            Format::Json => out.line(json!({
                "line": number, "packet": packet.text(), "task": packet.task(),
                "dom": packet.dom(), "fields": packet.fields(), "english": english,
            }))?,
        }
    }
    out.finish()?;
    Ok(Verdict::of(faults))
}

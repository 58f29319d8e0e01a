//! `accp aacp decode`: reads packets into their fields and explains them.

use serde_json::json;

use super::lines::each;
use super::vocabulary::{VocabularyArgs, validator};
use accp_console::choices::Format;
use accp_console::input::InputArg;
use accp_console::outcome::Outcome;

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
    each(
        &args.input,
        &validator,
        args.format,
        |_, number, packet, _, out| {
            let english = vocabulary.english(packet);
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
                Format::Json => out.record(json!({
                    "line": number, "packet": packet.text(), "task": packet.task(),
                    "dom": packet.dom(), "fields": packet.fields(), "english": english,
                }))?,
            }
            Ok(None)
        },
    )
}

//! `accp aacp lint`: reports fields that cost many tokens, and values that should not be in a packet.

use accp_aacp::{Advice, Packet};
use accp_tokens::{ModelCounter, TokenCounter as _};
use serde_json::{Value as Json, json};

use super::super::tokens::CounterArgs;
use super::lines::Packets;
use super::report;
use accp_console::choices::Format;
use accp_console::input::InputArg;
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::{self, Output};

/// Point out what costs tokens in packets, and what should not stand in them
///
/// The command finds lists of fields and pointers, with the tokens that they cost. It also finds e-mail
/// addresses, card numbers and texts that look like keys. All findings are advice, not errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp lint packets.aacp
  accp aacp lint --model gpt-4 --format json packets.aacp")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    #[command(flatten)]
    counter: CounterArgs,
    /// json: one object a line with `line` and `warnings`, each with `code`, `field`, `at`, `tokens`
    /// and `message`; for a packet with errors `line` and `errors`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let counter = args.counter.counter()?;
    let mut packets = Packets::new(args.input.open()?.into_lines(), false);
    let name = packets.name().to_owned();
    let mut out = Output::stdout();
    let mut faults = 0;
    while let Some(line) = packets.next()? {
        let Ok(packet) = Packet::parse_bytes(line.bytes) else {
            faults += 1;
            let report = accp_aacp::validate(line.bytes);
            match args.format {
                Format::Text => report::lines(&name, line.number, &report)
                    .iter()
                    .for_each(output::note),
                Format::Json => {
                    out.record(json!({ "line": line.number, "errors": report::errors(&report) }))?;
                }
            }
            continue;
        };
        let mut warnings = Vec::new();
        for note in accp_aacp::lint(&packet) {
            let tokens = cost(&packet, note.advice, note.field, &counter);
            match args.format {
                Format::Text => {
                    let tokens = tokens.map(|tokens| format!(" ({tokens} tokens)"));
                    let (code, tokens) = (note.advice.as_str(), tokens.unwrap_or_default());
                    let (line, column) = (line.number, note.at + 1);
                    out.line(format_args!(
                        "{name}:{line}:{column}: {code}: {}{tokens}",
                        note.advice
                    ))?;
                }
                Format::Json => warnings.push(json!({
                    "code": note.advice.as_str(), "field": note.field, "at": note.at,
                    "tokens": tokens, "message": note.advice.to_string(),
                })),
            }
        }
        if args.format == Format::Json {
            out.record(json!({ "line": line.number, "warnings": Json::Array(warnings) }))?;
        }
    }
    out.finish()?;
    Ok(Verdict::of(faults))
}

/// If the advice is about tokens, returns how many tokens shorter the packet would be without the field.
fn cost(
    packet: &Packet<'_>,
    advice: Advice,
    field: usize,
    counter: &ModelCounter,
) -> Option<usize> {
    if !matches!(advice, Advice::FieldList | Advice::Pointer) {
        return None;
    }
    let slots = packet.text().split('|').zip(0..);
    let others = slots.filter(|(_, index)| *index != field);
    let others: Vec<&str> = others.map(|(slot, _)| slot).collect();
    let count = |text: &str| counter.counter.count(text);
    Some(count(packet.text()).saturating_sub(count(&others.join("|"))))
}

//! `accp-lab tune`: chooses the names of a registry anew for another tokenizer.

use std::path::PathBuf;

use accp_learn::tune;
use accp_tokens::Bpe;
use clap::builder::PossibleValuesParser;

use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{Output, SHARED, note};
use accp_console::registries::load_valid;

/// Choose the codes and abbreviations of a registry anew, for a tokenizer
///
/// Each name is the one that costs the fewest tokens in its place. If several cost the same, it is
/// the most readable. Nothing else changes. But frames are written with other names: `accp registry
/// diff` shows what breaks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp-lab tune registry.json --tokenizer cl100k_base -o tuned.json
  accp registry diff registry.json tuned.json")]
pub(crate) struct Args {
    /// The registry: a file or a folder
    #[arg(value_name = "PATH")]
    registry: PathBuf,
    /// Write the registry to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The tokenizer to count with
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Bpe::ENCODINGS))]
    #[arg(default_value = Bpe::ENCODINGS[0])]
    tokenizer: String,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    // clap accepts only names of encodings, so this cannot fail.
    let counter = Bpe::for_encoding(&args.tokenizer).unwrap_or_default();
    let registry = load_valid(&args.registry)?;
    let tuned = tune(&registry, &counter).map_err(|error| {
        let path = args.registry.display();
        Failure::Input(format!("{path}: {error}"))
    })?;
    let mut out = Output::to(args.output.as_deref(), SHARED)?;
    out.record(format_args!("{:#}", tuned.document))?;
    out.finish()?;
    note(match tuned.changed {
        1 => "1 name changed".to_owned(),
        count => format!("{count} names changed"),
    });
    Ok(Verdict::Fine)
}

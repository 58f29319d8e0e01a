//! `accp registry tune`: the names of a registry for another tokenizer.

use std::path::PathBuf;

use accp_learn::tune;
use accp_tokens::Bpe;
use clap::builder::PossibleValuesParser;

use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{Output, note};
use crate::registries::sound;

/// Choose the codes and abbreviations of a registry anew, for a tokenizer
///
/// A name is what costs fewest tokens in its place; of names that cost the same, the most
/// readable. Nothing else changes. What travels does: `accp registry diff` tells what breaks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp registry tune registry.json --tokenizer cl100k_base -o tuned.json
  accp registry diff registry.json tuned.json")]
pub(crate) struct Args {
    /// The registry: a file or a folder
    #[arg(value_name = "PATH")]
    registry: PathBuf,
    /// Write the registry to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The tokenizer that counts
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Bpe::ENCODINGS))]
    #[arg(default_value = Bpe::ENCODINGS[0])]
    tokenizer: String,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    // The command line takes no other names.
    let counter = Bpe::for_encoding(&args.tokenizer).unwrap_or_default();
    let registry = sound(&args.registry)?;
    let tuned = tune(&registry, &counter).map_err(|error| {
        let path = args.registry.display();
        Failure::Input(format!("{path}: {error}"))
    })?;
    let mut out = Output::to(args.output.as_deref())?;
    out.line(format_args!("{:#}", tuned.document))?;
    out.finish()?;
    note(match tuned.changed {
        1 => "1 name changed".to_owned(),
        count => format!("{count} names changed"),
    });
    Ok(Verdict::Fine)
}

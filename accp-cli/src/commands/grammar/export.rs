//! `accp grammar export`: the grammar of frames that a model may write, for constrained decoding.

use std::path::PathBuf;

use accp_registry::Registry;
use accp_registry::export::{Export, ExportError, Options};

use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::Output;
use crate::registries::RegistryArgs;

/// Write the grammar of a registry's frames, for decoders that constrain a model
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp grammar export --format lark
  accp grammar export --format gbnf --frame req:schedule --frame done:schedule
  accp grammar export --format json-schema --registry ours.json -o frames.schema.json

What the grammar takes is a frame that decoders with this registry take, and it takes every
frame that an encoder writes of the fields of its schema; `schema` is its last param.
Beyond any grammar: that a key of data stands once in its map, the length of a frame, and
in fields of type number whether the digits after a mark `#` are those of a float.")]
pub(crate) struct Args {
    /// The notation of the grammar
    #[arg(long, value_enum)]
    format: Format,
    #[command(flatten)]
    registry: RegistryArgs,
    /// A frame by intent and operation, as req:schedule; may be repeated. All frames by default
    #[arg(long, value_name = "INTENT:OPERATION")]
    frame: Vec<String>,
    /// Add metadata, mid and seq first; without this option a frame has only the metadata that its
    /// entry in the registry requires
    #[arg(long)]
    envelope: bool,
    /// Levels of arrays and maps: 5 by default, which decoders accept, and 2 in a regex, which
    /// grows fourfold with each level
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(Export::DEPTH)))]
    depth: Option<u32>,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For llguidance and the services that read its Lark
    Lark,
    /// For llama.cpp
    Gbnf,
    /// One regular expression that the whole frame matches
    Regex,
    /// For the JSON form of the frames, which `accp encode` reads
    JsonSchema,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Outcome {
    let registry = args.registry.load()?;
    let text = text(args, &registry).map_err(|error| failure(&error))?;
    let mut out = Output::to(args.output.as_deref())?;
    out.write(text.as_bytes())?;
    out.finish()?;
    Ok(Verdict::Fine)
}

fn text(args: &Args, registry: &Registry) -> Result<String, ExportError> {
    let options = Options {
        frames: args.frame.clone(),
        envelope: args.envelope,
    };
    let export = Export::of(registry, &options)?;
    let depth = |usual| args.depth.unwrap_or(usual);
    Ok(match args.format {
        Format::Lark => export.grammar(depth(Export::DEPTH))?.to_lark(),
        Format::Gbnf => export.grammar(depth(Export::DEPTH))?.to_gbnf(),
        Format::Regex => export.grammar(depth(Export::REGEX_DEPTH))?.to_regex()? + "\n",
        Format::JsonSchema => export.json_schema(depth(Export::DEPTH))?,
    })
}

/// Sorts errors: a fault of the registry is a fault of the input, other errors are misuse.
pub(in crate::commands) fn failure(error: &ExportError) -> Failure {
    match error {
        ExportError::NoFrames | ExportError::Underscore { .. } => Failure::Input(error.to_string()),
        _ => Failure::Misuse(error.to_string()),
    }
}

//! `accp grammar export`: writes the grammar of the frames that a model may write, for constrained decoding.

use std::path::PathBuf;

use accp_registry::Registry;
use accp_registry::export::{Export, ExportError, Options};

use crate::registries::RegistryArgs;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{Output, SHARED};

/// Write the grammar of a registry's frames, for decoders that constrain a model
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp grammar export --format lark
  accp grammar export --format gbnf --frame req:schedule --frame done:schedule
  accp grammar export --form view --format lark
  accp grammar export --format json-schema --registry ours.json -o frames.schema.json

The grammar accepts every frame that an encoder writes with the fields of its schema, except for
long numbers: in a field of type number it has at most 15 digits after the mark `#`. Without the
mark it has up to 19 digits before the point, and any number of digits behind it. `schema` is the
last param of such a frame. Decoders with this registry accept what the grammar accepts, except for
what no grammar can check: a key of data that stands twice in its map, the length of a frame, and
how many params and items it has.

With --form view, the grammar accepts one or more blocks in the form that `accp primer` teaches.")]
pub(crate) struct Args {
    /// The notation of the grammar
    #[arg(long, value_enum)]
    format: Format,
    /// The form of the frames
    #[arg(long, value_enum, default_value_t)]
    form: Form,
    #[command(flatten)]
    registry: RegistryArgs,
    /// A frame by intent and operation, such as req:schedule; may be repeated. All frames by
    /// default
    #[arg(long, value_name = "INTENT:OPERATION")]
    frame: Vec<String>,
    /// Add metadata, mid and seq first; without this option a frame has only the metadata that its
    /// entry in the registry requires
    #[arg(long)]
    envelope: bool,
    /// How deep arrays and maps may be nested. The default is 5, which is what decoders accept, and 2
    /// for a regex, because each level makes it four times as long
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(Export::DEPTH)))]
    depth: Option<u32>,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A form of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Form {
    /// As peers write them
    #[default]
    Frame,
    /// As a primer teaches models to write them, without metadata
    View,
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
    if args.form == Form::View && (args.envelope || args.format == Format::JsonSchema) {
        let misuse = "a view has no metadata and no JSON form; leave out --envelope, and take --format lark, gbnf or regex";
        return Err(Failure::Misuse(misuse.into()));
    }
    let registry = args.registry.load()?;
    let text = text(args, &registry).map_err(|error| failure(&error))?;
    Output::write(args.output.as_deref(), SHARED, text.as_bytes())?;
    Ok(Verdict::Fine)
}

fn text(args: &Args, registry: &Registry) -> Result<String, ExportError> {
    let options = Options {
        frames: args.frame.clone(),
        envelope: args.envelope,
    };
    let export = Export::of(registry, &options)?;
    let depth = |usual| args.depth.unwrap_or(usual);
    let grammar = |usual| match args.form {
        Form::Frame => export.grammar(depth(usual)),
        Form::View => export.view_grammar(depth(usual)),
    };
    Ok(match args.format {
        Format::Lark => grammar(Export::DEPTH)?.to_lark(),
        Format::Gbnf => grammar(Export::DEPTH)?.to_gbnf(),
        Format::Regex => grammar(Export::REGEX_DEPTH)?.to_regex()? + "\n",
        Format::JsonSchema => export.json_schema(depth(Export::DEPTH))?,
    })
}

/// Makes the failure for an error. A fault of the registry counts as a fault of the input, and any other error as
/// misuse.
pub(in crate::commands) fn failure(error: &ExportError) -> Failure {
    match error {
        ExportError::NoFrames | ExportError::LongToolName { .. } => {
            Failure::Input(error.to_string())
        }
        _ => Failure::Misuse(error.to_string()),
    }
}

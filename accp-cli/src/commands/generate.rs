//! `accp generate`: generates Rust from a registry or from workflows of AACP, or the tools of a model.

use std::path::PathBuf;

use accp_build::{Builder, Error};
use accp_registry::export::{Export, Options, ToolForm};

use super::aacp::structs;
use super::grammar::export;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{Output, SHARED};
use crate::registries;

/// Generate Rust types from a registry, as a build script would, or tool definitions for a model
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp generate registry -o src/frames.rs
  accp generate registry -o src/frames.rs --check
  accp generate registry --owned --type-attribute '.=#[derive(serde::Serialize)]'
  accp generate --standard
  accp generate --aacp -o src/workflows.rs
  accp generate registry --tools openai --frame req:schedule")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Args {
    /// The registry: a file, or a folder whose *.json files are all read. With --aacp: the file of a
    /// workflow, instead of the four of the draft
    #[arg(required_unless_present_any = ["standard", "aacp"])]
    registry: Option<PathBuf>,
    /// Generate the workflows of AACP instead: a struct for each hop, with its packet
    #[arg(long, conflicts_with_all = ["standard", "no_std", "schemaless", "any_frame", "type_attribute", "field_attribute", "tools"])]
    aacp: bool,
    /// With --aacp: a JSON file with `domains` and `keys` that are known besides those of the draft; may
    /// be repeated
    #[arg(long, value_name = "FILE", requires = "aacp", conflicts_with_all = ["standard", "no_std", "schemaless", "any_frame", "type_attribute", "field_attribute", "tools"])]
    vocabulary: Vec<PathBuf>,
    /// Also generate the standard profiles
    #[arg(long)]
    standard: bool,
    /// The path of the runtime, if it is not `accp_runtime`, or `accp_aacp`
    #[arg(long, value_name = "PATH")]
    runtime: Option<String>,
    /// Generate code that uses `alloc` instead of `std`
    #[arg(long)]
    no_std: bool,
    /// Generate frames that do not name a schema: their fields stand in untyped places
    #[arg(long, conflicts_with = "standard")]
    schemaless: bool,
    /// Generate types that own their texts, without lifetimes: a String, and no Cow
    #[arg(long, conflicts_with = "tools")]
    owned: bool,
    /// The name of the enum over all frames, if it is not to be `AnyFrame`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tools", "schemaless"])]
    any_frame: Option<String>,
    /// Add an attribute to types: all (.), a type, or those of a schema; may be repeated
    #[arg(long, value_name = "PATH=ATTRIBUTE", value_parser = attribute, conflicts_with = "tools")]
    type_attribute: Vec<(String, String)>,
    /// Add an attribute to fields: all (.), those of a type or schema, or TYPE.FIELD; may be repeated
    #[arg(long, value_name = "PATH=ATTRIBUTE", value_parser = attribute, conflicts_with = "tools")]
    field_attribute: Vec<(String, String)>,
    /// Generate tool definitions instead, for the API of a model provider: a tool for each frame
    #[arg(long, value_enum, value_name = "API", conflicts_with_all = ["no_std", "schemaless"])]
    tools: Option<Api>,
    /// A frame by intent and operation, as req:schedule; may be repeated. All frames by default
    #[arg(long, value_name = "INTENT:OPERATION", requires = "tools")]
    frame: Vec<String>,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write nothing; fail if the file differs from what the registry generates
    #[arg(long, requires = "output")]
    check: bool,
}

/// An API that takes tool definitions.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Api {
    /// OpenAI's functions, strict
    Openai,
    /// Anthropic's tools
    Anthropic,
    /// The tools of a Model Context Protocol server
    Mcp,
}

/// Takes an attribute and its path apart.
fn attribute(text: &str) -> Result<(String, String), String> {
    let Some((path, attribute)) = text.split_once('=') else {
        return Err("expected a path and an attribute, as in '.=#[derive(Eq)]'".to_owned());
    };
    Ok((path.to_owned(), attribute.to_owned()))
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let runtime = args.runtime.as_deref();
    let text = match args.tools {
        Some(api) => tools(args, api)?,
        None if args.aacp => {
            let path = args.registry.as_deref();
            structs::rust(path, &args.vocabulary, runtime, args.owned)?
        }
        None => rust(args)?,
    };
    match &args.output {
        Some(path) if args.check => {
            accp_build::check(path, &text).map_err(|stale| Failure::Input(stale.to_string()))?;
        }
        path => {
            let mut out = Output::to(path.as_deref(), SHARED)?;
            out.data(text.as_bytes())?;
            out.finish()?;
        }
    }
    Ok(Verdict::Fine)
}

/// Returns the tool definitions.
fn tools(args: &Args, api: Api) -> Result<String, Failure> {
    let mut registry = registries::merged(args.registry.as_slice())?;
    if args.standard {
        registry = registry.with_profiles();
    }
    let options = Options {
        frames: args.frame.clone(),
        ..Options::default()
    };
    let export = Export::of(&registry, &options).map_err(|error| export::failure(&error))?;
    Ok(export.tools(match api {
        Api::Openai => ToolForm::OpenAi,
        Api::Anthropic => ToolForm::Anthropic,
        Api::Mcp => ToolForm::Mcp,
    }))
}

/// Returns the Rust source.
fn rust(args: &Args) -> Result<String, Failure> {
    let mut builder = Builder::new()
        .standard_profiles(args.standard)
        .runtime(args.runtime.as_deref().unwrap_or("accp_runtime"))
        .no_std(args.no_std)
        .schemaless(args.schemaless)
        .owned(args.owned);
    if let Some(name) = &args.any_frame {
        builder = builder.any_frame(name);
    }
    for (path, attribute) in &args.type_attribute {
        builder = builder.type_attribute(path, attribute);
    }
    for (path, attribute) in &args.field_attribute {
        builder = builder.field_attribute(path, attribute);
    }
    if let Some(path) = &args.registry {
        std::fs::metadata(path).map_err(Failure::at(path))?;
        builder = builder.registry(path);
    }
    let failure = |error| match error {
        Error::Registry(_) | Error::Names(_) => Failure::Input(format!("{error}")),
        _ => Failure::Misuse(format!("{error}")),
    };
    registries::tell(builder.replaced().map_err(failure)?);
    builder.generate().map_err(failure)
}

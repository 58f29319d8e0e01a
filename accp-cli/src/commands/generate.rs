//! `accp generate`: generates Rust from a registry.

use std::path::PathBuf;

use accp_build::{Builder, Error};

use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::Output;

/// Generate Rust types from a registry, as a build script would
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp generate registry -o src/frames.rs
  accp generate registry -o src/frames.rs --check
  accp generate --standard")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Args {
    /// The registry: a file, or a folder whose *.json files are all read
    #[arg(required_unless_present = "standard")]
    registry: Option<PathBuf>,
    /// Also generate the standard profiles
    #[arg(long)]
    standard: bool,
    /// The path of the runtime, if the crate imports it under another name
    #[arg(long, value_name = "PATH", default_value = "accp_runtime")]
    runtime: String,
    /// Generate code that uses `alloc` instead of `std`
    #[arg(long)]
    no_std: bool,
    /// Generate frames that do not name a schema: their fields stand in untyped places
    #[arg(long, conflicts_with = "standard")]
    schemaless: bool,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write nothing; fail if the file differs from what the registry generates
    #[arg(long, requires = "output")]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut builder = Builder::new()
        .standard_profiles(args.standard)
        .runtime(&args.runtime)
        .no_std(args.no_std)
        .schemaless(args.schemaless);
    if let Some(path) = &args.registry {
        std::fs::metadata(path).map_err(Failure::at(path))?;
        builder = builder.registry(path);
    }
    let text = builder.generate().map_err(|error| match error {
        Error::Registry(_) | Error::Names(_) => Failure::Input(error.to_string()),
        _ => Failure::Misuse(error.to_string()),
    })?;
    match &args.output {
        Some(path) if args.check => {
            accp_build::check(path, &text).map_err(|stale| Failure::Input(stale.to_string()))?;
        }
        path => {
            let mut out = Output::to(path.as_deref())?;
            out.write(text.as_bytes())?;
            out.finish()?;
        }
    }
    Ok(Verdict::Fine)
}

//! `accp registry hash`: prints the hash with which peers compare registries.

use std::path::PathBuf;

use crate::registries::merged;
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::Output;

/// Print the hash of a registry, as sync:registry carries it
///
/// The hash covers the schemas without their docs, and the standard profiles that they do not replace, as a hub with this
/// registry announces it. Spacing and the order of keys do not count.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp registry hash registry
  accp registry hash registry --full")]
pub(crate) struct Args {
    /// Registry files or folders, taken as one registry
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The number of hex digits, 6 to 64
    #[arg(long, value_name = "N", default_value_t = 6)]
    #[arg(value_parser = clap::value_parser!(u8).range(6..=64))]
    digits: u8,
    /// All 64 digits
    #[arg(long, conflicts_with = "digits")]
    full: bool,
    /// Only the given schemas, without the standard profiles
    #[arg(long)]
    alone: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut registry = merged(&args.paths)?;
    if !args.alone {
        registry = registry.with_profiles();
    }
    let digits = if args.full { 64 } else { args.digits };
    Output::print_line(registry.hash().short(usize::from(digits)))?;
    Ok(Verdict::Fine)
}

//! `accp registry diff`: shows the changes between two registries, and which of them break a peer.

use std::path::PathBuf;

use serde_json::json;

use crate::registries::load_valid;
use crate::words::counted;
use accp_console::choices::Format;
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::{self, Output};

/// Show the changes from one registry to another, and which of them break peers
///
/// A change is breaking if one side may write a frame that the other side refuses or reads with
/// another meaning. Each breaking change is shown with its rule, and with the reader that it breaks:
/// the old reader reads frames that are written with NEW, and the new reader reads frames that are
/// written with OLD.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp registry diff old.json new.json
  accp registry diff --breaking old.json new.json || echo 'not yet'")]
pub(crate) struct Args {
    /// The older registry: a file or a folder
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The newer registry
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Show only breaking changes, and exit with 1 if there are any
    #[arg(long)]
    breaking: bool,
    /// json: one object a line with `pointer`, `description`, `breaking`, the rule or null, and
    /// `reader`, the one that breaks: `old`, `new`, `both` or null
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let old = load_valid(&args.old)?;
    let new = load_valid(&args.new)?;
    let mut changes = accp_registry::diff(&old, &new);
    changes.retain(|change| change.breaking.is_some() || !args.breaking);
    let mut out = Output::stdout();
    for change in &changes {
        match args.format {
            Format::Text => out.line(change)?,
            Format::Json => out.record(json!({
                "pointer": change.pointer,
                "description": change.description,
                "breaking": change.breaking.map(|breaking| breaking.rule),
                "reader": change.breaking.map(|breaking| breaking.reader.word()),
            }))?,
        }
    }
    out.finish()?;
    if args.format == Format::Text {
        let breaking = changes
            .iter()
            .filter(|change| change.breaking.is_some())
            .count();
        let changes = counted(changes.len() as u64, "change");
        output::note(format_args!("{changes}, {breaking} breaking"));
    }
    Ok(Verdict::of(if args.breaking {
        changes.len() as u64
    } else {
        0
    }))
}

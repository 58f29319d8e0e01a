//! `accp collab table`: shows the state machine of a collaboration.

use accp_collab::table::rendered;

use super::report;
use accp_console::outcome::{Outcome, Verdict};

/// The form of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Form {
    /// A table in Markdown
    #[default]
    Text,
    /// One JSON object
    Json,
    /// A diagram for Mermaid
    Mermaid,
}

/// Show the state machine: what may be appended in which phase, by whom, and what follows
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab table
  accp collab table --format mermaid")]
pub(crate) struct Args {
    /// The form of the table
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let text = match args.format {
        Form::Text => rendered::markdown(),
        Form::Json => rendered::json().to_string(),
        Form::Mermaid => rendered::mermaid(),
    };
    report::print(text.trim_end())?;
    Ok(Verdict::Fine)
}

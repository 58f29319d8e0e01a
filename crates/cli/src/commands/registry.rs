//! `accp registry`: shows, checks and compares registries.

mod diff;
mod hash;
mod lint;
mod show;

use accp_console::outcome::Outcome;

/// Check, compare and show schema registries
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Lint(lint::Args),
    Hash(hash::Args),
    Diff(diff::Args),
    Show(show::Args),
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Lint(args) => lint::run(args),
        Command::Hash(args) => hash::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Show(args) => show::run(args),
    }
}

//! `accp registry`: shows, checks and learns registries.

mod diff;
mod hash;
mod learn;
mod lint;
mod show;
mod tune;

use crate::outcome::Outcome;

/// Check, compare, show and learn schema registries
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Lint(lint::Args),
    Hash(hash::Args),
    Diff(diff::Args),
    Show(show::Args),
    Learn(learn::Args),
    Tune(tune::Args),
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Lint(args) => lint::run(args),
        Command::Hash(args) => hash::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Show(args) => show::run(args),
        Command::Learn(args) => learn::run(args),
        Command::Tune(args) => tune::run(args),
    }
}

//! `accp bench`: the cost of contexts and their recall.

mod context;
mod table;

use crate::outcome::Outcome;

/// Measure context policies on recorded conversations
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Context(context::Args),
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Context(args) => context::run(args),
    }
}

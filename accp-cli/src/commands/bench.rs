//! `accp bench`: what contexts cost and forget.

mod context;
mod table;

use crate::outcome::Outcome;

/// Measure policies for the context of agents on recorded conversations
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

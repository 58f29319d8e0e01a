//! `accp session`: the sessions of a store file.

mod erase;
mod export;
mod import;
mod list;
mod replay;
mod search;
mod show;
mod verify;

use accp_console::outcome::Outcome;

/// Look into a file of sessions, check it, erase from it, and import recorded conversations
///
/// The file is a store of `accp-store`: of a host, or of members with their copies. All commands
/// except erase and import open it read-only, also while it is in use.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Args),
    Show(show::Args),
    Replay(replay::Args),
    Search(search::Args),
    Export(export::Args),
    Verify(verify::Args),
    Erase(erase::Args),
    Import(import::Args),
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::List(args) => list::run(args),
        Command::Show(args) => show::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Search(args) => search::run(args),
        Command::Export(args) => export::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Erase(args) => erase::run(args),
        Command::Import(args) => import::run(args),
    }
}

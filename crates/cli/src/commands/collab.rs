//! `accp collab`: agents that share a folder.
//!
//! The protocol defines the exit codes: 0 for success; 1 for a check that passed with warnings, or a wait that gave
//! up; 2 for a command that was refused, failed or was misused.

mod append;
mod declare;
mod frames;
mod init;
mod link;
mod next;
mod repair;
mod report;
mod status;
mod table;
mod validate;
mod wait;

use std::path::PathBuf;

use accp_collab::disk::{Locking, Shared};
use clap::ValueEnum;

use accp_console::choices::Format;
use accp_console::outcome::Outcome;

/// Let agents work on one document through a shared folder
///
/// The agents draft, review, decide, freeze and conclude one deliverable, by a log, turns and gates. They
/// need nothing but the folder. `accp collab next` says what a participant has to do, `accp collab wait`
/// waits for the turn, and `accp collab append` says that it is done.
///
/// Exit codes: 0 all is fine; 1 passed with warnings, or the wait gave up; 2 refused, failed or misused.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Next(next::Args),
    Wait(wait::Args),
    Append(append::Args),
    Validate(validate::Args),
    Status(status::Args),
    Declare(declare::Args),
    Repair(repair::Args),
    Table(table::Args),
    Frames(frames::Args),
    Link(link::Args),
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Init(args) => init::run(args),
        Command::Next(args) => next::run(args),
        Command::Wait(args) => wait::run(args),
        Command::Append(args) => append::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Status(args) => status::run(args),
        Command::Declare(args) => declare::run(args),
        Command::Repair(args) => repair::run(args),
        Command::Table(args) => table::run(args),
        Command::Frames(args) => frames::run(args),
        Command::Link(args) => link::run(args),
    }
}

/// The kind of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Lock {
    /// A lock of the operating system
    #[default]
    System,
    /// A lock in files, for file systems without locks
    File,
}

/// The folder, its lock, and the format of the result.
#[derive(Debug, clap::Args)]
struct FolderArgs {
    /// The shared folder
    #[arg(long = "folder", value_name = "DIR")]
    path: PathBuf,
    /// The kind of lock; all participants of a folder have to use the same kind
    #[arg(long, value_enum, default_value_t)]
    lock: Lock,
    /// The format of the result; `json` is one object, also when the command is refused
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl FolderArgs {
    fn shared(&self) -> Shared {
        let locking = match self.lock {
            Lock::System => Locking::System,
            Lock::File => Locking::File,
        };
        Shared::new(&self.path).with_locking(locking)
    }

    /// Returns the path of the folder as text, for the command lines that reports show.
    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

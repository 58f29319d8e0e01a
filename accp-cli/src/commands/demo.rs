//! `accp demo`: a pipeline of five agents.

mod script;
mod stage;
mod tally;

use std::fs;
use std::path::PathBuf;

use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{Output, note};
use script::SCRIPT;
use stage::Stage;

/// Show five agents at work: sessions, checkpoints, budgets, a crash, and the token cost
///
/// A planner hosts a session, and four agents join it. One file keeps the sides of all five. Every
/// frame is shown with its twin in plain words, and every checkpoint with its reason and the size
/// of the context after it. In the middle the host is killed between a commit and its
/// acknowledgement, and restored. The output is the same each time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp demo
  accp demo --debug 2>&1 | less
  accp demo --store team.db && accp session show team.db --context")]
pub(crate) struct Args {
    /// Keep the sessions in this new file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Keep the file, and report its place; without this option the file is deleted at the end
    #[arg(long, conflicts_with = "store")]
    keep: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| Failure::Io("a folder".to_owned(), error))?;
    let path = match &args.store {
        Some(path) => path.clone(),
        None => folder.path().join("team.db"),
    };
    if fs::symlink_metadata(&path).is_ok() {
        return Err(Failure::Misuse(format!(
            "{} is there already: name a new file, or remove it",
            path.display()
        )));
    }
    let mut stage = Stage::open(&path, Output::stdout())?;
    for (at, step) in SCRIPT.iter().enumerate() {
        stage.step(*step, &SCRIPT[at + 1..])?;
    }
    stage.close()?;
    if args.keep {
        note(format_args!(
            "kept in {}",
            folder.keep().join("team.db").display()
        ));
    }
    Ok(Verdict::Fine)
}

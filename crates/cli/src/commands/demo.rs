//! `accp demo`: a pipeline of five agents.

mod runner;
mod script;
mod token_costs;

use std::fs;
use std::path::{Path, PathBuf};

use accp_store::{SqliteStore, Store as _};

use crate::store_copy;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{Output, note};
use runner::Runner;
use script::SCRIPT;

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
    /// Keep the sessions in this new file; they enter it at the end, all or none
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Keep the file, and report its place; without this option the file is deleted at the end
    #[arg(long, conflicts_with = "store")]
    keep: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| {
        let place = std::env::temp_dir();
        Failure::Misuse(format!(
            "no folder can be made in {}: {}; name another place with TMPDIR",
            place.display(),
            error.kind()
        ))
    })?;
    let kept = args.store.as_deref().map(new_store).transpose()?;
    let path = folder.path().join("team.db");
    let mut runner = Runner::open(&path, Output::stdout())?;
    for (at, step) in SCRIPT.iter().enumerate() {
        runner.step(*step, &SCRIPT[at + 1..])?;
    }
    runner.close()?;
    if let Some(mut kept) = kept {
        store_copy::copy_all(&mut SqliteStore::open_read_only(&path)?, &mut kept)?;
    }
    if args.keep {
        note(format_args!(
            "kept in {}",
            folder.keep().join("team.db").display()
        ));
    }
    Ok(Verdict::Fine)
}

/// Opens a new file. A file without sessions counts as new: an earlier run that was killed leaves
/// such a file.
fn new_store(path: &Path) -> Result<SqliteStore, Failure> {
    let is_there = fs::symlink_metadata(path).is_ok();
    match SqliteStore::open(path).map(|mut store| (store.list(), store)) {
        Ok((Ok(sides), store)) if sides.is_empty() => Ok(store),
        Err(error) if !is_there => Err(error.into()),
        _ => Err(Failure::Misuse(format!(
            "{} is there already: name a new file, or remove it",
            path.display()
        ))),
    }
}

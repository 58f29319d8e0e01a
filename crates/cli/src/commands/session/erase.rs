//! `accp session erase`: erases somebody's data from a session.

use std::path::PathBuf;

use accp_hub::describe_erasure;
use accp_registry::Registry;
use accp_session::Rules;
use accp_store::{EraseError, ErasurePlan, SqliteStore, StoreErrorKind};

use crate::erasure::ErasureArgs;
use crate::store_file::{self, StoreRegistryArgs};
use crate::words;
use accp_console::outcome::{Failure, Outcome};
use accp_console::output::note;

/// Erase somebody's frames and values from a session; places, ids and digests stay
///
/// With a frame, the command erases its parts and copies, the values that its sender has put for
/// it, and the checkpoints that may state its facts. The command writes the whole file again, so
/// that no page keeps erased data. Quotations by other agents stay. Copies elsewhere stay, too: in
/// backups, and with agents that have stores of their own.
///
/// No other process may have the file open. If a hub has it open, `accp erase` asks the hub to
/// erase the data.
///
/// A session is erased from all logs of it that the file has, of its host and of members. The name of
/// one log, `launch@dev`, erases from this log alone. The command names the logs before it erases.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:
  accp session erase team.db launch --from dev --dry-run
  accp session erase team.db launch --from dev
  accp session erase team.db launch@dev --from dev
  accp session erase team.db --positions 3..9,12 --key k101_7"
)]
pub(crate) struct Args {
    /// The file, a store of `accp-store`
    file: PathBuf,
    /// The session, or one log of it, as launch@dev; may be left out if the file holds only one session, or only one
    /// host's side
    session: Option<String>,
    #[command(flatten)]
    registry: StoreRegistryArgs,
    #[command(flatten)]
    data: ErasureArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let selection = args.data.selection()?;
    let mut store = if args.data.dry_run {
        store_file::open(&args.file)?
    } else {
        alone(args)?
    };
    let found = store_file::find(&mut store, &args.file, args.session.as_deref())?;
    let (session, rules) = (found.side.session(), Rules::default());
    let registry = args.registry.load()?.unwrap_or_else(Registry::empty);
    let options = store_file::options(&found.side, registry)?;
    // If the name is that of a session with its host in this file, the whole session is erased. Any other name stands
    // for one side.
    let named = args.session.as_deref();
    let plan = if named.is_none_or(|name| found.host && name == session) {
        ErasurePlan::make(&mut store, session, &selection, &options, &rules)
    } else {
        ErasurePlan::of_side(&mut store, &found.side, &selection, &options, &rules)
    };
    let plan = plan.map_err(|error| failure(args, error))?;
    if !args.data.dry_run {
        if let sides @ [_, _, ..] = plan.sides() {
            let logs = sides.iter().map(|part| part.side.to_string());
            let logs: Vec<_> = logs.map(|log| words::name(&log).into_owned()).collect();
            let (count, logs) = (logs.len(), logs.join(", "));
            let session = words::name(session);
            note(format_args!(
                "erasing from {count} logs of session `{session}`: {logs}"
            ));
        }
        plan.carry_out(&mut store)?;
    }
    args.data
        .print(&describe_erasure(session, &plan, !args.data.dry_run))
}

/// Opens the file so that no other process can open it.
fn alone(args: &Args) -> Result<SqliteStore, Failure> {
    drop(store_file::open(&args.file)?); // for a file that is not a store, this call gives the better error
    SqliteStore::open_alone(&args.file).map_err(|error| match error.kind() {
        StoreErrorKind::Busy => Failure::Misuse(format!("{error}: `accp erase` asks a hub")),
        _ => error.into(),
    })
}

fn failure(args: &Args, error: EraseError) -> Failure {
    let file = args.file.display();
    match error {
        EraseError::Store(error) => error.into(),
        EraseError::Restore(..) => Failure::Input(format!(
            "{file}: {error}; or take a copy of the store back from a backup"
        )),
        EraseError::Due(..) => Failure::Misuse(format!("{file}: {error} (--lapse)")),
        error => Failure::Misuse(format!("{file}: {error}")),
    }
}

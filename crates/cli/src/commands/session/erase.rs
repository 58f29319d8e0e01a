//! `accp session erase`: erases somebody's data from a session.

use std::path::PathBuf;

use accp_hub::describe_erasure;
use accp_registry::Registry;
use accp_session::Rules;
use accp_store::{EraseError, ErasurePlan, SqliteStore, StoreErrorKind};

use crate::erasure::ErasureArgs;
use crate::store_file;
use accp_console::outcome::{Failure, Outcome};

/// Erase somebody's frames and values from a session; places, ids and digests stay
///
/// With a frame, the command erases its parts and copies, the values that its sender has put for
/// it, and the checkpoints that may state its facts. The command writes the whole file again, so
/// that no page keeps erased data. Quotations by other agents stay. Copies elsewhere stay, too: in
/// backups, and with agents that have stores of their own.
///
/// No other process may have the file open. If a hub has it open, `accp erase` asks the hub to
/// erase the data.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:
  accp session erase team.db launch --from dev --dry-run
  accp session erase team.db launch --from dev
  accp session erase team.db --positions 3..9,12 --key k101_7"
)]
pub(crate) struct Args {
    /// The file, a store of `accp-store`
    file: PathBuf,
    /// The session; may be left out if the file holds only one session, or only one host's side
    session: Option<String>,
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
    let options = store_file::options(&found.side, Registry::empty())?;
    let plan = ErasurePlan::make(&mut store, session, &selection, &options, &rules);
    let plan = plan.map_err(|error| failure(args, error))?;
    if !args.data.dry_run {
        plan.carry_out(&mut store)?;
    }
    args.data
        .print(&describe_erasure(session, &plan, !args.data.dry_run))
}

/// Opens the file, and keeps other processes out.
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
        EraseError::Due(..) => Failure::Misuse(format!("{file}: {error} (--lapse)")),
        error => Failure::Misuse(format!("{file}: {error}")),
    }
}

//! `accp erase`: makes a running hub erase somebody's data.

use serde_json::json;

use crate::erasure::ErasureArgs;
use crate::hub::{Hub, HubArgs, TimeArgs};
use accp_console::outcome::Outcome;

/// Have a running hub erase somebody's frames and values from a session
///
/// The hub does what `accp session erase` does with a file. Agents of the session connect again. The token needs
/// `admin = true` in the file of tokens.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp erase --session lunch --from dev --dry-run
  accp erase --session lunch --positions 3..9")]
pub(crate) struct Args {
    #[command(flatten)]
    data: ErasureArgs,
    #[command(flatten)]
    hub: HubArgs,
    #[command(flatten)]
    time: TimeArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let selection = args.data.selection()?;
    let positions = selection.positions.iter();
    let positions = positions.map(|range| [*range.start(), *range.end()]);
    let body = json!({
        "from": selection.from, "positions": positions.collect::<Vec<_>>(), "keys": selection.keys,
        "lapse": selection.lapses, "dry_run": args.data.dry_run,
    });
    let hub = Hub::new(&args.hub, args.time.time())?;
    args.data.print(&hub.erase(&body.to_string())?)
}

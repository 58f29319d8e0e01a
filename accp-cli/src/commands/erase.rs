//! `accp erase`: has a running hub erase somebody's data.

use serde_json::json;

use crate::erasure::Data;
use crate::hub::{Hub, HubArgs};
use crate::outcome::{Failure, Outcome};

/// Have a running hub erase somebody's frames and values from a session
///
/// As `accp session erase` does in a file. Agents of the session connect again. The token needs
/// `admin = true` in the file of tokens.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp erase --session lunch --from dev --dry-run
  accp erase --session lunch --positions 3..9")]
pub(crate) struct Args {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let wanted = args.data.wanted()?;
    let positions = wanted.positions.iter();
    let positions = positions.map(|range| [*range.start(), *range.end()]);
    let body = json!({
        "from": wanted.from, "positions": positions.collect::<Vec<_>>(), "keys": wanted.keys,
        "lapse": wanted.lapses, "dry_run": args.data.dry_run,
    });
    let said = Hub::new(&args.hub)?.erase(&body.to_string())?;
    let told = serde_json::from_str(&said);
    let told = told.map_err(|error| Failure::Input(format!("the hub answers no JSON: {error}")))?;
    args.data.tell(&told)
}

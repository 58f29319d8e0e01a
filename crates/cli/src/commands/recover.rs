//! `accp recover`: decides how a running hub continues a session whose store is an old copy.

use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::Output;
use serde_json::Value as Json;

use crate::hub::{Hub, HubArgs, TimeArgs};

/// Decide how a session goes on after its store was replaced by an older copy
///
/// The hub stops such a session as soon as an agent shows that it has seen more than the copy has. This command fetches
/// the missing entries from that agent, which has to be connected. With `--fork` the session goes on without these entries,
/// and agents that have seen them have to connect again with an empty store; `accp agent` does so by itself. If the hub has
/// tokens, the token needs `admin = true`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp recover --session lunch
  accp recover --session lunch --fork")]
pub(crate) struct Args {
    /// Go on without the entries that the store lacks
    #[arg(long)]
    fork: bool,
    #[command(flatten)]
    hub: HubArgs,
    #[command(flatten)]
    time: TimeArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let hub = Hub::new(&args.hub, args.time.time())?;
    let how = if args.fork { "fork" } else { "recover" };
    let outcome = hub.decide(how)?;
    Output::print_line(told(&outcome))?;
    Ok(Verdict::Fine)
}

/// Returns what has happened, in words.
fn told(outcome: &Json) -> String {
    let session = outcome["session"].as_str().unwrap_or_default();
    match outcome["recovered"].as_array().map(Vec::as_slice) {
        Some([from, to]) => format!("{session}: the entries {from} to {to} are back"),
        _ => format!(
            "{session}: the log goes on after {}, without the entries up to {} that an agent had seen",
            outcome["position"], outcome["lost_until"]
        ),
    }
}

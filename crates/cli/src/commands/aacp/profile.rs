//! `accp aacp profile`: prints the schema of frames that carry packets.

use accp_aacp::bridge;

use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::Output;

/// Print the schema AP, by which frames carry packets
///
/// The output is a registry file. The commands that read frames know it already. Give the file to a hub
/// whose sessions carry packets.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp profile > ap.json && accp serve --registry ap.json team.accp
  accp aacp profile > ap.json && accp generate ap.json")]
pub(crate) struct Args {}

/// Runs the command.
pub(crate) fn run(Args {}: &Args) -> Outcome {
    Output::print_record(bridge::PROFILE.trim_end())?;
    Ok(Verdict::Fine)
}

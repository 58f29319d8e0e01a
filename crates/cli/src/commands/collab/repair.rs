//! `accp collab repair`: what a crash has left behind.

use serde_json::{Map, Value as Json};

use super::{Place, report};
use accp_console::choices::Format;
use accp_console::outcome::{Outcome, Verdict};

/// Mend what a crash has left behind
///
/// A last line of the log that was cut is put into events.jsonl.torn, a review that waits is put into
/// review.md, and protocol.json gets the state of the log. What only a person can mend, stays: `accp collab
/// validate` says what that is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab repair --folder round")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let repaired = match args.place.shared().repair() {
        Ok(repaired) => repaired,
        Err(findings) => return report::refuse(&findings, args.place.format),
    };
    match args.place.format {
        Format::Json => {
            let mut object = Map::new();
            object.insert("ok".to_owned(), true.into());
            object.insert("repaired".to_owned(), repaired.files.into());
            object.extend(report::standing(&repaired.folder));
            report::record(&Json::Object(object).to_string())?;
        }
        Format::Text if repaired.files.is_empty() => report::print("nothing was to be mended")?,
        Format::Text => report::print(&format!("mended: {}", repaired.files.join(", ")))?,
    }
    Ok(Verdict::Fine)
}

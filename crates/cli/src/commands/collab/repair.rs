//! `accp collab repair`: repairs the folder after a crash.

use serde_json::{Map, Value as Json};

use super::{FolderArgs, report};
use accp_console::outcome::{Outcome, Verdict};

/// Mend what a crash has left behind
///
/// If the last line of the log was cut off, the command moves it to events.jsonl.torn. It puts a review that
/// still waits into review.md, and the state of the log into protocol.json. What only a person can mend stays
/// as it is; `accp collab validate` says what that is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab repair --folder round")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let repaired = match args.folder.shared().repair() {
        Ok(repaired) => repaired,
        Err(findings) => return report::refuse(&findings, args.folder.format),
    };
    let mut object = Map::new();
    object.insert("ok".to_owned(), true.into());
    object.insert("repaired".to_owned(), repaired.files.clone().into());
    object.extend(report::standing(&repaired.folder));
    let text = match repaired.files.as_slice() {
        [] => "nothing was to be mended".to_owned(),
        files => format!("mended: {}", files.join(", ")),
    };
    report::show(args.folder.format, Json::Object(object), text)?;
    Ok(Verdict::Fine)
}

//! `accp collab status`: shows the state of a collaboration.

use accp_collab::Scope;
use serde_json::{Map, Value as Json, json};

use super::{FolderArgs, report};
use accp_console::outcome::{Outcome, Verdict};

/// Say where a collaboration stands
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab status --folder round")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = args.folder.shared().read(Scope::All);
    let (protocol, state) = match folder.standing() {
        Ok(standing) => standing,
        Err(findings) => return report::refuse(&findings, args.folder.format),
    };
    let frozen: Vec<&str> = state.frozen().map(|(doc, _)| doc).collect();
    let primary = protocol.reference(&protocol.primary.file);
    let objective = protocol.objective();
    let events = folder.log().events().len();
    let participants = protocol.participants.join(", ");
    let standing = report::standing_text(&folder);
    let shown = match frozen.as_slice() {
        [] => "none".to_owned(),
        frozen => frozen.join(", "),
    };
    let text = format!(
        "objective: {objective}\nparticipants: {participants}\nprimary deliverable: {primary}\n\
         {standing}\nfrozen: {shown}\nevents: {events}"
    );
    let mut object = Map::new();
    object.insert("ok".to_owned(), true.into());
    object.insert("objective".to_owned(), objective.into());
    object.insert("participants".to_owned(), json!(protocol.participants));
    object.insert("primary".to_owned(), primary.into());
    object.extend(report::standing(&folder));
    object.insert("frozen".to_owned(), frozen.into());
    object.insert("events".to_owned(), events.into());
    object.insert("last".to_owned(), report::last(&folder));
    report::show(args.folder.format, Json::Object(object), text)?;
    Ok(Verdict::Fine)
}

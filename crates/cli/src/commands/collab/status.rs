//! `accp collab status`: where a collaboration stands.

use accp_collab::Scope;
use serde_json::{Map, Value as Json};

use super::{Place, report};
use accp_console::choices::Format;
use accp_console::outcome::{Outcome, Verdict};

/// Say where a collaboration stands
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab status --folder round")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = args.place.shared().read(Scope::All);
    let (protocol, state) = match folder.standing() {
        Ok(standing) => standing,
        Err(findings) => return report::refuse(&findings, args.place.format),
    };
    let frozen: Vec<&str> = state.frozen().map(|(doc, _)| doc).collect();
    let primary = protocol.reference(&protocol.primary.file);
    match args.place.format {
        Format::Json => {
            let mut object = Map::new();
            object.insert("ok".to_owned(), true.into());
            object.insert("objective".to_owned(), protocol.objective().into());
            object.insert(
                "participants".to_owned(),
                protocol.participants.clone().into(),
            );
            object.insert("primary".to_owned(), primary.into());
            object.extend(report::standing(&folder));
            object.insert("frozen".to_owned(), frozen.into());
            object.insert("events".to_owned(), folder.log().events().len().into());
            object.insert("last".to_owned(), report::last(&folder));
            report::record(&Json::Object(object).to_string())?;
        }
        Format::Text => {
            let frozen = if frozen.is_empty() {
                "none".to_owned()
            } else {
                frozen.join(", ")
            };
            report::print(&format!(
                "objective: {}\nparticipants: {}\nprimary deliverable: {primary}\n{}\nfrozen: {frozen}\nevents: {}",
                protocol.objective(),
                protocol.participants.join(", "),
                report::standing_text(&folder),
                folder.log().events().len()
            ))?;
        }
    }
    Ok(Verdict::Fine)
}

//! `accp collab next`: what a participant has to do now.

use accp_collab::{Scope, next};

use super::{Place, report};
use accp_console::choices::Format;
use accp_console::outcome::{Outcome, Verdict};

/// Say what a participant has to do now, with the command to run
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab next --folder round --participant ada")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The participant
    #[arg(long, value_name = "ID")]
    participant: String,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = args.place.shared().read(Scope::All);
    let next = match next(&folder, &args.participant) {
        Ok(next) => next,
        Err(findings) => return report::refuse(&findings, args.place.format),
    };
    let name = args.place.name();
    match args.place.format {
        Format::Json => report::record(&report::next_object(&folder, &next, &name).to_string())?,
        Format::Text => {
            report::print(&format!(
                "{}\n{}",
                report::standing_text(&folder),
                next.text(&name)
            ))?;
        }
    }
    Ok(Verdict::Fine)
}

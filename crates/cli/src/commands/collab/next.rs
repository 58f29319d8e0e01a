//! `accp collab next`: says what a participant has to do now.

use accp_collab::{Scope, next};

use super::{FolderArgs, report};
use accp_console::outcome::{Outcome, Verdict};

/// Say what a participant has to do now, with the command to run
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab next --folder round --participant ada")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
    /// The participant
    #[arg(long, value_name = "ID")]
    participant: String,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = args.folder.shared().read(Scope::All);
    let next = match next(&folder, &args.participant) {
        Ok(next) => next,
        Err(findings) => return report::refuse(&findings, args.folder.format),
    };
    let name = args.folder.name();
    report::show(
        args.folder.format,
        report::next_object(&folder, &next, &name),
        format_args!("{}\n{}", report::standing_text(&folder), next.text(&name)),
    )?;
    Ok(Verdict::Fine)
}

//! `accp tail`: the frames of a session, as they come.

use accp_registry::Registry;

use crate::hub::{Hub, HubArgs};
use crate::outcome::{Outcome, Verdict};
use crate::output::Output;
use crate::words::{printable, twin};

/// Print the frames of a session on a running hub, as they come
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp tail --words
  accp tail --session lunch --after 120 --no-follow | accp decode")]
pub(crate) struct Args {
    /// Begin after this position of the log
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    after: u64,
    /// End with what is there now
    #[arg(long)]
    no_follow: bool,
    /// Print each frame in plain words
    #[arg(long)]
    words: bool,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    Hub::new(&args.hub)?.frames(args.after, !args.no_follow, |frame| {
        let mut out = Output::stdout();
        if args.words {
            out.line(twin(frame, Registry::shared()))?;
        } else {
            out.line(printable(frame))?;
        }
        out.finish().map(drop)
    })?;
    Ok(Verdict::Fine)
}

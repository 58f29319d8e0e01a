//! `accp tail`: prints the frames of a session as they arrive.

use crate::hub::{Hub, HubArgs, TimeArgs};
use crate::registries::RegistryArgs;
use crate::words::twin;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{Output, on_one_line};

/// Print the frames of a session on a running hub, as they come
///
/// The command goes on until it is interrupted. If the hub ends the log before that, the exit code is 1, and
/// the command says where to go on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp tail --words --registry registry.json
  accp tail --session lunch --after 120 --no-follow | accp decode")]
pub(crate) struct Args {
    /// Begin after this position of the log
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    after: u64,
    /// End after the last frame that is there now
    #[arg(long)]
    no_follow: bool,
    /// Print each frame in plain words
    #[arg(long)]
    words: bool,
    #[command(flatten)]
    registry: RegistryArgs,
    #[command(flatten)]
    hub: HubArgs,
    #[command(flatten)]
    time: TimeArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let hub = Hub::new(&args.hub, args.time.time())?;
    let mut log = hub.log(args.after, !args.no_follow)?;
    let registry = args.registry.load()?;
    let mut last = args.after;
    let why = loop {
        match log.next() {
            Ok(Some((position, frame))) => {
                if args.words {
                    Output::print_line(twin(&frame, &registry))?;
                } else {
                    Output::print_line(on_one_line(&frame))?;
                }
                last = position;
            }
            Ok(None) if args.no_follow => return Ok(Verdict::Fine),
            Ok(None) => break "the hub has ended it".to_owned(),
            Err(why) => break why.to_string(),
        }
    };
    Err(Failure::Input(format!(
        "the log of {} stops after position {last}: {why}; --after {last} goes on from there",
        args.hub.session
    )))
}

//! `accp send` and `accp ask`: one frame to a running hub.

use accp_registry::Registry;
use accp_runtime::Frame;

use crate::hub::{Hub, HubArgs};
use crate::outcome::{Outcome, Verdict};
use crate::output::{Output, note};
use crate::words::{printable, twin};

/// Send a frame to a running hub
///
/// The frame says who sends it. The command adds what is missing of `mid`, `seq` and `ts`. It prints
/// the frame with which the hub answers: `ack:frame` says that the frame is durable.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp send '@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}'
  accp send --session lunch '@dev>done:schedule{task:soup|stat:done|schema:TA}'")]
pub(crate) struct SendArgs {
    /// The frame
    frame: String,
    #[command(flatten)]
    hub: HubArgs,
}

/// Send a frame to a running hub, and print the frame that answers it
///
/// The answer is the first `done`, `fail` or `end` in the chain of the frame; pieces of a stream are
/// printed as well. The exit code is 1 if the answer is `fail`, or if nobody answers in time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp ask '@guest>req:chat{content:What_is_for_lunch?|schema:CH}'
  accp ask --timeout 5 --words '@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}'")]
pub(crate) struct AskArgs {
    /// The frame
    frame: String,
    /// Wait for so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// Print the answer in plain words
    #[arg(long)]
    words: bool,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs `accp send`.
pub(crate) fn send(args: &SendArgs) -> Outcome {
    match Hub::new(&args.hub)?.post(&args.frame, None)? {
        Some(answer) => Output::print(format!("{}\n", printable(&answer)).as_bytes())?,
        None => note("the hub says nothing: the frame has expired, or its chain was cancelled"),
    }
    Ok(Verdict::Fine)
}

/// Runs `accp ask`.
pub(crate) fn ask(args: &AskArgs) -> Outcome {
    let Some(said) = Hub::new(&args.hub)?.post(&args.frame, Some(args.timeout))? else {
        note("the hub says nothing: the frame has expired, or its chain was cancelled");
        return Ok(Verdict::AtFault);
    };
    let mut out = Output::stdout();
    let mut last = String::new();
    for answer in said.lines() {
        last = Frame::parse(answer).map_or(String::new(), |frame| frame.intent.into_owned());
        if last == "ack" {
            note(format_args!(
                "error: E3001: nobody has answered within {} s",
                args.timeout
            ));
        } else if args.words {
            out.line(twin(answer, Registry::shared()))?;
        } else {
            out.line(printable(answer))?;
        }
    }
    out.finish()?;
    Ok(Verdict::of(u64::from(matches!(&*last, "ack" | "fail"))))
}

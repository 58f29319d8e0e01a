//! `accp send` and `accp ask`: send one frame to a running hub.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use accp_session::references;

use crate::hub::{Answer, Hub, HubArgs, TimeArgs, seconds};
use crate::registries::RegistryArgs;
use crate::words::{twin, without_metadata};
use accp_console::input::Input;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output, note};

/// Send a frame to a running hub
///
/// The frame says who sends it. The command adds what is missing of `mid`, `seq` and `ts`. Values that are
/// too long for a frame go ahead of it, and the frame refers to them. The command prints the frame with which
/// the hub answers: `ack:frame` says that the frame is durable.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp send '@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}'
  accp send --session lunch '@dev>done:schedule{task:soup|stat:done|schema:TA}'
  accp encode --inline report.json | accp send -")]
pub(crate) struct SendArgs {
    /// The frame; `-` reads it from stdin, also if it is too long for a command line
    frame: String,
    #[command(flatten)]
    hub: HubArgs,
    #[command(flatten)]
    time: TimeArgs,
}

/// Send a frame to a running hub, and print the frame that answers it
///
/// The answer is the first `done`, `fail` or `end` in the chain of the frame; pieces of a stream are
/// printed as well. The exit code is 1 if the answer is `fail` or incomplete, or if nobody answers in time.
/// A value that is too long for its frame is printed as a reference; --words prints the value itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp ask '@guest>req:chat{content:What_is_for_lunch?|schema:CH}'
  accp ask --timeout 5 --words '@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}'")]
pub(crate) struct AskArgs {
    /// The frame; `-` reads it from stdin, also if it is too long for a command line
    frame: String,
    /// The number of seconds to wait
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// Print the answer in plain words, with the values that it refers to
    #[arg(long)]
    words: bool,
    #[command(flatten)]
    registry: RegistryArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// The time that `ask` waits in addition to `--timeout`, so that the hub can still report that nobody has answered.
const GRACE: Duration = Duration::from_secs(5);

/// Runs `accp send`.
pub(crate) fn send(args: &SendArgs) -> Outcome {
    let hub = Hub::new(&args.hub, args.time.time())?;
    let Some(answer) = hub.post(&given(&args.frame)?, None)? else {
        note(SILENT);
        return Ok(Verdict::Fine);
    };
    let last = each(answer, |frame, _| Output::print_line(frame))?;
    Ok(Verdict::of(u64::from(last == "fail")))
}

/// Runs `accp ask`.
pub(crate) fn ask(args: &AskArgs) -> Outcome {
    let hub = Hub::new(&args.hub, seconds(args.timeout) + GRACE)?;
    let registry = args.registry.load()?;
    let frame = given(&args.frame)?;
    check_asks(&frame)?;
    let asked = Instant::now();
    let Some(answer) = hub.post(&frame, Some(args.timeout))? else {
        note(SILENT);
        return Ok(Verdict::AtFault);
    };
    let waits = answer.waits().unwrap_or(args.timeout);
    let mut elsewhere = None;
    let last = each(answer, |frame, intent| {
        if intent == "ack" {
            if asked.elapsed() < Duration::from_secs(waits) {
                output::error(
                    "E3001: nobody has answered before the hub ended: the question stands, and `accp tail` shows a \
                     later answer",
                );
                return Ok(());
            }
            let limit = if waits < args.timeout {
                ", the longest that this hub waits"
            } else {
                ""
            };
            output::error(format_args!(
                "E3001: nobody has answered within {waits} s{limit}; the request stands, so do not send it again: `accp tail` shows a later answer"
            ));
            return Ok(());
        }
        if args.words {
            Output::print_line(twin(&hub.whole_frame(frame)?, &registry))
        } else {
            let mut keys = references(without_metadata(frame));
            let key = keys.find(|key| key.starts_with("cold."));
            elsewhere = elsewhere.take().or(key.map(str::to_owned));
            Output::print_line(frame)
        }
    })?;
    if let Some(key) = elsewhere {
        note(format_args!(
            "${key} stands for a value that is too long for its frame: GET {} reads it, and `accp ask --words` prints \
             such values with the answer",
            hub.value_url(&key)
        ));
    }
    Ok(Verdict::of(u64::from(matches!(&*last, "ack" | "fail"))))
}

/// Returns the frame that the user has given: the argument, or the text of stdin.
fn given(argument: &str) -> Result<Cow<'_, str>, Failure> {
    if argument != "-" {
        return Ok(Cow::Borrowed(argument));
    }
    let (_, text) = Input::open(None)?.text()?;
    Ok(Cow::Owned(text.trim_end().to_owned()))
}

/// Refuses a frame that nobody answers: the command would wait for nothing.
fn check_asks(frame: &str) -> Result<(), Failure> {
    let kind = frame.split_once('>').map(|(_, kind)| kind);
    match kind.and_then(|kind| kind.split_once(':')) {
        Some((intent @ ("done" | "fail" | "end"), _)) => Err(Failure::Input(format!(
            "E1002: a frame with intent {intent} is an answer and gets none; `accp send` sends it"
        ))),
        _ => Ok(()),
    }
}

const SILENT: &str = "the hub says nothing: the frame has expired, its chain was cancelled, or nothing answers it, as \
                      with `ack` and `pong`";

/// Calls `take` with each frame of an answer and its intent, in the order of arrival. Returns the last
/// intent.
fn each(
    mut answer: Answer,
    mut take: impl FnMut(&str, &str) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut last = None;
    while let Some((frame, intent)) = answer.next()? {
        take(&frame, &intent)?;
        last = Some(intent);
    }
    match last {
        None => Err(answer.is_empty()),
        Some(last) if last == "stream" => Err(answer.is_not_whole()),
        Some(last) => Ok(last),
    }
}

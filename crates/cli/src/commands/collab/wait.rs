//! `accp collab wait`: waits until it is a participant's turn.

use std::time::Duration;

use accp_collab::disk::{Reason, Waiting};
use serde_json::json;

use super::{FolderArgs, report};
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output;

/// Wait until a participant has the turn, or the collaboration is over
///
/// If that takes longer than --timeout, the command gives up with exit code 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab wait --folder round --participant bob
  accp collab wait --folder round --participant bob --timeout 0 --format json")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
    /// The participant
    #[arg(long, value_name = "ID")]
    participant: String,
    /// The most seconds between two looks at the files. The command also looks when the system reports a change
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    interval: f64,
    /// The number of seconds after which to give up; 0 for never
    #[arg(long, value_name = "SECONDS", default_value_t = 1800.0)]
    timeout: f64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let seconds = |name: &str, value: f64| {
        Duration::try_from_secs_f64(value).map_err(|_| {
            Failure::Misuse(format!(
                "--{name} is not a number of seconds from 0; write one, such as 2"
            ))
        })
    };
    let timeout = seconds("timeout", args.timeout)?;
    let waiting = Waiting {
        interval: seconds("interval", args.interval)?,
        timeout: (!timeout.is_zero()).then_some(timeout),
    };
    let mut asked = Vec::new();
    let ready = args
        .folder
        .shared()
        .wait(&args.participant, waiting, |folder| {
            let now = folder
                .state()
                .map(|state| state.waiting_for().to_vec())
                .unwrap_or_default();
            if now != asked {
                output::note(format_args!("waiting for {}", now.join(", ")));
                asked = now;
            }
        });
    let ready = match ready {
        Ok(ready) => ready,
        Err(findings) => return report::refuse(&findings, args.folder.format),
    };
    let name = args.folder.name();
    let Some(ready) = ready else {
        match args.folder.format {
            Format::Json => {
                let object = json!({ "ready": false, "reason": "timeout", "waiting_for": asked });
                report::record(object)?;
            }
            Format::Text => output::note(format_args!("timeout: waiting for {}", asked.join(", "))),
        }
        return Ok(Verdict::AtFault);
    };
    let phase = ready.folder.state().map(|state| state.phase().as_str());
    let object = json!({
        "ready": true, "reason": ready.reason.as_str(), "phase": phase,
        "next": report::next_object(&ready.folder, &ready.next, &name),
    });
    let reason = match ready.reason {
        Reason::Turn if ready.next.is_asked => {
            format!("{} is listed in waitingFor", args.participant)
        }
        Reason::Turn => format!("{} has to classify again", args.participant),
        Reason::Completed | Reason::Blocked => format!("phase is {}", ready.reason),
    };
    let standing = report::standing_text(&ready.folder);
    let next = ready.next.text(&name);
    let text = format_args!("ready: {reason}\n{standing}\n{next}");
    report::show(args.folder.format, object, text)?;
    Ok(Verdict::Fine)
}

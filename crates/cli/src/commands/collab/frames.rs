//! `accp collab frames`: shows the events of a folder as frames, or checks such frames.

use std::io::BufRead as _;

use accp_collab::{Event, Finding, Scope, frames};
use serde_json::json;

use super::{FolderArgs, report};
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::Output;

/// Show the events as frames of ACCP, one a line, or read them back
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab frames --folder round
  accp collab frames --folder round | accp collab frames --folder round --check")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
    /// Read frames from stdin, and say whether they are the events of the folder
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = args.folder.shared().read(Scope::Log);
    if let Err(findings) = folder.standing() {
        return report::refuse(&findings, args.folder.format);
    }
    let events = folder.log().events();
    if args.check {
        return check(events, args.folder.format);
    }
    let mut texts = Vec::with_capacity(events.len());
    for event in events {
        match frames::to_frame(event) {
            Ok(frame) => texts.push(frame),
            Err(error) => {
                let text = format!(
                    "the event does not fit into a frame ({error}); give it a shorter summary"
                );
                let finding = Finding::new(accp_collab::Code::Unreadable, text).at(event.seq);
                return report::refuse(&[finding], args.folder.format);
            }
        }
    }
    match args.folder.format {
        Format::Json => report::record(json!({ "ok": true, "frames": texts }))?,
        Format::Text => {
            let mut out = Output::stdout();
            for frame in &texts {
                out.record(frame)?;
            }
            out.finish()?;
        }
    }
    Ok(Verdict::Fine)
}

/// Compares the frames from stdin with the events of the folder.
fn check(events: &[Event], format: Format) -> Outcome {
    let lines = std::io::stdin().lock().lines();
    let lines: Result<Vec<String>, _> = lines.collect();
    let lines = lines.map_err(|error| Failure::Io("stdin".to_owned(), error))?;
    let mut wrong = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let read = frames::from_frame(line);
        match (read, events.get(index)) {
            (Ok(read), Some(event)) if read == *event => {}
            (Ok(_), _) => {
                let text = "the frame is another event than that of the folder; copy it again";
                wrong.push(
                    Finding::new(accp_collab::Code::LogInvalid, text)
                        .within("stdin", Some(index + 1)),
                );
            }
            (Err(findings), _) => {
                wrong.extend(
                    findings
                        .into_iter()
                        .map(|one| one.within("stdin", Some(index + 1))),
                );
            }
        }
    }
    if lines.len() < events.len() {
        let text = format!(
            "there are {} frames for {} events; copy all of them",
            lines.len(),
            events.len()
        );
        wrong.push(Finding::new(accp_collab::Code::LogInvalid, text).within("stdin", None));
    }
    if !wrong.is_empty() {
        return report::refuse(&wrong, format);
    }
    let count = events.len();
    let text = if count == 1 {
        "1 frame is the event of the folder".to_owned()
    } else {
        format!("{count} frames are the events of the folder")
    };
    report::show(format, json!({ "ok": true, "events": count }), text)?;
    Ok(Verdict::Fine)
}

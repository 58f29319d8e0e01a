//! `accp collab append`: appends an event to the log.

use std::path::PathBuf;

use accp_collab::disk::Draft;
use accp_collab::{Code, Finding, Role};
use serde_json::json;

use super::{FolderArgs, report};
use accp_console::outcome::{Outcome, Verdict};

/// Say that something is done: append an event to the log
///
/// The event is on the disk when the command ends. A refused event changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab append --folder round --participant ada --event proposal_submitted --reply-to 2 \\
      --doc proposal.md --summary 'Please review'
  accp collab append --folder round --participant bob --event review_submitted --reply-to 3 \\
      --doc review.md --review my-review.md --summary 'Reviewed'")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
    /// The participant who says it
    #[arg(long, value_name = "ID")]
    participant: String,
    /// The name of the event; `accp collab table` shows them
    #[arg(long, value_name = "NAME")]
    event: String,
    /// What the event is about, in one short sentence
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// The document that the event is about, relative to the folder, or `external:FILE`
    #[arg(long, value_name = "FILE")]
    doc: Option<String>,
    /// The number of the event that this event answers
    #[arg(long, value_name = "SEQ", allow_negative_numbers = true, value_parser = number)]
    reply_to: Option<u64>,
    /// The role of the deliverable: primary or supporting
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// The SHA-256 of the document, in lower-case hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with = "hash")]
    sha256: Option<String>,
    /// Compute the SHA-256 of the deliverable
    #[arg(long)]
    hash: bool,
    /// A file with the text of a review. The command copies the text into review.md, under a heading
    #[arg(long, value_name = "FILE")]
    review: Option<PathBuf>,
}

impl Args {
    fn draft(&self) -> Result<Draft, Vec<Finding>> {
        let mut wrong = Vec::new();
        let role = self.role.as_deref().and_then(|name| {
            let role = Role::named(name);
            if role.is_none() {
                let text = "--role is unknown; write primary or supporting";
                wrong.push(Finding::new(Code::RoleMissing, text));
            }
            role
        });
        let review = self.review.as_ref().and_then(|path| {
            let text = std::fs::read_to_string(path).map_err(|error| {
                let text =
                    format!("the review cannot be read ({error}); name a file with its text");
                wrong.push(
                    Finding::new(Code::Unreadable, text).within(&path.display().to_string(), None),
                );
            });
            text.ok()
        });
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Draft {
            doc: self.doc.clone(),
            reply_to: self.reply_to,
            role,
            sha256: self.sha256.clone(),
            has_hash: self.hash,
            review,
            ..Draft::new(&self.participant, &self.event, &self.summary)
        })
    }
}

/// Reads the number of an event. A number that is out of range becomes a number that no event can have.
fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("write the number of an event, such as 3".to_owned());
    }
    let is_negative = digits.len() < text.len();
    Ok(if is_negative {
        0
    } else {
        digits.parse().unwrap_or(u64::MAX)
    })
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let appended = args
        .draft()
        .and_then(|draft| args.folder.shared().append(&draft));
    let appended = match appended {
        Ok(appended) => appended,
        Err(findings) => return report::refuse(&findings, args.folder.format),
    };
    let (event, state) = (appended.event, appended.state);
    let object = json!({
        "ok": true, "seq": event.seq, "event": event.event.as_str(), "at": event.at,
        "phase": state.phase().as_str(), "proposal_owner": state.owner(),
        "waiting_for": state.waiting_for(),
    });
    let waiting = match state.waiting_for() {
        [] => "nobody is asked".to_owned(),
        waiting => format!("asked: {}", waiting.join(", ")),
    };
    let (seq, event, phase) = (event.seq, event.event, state.phase());
    let text = format_args!("appended seq {seq}: {event}; the phase is {phase}, {waiting}");
    report::show(args.folder.format, object, text)?;
    Ok(Verdict::Fine)
}

//! `accp session replay`: shows the log of a session, entry by entry.

use std::num::NonZeroU64;

use accp_session::{Due, Entry, EntryKind, State};
use accp_store::Log;

use crate::redact::Redactor;
use crate::store_file::SessionArgs;
use crate::words::{twin, utc, without_metadata};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::Output;

/// Show the log of a session, entry by entry, in plain words
///
/// Each line has the position, the time of day, the sender and the frame. A host's file also shows
/// frames that were refused or silently dropped.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp session replay team.db
  accp session replay team.db launch --from 100 --to 120
  accp session replay --redact team.db
  accp session replay --frames team.db | accp explain")]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Only the frames of the log, as they were written
    #[arg(long)]
    frames: bool,
    /// The first position
    #[arg(long, value_name = "POSITION", default_value_t = NonZeroU64::MIN)]
    from: NonZeroU64,
    /// The last position
    #[arg(long, value_name = "POSITION")]
    to: Option<NonZeroU64>,
    /// Replace what frames say by its kind and length: for people who may see that agents talk, but
    /// not what they say
    #[arg(long)]
    redact: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(to) = args.to.filter(|to| *to < args.from) {
        return Err(Failure::Misuse(format!(
            "--from {} is after --to {to}: swap the two",
            args.from
        )));
    }
    let opened = args.session.open()?;
    let registry = opened.side.registry();
    let redactor = args.redact.then(Redactor::new).transpose()?;
    let shown = |text: &str| {
        redactor
            .as_ref()
            .map(|redactor| redactor.frame(text, registry))
    };
    let mut out = Output::stdout();
    let mut day = String::new();
    for entry in Log::new(opened.store, &opened.summary.side, args.from.get()) {
        let entry = entry?;
        if args.to.is_some_and(|to| entry.position > to.get()) {
            break;
        }
        if args.frames {
            // `--frames` prints only the frames that the host relayed to members.
            if entry.kind.is_relayed() {
                out.record(shown(&entry.text).as_deref().unwrap_or(&entry.text))?;
            }
            continue;
        }
        let time = utc(entry.at.as_secs()).unwrap_or_default();
        let (date, time) = time.split_at(time.len().min(10));
        if day != date {
            out.line(date)?;
            date.clone_into(&mut day);
        }
        let time = time.trim_start().trim_end_matches(" UTC");
        // A frame in plain words would show its values. So a redacted frame is shown as its redacted text.
        let words = shown(&entry.text).unwrap_or_else(|| twin(&entry.text, registry));
        out.line(format_args!(
            "{:>6}  {time}  {}{words}",
            entry.position,
            note(&entry, opened.side.state())
        ))?;
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

/// Returns a note on what happened to the frame, and for whom it is if its words do not say so; an empty note if the frame
/// was for all, was accepted and was handled.
fn note(entry: &Entry, state: &State) -> String {
    let mut members = state.members();
    let party = members.find(|(member, _)| entry.to == Some(*member));
    let to = party.and_then(|(_, party)| party.agents.first());
    match (entry.kind, to) {
        _ if entry.is_due() => "(due) ".to_owned(),
        _ if entry.due == Due::Lapsed => "(lapsed: no handler got it in time) ".to_owned(),
        (EntryKind::Part, _) => "(a part) ".to_owned(),
        (EntryKind::Repeat, Some(to)) => format!("(handed on to {to}) "),
        (EntryKind::Repeat, None) => "(repeated: handled once) ".to_owned(),
        (EntryKind::Dropped, _) => "(dropped: expired or cancelled) ".to_owned(),
        (EntryKind::Lost, _) => "(lost with the store of the host, and never relayed) ".to_owned(),
        (EntryKind::Refused(code), _) => format!("(refused: {code}) "),
        (EntryKind::Frame, Some(to)) if has_addressee(&entry.text) => format!("(for {to}) "),
        _ => String::new(),
    }
}

/// Returns whether the metadata of a frame says for whom it is. Its words do not show the metadata.
fn has_addressee(frame: &str) -> bool {
    let metadata = &frame[without_metadata(frame).len()..];
    metadata.contains("[to:") || metadata.contains(",to:")
}

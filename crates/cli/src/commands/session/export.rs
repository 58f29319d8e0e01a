//! `accp session export`: writes the log and the values of a session for programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use accp_frame::DynamicFrame;
use accp_session::{Due, Entry, EntryKind, MemberId, read_value};
use accp_store::{Kept, Log, Store as _};
use clap::ValueEnum;
use serde_json::{Value as Json, json};

use crate::redact::Redactor;
use crate::store_file::{OpenedSession, SessionArgs};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Write the log of a session, and the values in its cold state, for programs
///
/// As JSON Lines, one object for each entry: `position`, `at` (milliseconds since 1970), `kind`
/// (frame, control, part, repeat, dropped, lost, refused), `code` of a refusal, `sender`, `to` (the member that
/// handles a request), `mid`, `sequence`, `tokens`, `cut`, `due` and `lapsed`, `message` under full names, and
/// `frame`, the text as it was written. A reference is written as {"$ref": "tier.key"}. A part has no message: the
/// whole frame follows.
///
/// Values go to a file of their own, one object a line: `key` as in the references, `sha256`,
/// `length` in bytes and `text` of the stored bytes, `value` as JSON, and `expired`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp session export team.db | jq 'select(.kind == \"frame\") | .message'
  accp session export team.db --resolve | jq .message.payload
  accp session export team.db --format frames -o team.accp --values values.jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// jsonl: one object for each entry; frames: the frames that were accepted, one a line
    #[arg(long, value_enum, default_value_t)]
    format: ExportFormat,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace references with their values, if the values are in this file; not with --format frames
    #[arg(long, conflicts_with = "values")]
    resolve: bool,
    /// Write the values in cold state to this file
    #[arg(long, value_name = "FILE")]
    values: Option<PathBuf>,
    /// Replace what frames say by its kind and length: for people who may see that agents talk, but
    /// not what they say
    #[arg(long, conflicts_with = "resolve")]
    redact: bool,
}

/// The format of an exported log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExportFormat {
    #[default]
    Jsonl,
    Frames,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let files = args.output.iter().chain(&args.values);
    let files = files.chain([&args.session.file]);
    output::distinct(files.map(PathBuf::as_path))?;
    let is_stdout = |path: &PathBuf| path.as_path() == Path::new("-");
    if args.values.as_ref().is_some_and(is_stdout) && args.output.as_ref().is_none_or(is_stdout) {
        return Err(Failure::Misuse(
            "--output and --values both go to stdout: name a file for one of them".to_owned(),
        ));
    }
    if args.resolve && args.format == ExportFormat::Frames {
        return Err(Failure::Misuse(
            "--resolve puts values into JSON, and frames stay as they were written: leave out --resolve or --format \
             frames; --values FILE writes the values beside the frames"
                .to_owned(),
        ));
    }
    let redactor = args.redact.then(Redactor::new).transpose()?;
    let mut opened = args.session.open()?;
    // The file of values is completed first, so that a complete frame file never refers to missing
    // values.
    if let Some(path) = &args.values {
        let mut values = Output::to(Some(path), output::PRIVATE)?;
        let missing = write_values(&mut opened, &mut values, redactor.as_ref())?;
        values.finish()?;
        if missing > 0 {
            output::note(format_args!(
                "{missing} of the values have their bytes elsewhere: this is a member's copy, or \
                 they have expired"
            ));
        }
    }
    let mut out = Output::to(args.output.as_deref(), output::PRIVATE)?;
    let mut faults = 0;
    let registry = Arc::clone(opened.side.registry());
    for entry in Log::new(Arc::clone(&opened.store), &opened.summary.side, 1) {
        let mut entry = entry?;
        let message = opened.side.message(&entry.text).ok();
        let message = message.filter(|_| entry.kind != EntryKind::Part);
        let mut message = message.map(DynamicFrame::into_owned);
        if let Some(redactor) = &redactor {
            message = message.map(|message| redactor.message(message, &registry));
            entry.text = redactor.frame(&entry.text, &registry).into();
        }
        match args.format {
            ExportFormat::Frames if entry.kind == EntryKind::Frame => out.record(&entry.text)?,
            ExportFormat::Frames => {}
            ExportFormat::Jsonl => {
                if args.resolve
                    && let Some(message) = &mut message
                {
                    for (_, value) in message.payload.iter_mut() {
                        opened.side.put_values(value)?;
                    }
                }
                // A part, or a frame that was refused or dropped, may be unreadable. That is not a fault.
                faults += u64::from(message.is_none() && entry.kind.is_relayed());
                out.record(to_json(&entry, message.as_ref()))?;
            }
        }
    }
    out.finish()?;
    if faults > 0 {
        output::error(format_args!(
            "{faults} frames cannot be read under the registry of the session; they have their \
             `frame` and no `message`: see `accp session verify`"
        ));
    }
    Ok(Verdict::of(faults))
}

fn to_json(entry: &Entry, message: Option<&DynamicFrame<'_>>) -> Json {
    let (kind, code) = match entry.kind {
        EntryKind::Frame => ("frame", None),
        EntryKind::Control => ("control", None),
        EntryKind::Part => ("part", None),
        EntryKind::Repeat => ("repeat", None),
        EntryKind::Dropped => ("dropped", None),
        EntryKind::Lost => ("lost", None),
        EntryKind::Refused(code) => ("refused", Some(code.to_string())),
        _ => ("other", None),
    };
    json!({
        "position": entry.position, "at": entry.at.as_millis(), "kind": kind, "code": code,
        "sender": entry.sender.number(), "to": entry.to.map(MemberId::number), "mid": entry.mid.to_string(),
        "sequence": entry.sequence, "tokens": entry.tokens, "cut": entry.cut,
        "due": entry.is_due(), "lapsed": entry.due == Due::Lapsed,
        "message": message.map(DynamicFrame::to_json), "frame": &*entry.text,
    })
}

/// Writes all values. Returns the number of values whose bytes are not in the file.
fn write_values(
    opened: &mut OpenedSession,
    out: &mut Output,
    redactor: Option<&Redactor>,
) -> Result<u64, Failure> {
    let mut missing = 0;
    let side = &opened.summary.side;
    for key in opened.store.cold_keys(side)? {
        let Some(Kept { value, expired }) = opened.store.cold(side, &key)? else {
            continue;
        };
        let text = value.bytes.as_deref().map(String::from_utf8_lossy);
        let data = value.bytes.as_deref().map(read_value).transpose();
        let data = data.map_err(|error| {
            Failure::Input(format!(
                "the bytes of {key} are not a value: {error}; see `accp session verify`"
            ))
        })?;
        missing += u64::from(data.is_none());
        if let Some(redactor) = redactor {
            // A redacted record has no digest: somebody could find a short value by trying values until the digest is
            // the same.
            out.record(json!({
                "key": format!("cold.{key}"), "length": value.length, "expired": expired,
                "value": data.map(|value| redactor.value(&value)),
            }))?;
            continue;
        }
        out.record(json!({
            "key": format!("cold.{key}"), "sha256": value.digest.to_string(),
            "length": value.length, "expired": expired, "text": text,
            "value": data.map(|value| value.to_json()),
        }))?;
    }
    Ok(missing)
}

//! Commands that look at a session: `status`, `recover`, `read`, `restore`, `intent`, `log`.

use accp_memory::disk::ContextError;
use accp_memory::disk::index::Filter;
use accp_memory::disk::read::read as lines_of;
use accp_memory::disk::tools::{Search, ToolError};
use clap::builder::RangedU64ValueParser;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{ContextArgs, WindowArgs, failure};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Say how much of the window the last list uses
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context status --session trip")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(super) context: ContextArgs,
    #[command(flatten)]
    pub(super) window: WindowArgs,
}

/// Runs `status`.
pub(crate) fn status(args: &StatusArgs) -> Outcome {
    let context = args.context.open_existing()?;
    let session = context.begun().map_err(failure)?;
    let counter = args.window.counter()?;
    let window = match (args.window.window, session.window()) {
        (None, Some(known)) => known,
        _ => args.window.of(None, &counter)?,
    };
    let status = session.status(&window);
    args.context.format.print(json!(status), status)?;
    Ok(Verdict::Fine)
}

/// Find what left the list: sections of the archive and of files, the best first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context recover flight number
  accp context recover --exact HAT170 --limit 1
  accp context recover message 12")]
pub(crate) struct RecoverArgs {
    #[command(flatten)]
    pub(super) context: ContextArgs,
    /// The highest number of sections to print
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(super) limit: usize,
    /// Look for this exact text instead of its words
    #[arg(long)]
    pub(super) exact: bool,
    /// Look only in this file or folder
    #[arg(long, value_name = "PATH")]
    pub(super) path: Option<String>,
    /// Only what this tool said
    #[arg(long, value_name = "NAME")]
    pub(super) tool: Option<String>,
    /// Only what was said from this time on, such as 2026-01-29T14:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) from: Option<OffsetDateTime>,
    /// Only what was written up to this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) to: Option<OffsetDateTime>,
    /// The words to look for, or `message 12` for the message with this index. Options may follow; after `--` every word
    /// is one to look for
    #[arg(value_name = "TOPIC", required = true)]
    pub(super) topic: Vec<String>,
}

/// Reads a time of RFC 3339.
fn time(text: &str) -> Result<OffsetDateTime, String> {
    OffsetDateTime::parse(text, &Rfc3339)
        .map_err(|error| format!("{error}; give a time such as 2026-01-29T14:00:00Z"))
}

/// Runs `recover`.
pub(crate) fn recover(args: &RecoverArgs) -> Outcome {
    let search = Search {
        topic: &args.topic.join(" "),
        exact: args.exact,
        filter: Filter {
            path: args.path.clone(),
            tool: args.tool.clone(),
            from: args.from,
            to: args.to,
            ..Filter::default()
        },
        limit: args.limit,
    };
    let found = search.run(&args.context.root, &args.context.session);
    let (hits, skipped) = found.map_err(|error| match error {
        ToolError::Context(error) => failure(error),
        error => Failure::Misuse(error.to_string()),
    })?;
    for skipped in skipped {
        output::note(skipped);
    }
    for hit in &hits {
        args.context.format.print_content(json!(hit), hit)?;
    }
    if hits.is_empty() {
        output::note("nothing was found; try other words, or `--exact` with a part of the text");
    }
    Ok(Verdict::Fine)
}

/// The most characters that `read` prints at once, as the tool `context_read` does.
const MOST: usize = 8_000;

/// Print lines of a file that left the list
///
/// At most 8000 characters are printed, because one line may have millions. A note on stderr says how to read on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context read cache/offloaded/20260129_142530_search.md --lines 1-40
  accp context read cache/offloaded/20260129_142530_search.md --lines 3 --offset 8000")]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(super) context: ContextArgs,
    /// The path below the root, as the list shows it
    #[arg(value_name = "PATH")]
    pub(super) path: String,
    /// The first and the last line, from 1; all lines when left out
    #[arg(long, value_name = "A-B", value_parser = range)]
    pub(super) lines: Option<(usize, usize)>,
    /// The characters of these lines to pass over
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) offset: usize,
    /// Print all characters of these lines
    #[arg(long, conflicts_with = "offset")]
    pub(super) whole: bool,
}

/// Reads `3-40` or `7`.
fn range(text: &str) -> Result<(usize, usize), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let numbers = first.trim().parse().ok().zip(last.trim().parse().ok());
    let numbers = numbers.filter(|(first, last)| 0 < *first && first <= last);
    numbers.ok_or_else(|| format!("`{text}` is not a range of lines; give one such as 1-40"))
}

/// Runs `read`.
pub(crate) fn read(args: &ReadArgs) -> Outcome {
    let (first, last) = args.lines.unwrap_or((1, usize::MAX));
    let lines = lines_of(&args.context.root, &args.path, first..=last);
    let lines = lines.map_err(|error| Failure::Input(error.to_string()))?;
    let all = lines.text.chars().count();
    if args.offset > all {
        let offset = args.offset;
        return Err(Failure::Input(format!(
            "{}: these lines have {all} characters, and --offset is {offset}",
            args.path
        )));
    }
    let most = if args.whole { all } else { MOST };
    let part: String = lines.text.chars().skip(args.offset).take(most).collect();
    let next = Some(args.offset.saturating_add(most)).filter(|next| *next < all);
    let json = json!({
        "file": args.path,
        "lines": [first, last.min(lines.of)],
        "of": lines.of,
        "next": next,
        "text": part,
    });
    args.context.format.print_content(json, &part)?;
    if let Some(next) = next {
        output::note(format_args!(
            "{} characters follow: `--offset {next}` prints the next, and `--whole` all",
            all - next
        ));
    }
    Ok(Verdict::Fine)
}

/// Print the whole conversation as it was said
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context restore --session trip > messages.json
  accp context restore --session trip --message 12 > screenshot.json")]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    pub(super) context: ContextArgs,
    /// Print only the message with this index, from 0, with its pictures and files, even if they left the list
    #[arg(long, value_name = "INDEX")]
    pub(super) message: Option<usize>,
}

/// Runs `restore`.
pub(crate) fn restore(args: &RestoreArgs) -> Outcome {
    let context = args.context.open_existing()?;
    let session = context.begun().map_err(failure)?;
    if let Some(message) = args.message {
        let all = session.originals();
        let found = all.get(message).ok_or_else(|| {
            failure(ContextError::NoMessage {
                message,
                of: all.len(),
            })
        })?;
        Output::print_record(found.raw())?;
        return Ok(Verdict::Fine);
    }
    let list = session.restored();
    let list = list.map_err(|fault| Failure::Input(fault.to_string()))?;
    Output::print_record(list)?;
    Ok(Verdict::Fine)
}

/// Print the intent of the session, verbatim
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context intent --session trip")]
pub(crate) struct IntentArgs {
    #[command(flatten)]
    pub(super) context: ContextArgs,
}

/// Runs `intent`.
pub(crate) fn intent(args: &IntentArgs) -> Outcome {
    let context = args.context.open_existing()?;
    let intent = context.begun().map_err(failure)?.intent();
    args.context
        .format
        .print_content(json!({ "intent": intent }), intent.join("\n\n"))?;
    Ok(Verdict::Fine)
}

/// Show what compression did
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context log --last 3")]
pub(crate) struct LogArgs {
    #[command(flatten)]
    pub(super) context: ContextArgs,
    /// The highest number of entries to show, the newest last; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) last: usize,
}

/// Runs `log`.
pub(crate) fn log(args: &LogArgs) -> Outcome {
    let context = args.context.open_existing()?;
    let events = context.begun().map_err(failure)?.events();
    let from = match args.last {
        0 => 0,
        last => events.len().saturating_sub(last),
    };
    for event in &events[from..] {
        args.context
            .format
            .print(json!(event), event.to_markdown())?;
    }
    for drift in context.begun().map_err(failure)?.drift() {
        args.context.format.print(json!(drift), format_args!(
                "## Drift\n**Timestamp:** {}\n**Indicator:** {}\n**Severity:** {}\n**Evidence:** {}\n",
                drift.at,
                drift.indicator.name(),
                drift.severity.name(),
                drift.evidence
            ))?;
    }
    if events.is_empty() {
        output::note("nothing was compressed yet");
    }
    Ok(Verdict::Fine)
}

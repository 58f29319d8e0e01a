//! `accp session import`: replays recorded conversations in sessions.

mod imported;
mod report;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use accp_store::{SideId, SqliteStore, Store as _};
use accp_tokens::Bpe;

use crate::store_copy;
use crate::store_file::SharedStore;
use accp_console::choices::Format;
use accp_console::conversations::{FormatIn, at, each_conversation};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};
use imported::ImportedSession;
use report::Report;

/// The seconds of the years 1 to 9999. At the last time that a clock can tell, every timer of a session would be due
/// again at once.
const TIMES: RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// Replay recorded conversations in sessions, and check that nothing is lost
///
/// Reads the same files as `accp convert`. Each conversation becomes a session of its own: a host
/// that relays, and a member for each agent, with the budgets of the draft, the default token
/// counter, and long values in cold state. After each frame the context must be within its budget.
/// At the end every message must come back equal from the log and its references, and every
/// checkpoint must have listed the frames that it moved. Times are made up, with one second
/// between two frames.
///
/// A session enters the file whole or not at all. A session that is already there stays as it is. So
/// to complete an import that was cut short, run the same command again.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:
  accp session import --verify examples/bakery.jsonl
  accp session import chats.jsonl -o chats.db && accp session list chats.db"
)]
pub(crate) struct Args {
    /// Files to read; stdin if none is given, or for `-`
    conversations: Vec<PathBuf>,

    #[command(flatten)]
    format_in: FormatIn,

    /// The file for the sessions, as their host keeps them; it is created if it does not exist
    #[arg(short, long, value_name = "FILE", required_unless_present = "verify")]
    output: Option<PathBuf>,

    /// Keep nothing: only replay, check and report
    #[arg(long, conflicts_with = "output")]
    verify: bool,

    /// The time of the first frame of a conversation, in Unix seconds, from the year 1 to 9999; recordings have no clock
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 1_767_225_600,
        value_parser = clap::value_parser!(i64).range(TIMES)
    )]
    start: i64,

    /// json: one object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let begun = Instant::now();
    let mut destination = Destination::open(args.output.as_deref())?;
    let counter = Arc::new(Bpe::o200k_base());
    let stdin = [PathBuf::from("-")];
    let paths = match args.conversations.as_slice() {
        [] => &stdin[..],
        paths => paths,
    };
    let mut files = Vec::new();
    let mut faults = 0;
    for path in paths {
        let mut report = Report::default();
        each_conversation(path, args.format_in, |file, line, conversation| {
            let id = conversation.get("id").and_then(serde_json::Value::as_str);
            let name = name(id, path, report.conversations);
            let mut imported = ImportedSession::open(&name, args.start, counter.clone())?;
            imported
                .replay(&conversation)
                .map_err(|failure| match failure {
                    Failure::Input(message) => at(file, line, message),
                    failure => failure,
                })?;
            let (store, side) = destination.keep(&imported)?;
            for fault in imported.check(&store, &side, &conversation, &mut report)? {
                faults += 1;
                output::error(at(file, line, fault));
            }
            Ok(())
        })?;
        files.push((path.as_path(), report));
    }
    let mut out = Output::stdout();
    match args.format {
        Format::Text => out.line(report::table(&files))?,
        Format::Json => out.record(report::to_json(&files))?,
    }
    out.finish()?;
    output::note(format_args!("in {:.1} s", begun.elapsed().as_secs_f64()));
    Ok(Verdict::of(faults))
}

/// Returns the name of a session: the recorded id, or the file and a number.
fn name(id: Option<&str>, path: &Path, number: u64) -> String {
    match id {
        Some(id) if !id.is_empty() => id.to_owned(),
        _ => {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let stem = if stem == "-" { "stdin" } else { &stem };
            format!("{stem}/{}", number + 1)
        }
    }
}

/// Keeps the sessions after their replay.
struct Destination {
    /// The store in the file. Without a file, each session stays in the memory store of its replay.
    file: Option<SharedStore>,
    /// The sides that this run has already kept, so that their names are taken.
    taken: BTreeSet<SideId>,
}

impl Destination {
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let store = path.map(SqliteStore::open).transpose()?;
        Ok(Self {
            file: store.map(|store| Arc::new(Mutex::new(store)) as SharedStore),
            taken: BTreeSet::new(),
        })
    }

    /// Keeps a replayed session, and returns its store and its side. If another session already has the name, the
    /// session gets a number. If the file already has this session from an earlier run, the file stays as it is.
    fn keep(&mut self, imported: &ImportedSession) -> Result<(SharedStore, SideId), Failure> {
        let (mut played, side) = (imported.store(), imported.side());
        let Some(mut file) = self.file.clone() else {
            return Ok((played, side.clone()));
        };
        let batch = store_copy::read_side(&mut played, side)?;
        let mut again = 1;
        loop {
            let name = match again {
                1 => side.session().to_owned(),
                _ => format!("{}#{again}", side.session()),
            };
            again += 1;
            let place = SideId::new(name, side.agent());
            if self.taken.contains(&place) {
                continue;
            }
            if file.sides(place.session())?.is_empty() {
                file.commit(&[(&place, &batch)])?;
            } else if !store_copy::has_log(&mut file, &place, &batch.entries)? {
                continue;
            }
            self.taken.insert(place.clone());
            return Ok((file, place));
        }
    }
}

//! `accp session verify`: checks that a file holds what its sessions wrote.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use accp_registry::Registry;
use accp_store::{Store as _, StoreErrorKind, Summary};
use serde_json::json;

use crate::audit::Audit;
use crate::store_file::{self, SharedStore, Sides, StoreRegistryArgs, StoredSide};
use crate::words::{counted, name};
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Check a file of sessions: its pages, every row, every digest, every reference
///
/// For each session the log is folded again from its first entry, and the result must equal the
/// snapshot. Numbers must follow each other, every frame must be readable, every reference must
/// lead somewhere, and every checkpoint must list the frames that it moved.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp session verify team.db
  accp session verify team.db launch && cp team.db backup.db")]
pub(crate) struct Args {
    /// The file
    file: PathBuf,
    /// The session; all sessions by default
    session: Option<String>,
    #[command(flatten)]
    registry: StoreRegistryArgs,
    /// json: one object a line with `session`, `ok`, `entries`, `erased`, `frames`, `checkpoints`, `by_size`, `moved`,
    /// `references`, `elsewhere`, `refolded` and `faults`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The message for a file in which an erasure was started but not completed.
const UNERASED: &str = "an erasure is not complete, so that the file, and each copy of it, may still have bytes of what was \
                        erased: wait for a hub that is erasing, start a hub on the file, or say the same \
                        `accp session erase` again";

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut file = store_file::open(&args.file)?;
    // All checks see the same state of the file, even while a hub writes to it.
    file.hold()?;
    let mut faults = 0;
    match file.check_file() {
        // The sessions that the damage does not hit are still checked.
        Err(error) if error.kind() == StoreErrorKind::Corrupt => {
            faults += 1;
            output::error(error);
        }
        checked => checked?,
    }
    let all = match &args.session {
        Some(name) => Sides {
            sound: vec![store_file::find(&mut file, &args.file, Some(name))?],
            damaged: Vec::new(),
        },
        None => store_file::list(&mut file)?,
    };
    if file.erasure_is_due() {
        faults += 1;
        let file = args.file.display();
        output::error(format_args!("{file}: {UNERASED}"));
    }
    let store: SharedStore = Arc::new(Mutex::new(file));
    let registry = args.registry.load()?;
    let mut out = Output::stdout();
    for error in &all.damaged {
        let side = error.side().map(ToString::to_string);
        let report = Report::fault(error.to_string());
        faults += report.audit.faults.len() as u64;
        report.tell(&mut out, args, side.as_deref().unwrap_or("?"))?;
    }
    for summary in &all.sound {
        let report = match Report::of(&store, summary, registry.as_ref()) {
            Ok(report) => report,
            // If one session is damaged, the other sessions are still checked.
            Err(Failure::Input(fault)) => Report::fault(fault),
            Err(failure) => return Err(failure),
        };
        faults += report.audit.faults.len() as u64;
        report.tell(&mut out, args, &summary.name())?;
    }
    if args.format == Format::Text && all.sound.is_empty() && faults == 0 {
        out.line(format_args!("{}: fine, and empty", args.file.display()))?;
    }
    out.finish()?;
    Ok(Verdict::of(faults))
}

/// The findings for one side of a session.
#[derive(Default)]
struct Report {
    audit: Audit,
    /// How the log was folded again; `None` if it was not folded.
    refolded: Option<Refolded>,
}

/// How the log was folded again.
enum Refolded {
    /// From the first entry. The result was compared with the result from the snapshot of this position.
    Against(u64),
    /// From the first entry, because there is no snapshot.
    Whole,
    /// From the snapshot, because the file lacks earlier entries: only the host has them, or they were deleted or
    /// erased.
    FromSnapshot,
}

impl Report {
    fn fault(fault: String) -> Self {
        let mut report = Self::default();
        report.audit.faults.push(fault);
        report
    }

    fn of(
        store: &SharedStore,
        summary: &Summary,
        registry: Option<&Registry>,
    ) -> Result<Self, Failure> {
        let id = &summary.side;
        let mut kept = Arc::clone(store);
        kept.verify(id)?;
        let stored = kept.load(id)?.unwrap_or_default();
        let mut side = StoredSide::open(store, id, summary.host, registry)?;
        side.add_registries(&stored.registries);
        let mut audit = Audit::of(store, id, &mut side)?;
        let refolded = match stored.snapshot.as_ref().map(|snapshot| snapshot.position) {
            None => Refolded::Whole,
            Some(position) if side.is_host() && summary.first == 1 && audit.erased == 0 => {
                // The log is folded a second time, without the snapshot. Both folds must give the same state.
                let mut alone = stored.clone();
                alone.snapshot = None;
                alone.entries = kept.entries(id, 1, usize::MAX)?;
                alone.due = Vec::new();
                if store_file::fold(id, &alone, registry)? != *side.state() {
                    audit.faults.push(format!(
                        "the snapshot at position {position} differs from the fold of the log up to \
                         there; delete the snapshot, or take a copy back from a backup"
                    ));
                }
                Refolded::Against(position)
            }
            Some(_) => Refolded::FromSnapshot,
        };
        Ok(Self {
            audit,
            refolded: Some(refolded),
        })
    }

    /// Prints the report on a side.
    fn tell(&self, out: &mut Output, args: &Args, side: &str) -> Result<(), Failure> {
        match args.format {
            Format::Json => out.record(self.json(side)),
            Format::Text => self.print(out, &args.file, side),
        }
    }

    fn json(&self, side: &str) -> serde_json::Value {
        let audit = &self.audit;
        let refolded = self.refolded.as_ref().map(|refolded| match refolded {
            Refolded::Against(_) => "against the snapshot",
            Refolded::Whole => "whole",
            Refolded::FromSnapshot => "from the snapshot",
        });
        json!({
            "session": side, "ok": audit.faults.is_empty(), "entries": audit.entries, "erased": audit.erased,
            "frames": audit.frames, "checkpoints": audit.checkpoints, "by_size": audit.by_size, "moved": audit.moved,
            "references": audit.references, "elsewhere": audit.elsewhere,
            "refolded": refolded, "faults": audit.faults,
        })
    }

    fn print(&self, out: &mut Output, file: &Path, side: &str) -> Result<(), Failure> {
        let (file, name) = (file.display(), name(side).into_owned());
        let audit = &self.audit;
        for fault in &audit.faults {
            output::error(format_args!("{file}: session `{name}`: {fault}"));
        }
        let Some(refolded) = self.refolded.as_ref().filter(|_| audit.faults.is_empty()) else {
            let faults = audit.faults.len();
            return out.line(format_args!("{name}: {faults} at fault"));
        };
        let folded = match refolded {
            Refolded::Against(at) => format!("the log folds to the snapshot at {at}"),
            Refolded::Whole => "folded from its first entry".to_owned(),
            Refolded::FromSnapshot => "folded from its snapshot".to_owned(),
        };
        let elsewhere = match audit.elsewhere {
            0 => String::new(),
            count => format!(" ({count} more: with another side, expired or superseded)"),
        };
        let erased = match audit.erased {
            0 => String::new(),
            count => format!(" ({count} of them erased)"),
        };
        let by_size = match audit.by_size {
            0 => String::new(),
            count => format!(" ({count} by the size of hot state alone)"),
        };
        let list = if audit.checkpoints == 1 {
            "lists"
        } else {
            "list"
        };
        out.line(format_args!(
            "{name}: fine: {}{erased}, {folded};\n  {} can be read{elsewhere}, {}{by_size} {list} {} that moved",
            counted(audit.entries, "entry").replace("entrys", "entries"),
            counted(audit.references, "reference"),
            counted(audit.checkpoints, "checkpoint"),
            counted(audit.moved, "frame"),
        ))
    }
}

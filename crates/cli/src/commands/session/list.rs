//! `accp session list`: lists the sessions of a file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use accp_registry::Registry;
use accp_session::Time;
use accp_store::Summary;
use serde_json::json;

use crate::store_file::{self, SharedStore, StoreRegistryArgs, StoredSide};
use crate::words::{name, utc};
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};
use accp_console::table::Table;

/// List the sessions of a file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp session list team.db
  accp session list --format json team.db | jq .session")]
pub(crate) struct Args {
    /// The file
    file: PathBuf,
    #[command(flatten)]
    registry: StoreRegistryArgs,
    /// json: one object a line with `session`, `side`, `entries`, `bytes`, `due`, `members`, `last`
    /// (the last position) and `at` (milliseconds since 1970)
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let registry = args.registry.load()?;
    let mut store: SharedStore = Arc::new(Mutex::new(store_file::open(&args.file)?));
    let mut out = Output::stdout();
    let mut faults = 0;
    let mut table = Table::headed([
        "session", "side", "entries", "bytes", "due", "members", "last",
    ]);
    let all = store_file::list(&mut store)?;
    for error in &all.damaged {
        faults += 1;
        output::error(error);
        let side = error.side().map(ToString::to_string);
        match args.format {
            Format::Json => out.record(json!({ "session": side, "side": "damaged" }))?,
            Format::Text => {
                let session = side.as_deref().map_or("?".into(), name).into_owned();
                let damaged = "damaged".to_owned();
                let [entries, bytes, due, members] = ["?"; 4].map(str::to_owned);
                let last = String::new();
                table.row([session, damaged, entries, bytes, due, members, last]);
            }
        }
    }
    for summary in &all.sound {
        let (side, members) = match about(&store, summary, registry.as_ref()) {
            Ok((side, members)) => (side, Some(members)),
            Err(failure) => {
                faults += 1;
                output::error(failure);
                ("damaged".to_owned(), None)
            }
        };
        let at = summary.at;
        match args.format {
            Format::Json => out.record(json!({
                "session": summary.name(), "side": side, "entries": summary.entries,
                "bytes": summary.bytes, "due": summary.due, "members": members,
                "last": summary.last, "at": at.map(Time::as_millis),
            }))?,
            Format::Text => table.row([
                name(&summary.name()).into_owned(),
                side,
                summary.entries.to_string(),
                summary.bytes.to_string(),
                summary.due.to_string(),
                members.map_or("?".to_owned(), |members| members.to_string()),
                at.and_then(|at| utc(at.as_secs())).unwrap_or_default(),
            ]),
        }
    }
    if args.format == Format::Text {
        if all.sound.is_empty() && faults == 0 {
            output::note(format_args!("{}: no sessions", args.file.display()));
        } else {
            out.line(table)?;
        }
    }
    out.finish()?;
    Ok(Verdict::of(faults))
}

/// Returns the name of the side, and the number of members of the session, including its host.
fn about(
    store: &SharedStore,
    summary: &Summary,
    registry: Option<&Registry>,
) -> Result<(String, usize), Failure> {
    let side = StoredSide::open(store, &summary.side, summary.host, registry)?;
    let present = side.state().members().filter(|(_, party)| party.present);
    Ok((side.owner(), present.count()))
}

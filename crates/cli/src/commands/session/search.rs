//! `accp session search`: looks for words in a session.

use std::path::PathBuf;

use accp_store::Store as _;
use serde_json::json;

use crate::store_file::{find, open};
use crate::words::name;
use accp_console::choices::Format;
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::Output;

/// Look for words in the frames of a session and in the values that they refer to; best matches first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp session search team.db launch release notes
  accp session search --format json team.db launch E4002 | jq .position")]
pub(crate) struct Args {
    /// The file, a store of `accp-store`
    file: PathBuf,
    /// The session
    session: String,
    /// The words
    #[arg(required = true)]
    words: Vec<String>,
    /// The highest number of frames to show
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    limit: usize,
    /// json: one object a line with `position` and `snippet`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command. An empty result is not an error.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut store = open(&args.file)?;
    let summary = find(&mut store, &args.file, Some(&args.session))?;
    let mut out = Output::stdout();
    for found in store.search(&summary.side, &args.words.join(" "), args.limit)? {
        let (at, text) = (found.position, found.snippet);
        match args.format {
            Format::Json => out.record(json!({ "position": at, "snippet": text }))?,
            Format::Text => out.line(format_args!("{at:>6}  {}", name(&text)))?,
        }
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

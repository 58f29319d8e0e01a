//! Reads messages back from the prompts of the policy `memory`. Each message is read from one prompt alone.
//!
//! ```sh
//! cargo run --release -p accp-tests --example read_back -- examples/bakery.jsonl
//! cargo run --release -p accp-tests --example read_back -- --registry LEARNT FILES...
//! ```
//!
//! Each conversation is replayed in both layouts. A reader that knows only the texts of a prompt follows references,
//! puts wrappers back and reads views under the definitions in the prompt. A message that is new to the agent has to
//! come back whole. If the message has more than 2,000 tokens, its head and tail are enough. JSON has to come back
//! as equal values, and other text may differ in the length of white space. Messages that the agent has seen have to
//! come back, too, but results among them may lack their middles.
//!
//! Exit code 1: a message did not come back, or a file cannot be read. The program then stops, and prints the place
//! and both texts. Exit code 2: no files.

// The path lets both this program and the test find the modules.
#[path = "replay.rs"]
mod replay;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use accp_eval::Transcripts;
use accp_frame::TokenCounter;
use accp_memory::policies::Layout;
use accp_recordings::conversations;
use accp_registry::Registry;
use accp_tests::program;
use accp_tokens::Bpe;
use clap::Parser;

use replay::{Counts, read_back};

#[derive(Parser)]
struct Args {
    /// A learnt registry instead of the standard one
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// Recorded conversations
    #[arg(required = true)]
    files: Vec<String>,
}

fn main() -> ExitCode {
    program::end(run(&Args::parse()))
}

fn run(args: &Args) -> program::Result<String> {
    let registry = match &args.registry {
        Some(file) => Registry::from_json(&fs::read_to_string(file)?)?,
        None => Registry::standard(),
    };
    let mut report = Vec::new();
    let registry = Arc::new(registry);
    let counter: Arc<dyn TokenCounter + Send + Sync> = Arc::new(Bpe::o200k_base());
    for file in &args.files {
        let mut transcripts = Transcripts::default();
        for conversation in conversations(BufReader::new(File::open(file)?)) {
            transcripts.add_conversation(&conversation?, None, None)?;
        }
        for layout in [Layout::Shared, Layout::Own] {
            let mut counts = Counts::default();
            for transcript in transcripts.as_slice() {
                let read = read_back(transcript, layout, &registry, &counter);
                counts += read.map_err(|error| format!("{file}, {layout:?}: {error}"))?;
            }
            report.push(format!("{file}, {layout:?}: {counts}"));
        }
    }
    Ok(report.join("\n"))
}

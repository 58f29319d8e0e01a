//! `accp registry learn`: a registry from recorded conversations.

use std::path::PathBuf;

use accp_tokens::Bpe;
use clap::builder::PossibleValuesParser;

use crate::cli::Format;
use crate::learn::{Report, Tools, Traces, learn};
use crate::outcome::{Outcome, Verdict};
use crate::output::{Output, note};
use crate::split::Half;

/// Learn a registry from recorded conversations and tool schemas
///
/// Reads recorded conversations as `accp convert` does, finds the shapes that tool arguments
/// and JSON results come in, and writes those that pay as schemas: fields with types and
/// defaults, codes and abbreviations by exact token cost, and in `keep` the fields whose
/// values later calls needed. What each schema earns goes to stderr: its records as compact
/// JSON, the same by position, and its definition in each conversation that uses it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp registry learn chats.jsonl -o registry.json
  accp registry learn chats.jsonl --tools tools.json -o registry.json
  accp registry learn chats.jsonl --split learn -o registry.json    for `bench context --split measure`
  accp registry lint registry.json && accp generate registry.json -o frames.rs")]
pub(crate) struct Args {
    /// Files of recorded conversations; `-` is stdin
    #[arg(value_name = "TRACES", required = true)]
    traces: Vec<PathBuf>,
    /// Write the registry to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A list of tools with their JSON Schemas, as MCP and OpenAI carry them; may be repeated
    #[arg(long, value_name = "FILE")]
    tools: Vec<PathBuf>,
    /// Leave out schemas that save fewer tokens on these conversations
    #[arg(long, value_name = "N", default_value_t = 20)]
    min_saving: u32,
    /// Learn from one half of the conversations only, by SHA-256 of their ids
    #[arg(long, value_enum, value_name = "HALF")]
    split: Option<Half>,
    /// The tokenizer that counts
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Bpe::ENCODINGS))]
    #[arg(default_value = Bpe::ENCODINGS[0])]
    tokenizer: String,
    /// json: an object a line for each schema with `code`, `name`, `seen`, `conversations`,
    /// `json`, `position`, `definitions` and `net`, and one with the totals
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    // The command line takes no other names.
    let counter = Bpe::for_encoding(&args.tokenizer).unwrap_or_default();
    let mut tools = Tools::default();
    for path in &args.tools {
        tools.read(path)?;
    }
    let mut traces = Traces::read(&args.traces, args.split)?;
    traces.tools = tools.or(std::mem::take(&mut traces.tools));
    let learnt = learn(&traces, args.min_saving, counter)?;
    let mut out = Output::to(args.output.as_deref())?;
    out.line(format_args!("{:#}", learnt.registry.to_json()))?;
    out.finish()?;
    let report = Report(&learnt);
    match args.format {
        Format::Text => note(&report),
        Format::Json => report.to_json().into_iter().for_each(note),
    }
    Ok(Verdict::Fine)
}

//! `accp-lab learn`: learns a registry from recorded conversations.

mod report;

use std::fs;
use std::path::{Path, PathBuf};

use accp_learn::{LearnOptions, Tools, ToolsError, Traces, learn};
use accp_tokens::Bpe;
use clap::builder::PossibleValuesParser;

use accp_console::choices::{Format, Half};
use accp_console::conversations::{FormatIn, each_conversation};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output, SHARED, note};
use report::Report;

/// Learn a registry from recorded conversations and tool schemas
///
/// Reads recorded conversations as `accp convert` does, finds the shapes of tool arguments and JSON
/// results, and writes the shapes that pay as schemas. A schema has fields with types and defaults,
/// a code and abbreviations by exact token cost, and in `keep` the fields whose values later calls
/// needed. The savings of each schema go to stderr: the tokens of its records as compact JSON, of
/// the same records by position, and of its definition in each conversation that uses it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp-lab learn chats.jsonl -o registry.json
  accp-lab learn chats.jsonl --tools tools.json -o registry.json
  accp-lab learn chats.jsonl --split learn -o registry.json    for `accp-lab bench --split measure`
  accp registry lint registry.json && accp generate registry.json -o frames.rs")]
pub(crate) struct Args {
    /// Files of recorded conversations; `-` is stdin
    #[arg(value_name = "TRACES", required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    format_in: FormatIn,
    /// Write the registry to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A list of tools with their JSON Schemas, in the form of MCP or OpenAI; may be repeated
    #[arg(long, value_name = "FILE")]
    tools: Vec<PathBuf>,
    /// Leave out schemas that save fewer tokens on these conversations
    #[arg(long, value_name = "N", default_value_t = 20)]
    min_saving: u32,
    /// Learn from one half of the conversations only, by SHA-256 of their ids
    #[arg(long, value_enum, value_name = "HALF")]
    split: Option<Half>,
    /// The tokenizer to count with
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Bpe::ENCODINGS))]
    #[arg(default_value = Bpe::ENCODINGS[0])]
    tokenizer: String,
    /// json: one object a line for each schema with `code`, `name`, `seen`, `conversations`,
    /// `json`, `position`, `definitions` and `net`, and one with the totals
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    // clap accepts only names of encodings, so this cannot fail.
    let counter = Bpe::for_encoding(&args.tokenizer).unwrap_or_default();
    let mut tools = Tools::default();
    for path in &args.tools {
        read_tools(&mut tools, path)?;
    }
    let mut traces = read_traces(&args.traces, args.format_in, args.split)?;
    traces.tools = tools.or(std::mem::take(&mut traces.tools));
    let options = LearnOptions {
        min_saving: args.min_saving,
        counter,
    };
    let learnt = learn(&traces, options).map_err(|error| Failure::Input(error.to_string()))?;
    let mut out = Output::to(args.output.as_deref(), SHARED)?;
    out.record(format_args!("{:#}", learnt.registry.to_json()))?;
    out.finish()?;
    match args.format {
        Format::Text => note(Report(&learnt)),
        Format::Json => learnt.to_json().into_iter().for_each(output::record),
    }
    Ok(Verdict::Fine)
}

/// Adds the tools of a file.
fn read_tools(tools: &mut Tools, path: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(path).map_err(Failure::at(path))?;
    let name = path.display();
    tools.read(&text).map_err(|error| {
        Failure::Input(match &error {
            ToolsError::Json { line, column, .. } => format!("{name}:{line}:{column}: {error}"),
            ToolsError::NoTool => format!("{name}: {error}"),
        })
    })
}

/// Reads files of recorded conversations. With a half, keeps only the conversations of that half.
fn read_traces(files: &[PathBuf], format: FormatIn, half: Option<Half>) -> Result<Traces, Failure> {
    let half = half.map(accp_recordings::Half::from);
    let mut traces = Traces::default();
    for path in files {
        each_conversation(path, format, |_, _, conversation| {
            if half.is_none_or(|half| half == conversation.half()) {
                traces.add(&conversation);
            }
            Ok(())
        })?;
    }
    if traces.is_empty() {
        let names: Vec<String> = files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let names = names.join(", ");
        return Err(Failure::Input(match half {
            Some(_) => format!(
                "{names}: no conversation falls into this half; name more files, or learn \
             without --split"
            ),
            None => format!(
                "{names}: there is no conversation; expected recorded conversations, one \
             object a line with `messages`"
            ),
        }));
    }
    Ok(traces)
}

//! Makes packets from instructions in English: `accp aacp encode --english` and `accp aacp route`.

mod lines;
mod model;
mod worker;

use std::path::{Path, PathBuf};

use accp_aacp::Vocabulary;
use accp_aacp::fallback::{FallbackError, Options, Request};
use serde_json::json;

use super::vocabulary::VocabularyArgs;
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};
use model::ModelArgs;
use worker::{Worker, worker};

/// The options for packets from English.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "From English",
    group = clap::ArgGroup::new("instruction").args(["english", "english_file"])
)]
pub(super) struct EnglishArgs {
    /// The instruction: its packet comes from the registry, from a workflow that fits it, or from a
    /// model
    #[arg(long, value_name = "TEXT", requires_all = ["dom", "receiver", "registry"])]
    english: Option<String>,
    /// Read instructions from a file: one object a line with `english`, `dom`, `return` and `p`; `-`
    /// for stdin
    #[arg(long, value_name = "FILE", requires = "registry")]
    english_file: Option<PathBuf>,
    /// The domain of the instruction; with --english-file, of lines that name no domain
    #[arg(long, value_name = "DOM", requires = "instruction")]
    dom: Option<String>,
    /// The agent that gets the result; with --english-file, for lines that name no agent
    #[arg(
        long = "return",
        id = "receiver",
        value_name = "AGENT",
        requires = "instruction"
    )]
    receiver: Option<String>,
    /// The priority; with --english-file, of lines that name no priority
    #[arg(
        long,
        value_name = "1|2|3",
        default_value = "2",
        value_parser = ["1", "2", "3"],
        requires = "instruction"
    )]
    p: String,
    /// The file of the registry. If the command creates the file, only its owner can read it
    #[arg(long, value_name = "FILE", requires = "instruction")]
    registry: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    /// The share of their keywords that an instruction and a stored instruction must have in common
    #[arg(
        long,
        value_name = "0..1",
        default_value_t = 0.75,
        value_parser = threshold,
        requires = "instruction"
    )]
    threshold: f64,
    /// The number of lines of the file to work on at the same time
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=256),
        requires = "english_file"
    )]
    jobs: u16,
}

impl EnglishArgs {
    /// Returns whether there is an instruction.
    pub(super) fn is_given(&self) -> bool {
        self.english.is_some() || self.english_file.is_some()
    }

    fn options<'v>(&self, vocabulary: &'v Vocabulary) -> Options<'v> {
        Options {
            threshold: self.threshold,
            vocabulary,
            ..Options::default()
        }
    }

    fn registry(&self) -> Result<&Path, Failure> {
        self.registry.as_deref().ok_or_else(|| {
            Failure::Misuse("name the file of the registry with --registry FILE".to_owned())
        })
    }
}

fn threshold(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 1.0);
    number.ok_or_else(|| "expected a number above 0 and at most 1".to_owned())
}

/// Say which tier would answer an instruction, and change nothing
///
/// Tier 1 is the entry of the instruction in the registry. Tier 2 is another entry, or a workflow, that
/// fits the instruction. Tier 3 is the model, which this command does not call.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp route --english \"Fetch the salaries of all employees for August 2024\" \\
      --dom HR --return HR-Agent --registry r.aacp")]
pub(crate) struct RouteArgs {
    #[command(flatten)]
    english: EnglishArgs,
    #[command(flatten)]
    vocabulary: VocabularyArgs,
    /// json: one object with `tier`, `source`, `packet`, `id`, `times_seen` and `score`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What the command does with an instruction: write its packet, or show which tier would answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Encode,
    Route,
}

/// Runs `accp aacp encode` with an instruction.
pub(super) fn encode(args: &EnglishArgs, vocabulary: &Vocabulary, format: Format) -> Outcome {
    run(args, vocabulary, format, Mode::Encode)
}

/// Runs `accp aacp route`.
pub(super) fn route(args: &RouteArgs) -> Outcome {
    if !args.english.is_given() {
        let text = "name the instruction with --english TEXT or --english-file FILE";
        return Err(Failure::Misuse(text.to_owned()));
    }
    let vocabulary = args.vocabulary.load()?;
    run(&args.english, &vocabulary, args.format, Mode::Route)
}

fn run(args: &EnglishArgs, vocabulary: &Vocabulary, format: Format, mode: Mode) -> Outcome {
    if let Some(file) = &args.english_file {
        return lines::run(args, file, vocabulary, format, mode);
    }
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (english, dom, receiver) = (text(&args.english), text(&args.dom), text(&args.receiver));
    let request = Request::new(&english, &dom, &receiver, &args.p);
    let mut out = Output::stdout();
    let answered = match request {
        Ok(request) => match worker(args, args.model.load(vocabulary)?, vocabulary, mode)? {
            Worker::Ready(mut work) => work(&request),
            Worker::Failed(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    let verdict = match (answered, format) {
        (Ok(reply), format) => {
            match format {
                Format::Text => out.record(reply.text)?,
                Format::Json => out.record(reply.json)?,
            }
            Ok(reply.verdict)
        }
        (Err(error), format) => {
            if format == Format::Json {
                out.record(json!({ "errors": [shown(&error)] }))?;
            }
            Err(failure(&error))
        }
    };
    out.finish()?;
    verdict
}

/// Returns an error as JSON.
fn shown(error: &FallbackError) -> serde_json::Value {
    let field = match error {
        FallbackError::Request(error) => error.name(),
        _ => None,
    };
    json!({ "code": error.code(), "field": field, "message": error.to_string() })
}

/// Returns whether the instruction itself causes the error, and not the model, the registry or the machine.
fn is_input(error: &FallbackError) -> bool {
    matches!(
        error,
        FallbackError::Instruction(_) | FallbackError::Request(_) | FallbackError::NoMatch
    )
}

fn failure(error: &FallbackError) -> Failure {
    if is_input(error) {
        Failure::Input(error.to_string())
    } else {
        Failure::Misuse(error.to_string())
    }
}

/// Returns the result for many instructions. `inputs` is the number of faulty instructions. `others` is the number of
/// failures of the model or the registry, which the input did not cause.
fn verdict(inputs: u64, others: u64) -> Outcome {
    if others == 0 {
        return Ok(Verdict::of(inputs));
    }
    output::note(format_args!("{others} instructions were not answered"));
    Err(Failure::Misuse(
        "the model or the registry failed; run the command again".to_owned(),
    ))
}

//! `accp context compress`: makes the shorter list that a program sends instead of its full list.

use std::path::PathBuf;

use accp_memory::disk::ContextError;
use accp_memory::{MessageList, Options, Severity, Writes};

use super::{ContextArgs, ListForm, Summary, WindowArgs, at_fault, failure, report, text};
use accp_console::choices::Format;
use accp_console::input::{Input, InputArg};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Print the list to send: the given list, made to fit the window
///
/// The input is a list of messages, or a request, whose other members stay as they are. The messages are the whole
/// conversation so far, or the list that this command printed last and what was said since. The list to send goes to
/// stdout.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context compress --window 128000 messages.json > to-send.json
  accp context compress --session trip --window 8192 --reserve 1024 --report report.json request.json")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) context: ContextArgs,
    #[command(flatten)]
    pub(super) window: WindowArgs,
    /// The form of the list; recognised when left out
    #[arg(long, value_enum)]
    pub(super) messages: Option<ListForm>,
    /// Write what happened to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// What the summary says
    #[arg(long, value_enum, default_value_t)]
    pub(super) summary: Summary,
    /// Let tiers 1 and 2 act even if less than 50 % of the window are used
    #[arg(long)]
    pub(super) force: bool,
    /// A JSON file with more tools that write files: `{"tools":[{"name":"put","path":"where","texts":["body"]}]}`
    #[arg(long, value_name = "FILE")]
    pub(super) writes: Option<PathBuf>,
    #[command(flatten)]
    pub(super) input: InputArg,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let files = [&args.input.file, &args.writes, &args.report];
    output::distinct(files.into_iter().flatten().map(PathBuf::as_path))?;
    let writes = match &args.writes {
        None => Writes::default(),
        Some(path) => {
            let (name, text) = Input::open(Some(path))?.text()?;
            let writes = Writes::default().with(&text);
            writes.map_err(|error| Failure::Input(format!("{name}: {error}")))?
        }
    };
    let (name, text) = text(args.input.open()?)?;
    let text = text.map_err(|fault| at_fault(&name, &fault))?;
    let form = args.messages.map(Into::into);
    let counter = args.window.counter()?;
    let is_new = args.context.is_new();
    let mut context = args.context.open()?;
    let list = match context.session() {
        Some(session) => session.read(&text, form),
        None => MessageList::read(&text, form),
    };
    let list = list.map_err(|fault| at_fault(&name, &fault))?;
    let window = args.window.of(
        context
            .session()
            .and_then(|session| Some(session.usage()?.window)),
        &counter,
    )?;
    let summarizer = args.summary.summarizer(&counter);
    let options = Options {
        writes: &writes,
        summarizer: &*summarizer,
        force: args.force,
        ..Options::new(&window, &counter, args.context.now())
    };
    let done = context
        .compress(&list, &options, &mut ())
        .map_err(|error| refused(&name, error))?;
    if let Some(text) = is_new.filter(|_| args.context.root.exists()) {
        output::note(text);
    }
    let report = report::report(args.context.session.as_str(), &window, &counter, &done);
    if let Some(path) = &args.report {
        let mut out = Output::to(Some(path), output::PRIVATE)?;
        out.record(&report)?;
        out.finish()?;
    }
    for event in &done.events {
        output::note(format!(
            "{}: {}, {} tokens saved",
            event.tier, event.trigger, event.saved
        ));
    }
    for drift in done
        .drift
        .iter()
        .filter(|drift| drift.severity >= Severity::High)
    {
        output::note(format!(
            "{} ({}): {}",
            drift.severity.name(),
            drift.indicator.name(),
            drift.evidence
        ));
    }
    if args.context.format == Format::Text && args.report.is_none() {
        output::note(window.used(done.after));
    }
    if let Some(advice) = &done.advice {
        output::note(advice);
    }
    let warnings = report::warnings(&done);
    if let Some(first) = warnings.first() {
        let more = match warnings.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more; `accp context check` has them all)"),
        };
        output::note(format!("a provider may refuse the list: {first}{more}"));
    }
    Output::print_record(done.list)?;
    Ok(Verdict::Fine)
}

/// Makes the failure for an error. If the error is about the list, the failure names the input.
fn refused(name: &str, error: ContextError) -> Failure {
    match error {
        ContextError::Plan(error) => {
            let text = error.to_string();
            let lines = text.lines().map(|line| format!("{name}: {line}"));
            Failure::Input(lines.collect::<Vec<_>>().join("\n"))
        }
        error => failure(error),
    }
}

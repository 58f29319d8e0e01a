//! Commands that change a session: `checkpoint`, `resume`, `mark`.

use accp_memory::{ListSession, Options, Window};
use accp_tokens::ModelCounter;
use serde_json::{Value as Json, json};

use super::{ContextArgs, Summary, WindowArgs, failure};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Keep the list as it is now, as a checkpoint
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context checkpoint --session trip")]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    window: WindowArgs,
}

fn window(
    args: &WindowArgs,
    counter: &ModelCounter,
    session: Option<&ListSession>,
) -> Result<Window, Failure> {
    args.of(
        session.and_then(|session| Some(session.usage()?.window)),
        counter,
    )
}

/// Runs `checkpoint`.
pub(crate) fn checkpoint(args: &CheckpointArgs) -> Outcome {
    let mut context = args.context.open_existing()?;
    let counter = args.window.counter()?;
    let window = window(&args.window, &counter, context.session())?;
    let options = Options::new(&window, &counter, args.context.now());
    let number = context.checkpoint(&options);
    let number = number.map_err(failure)?;
    args.context.format.print(
        json!({ "checkpoint": number }),
        format_args!("checkpoint {number}"),
    )?;
    Ok(Verdict::Fine)
}

/// Print the list for a fresh session: system messages, a summary, and the newest turn
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context resume --session trip > messages.json
  accp context resume --session trip --checkpoint 2 > as-it-was.json")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    window: WindowArgs,
    /// What the summary says
    #[arg(long, value_enum, default_value_t)]
    summary: Summary,
    /// Print the list that this checkpoint kept, and leave the session as it is
    #[arg(long, value_name = "N")]
    checkpoint: Option<u64>,
}

/// Runs `resume`.
pub(crate) fn resume(args: &ResumeArgs) -> Outcome {
    let mut context = args.context.open_existing()?;
    if let Some(number) = args.checkpoint {
        let text = context.checkpoint_text(number).map_err(failure)?;
        let kept: Json = serde_json::from_str(&text)
            .map_err(|error| Failure::Input(format!("checkpoint {number}: {error}")))?;
        Output::print_record(&kept["list"])?;
        return Ok(Verdict::Fine);
    }
    let counter = args.window.counter()?;
    let window = window(&args.window, &counter, context.session())?;
    let summarizer = args.summary.summarizer(&counter);
    let options = Options {
        summarizer: &*summarizer,
        ..Options::new(&window, &counter, args.context.now())
    };
    let list = context.resume(&options).map_err(failure)?;
    output::note(window.used(window.count(&list, &counter)));
    Output::print_record(list)?;
    Ok(Verdict::Fine)
}

/// Mark a message of the conversation as critical: no summary drops it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context mark 3 --session trip
  accp context mark 3 --session trip --remove")]
pub(crate) struct MarkArgs {
    #[command(flatten)]
    context: ContextArgs,
    /// Take the mark away, so that summaries may drop the message
    #[arg(long)]
    remove: bool,
    /// The index of the message in the whole conversation, from 0
    #[arg(value_name = "INDEX")]
    message: usize,
}

/// Runs `mark`.
pub(crate) fn mark(args: &MarkArgs) -> Outcome {
    let mut context = args.context.open_existing()?;
    let (message, now) = (args.message, args.context.now());
    if args.remove {
        context.unmark(message, now).map_err(failure)?;
        args.context.format.print(
            json!({ "unmarked": message }),
            format_args!("message {message} has no mark"),
        )?;
    } else {
        context.mark(message, now).map_err(failure)?;
        args.context.format.print(
            json!({ "marked": message }),
            format_args!("message {message} is critical"),
        )?;
    }
    Ok(Verdict::Fine)
}

//! Commands that change a session: `checkpoint`, `resume`, `mark`.

use accp_memory::{ListSession, Options, Window};
use accp_tokens::ModelCounter;
use serde_json::{Value as Json, json};

use super::{Place, Size, Summary, failure, report};
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output;

/// Keep the list as it stands
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context checkpoint --session trip")]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    size: Size,
}

fn window(
    size: &Size,
    counter: &ModelCounter,
    session: Option<&ListSession>,
) -> Result<Window, Failure> {
    size.of(
        session.and_then(|session| Some(session.usage()?.window)),
        counter,
    )
}

/// Runs `checkpoint`.
pub(crate) fn checkpoint(args: &CheckpointArgs) -> Outcome {
    let mut context = args.place.begun()?;
    let counter = args.size.counter()?;
    let window = window(&args.size, &counter, context.session())?;
    let options = Options::new(&window, &counter, args.place.now());
    let number = context.checkpoint(&options);
    let number = number.map_err(failure)?;
    match args.place.format {
        Format::Json => report::record(&json!({ "checkpoint": number }).to_string())?,
        Format::Text => report::print(&format!("checkpoint {number}"))?,
    }
    Ok(Verdict::Fine)
}

/// Give the list of a fresh session: system messages, a summary, and the newest turn
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context resume --session trip > messages.json
  accp context resume --session trip --checkpoint 2 > as-it-was.json")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    size: Size,
    /// What the summary says
    #[arg(long, value_enum, default_value_t)]
    summary: Summary,
    /// Give the list that this checkpoint kept, and leave the session as it is
    #[arg(long, value_name = "N")]
    checkpoint: Option<u64>,
}

/// Runs `resume`.
pub(crate) fn resume(args: &ResumeArgs) -> Outcome {
    let mut context = args.place.begun()?;
    if let Some(number) = args.checkpoint {
        let text = context.checkpoint_text(number).map_err(failure)?;
        let kept: Json = serde_json::from_str(&text)
            .map_err(|error| Failure::Input(format!("checkpoint {number}: {error}")))?;
        report::record(&kept["list"].to_string())?;
        return Ok(Verdict::Fine);
    }
    let counter = args.size.counter()?;
    let window = window(&args.size, &counter, context.session())?;
    let summarizer = args.summary.summarizer(&counter);
    let options = Options {
        summarizer: &*summarizer,
        ..Options::new(&window, &counter, args.place.now())
    };
    let list = context.resume(&options).map_err(failure)?;
    output::note(window.used(window.count(&list, &counter)));
    report::record(&list.to_string())?;
    Ok(Verdict::Fine)
}

/// Mark a message of the conversation as critical: no summary drops it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context mark 3 --session trip")]
pub(crate) struct MarkArgs {
    #[command(flatten)]
    place: Place,
    /// The index of the message in the whole conversation, from 0
    #[arg(value_name = "INDEX")]
    message: usize,
}

/// Runs `mark`.
pub(crate) fn mark(args: &MarkArgs) -> Outcome {
    let mut context = args.place.begun()?;
    context
        .mark(args.message, args.place.now())
        .map_err(failure)?;
    match args.place.format {
        Format::Json => report::record(&json!({ "marked": args.message }).to_string())?,
        Format::Text => report::print(&format!("message {} is critical", args.message))?,
    }
    Ok(Verdict::Fine)
}

//! `accp context check`: the rules of a provider's list.

use accp_ctx::{Code, Finding, check};

use super::{Messages, Size, report};
use crate::choices::Format;
use crate::input::InputArg;
use crate::outcome::{Outcome, Verdict};
use crate::output;

/// Say what is wrong with a list: calls without results, results without calls, and what else a provider refuses
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context check messages.json
  accp context check --messages anthropic --window 8192 --format json request.json")]
pub(crate) struct CheckArgs {
    /// The form of the list; recognised when left out
    #[arg(long, value_enum)]
    messages: Option<Messages>,
    #[command(flatten)]
    size: Size,
    /// The format of the result; `json` is one object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    input: InputArg,
}

/// Runs the command.
pub(crate) fn run(args: &CheckArgs) -> Outcome {
    let (name, text) = args.input.open()?.text()?;
    let mut found = match accp_ctx::MessageList::read(&text, args.messages.map(Into::into)) {
        Err(fault) => vec![fault],
        Ok(list) => {
            let mut found = check(&list);
            if args.size.window.is_some() {
                let window = args.size.of(None)?;
                let tokens = window.count(&list, &args.size.counter());
                if tokens > window.room() {
                    found.push(over(tokens, window.room()));
                }
            }
            found
        }
    };
    found.sort_by_key(|fault| fault.message);
    match args.format {
        Format::Json => report::print(&report::faults(&found).to_string())?,
        Format::Text => {
            for fault in &found {
                output::error(format!("{name}: {fault}"));
            }
            if found.is_empty() {
                report::print(&format!("{name}: the list is valid"))?;
            }
        }
    }
    Ok(Verdict::of(found.len() as u64))
}

fn over(tokens: u64, room: u64) -> Finding {
    Finding {
        code: Code::OverWindow,
        message: None,
        id: None,
        text: format!(
            "the list has {tokens} tokens, and the window has room for {room}; run `accp context compress`"
        ),
    }
}

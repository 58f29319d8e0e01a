//! `accp context check` and `repair`: checks a list by the rules of its provider, and repairs it.

use accp_memory::{Code, Finding, InFlight, MessageList, RepairKind, check, in_flight, repair};

use super::{ListForm, WindowArgs, list, report, text};
use accp_console::choices::Format;
use accp_console::input::InputArg;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Say what is wrong with a list: calls without results, results without calls, and what else a provider refuses
///
/// Messages are counted from 0. The rules are those of the providers' own servers. Servers that people host themselves may
/// accept more. So `compress` refuses only lists whose calls, results and turns do not fit together, and blank texts of
/// Anthropic. It warns of everything else.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context check messages.json
  accp context check --messages anthropic --window 8192 --format json request.json")]
pub(crate) struct CheckArgs {
    /// The form of the list; recognised when left out
    #[arg(long, value_enum)]
    messages: Option<ListForm>,
    #[command(flatten)]
    window: WindowArgs,
    /// The format of the result; `json` is one object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    input: InputArg,
}

/// Runs the command.
pub(crate) fn run(args: &CheckArgs) -> Outcome {
    let (name, text) = text(args.input.open()?)?;
    let form = args.messages.map(Into::into);
    let counter = args.window.counter()?;
    let mut waiting: Vec<InFlight> = Vec::new();
    let mut found = match text.and_then(|text| MessageList::read(&text, form)) {
        Err(fault) => vec![fault],
        Ok(list) => {
            waiting = in_flight(&list);
            let mut found = check(&list);
            if args.window.window.is_some() {
                let window = args.window.of(None, &counter)?;
                let tokens = window.count(&list, &counter);
                if tokens > window.room() {
                    found.push(over(tokens, window.room()));
                }
            }
            found
        }
    };
    found.sort_by_key(|fault| fault.message);
    match args.format {
        Format::Json => Output::print_record(report::faults(&found))?,
        Format::Text => {
            for fault in &found {
                output::error(format!("{name}: {fault}"));
            }
            for call in &waiting {
                output::note(format!("{name}: {call}"));
            }
            if found.is_empty() {
                Output::print_line(format_args!("{name}: the list is valid"))?;
            }
        }
    }
    Ok(Verdict::of(found.len() as u64))
}

/// Mend a list that a provider refuses
///
/// A result in the wrong place is moved to its call, if it is clear which call that is. Other results without calls are
/// dropped, and calls without results get a result that says so. Ids that do not fit are replaced, in calls and results
/// alike. Surplus cache marks are removed, the oldest first. Other details are mended where nothing is lost. Nothing else
/// changes. Because results may be dropped, no other command repairs a list unless it is asked to. Messages are counted
/// from 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context repair broken.json > messages.json")]
pub(crate) struct RepairArgs {
    /// The form of the list; recognised when left out
    #[arg(long, value_enum)]
    messages: Option<ListForm>,
    #[command(flatten)]
    input: InputArg,
}

/// Runs `repair`.
pub(crate) fn run_repair(args: &RepairArgs) -> Outcome {
    let list = list(args.input.open()?, args.messages.map(Into::into))?;
    let (list, repairs) = repair(&list).map_err(|fault| Failure::Input(fault.to_string()))?;
    for one in &repairs {
        let done = match one.kind {
            RepairKind::Moved => "moved to its place the result of",
            RepairKind::Dropped => "dropped the result of",
            RepairKind::Replaced => "put U+FFFD in the place of half of a surrogate pair at",
            RepairKind::Mended => {
                let code = one.code.map_or("", |code| code.as_str());
                output::note(format!("message {}: mended {code}", one.message));
                continue;
            }
            _ => "answered",
        };
        output::note(format!("message {}: {done} `{}`", one.message, one.id));
    }
    let found = check(&list);
    for fault in &found {
        output::error(fault);
    }
    for call in in_flight(&list) {
        output::note(call);
    }
    Output::print_record(list)?;
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

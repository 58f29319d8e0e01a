//! `accp context do`: runs the quick commands of the specification (CTX-57 to CTX-61).

use super::{ContextArgs, Summary, WindowArgs, compress, inspect};
use accp_console::input::InputArg;
use accp_console::outcome::{Failure, Outcome};

/// The quick commands.
const COMMANDS: &str =
    "compress, context status, recover TOPIC, show session intent, compression log";

/// Run a quick command: compress, context status, recover TOPIC, show session intent, compression log
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context do 'context status'
  accp context do 'recover flight number'
  accp context do compress --window 8192 messages.json")]
pub(crate) struct Args {
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    window: WindowArgs,
    /// The quick command, in one argument
    #[arg(value_name = "COMMAND")]
    command: String,
    #[command(flatten)]
    input: InputArg,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let words: Vec<_> = args.command.split_whitespace().collect();
    let lower: Vec<_> = words.iter().map(|word| word.to_lowercase()).collect();
    let lower: Vec<_> = lower.iter().map(String::as_str).collect();
    let (context, window) = (args.context.clone(), args.window.clone());
    match lower.as_slice() {
        ["compress"] => compress::run(&compress::Args {
            context,
            window,
            messages: None,
            report: None,
            summary: Summary::default(),
            force: true,
            writes: None,
            input: InputArg {
                file: args.input.file.clone(),
            },
        }),
        ["context", "status"] => inspect::status(&inspect::StatusArgs { context, window }),
        ["recover", topic @ ..] if topic.iter().any(|word| word.starts_with('-')) => {
            Err(Failure::Misuse(format!(
                "`{}`: a topic here has no options; give them to `accp context recover`, which takes words that \
                 begin with `-` behind `--`",
                args.command
            )))
        }
        ["recover", _, ..] => inspect::recover(&inspect::RecoverArgs {
            context,
            limit: 3,
            exact: false,
            path: None,
            tool: None,
            from: None,
            to: None,
            topic: words[1..].iter().map(ToString::to_string).collect(),
        }),
        ["show", "session", "intent"] => inspect::intent(&inspect::IntentArgs { context }),
        ["compression", "log"] => inspect::log(&inspect::LogArgs { context, last: 10 }),
        _ => Err(Failure::Misuse(unknown(&args.command))),
    }
}

/// Says that there is no such quick command. If it is only the first word of one, the shell has split the command.
fn unknown(command: &str) -> String {
    let word = command.trim().to_lowercase();
    let mut all = COMMANDS.split(", ");
    let whole = all.find(|whole| whole.split(' ').next() == Some(&*word));
    let cure = whole.map_or_else(
        || format!("give one of: {COMMANDS}"),
        |whole| format!("put the whole command into quotes: accp context do '{whole}'"),
    );
    format!("`{command}` is not a quick command; {cure}")
}

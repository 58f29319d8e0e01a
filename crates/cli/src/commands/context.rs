//! `accp context`: keeps a conversation inside the window of its model.

mod change;
mod check;
mod compress;
mod inspect;
mod quick;
mod report;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use accp_memory::disk::{Context, ContextError};
use accp_memory::{Code, Finding, Form, MessageList, SessionId, Summarizer, Views, Window};
use accp_tokens::ModelCounter;
use clap::ValueEnum;
use time::{OffsetDateTime, UtcOffset};

use super::tokens::CounterArgs;
use accp_console::choices::Format;
use accp_console::input::Input;
use accp_console::outcome::{Failure, Outcome};

/// The folder that keeps sessions, unless another is given.
const ROOT: &str = "Memory/Shared";
/// The largest input with a list, in bytes.
const MOST: u64 = 64 << 20;

/// Keep a conversation inside the window of its model, forget nothing, and break no list
///
/// An agent's program gives its list of messages to `accp context compress` before each call of its model, and gets
/// the list to send: large results move to files, texts that a call wrote to disk are cut from its input, and old turns
/// become a summary. `recover`, `read` and `restore` find again what left the list.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Compress(compress::Args),
    Check(check::CheckArgs),
    Repair(check::RepairArgs),
    Status(inspect::StatusArgs),
    Recover(inspect::RecoverArgs),
    Read(inspect::ReadArgs),
    Restore(inspect::RestoreArgs),
    Intent(inspect::IntentArgs),
    Log(inspect::LogArgs),
    Checkpoint(change::CheckpointArgs),
    Resume(change::ResumeArgs),
    Mark(change::MarkArgs),
    Do(quick::Args),
    Tools(tools::ToolsArgs),
    Call(tools::CallArgs),
    Mcp(tools::McpArgs),
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Compress(args) => compress::run(args),
        Command::Check(args) => check::run(args),
        Command::Repair(args) => check::run_repair(args),
        Command::Status(args) => inspect::status(args),
        Command::Recover(args) => inspect::recover(args),
        Command::Read(args) => inspect::read(args),
        Command::Restore(args) => inspect::restore(args),
        Command::Intent(args) => inspect::intent(args),
        Command::Log(args) => inspect::log(args),
        Command::Checkpoint(args) => change::checkpoint(args),
        Command::Resume(args) => change::resume(args),
        Command::Mark(args) => change::mark(args),
        Command::Do(args) => quick::run(args),
        Command::Tools(args) => tools::tools(args),
        Command::Call(args) => tools::call(args),
        Command::Mcp(args) => tools::mcp(args),
    }
}

/// The form of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListForm {
    /// OpenAI chat
    Openai,
    /// Anthropic messages
    Anthropic,
    /// OpenAI Responses
    Responses,
}

impl From<ListForm> for Form {
    fn from(messages: ListForm) -> Self {
        match messages {
            ListForm::Openai => Self::OpenAi,
            ListForm::Anthropic => Self::Anthropic,
            ListForm::Responses => Self::Responses,
        }
    }
}

/// A session, and where it is kept.
#[derive(Debug, Clone, clap::Args)]
struct ContextArgs {
    /// The id of the session: letters, digits, `_` and `-`
    #[arg(long, value_name = "ID", default_value = "default", value_parser = SessionId::new)]
    session: SessionId,
    /// The folder that keeps sessions
    #[arg(long, value_name = "DIR", default_value = ROOT)]
    root: PathBuf,
    /// The time zone of all times, such as +02:00
    #[arg(long, value_name = "ZONE", default_value = "+00:00", value_parser = zone)]
    #[arg(allow_hyphen_values = true)]
    zone: UtcOffset,
    /// The format of the result; `json` is one object a line
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl ContextArgs {
    fn now(&self) -> OffsetDateTime {
        // The names of files and the entries of logs only have whole seconds.
        let now = OffsetDateTime::now_utc().to_offset(self.zone);
        now.replace_nanosecond(0).unwrap_or(now)
    }

    /// Opens the session.
    fn open(&self) -> Result<Context, Failure> {
        let context = Context::open(&self.root, self.session.clone());
        Ok(self.named(context.map_err(failure)?))
    }

    /// Returns a note if the command will make the default folder for sessions; `None` if the user has named a
    /// folder, or the folder exists.
    fn is_new(&self) -> Option<String> {
        let is_new = self.root == Path::new(ROOT) && !self.root.exists();
        is_new.then(|| {
            format!(
                "sessions are kept below ./{ROOT} from now on; `--root DIR` names another folder"
            )
        })
    }

    /// Opens a session that must already exist.
    fn open_existing(&self) -> Result<Context, Failure> {
        let context = Context::open_existing(&self.root, self.session.clone());
        Ok(self.named(context.map_err(failure)?))
    }

    /// The texts of a list name commands to read what left the list. If the root is not the default, these commands
    /// get the root as an argument.
    fn named(&self, context: Context) -> Context {
        if self.root == Path::new(ROOT) {
            return context;
        }
        context.with_root_in_commands(self.root.to_string_lossy())
    }
}

/// What a summary says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Summary {
    /// The seven sections, written by rules
    #[default]
    Rules,
    /// The same, and as many of the newest messages that left the list as there is room for
    Views,
}

impl Summary {
    fn summarizer(self, counter: &ModelCounter) -> Box<dyn Summarizer> {
        match self {
            Self::Rules => Box::new(()),
            Self::Views => Box::new(Views::new(Arc::new(counter.clone()))),
        }
    }
}

/// The window, and how tokens are counted.
#[derive(Debug, Clone, clap::Args)]
struct WindowArgs {
    /// The size of the window, in tokens
    #[arg(long, value_name = "N")]
    window: Option<u64>,
    /// The tokens that are kept free for the answer
    #[arg(long, value_name = "N", default_value_t = 0)]
    reserve: u64,
    /// The tokens that the provider adds for each message
    #[arg(long, value_name = "N", default_value_t = 0)]
    per_message: u64,
    /// Let all tiers act when 25 % of the window are used, for a test
    #[arg(long)]
    stress: bool,
    #[command(flatten)]
    counter: CounterArgs,
}

impl WindowArgs {
    /// Returns the window, with the prices of the counter's model. `known` is the size of the window that the session
    /// already has.
    fn of(&self, known: Option<u64>, counter: &ModelCounter) -> Result<Window, Failure> {
        let size = self.window.or(known);
        let size = size.ok_or_else(|| {
            Failure::Misuse("the window is not known; give its tokens as `--window N`".to_owned())
        })?;
        let window = Window::of(size).and_then(|window| window.with_reserve(self.reserve));
        let window = window.map_err(|error| Failure::Misuse(error.to_string()))?;
        Ok(window
            .with_per_message(self.per_message)
            .with_media(counter.media)
            .with_stress(self.stress))
    }

    fn counter(&self) -> Result<ModelCounter, Failure> {
        self.counter.counter()
    }
}

/// Reads a zone: `+02:00`, `-0530`, `Z`.
fn zone(text: &str) -> Result<UtcOffset, String> {
    let expected = || format!("`{text}` is not a zone; give one such as +02:00, or Z for UTC");
    if text.eq_ignore_ascii_case("z") || text.eq_ignore_ascii_case("utc") {
        return Ok(UtcOffset::UTC);
    }
    let sign = match text.chars().next() {
        Some('+') => 1,
        Some('-') => -1,
        _ => return Err(expected()),
    };
    let digits = text[1..].replace(':', "");
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<i8>().ok());
    let hours = number(digits.get(..2)).filter(|_| digits.len() == 4);
    let minutes = number(digits.get(2..)).filter(|minutes| *minutes < 60);
    let zone = hours.zip(minutes).filter(|(hours, _)| *hours < 24);
    let zone =
        zone.and_then(|(hours, minutes)| UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok());
    zone.ok_or_else(expected)
}

/// Reads the list of messages that a command gets.
fn list(input: Input, form: Option<Form>) -> Result<MessageList, Failure> {
    let (name, text) = text(input)?;
    let list = text.and_then(|text| MessageList::read(&text, form));
    list.map_err(|fault| at_fault(&name, &fault))
}

/// Reads the text of a list. Returns the name of the input, and the text or the reason why it is not a list.
fn text(input: Input) -> Result<(String, Result<String, Finding>), Failure> {
    let (name, bytes) = input.bytes(MOST + 1)?;
    let fault = |text: String| Finding {
        code: Code::NotAList,
        message: None,
        id: None,
        text,
    };
    if bytes.len() as u64 > MOST {
        let cure = "give the last list that came out, with what was said since, in place of the whole conversation";
        let text = format!("expected at most {MOST} bytes, found more; {cure}");
        return Ok((name, Err(fault(text))));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        fault(format!("byte {at} is not UTF-8; give UTF-8"))
    });
    Ok((name, text))
}

/// Makes the failure for a fault of a list.
fn at_fault(name: &str, fault: &Finding) -> Failure {
    Failure::Input(format!("{name}: {fault}"))
}

/// Makes the failure for an error of a session of lists.
fn failure(error: ContextError) -> Failure {
    match error {
        ContextError::Plan(_)
        | ContextError::Changed { .. }
        | ContextError::NoMessage { .. }
        | ContextError::NoCheckpoint { .. } => Failure::Input(error.to_string()),
        error => Failure::Misuse(error.to_string()),
    }
}

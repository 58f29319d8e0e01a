//! The command line.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::{
    aacp, agent, check, collab, completions, context, convert, decode, demo, encode, erase,
    explain, fix, gateway, generate, grammar, man, new, primer, ready, recover, registry, send,
    serve, session, tail, tokens,
};
use accp_console::outcome::Outcome;

/// Compact, typed messages between agents: check, read, write and measure ACCP frames.
///
/// A frame is one line of text, such as
///
///     @planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}
///
/// Commands read files or stdin and write to stdout; reports go to stderr.
#[derive(Debug, Parser)]
#[command(name = "accp", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(verbatim_doc_comment)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Show on stderr, in plain words, every frame that a session sends, receives and keeps
    #[arg(long, global = true)]
    pub(crate) debug: bool,
}

const EXAMPLES: &str = "\
Examples:
  accp demo
  accp explain '@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}'
  accp check frames.accp
  accp decode frames.accp | accp encode
  accp convert --verify conversation.jsonl

Exit codes:
  0  all is fine
  1  the input is at fault; the place and the cure are reported
  2  misuse, or a file cannot be read or written";

/// Commands that were part of `accp` before, and are now part of `accp-lab`.
const LAB: [&str; 3] = ["bench", "learn", "tune"];

impl Cli {
    /// Reads the command line, or exits. If the command is one of `accp-lab`, the error says so.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|mut error| {
            if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
                && LAB.contains(&name.as_str())
            {
                let tip = StyledStr::from(format!(
                    "run `accp-lab {name}`; `cargo build -p accp-lab` builds it in the source of accp"
                ));
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::None);
            }
            accp_console::end_without_a_command(&error)
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Check(check::Args),
    Fix(fix::Args),
    Encode(encode::Args),
    Decode(decode::Args),
    Explain(explain::Args),
    Tokens(tokens::Args),
    Convert(convert::Args),
    New(new::Args),
    Generate(generate::Args),
    Grammar(grammar::Args),
    Primer(primer::Args),
    Serve(serve::Args),
    Gateway(gateway::Args),
    Send(send::SendArgs),
    Ask(send::AskArgs),
    Tail(tail::Args),
    Erase(erase::Args),
    Recover(recover::Args),
    Agent(agent::Args),
    Ready(ready::Args),
    #[command(subcommand)]
    Session(session::Command),
    #[command(subcommand)]
    Registry(registry::Command),
    #[command(subcommand)]
    Aacp(aacp::Command),
    #[command(subcommand)]
    Collab(collab::Command),
    #[command(subcommand)]
    Context(context::Command),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    pub(crate) fn run(&self) -> Outcome {
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Check(args) => check::run(args),
            Self::Fix(args) => fix::run(args),
            Self::Encode(args) => encode::run(args),
            Self::Decode(args) => decode::run(args),
            Self::Explain(args) => explain::run(args),
            Self::Tokens(args) => tokens::run(args),
            Self::Convert(args) => convert::run(args),
            Self::New(args) => new::run(args),
            Self::Generate(args) => generate::run(args),
            Self::Grammar(args) => grammar::run(args),
            Self::Primer(args) => primer::run(args),
            Self::Serve(args) => serve::run(args),
            Self::Gateway(args) => gateway::run(args),
            Self::Send(args) => send::send(args),
            Self::Ask(args) => send::ask(args),
            Self::Tail(args) => tail::run(args),
            Self::Erase(args) => erase::run(args),
            Self::Recover(args) => recover::run(args),
            Self::Agent(args) => agent::run(args),
            Self::Ready(args) => ready::run(args),
            Self::Session(command) => session::run(command),
            Self::Registry(command) => registry::run(command),
            Self::Aacp(command) => aacp::run(command),
            Self::Collab(command) => collab::run(command),
            Self::Context(command) => context::run(command),
            Self::Completions(args) => completions::run(args, Cli::command()),
            Self::Man(args) => man::run(args, Cli::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_option_is_described() {
        fn look(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for arg in command.get_arguments() {
                assert!(
                    arg.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    arg.get_id()
                );
            }
            command.get_subcommands().for_each(look);
        }
        look(&Cli::command());
    }
}

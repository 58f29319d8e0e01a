//! The command `accp-lab`: measures and learns from recorded conversations.
//!
//! Input, output and exit codes are those of `accp`.

// Everything that a command prints goes through `output`, which escapes text of other people.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod learn;
mod tune;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measure what a memory for agents costs and keeps, and learn registries, on recorded conversations.
///
/// Commands read files of recorded conversations, as `accp convert` does, and write to stdout;
/// reports go to stderr. No model is asked.
#[derive(Debug, Parser)]
#[command(name = "accp-lab", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(verbatim_doc_comment)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  accp-lab bench chats.jsonl
  accp-lab learn chats.jsonl -o registry.json
  accp-lab tune registry.json --tokenizer cl100k_base -o tuned.json

Exit codes:
  0  all is fine
  1  the input is at fault; the place and the cure are reported
  2  misuse, or a file cannot be read or written";

#[derive(Debug, Subcommand)]
enum Command {
    Bench(Box<bench::Args>),
    Learn(learn::Args),
    Tune(tune::Args),
}

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| accp_console::end_without_a_command(&error));
    accp_console::end(match cli.command {
        Command::Bench(args) => bench::run(&args),
        Command::Learn(args) => learn::run(&args),
        Command::Tune(args) => tune::run(&args),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_and_option_is_described() {
        let cli = Cli::command();
        cli.clone().debug_assert();
        for command in cli.get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for arg in command.get_arguments() {
                let described = arg.get_help().is_some();
                assert!(described, "{} {}", command.get_name(), arg.get_id());
            }
        }
    }
}

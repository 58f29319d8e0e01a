//! The command `accp`: the tools of the Agent Context Compression Protocol.
//!
//! A command reads files or stdin and writes to stdout; reports go to stderr. The exit code is 0 if
//! all is fine, 1 if the input is at fault, and 2 for misuse and for failures.

// Everything that a command prints goes through `output`, which escapes what others wrote.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod audit;
mod choices;
mod cli;
mod commands;
mod conversations;
mod debug;
mod erasure;
mod fault;
mod hub;
mod input;
mod keep;
mod outcome;
mod output;
mod redact;
mod registries;
mod room;
mod side;
mod store_file;
mod table;
mod words;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    if cli.debug {
        debug::start();
    }
    match cli.command.run() {
        Ok(verdict) => verdict.into(),
        // The reader of our output has closed it, because it needs no more.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::error(&failure);
            failure.exit_code()
        }
    }
}

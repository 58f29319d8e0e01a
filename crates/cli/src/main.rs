//! The command `accp`: the tools of the Agent Context Compression Protocol.
//!
//! A command reads files or stdin and writes to stdout; reports go to stderr. The exit code is 0 if
//! all is fine, 1 if the input is at fault, and 2 for misuse and for failures.

// All output goes through `accp_console::output`, which escapes text that others wrote.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod audit;
mod cli;
mod commands;
mod debug;
mod erasure;
mod fault;
mod hub;

mod local_session;
mod redact;
mod registries;

mod store_copy;
mod store_file;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::read();
    if cli.debug {
        debug::start();
    }
    accp_console::end(cli.command.run())
}

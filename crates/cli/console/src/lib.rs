//! The parts that the commands of ACCP share: how they read input, write output and end.
//!
//! A command reads files or stdin and writes to stdout; reports go to stderr. The exit code is 0 if
//! all is fine, 1 if the input is at fault, and 2 for misuse and for failures.
//!
//! ```
//! use accp_console::outcome::{Failure, Verdict};
//! use accp_console::output::Output;
//! use accp_console::{end, table::Table};
//!
//! let mut table = Table::headed(["name", "frames"]);
//! table.row(["planner".to_owned(), "3".to_owned()]);
//! let outcome = Output::print(format!("{table}\n").as_bytes()).map(|()| Verdict::Fine);
//! let code = end(outcome);
//! # let _ = code;
//! ```

// All output goes through `output`, which escapes text that others wrote.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod choices;
pub mod conversations;
pub mod externals;
pub mod input;
pub mod outcome;
pub mod output;
pub mod registries;

pub mod table;

use std::io::{self, Write as _};
use std::process::ExitCode;

use outcome::{Failure, Outcome};

/// Ends a command: reports why it stopped, and returns its exit code. If the reader of the output has closed the
/// output, this does not count as a failure.
pub fn end(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(verdict) => verdict.into(),
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::error(&failure);
            failure.exit_code()
        }
    }
}

/// Ends a process that runs no command, because its command line asks for help or for the version, or is wrong.
pub fn end_without_a_command(error: &clap::Error) -> ! {
    let printed = error.print().and_then(|()| io::stdout().flush());
    if let Err(failed) = printed
        && !error.use_stderr()
        && failed.kind() != io::ErrorKind::BrokenPipe
    {
        output::error(Failure::Io("stdout".to_owned(), failed));
        std::process::exit(2);
    }
    std::process::exit(error.exit_code());
}

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

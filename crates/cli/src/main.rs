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
    #[cfg(unix)]
    outlive_file_limit();
    let cli = cli::Cli::read();
    if cli.debug {
        debug::start();
    }
    accp_console::end(cli.command.run())
}

/// Lets a write beyond the system's limit for files (`ulimit -f`) fail, as on a full disk. Without this, the system ends
/// the process with the signal XFSZ and without a word.
#[cfg(unix)]
fn outlive_file_limit() {
    use tokio::runtime::Builder;
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(runtime) = Builder::new_current_thread().enable_io().build() else {
        return;
    };
    let _context = runtime.enter();
    let number = rustix::process::Signal::XFSZ.as_raw();
    // The handler stays in place when its receiver and its runtime are dropped. If the system refuses the handler, the
    // signal ends the process.
    drop(signal(SignalKind::from_raw(number)));
}

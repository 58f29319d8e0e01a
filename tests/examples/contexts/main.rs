//! Conversations inside a window: processes that are killed while they compress.
//!
//! The command `accp context compress` is run as its users run it. After each kill, the same list is given again.
//! What comes out is what a copy of the root gives that nobody killed, but for the times of the names. Each file
//! is there once, and as a whole; the conversation comes back to the byte; and the list that came out, given again,
//! changes nothing.
//!
//! Half of the kills come at any instant. The others come right after the process has begun to write.
//!
//! ```sh
//! cargo build --release -p accp-cli
//! cargo run --release -p accp-tests --example contexts -- --accp target/release/accp --kills 1000
//! ```

mod command;
mod conversation;
mod counts;
mod files;
mod kills;

use std::path::PathBuf;
use std::process::ExitCode;

use accp_tests::program;
use clap::Parser;

#[derive(Parser)]
struct Args {
    /// The command
    #[arg(long, default_value = "target/release/accp", value_parser = program::executable)]
    accp: PathBuf,
    #[arg(long, default_value_t = 1000)]
    kills: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    program::end(kills::run(&args.accp, args.kills, args.seed))
}

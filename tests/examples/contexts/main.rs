//! Kills the command `accp context compress`, which its users run too, while it compresses conversations.
//!
//! After each kill, the command gets the same list again. Except for times, its output and its files have to equal
//! those of a run on a copy of the root that no kill touched. Each file has to be there once and complete, and the
//! whole conversation has to be restored to the byte. Compressing the output again has to change nothing.
//!
//! Half of the kills come at a random instant. The others come soon after the process has begun to write.
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
    /// The command `accp`
    #[arg(long, default_value = "target/release/accp", value_parser = program::executable)]
    accp: PathBuf,
    /// The number of processes to kill
    #[arg(long, default_value_t = 1000)]
    kills: u64,
    /// The seed of all that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    program::end(kills::run(&args.accp, args.kills, args.seed))
}

//! Kills agents while they append events to a shared folder, and lets many agents use a folder at the same time.
//!
//! The program runs the command `accp collab` as its users do.
//!
//! - `--kills`: the number of processes that are killed at random instants of `accp collab append`. After each
//!   kill, every acknowledged event is in the log once, no number is missing, `protocol.json` is whole, and the
//!   next append succeeds.
//! - `--rounds`: in this many rounds, participants wait for their turn, and review at the same time. Each
//!   acknowledged event is in the log, and the phase moves on. A reader in a loop never sees half a file. `--within`
//!   says how many milliseconds after the last review the owner's `wait` has to return.
//!
//! ```sh
//! cargo build --release -p accp-cli
//! cargo run --release -p accp-tests --example shared_folder -- \
//!     --accp target/release/accp --kills 1000 --rounds 100 --within 1000
//! ```

mod command;
mod crowd;
mod kills;

use std::path::PathBuf;
use std::process::ExitCode;

use accp_tests::program::{self, Result};
use clap::Parser;

#[derive(Parser)]
struct Args {
    /// The command `accp`
    #[arg(long, default_value = "target/release/accp", value_parser = program::executable)]
    accp: PathBuf,
    /// The number of processes to kill
    #[arg(long, default_value_t = 1000)]
    kills: u64,
    /// The number of rounds in which participants use a folder at the same time
    #[arg(long, default_value_t = 100)]
    rounds: u64,
    /// The most milliseconds after the last review until the owner's `wait` returns
    #[arg(long)]
    within: Option<u128>,
    /// The seed of all that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The lock of the folder: system or file
    #[arg(long, default_value = "system")]
    lock: String,
}

fn main() -> ExitCode {
    program::end(run(&Args::parse()))
}

fn run(args: &Args) -> Result<String> {
    let Args { accp, lock, .. } = args;
    let mut report = vec![kills::run(accp, lock, args.kills, args.seed)?.to_string()];
    for participants in [2, 10] {
        let rounds = crowd::run(accp, lock, participants, args.rounds, args.within)?;
        report.push(rounds.to_string());
    }
    Ok(report.join("\n"))
}

//! Agents that share a folder: processes that are killed while they append, and many participants at once.
//!
//! The command `accp collab` is run as its users run it.
//!
//! - `--kills`: processes are killed at random instants of `accp collab append`. After each kill, what was
//!   acknowledged is in the log, once; no number is left out; `protocol.json` is whole, and the next append goes
//!   through.
//! - `--rounds`: participants wait for their turn, and review at the same time, so many rounds. Each
//!   acknowledged event is in the log, and the phase moves on. A reader in a loop never sees half a file.
//!   `--within` says how many milliseconds after the last review the owner's `wait` has to return.
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

/// The result of everything here.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut accp = PathBuf::from("target/release/accp");
    let (mut kills, mut rounds, mut within, mut seed) = (1000, 100, None, 1);
    let mut lock = "system".to_owned();
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or("an option has no value")?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|error| format!("{name}: {error}"))
        };
        match &name[..] {
            "--accp" => accp = value.into(),
            "--kills" => kills = number()?,
            "--rounds" => rounds = number()?,
            "--within" => within = Some(u128::from(number()?)),
            "--seed" => seed = number()?,
            "--lock" => lock = value,
            _ => return Err(format!("{name} is unknown")),
        }
    }
    let accp =
        std::fs::canonicalize(&accp).map_err(|error| format!("{}: {error}", accp.display()))?;
    println!("{}", kills::run(&accp, &lock, kills, seed)?);
    for participants in [2, 10] {
        println!(
            "{}",
            crowd::run(&accp, &lock, participants, rounds, within)?
        );
    }
    Ok(())
}

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
    let (mut kills, mut seed) = (1000, 1);
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
            "--seed" => seed = number()?,
            _ => return Err(format!("{name} is unknown")),
        }
    }
    let accp =
        std::fs::canonicalize(&accp).map_err(|error| format!("{}: {error}", accp.display()))?;
    println!("{}", kills::run(&accp, kills, seed)?);
    Ok(())
}

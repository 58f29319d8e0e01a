//! Kills a hub under load, and starts it again on the same store and port.
//!
//! In each of several sessions, agents over WebSocket and an agent over HTTP send numbered tasks to a
//! worker, as fast as the hub takes them. The agents live in this process and connect again by
//! themselves; the one over HTTP sends a frame again under its id until the hub says that it has it.
//! After the last kill the worker of each session must have had every task of each sender once and in
//! order, and each asker its answers.
//!
//! ```sh
//! cargo build --release -p accp-cli
//! cargo run --release -p accp-tests --example hub -- --accp target/release/accp --kills 200
//! cargo run --release -p accp-tests --example hub -- --accp target/release/accp --kills 3 --plant memory
//! ```
//!
//! With `--plant memory` the hub keeps nothing, and the run has to fail.

mod agents;
#[allow(dead_code, reason = "only `floods` looks at the process")]
mod process;
mod tally;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use process::Process;
use tally::Tally;
use tokio::sync::watch;

/// Sessions that are under load.
const SESSIONS: usize = 3;
/// The time in which tasks have to go on after a start, and to come to an end.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let started = Instant::now();
    let done = Args::read().and_then(|args| run(&args));
    match done {
        Ok(said) => {
            println!("{said}, {:.1} s", started.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

struct Args {
    accp: PathBuf,
    kills: u64,
    in_memory: bool,
    seed: u64,
}

impl Args {
    fn read() -> Result<Self, String> {
        let mut args = Self {
            accp: PathBuf::from("target/debug/accp"),
            kills: 20,
            in_memory: false,
            seed: 1,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .map_err(|error| format!("{word} {value}: {error}"))
            };
            match word.as_str() {
                "--accp" => args.accp = PathBuf::from(&value),
                "--kills" => args.kills = number()?,
                "--seed" => args.seed = number()?,
                "--plant" if value == "memory" => args.in_memory = true,
                _ => return Err(format!("unknown: {word} {value}")),
            }
        }
        Ok(args)
    }
}

fn run(args: &Args) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let store = (!args.in_memory).then(|| folder.path().join("hub.accp"));
    runtime.block_on(async {
        let mut hub = Process::start(&args.accp, store, None)?;
        let tally = Arc::new(Tally::new(SESSIONS));
        let (stop, stops) = watch::channel(false);
        let agents = agents::start(hub.url(), SESSIONS, &tally, &stops).await?;
        let mut random = args.seed;
        for kill in 1..=args.kills {
            // A kill comes after so many tasks since the last one.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let after = tally.handled() + (random >> 33) % 400;
            tally
                .reach(after, PATIENCE)
                .await
                .map_err(|why| format!("before kill {kill}: {why}"))?;
            hub.kill_and_start()?;
        }
        let after = tally.handled() + 100;
        tally
            .reach(after, PATIENCE)
            .await
            .map_err(|why| format!("after the last kill: {why}"))?;
        let _ = stop.send(true);
        let sent = agents.finish(PATIENCE).await?;
        let counts = tally.check(&sent, PATIENCE).await?;
        hub.stop()?;
        Ok(format!("{} kills, {counts}", args.kills))
    })
}

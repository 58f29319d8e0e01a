//! Lets accidents happen to hubs under load: one hub on a file, or several on one database.
//!
//! In each of several sessions, agents over WebSocket and an agent over HTTP send numbered tasks to a
//! worker, as fast as the hub takes them. The agents live in this process, each at one of the hubs, and
//! connect again by themselves; the one over HTTP sends a frame again under its id until a hub says that
//! it has it. After the last accident the worker of each session must have had every task of each sender
//! once and in order, and each asker its answers. With `--each 20`, sessions end after 20 accidents and others
//! begin, because a long log is slow to open.
//!
//! ```sh
//! cargo build --release -p accp-cli
//! alias accidents="cargo run --release -p accp-tests --example hub -- --accp target/release/accp"
//! accidents --kills 200
//! accidents --store "$(tests/postgres/server start /tmp/server)" --hubs 2 --kills 200 --pauses 20 \
//!     --cuts 20 --stalls 20 --command "tests/postgres/server restart /tmp/server" --commands 20 --each 20
//! accidents --kills 3 --store memory
//! ```
//!
//! With `--store memory` the hub keeps nothing, and the run has to fail.

mod accidents;
mod agents;
#[allow(dead_code, reason = "only `floods` looks at the process")]
mod process;
mod relay;
mod tally;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accidents::{Accident, LEASE, Plan, Random};
use process::{Process, Start};
use relay::Relay;
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
    /// A file or a URL; none for one file in a folder of this run.
    store: Option<String>,
    hubs: u64,
    plan: Plan,
    seed: u64,
    /// After so many accidents, new sessions begin: a long log is slow to open.
    each: u64,
}

impl Args {
    fn read() -> Result<Self, String> {
        let mut args = Self {
            accp: PathBuf::from("target/debug/accp"),
            store: None,
            hubs: 1,
            plan: Plan::default(),
            seed: 1,
            each: u64::MAX,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .map_err(|error| format!("{word} {value}: {error}"))
            };
            let accident = match word.as_str() {
                "--kills" => Accident::Kill,
                "--pauses" => Accident::Pause,
                "--cuts" => Accident::Cut,
                "--stalls" => Accident::Stall,
                "--commands" => Accident::Command,
                other => {
                    match other {
                        "--accp" => args.accp = PathBuf::from(&value),
                        "--store" => args.store = Some(value.clone()),
                        "--hubs" => args.hubs = number()?.max(1),
                        "--seed" => args.seed = number()?,
                        "--each" => args.each = number()?.max(1),
                        "--command" => args.plan.command = Some(value.clone()),
                        _ => return Err(format!("unknown: {word} {value}")),
                    }
                    continue;
                }
            };
            args.plan.counts.push((accident, number()?));
        }
        if args.plan.counts.iter().all(|(_, count)| *count == 0) {
            return Err("say how many accidents: --kills 20".to_owned());
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
    let file = folder.path().join("hub.accp").display().to_string();
    let store = args.store.clone().unwrap_or(file);
    let is_database = store.contains("://");
    if args.hubs > 1 && !is_database {
        return Err("several hubs share a database: --store postgres://...".to_owned());
    }
    let start = Start {
        accp: args.accp.clone(),
        store: (store != "memory").then_some(store),
        config: folder.path().join("hub.toml"),
        variables: Vec::new(),
    };
    let replica = if is_database {
        format!("[replica]\nlease = {}\n", LEASE.as_secs())
    } else {
        String::new()
    };
    let config = format!("heartbeat = 1\n{replica}");
    std::fs::write(&start.config, config).map_err(|error| error.to_string())?;
    let done = runtime.block_on(async {
        let (mut hubs, mut ways) = (Vec::new(), Vec::new());
        for _ in 0..args.hubs {
            let hub = Process::start(&start)?;
            ways.push(Relay::start(hub.address().to_owned()).await?);
            hubs.push(hub);
        }
        let mut random = Random(args.seed);
        let all = args.plan.shuffled(&mut random);
        let mut done = Done {
            begun: Instant::now(),
            all: all.len(),
            accidents: 0,
            tasks: 0,
        };
        let each = usize::try_from(args.each).unwrap_or(usize::MAX);
        for accidents in all.chunks(each) {
            let plan = &args.plan;
            round(plan, accidents, &mut hubs, &ways, &mut random, &mut done).await?;
        }
        for hub in hubs {
            hub.stop()?;
        }
        let said = args.plan.counts.iter();
        let said: Vec<String> = said
            .map(|(accident, count)| format!("{count} x {accident:?}"))
            .collect();
        let (said, tasks) = (said.join(", "), done.tasks);
        Ok(format!("{said}: {tasks} tasks, each once and in order"))
    });
    // After a failure, agents over HTTP still wait for a hub.
    runtime.shutdown_background();
    done
}

/// What has happened so far.
struct Done {
    begun: Instant,
    all: usize,
    accidents: usize,
    tasks: u64,
}

/// Lets accidents happen to sessions of their own.
async fn round(
    plan: &Plan,
    accidents: &[Accident],
    hubs: &mut [Process],
    ways: &[Relay],
    random: &mut Random,
    done: &mut Done,
) -> Result<(), String> {
    let urls: Vec<String> = ways.iter().map(Relay::url).collect();
    let tally = Arc::new(Tally::new(SESSIONS));
    let (stop, stops) = watch::channel(false);
    // A database may have sessions of an earlier run.
    let end = format!("{}_{}", std::process::id(), done.accidents);
    let mut agents = agents::start(&urls, SESSIONS, &end, &tally, &stops).await?;
    for (at, accident) in accidents.iter().enumerate() {
        // Some accidents come at any time. The others wait until every agent is back: a hub that is killed
        // as soon as some agents are back leaves the rest in longer and longer pauses.
        let is_early = at > 0 && random.below(5) < 2;
        let after = tally.handled() + random.below(400);
        let back = match tally.reach(after, PATIENCE).await {
            Ok(()) if !is_early => tally.reach_each(&agents::SENDERS, PATIENCE).await,
            other => other,
        };
        let happened = match back {
            Ok(()) => plan.happens(*accident, hubs, ways, random).await,
            Err(why) => Err(why),
        };
        done.accidents += 1;
        if let Err(why) = happened {
            let (at, state) = (done.accidents, agents.state().await);
            return Err(format!("accident {at}, {accident:?}: {why}{state}"));
        }
        eprintln!(
            "{} of {}: {accident:?}, {:.1} s, {} tasks",
            done.accidents,
            done.all,
            done.begun.elapsed().as_secs_f64(),
            done.tasks + tally.handled()
        );
    }
    let after = tally.handled() + 100;
    let reached = tally.reach(after, PATIENCE).await;
    reached.map_err(|why| format!("after the last accident: {why}"))?;
    let _ = stop.send(true);
    let sent = agents.finish(PATIENCE).await?;
    done.tasks += tally.check(&sent, PATIENCE).await?;
    Ok(())
}

//! Runs agents against hubs while accidents happen to the hubs: one hub on a file, or several hubs on one database.
//!
//! In each of several sessions, agents over WebSocket and an agent over HTTP send numbered tasks to a worker, as
//! fast as the hub takes them. The agents live in this process. Each agent uses one of the hubs, and connects again
//! by itself. The agent over HTTP sends a frame again under the same id until a hub confirms that it has the frame.
//! Two more agents take the questions that are addressed to nobody, and one of the two leaves and comes back all the
//! time. After the last accident, the worker of each session must have got every task of each sender once and in
//! order, and each asker must have got its answers. With `--each 20`, the sessions end after 20 accidents and new
//! sessions begin, because a long log is slow to open.
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
mod relay;
mod tally;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accidents::{Accident, AccidentPlan, LEASE};
use accp_testkit::Rng;
use accp_tests::hub::{HubOptions, HubProcess};
use accp_tests::program;
use clap::Parser;
use relay::Relay;
use tally::Tally;
use tokio::sync::watch;

/// The number of sessions that are under load at the same time.
const SESSIONS: usize = 3;
/// The longest wait for the next tasks after an accident, and for the last tasks of a run.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Parser)]
struct Args {
    /// The command `accp`
    #[arg(long, default_value = "target/debug/accp")]
    accp: PathBuf,
    /// Where the hubs keep their sessions: a file, a URL or `memory`; by default a file in a folder of this run
    #[arg(long)]
    store: Option<String>,
    /// The number of hubs
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    hubs: u64,
    /// How many times to kill a hub
    #[arg(long, default_value_t = 0)]
    kills: u64,
    /// How many times to stop a hub for longer than its lease
    #[arg(long, default_value_t = 0)]
    pauses: u64,
    /// How many times to cut all links to a hub
    #[arg(long, default_value_t = 0)]
    cuts: u64,
    /// How many times to let the links to a hub carry nothing, until the hub gives them up
    #[arg(long, default_value_t = 0)]
    stalls: u64,
    /// How many times to run the command of `--command`
    #[arg(long, default_value_t = 0)]
    commands: u64,
    /// The command that `--commands` runs
    #[arg(long)]
    command: Option<String>,
    /// The seed of all that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of accidents after which new sessions begin, because a long log is slow to open
    #[arg(long, default_value_t = u64::MAX, value_parser = clap::value_parser!(u64).range(1..))]
    each: u64,
}

impl Args {
    fn plan(&self) -> AccidentPlan {
        let counts = [
            (Accident::Kill, self.kills),
            (Accident::Pause, self.pauses),
            (Accident::Cut, self.cuts),
            (Accident::Stall, self.stalls),
            (Accident::Command, self.commands),
        ];
        AccidentPlan {
            counts: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
            command: self.command.clone(),
        }
    }
}

fn main() -> ExitCode {
    program::end(run(&Args::parse()))
}

fn run(args: &Args) -> Result<String, String> {
    let plan = args.plan();
    if plan.counts.is_empty() {
        return Err("say how many accidents: --kills 20".to_owned());
    }
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
    let options = HubOptions {
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
    std::fs::write(&options.config, config).map_err(|error| error.to_string())?;
    let done = runtime.block_on(async {
        let (mut hubs, mut ways) = (Vec::new(), Vec::new());
        for _ in 0..args.hubs {
            let hub = HubProcess::start(&options)?;
            ways.push(Relay::start(hub.address().to_owned()).await?);
            hubs.push(hub);
        }
        let mut random = Rng::new(args.seed);
        let all = plan.shuffled(&mut random);
        let mut done = Done {
            begun: Instant::now(),
            all: all.len(),
            accidents: 0,
            tasks: 0,
        };
        let each = usize::try_from(args.each).unwrap_or(usize::MAX);
        for accidents in all.chunks(each) {
            round(&plan, accidents, &mut hubs, &ways, &mut random, &mut done).await?;
        }
        for hub in hubs {
            hub.stop()?;
        }
        let counts = plan.counts.iter();
        let counts: Vec<String> = counts
            .map(|(accident, count)| format!("{count} x {accident:?}"))
            .collect();
        Ok(format!(
            "{}: {} tasks, each once and in order, {:.1} s",
            counts.join(", "),
            done.tasks,
            done.begun.elapsed().as_secs_f64()
        ))
    });
    // After a failure, agents over HTTP still wait for a hub, so the program does not wait for
    // them.
    runtime.shutdown_background();
    done
}

/// The progress of the run so far.
struct Done {
    begun: Instant,
    all: usize,
    accidents: usize,
    tasks: u64,
}

/// Starts new sessions, and lets these accidents happen to them.
async fn round(
    plan: &AccidentPlan,
    accidents: &[Accident],
    hubs: &mut [HubProcess],
    ways: &[Relay],
    random: &mut Rng,
    done: &mut Done,
) -> Result<(), String> {
    let urls: Vec<String> = ways.iter().map(Relay::url).collect();
    let tally = Arc::new(Tally::new(SESSIONS));
    let (stop, stops) = watch::channel(false);
    // A database may have sessions of an earlier run, so the names of sessions end with the
    // process id.
    let end = format!("{}_{}", std::process::id(), done.accidents);
    let mut agents = agents::start(&urls, SESSIONS, &end, &tally, &stops).await?;
    for (at, accident) in accidents.iter().enumerate() {
        // Some accidents come at any time. Before the other accidents, the run waits until every agent is back.
        // Otherwise the hubs could be killed again and again before the slowest agents are back, and these agents
        // would wait longer and longer before they try to connect again.
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

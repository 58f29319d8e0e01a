//! Kills one side of a session on SQLite at random instants.
//!
//! The process that is killed accepts frames, handles them and answers. It takes turns with its peers, which live in
//! this process. The messages are short and long, some come in parts, some expire, some cancel the last request of
//! their sender while its handlers run, and some change the shared state. Hosts take checkpoints, grant keys and let
//! values expire, and every side deletes what no side needs any longer.
//!
//! After each kill this program checks the file against everything that had left the process. Each frame that the
//! process had acknowledged or relayed is in the file. Values have the bytes that their senders put. Each frame
//! that was sent waits, or was acknowledged, refused, expired or cancelled, and the log agrees. The state in the
//! file is the fold of the log from its beginning; this program keeps a copy of the whole log. After the last kill
//! the session has to come to rest, with every frame handled once.
//!
//! ```sh
//! cargo run --release -p accp-tests --example crash -- --kills 1000
//! cargo run --release -p accp-tests --example crash -- --kills 50 --seed 7 --side member
//! cargo run --release -p accp-tests --example crash -- --kills 50 --plant half
//! cargo run --release -p accp-tests --example crash -- --kills 40 --accp target/release/accp
//! ```
//!
//! With `--accp`, the command of this path is killed instead, `--kills` times during `session import` and `--kills`
//! times during `demo --store`. See `command`.
//!
//! A seed fixes the messages. The instants of the kills differ from run to run. With 1,000 kills of both sides, no
//! count in the table may be 0. Without arguments the program does the same as the test.

mod check;
mod child;
mod command;
mod counts;
mod fact;
mod fates;
mod file;
mod fold;
mod frames;
mod ledger;
mod life;
mod log;
mod plan;
mod plant;
mod run;
mod side;
mod values;
mod words;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use accp_runtime::session::Scope;
use accp_tests::program;
use clap::Parser;

use counts::Counts;
use plan::CrashPlan;
use plant::Plant;
use side::Kind;

/// Kills of one file before the next file begins.
const KILLS_A_FILE: u64 = 100;
/// With this many kills or more, a count of 0 is a fault.
const MANY: u64 = 1000;

#[derive(Parser)]
struct Args {
    /// The number of kills
    #[arg(long, default_value_t = 100)]
    kills: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The side to kill: host or member; by default, each in turn
    #[arg(long)]
    side: Option<Kind>,
    /// Plant this bug in the store: early, apart or half
    #[arg(long)]
    plant: Option<Plant>,
    /// Kill the command `accp` at this path instead of a side
    #[arg(long, value_parser = program::executable, conflicts_with_all = ["side", "plant"])]
    accp: Option<PathBuf>,
}

pub(crate) fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = run_child(&args) {
        return code;
    }
    let started = Instant::now();
    let result = if args.is_empty() {
        few().map(|counts| counts.to_string())
    } else {
        many(Args::parse())
    };
    let seconds = started.elapsed().as_secs_f64();
    program::end(result.map(|counts| format!("{counts}{seconds:.1} s")))
}

fn many(args: Args) -> Result<String, String> {
    let Args {
        kills,
        mut seed,
        side,
        plant,
        accp,
    } = args;
    if let Some(accp) = accp {
        return command::run(&accp, kills, seed).map(|counts| counts.to_string());
    }
    let mut counts = Counts::default();
    while counts.kills < kills {
        let plan = CrashPlan {
            seed,
            // Successive seeds try all four combinations of side and scope.
            side: side.unwrap_or([Kind::Host, Kind::Member][seed as usize % 2]),
            scope: [Scope::Sender, Scope::Shared][seed as usize / 2 % 2],
            kills: KILLS_A_FILE.min(kills - counts.kills),
            delay: Duration::from_millis(4),
            plant,
        };
        run::run(&plan, &mut counts)
            .map_err(|what| format!("{counts}FAILED with seed {seed}, {}: {what}", plan.side))?;
        seed += 1;
    }
    // A run with this many kills, of both sides, must reach every event that it counts.
    if kills >= MANY && side.is_none() && !counts.missing().is_empty() {
        let missing = counts.missing().join(", ");
        return Err(format!("{counts}FAILED: none of these: {missing}"));
    }
    Ok(counts.to_string())
}

/// Runs the process that is killed, if the arguments ask for it.
pub(crate) fn run_child(args: &[String]) -> Option<ExitCode> {
    let (word, args) = args.split_first()?;
    (word == child::WORD).then(|| child::run(args))
}

/// Runs a few kills, and checks that the planted bugs are found. Every test run does this.
///
/// # Errors
/// If a check fails or a bug goes unseen.
pub(crate) fn few() -> Result<Counts, String> {
    let mut counts = Counts::default();
    let plan = |side, plant| CrashPlan {
        seed: 1,
        side,
        scope: Scope::Sender,
        kills: 10,
        delay: Duration::ZERO,
        plant,
    };
    for side in [Kind::Host, Kind::Member] {
        run::run(&plan(side, None), &mut counts)?;
        for bug in Plant::ALL {
            let mut plan = plan(side, Some(bug));
            plan.kills = 100;
            if run::run(&plan, &mut Counts::default()).is_ok() {
                return Err(format!("{bug} went unseen with a {side}"));
            }
        }
    }
    Ok(counts)
}

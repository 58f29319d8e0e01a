//! Runs sessions with a member that does nothing but send forged frames, as many as it can.
//!
//! ```sh
//! cargo run --release -p accp-tests --example hostile -- --runs 2000 --frames 10000000
//! cargo run --release -p accp-tests --example hostile -- --run 17 --frames 5000
//! ```
//!
//! The runs and the checks are those of `simulate`, and each run has a hostile member. So all frames of the other
//! members have to be handled once, in order, and within a bounded number of turns while the hostile member sends.
//! When the other members have come to rest, the program measures the memory of the host's session. The program
//! fails if the session takes more bytes than docs/limits.md lets one member fill.
//!
//! The program makes one run after another, because it counts the bytes of its whole process.

#[path = "../simulate/world.rs"]
#[allow(dead_code, reason = "only `simulate` leaves pieces out of a run")]
mod world;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use world::{Counts, Trim};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// The number of turns of a usual run. The hostile member sends about the same number of frames in each turn.
const STEPS: u64 = 220;
/// How many lines of the script the program prints for a run that fails.
const LINES: usize = 200;

#[derive(Parser)]
struct Args {
    /// The number of runs
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// Run only the run with this number
    #[arg(long, conflicts_with = "runs")]
    run: Option<u64>,
    /// The least number of hostile frames in all runs together
    #[arg(long, default_value_t = 0)]
    frames: u64,
}

fn main() -> ExitCode {
    let Args { runs, run, frames } = Args::parse();
    let (first, runs) = run.map_or((0, runs), |run| (run, 1));
    let started = Instant::now();
    let trim = Trim {
        // The number of frames in a turn is random: on average it is half of this maximum.
        flood: Some((2 * frames / runs / STEPS).max(1)),
        weigh: Some(weigh),
        ..Trim::default()
    };
    let mut counts = Counts::default();
    for seed in first..first + runs {
        let outcome = world::run(seed, &trim, false);
        counts.add(&outcome.counts);
        if let Err(what) = outcome.verdict {
            let script = world::run(seed, &trim, true).script;
            let last = script.len().saturating_sub(LINES);
            println!(
                "{}\n{counts}\nrun {seed} failed: {what}",
                script[last..].join("\n")
            );
            return ExitCode::FAILURE;
        }
    }
    let (forged, heaviest) = (counts.forged, counts.heaviest >> 10);
    println!("{counts}\n{forged} hostile frames in {runs} runs");
    println!("the heaviest host took {heaviest} KiB");
    println!("{:.1} s", started.elapsed().as_secs_f64());
    if forged < frames {
        println!("{frames} frames were asked for");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Returns the bytes that the process has allocated.
fn weigh() -> usize {
    let stats = ALLOCATOR.stats();
    stats
        .bytes_allocated
        .saturating_sub(stats.bytes_deallocated)
}

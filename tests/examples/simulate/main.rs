//! Runs simulated sessions over a link that fails. A seed fixes each run.
//!
//! ```sh
//! cargo run --release -p accp-tests --example simulate -- --seeds 100000
//! cargo run --release -p accp-tests --example simulate -- --seed 4711 --script
//! just simulate        # for a second, from another first seed each time
//! ```
//!
//! If a seed fails, the program makes the run smaller: it leaves out everything that the failure
//! does not need. It prints the command for the smaller run, with the script.

// The path lets both this program and the test of a few seeds find the modules.
#[path = "world.rs"]
mod world;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use clap::builder::PossibleValuesParser;
use world::{Counts, RunPlan, Trim};

#[derive(Parser)]
struct Args {
    /// The number of seeds
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Run for this number of seconds, from another first seed each time
    #[arg(long, conflicts_with_all = ["seeds", "from", "seed"])]
    seconds: Option<u64>,
    /// Run only this seed
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// Print what happens in each run
    #[arg(long)]
    script: bool,
    /// The pieces of a run to leave out
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(RunPlan::PIECES))]
    without: Vec<String>,
    /// The most frames that agents send
    #[arg(long)]
    sends: Option<usize>,
    /// Go on after a seed has failed, and print a line for each failed seed
    #[arg(long)]
    all: bool,
    /// Let some members speak the draft alone (docs/design/next.md)
    #[arg(long)]
    drafts: bool,
}

impl Args {
    fn trim(&self) -> Trim {
        Trim {
            without: self.without.clone(),
            sends: self.sends,
            drafts: self.drafts,
            ..Trim::default()
        }
    }
}

fn main() -> ExitCode {
    let mut args = Args::parse();
    if let Some(seed) = args.seed {
        (args.from, args.seeds) = (seed, 1);
    }
    if args.seconds.is_some() {
        let age = SystemTime::now().duration_since(UNIX_EPOCH);
        (args.from, args.seeds) = (age.map_or(0, |age| age.as_secs()), u64::from(u32::MAX));
        println!("from seed {}", args.from);
    }
    let trim = args.trim();
    let started = Instant::now();
    let (counts, failed) = run(&args, &trim);
    println!("{counts}\n{}", counts.kinds);
    println!("{:.1} s", started.elapsed().as_secs_f64());
    let Some((seed, what)) = failed else {
        return covered(&args, counts);
    };
    let trim = smaller(seed, &trim, &what);
    let outcome = world::run(seed, &trim, true);
    println!("\n{}", outcome.script.join("\n"));
    let what = outcome.verdict.err().unwrap_or(what);
    println!("\nseed {seed} failed: {what}");
    println!(
        "again: cargo run --release -p accp-tests --example simulate -- --seed {seed}{} --script",
        options(&trim)
    );
    ExitCode::FAILURE
}

/// Fails if something never happened in many seeds, because then the simulation does not test it any more.
fn covered(args: &Args, mut counts: Counts) -> ExitCode {
    let kinds = counts.kinds.clone();
    let rows = counts.rows();
    let never: Vec<_> = rows.iter().filter(|(_, count)| **count == 0).collect();
    let never = never.into_iter().map(|(name, _)| name.trim().to_owned());
    let never: Vec<_> = never.chain(kinds.missing(args.drafts)).collect();
    if args.seeds < 1000 || args.seconds.is_some() || never.is_empty() {
        return ExitCode::SUCCESS;
    }
    for name in never {
        println!("in {} seeds, never: {name}", args.seeds);
    }
    ExitCode::FAILURE
}

/// Runs seeds until a seed fails, or all seeds with `--all`. Returns the counts, and the lowest seed that failed.
fn run(args: &Args, trim: &Trim) -> (Counts, Option<(u64, String)>) {
    let end = args.from + args.seeds;
    let until = args
        .seconds
        .map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let next = AtomicU64::new(args.from);
    // The lowest failed seed so far. All seeds below it still run.
    let bound = AtomicU64::new(end);
    let all = Mutex::new((Counts::default(), None::<(u64, String)>));
    let work = || {
        let mut own = Counts::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let is_over = until.is_some_and(|until| Instant::now() > until);
            if is_over || seed >= bound.load(Ordering::Relaxed) {
                break;
            }
            let outcome = world::run(seed, trim, args.script);
            own.add(&outcome.counts);
            if args.script {
                println!("{}", outcome.script.join("\n"));
            }
            let Err(what) = outcome.verdict else { continue };
            if args.all {
                println!("seed {seed} failed: {what}");
            } else {
                bound.fetch_min(seed, Ordering::Relaxed);
            }
            if let Ok(mut all) = all.lock()
                && all.1.as_ref().is_none_or(|(lowest, _)| seed < *lowest)
            {
                all.1 = Some((seed, what));
            }
        }
        if let Ok(mut all) = all.lock() {
            all.0.add(&own);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    all.into_inner().unwrap_or_default()
}

/// Leaves out each piece of the run that the seed does not need to fail in the same way.
fn smaller(seed: u64, trim: &Trim, what: &str) -> Trim {
    let shape = |what: &str| what.replace(|c: char| c.is_ascii_digit(), "");
    let fails = |trim: &Trim| {
        let verdict = world::run(seed, trim, false).verdict;
        verdict.is_err_and(|other| shape(&other) == shape(what))
    };
    let mut small = trim.clone();
    for piece in RunPlan::PIECES {
        let mut tried = small.clone();
        tried.without.push(piece.into());
        if fails(&tried) {
            small = tried;
        }
    }
    for sends in [
        1, 2, 3, 5, 8, 12, 17, 23, 30, 40, 60, 90, 140, 200, 300, 450,
    ] {
        let tried = Trim {
            sends: Some(sends),
            ..small.clone()
        };
        if small.sends.is_none_or(|most| sends < most) && fails(&tried) {
            return tried;
        }
    }
    small
}

fn options(trim: &Trim) -> String {
    let without = match trim.without.as_slice() {
        [] => String::new(),
        pieces => format!(" --without {}", pieces.join(",")),
    };
    let sends = trim.sends.map(|sends| format!(" --sends {sends}"));
    let drafts = if trim.drafts { " --drafts" } else { "" };
    without + &sends.unwrap_or_default() + drafts
}

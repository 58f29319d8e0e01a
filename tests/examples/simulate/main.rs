//! Runs sessions over a link that fails, from seeds.
//!
//! ```sh
//! cargo run --release -p accp-tests --example simulate -- --seeds 100000
//! cargo run --release -p accp-tests --example simulate -- --seed 4711 --script
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
use std::time::Instant;

use world::{Counts, Plan, Trim};

const USAGE: &str = "\
usage: simulate [--seeds N] [--from N] [--seed N] [--script] [--without PIECE,..] [--sends N] [--all]
                [--drafts]

--all goes on after a seed has failed, and prints a line for each.
--drafts lets some members speak the draft alone (docs/design/next.md).";

#[derive(Debug)]
struct Args {
    first: u64,
    seeds: u64,
    script: bool,
    all: bool,
    trim: Trim,
}

fn main() -> ExitCode {
    let Some(args) = args() else {
        eprintln!("{USAGE}\npieces: {}", Plan::PIECES.join(", "));
        return ExitCode::from(2);
    };
    let started = Instant::now();
    let (counts, failed) = run(&args);
    println!("{counts}\n{}", counts.kinds);
    println!("{:.1} s", started.elapsed().as_secs_f64());
    let Some((seed, what)) = failed else {
        return covered(&args, counts);
    };
    let trim = smaller(seed, &args.trim, &what);
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

/// Fails if something never happened in many seeds: then the simulation does not test it any more.
fn covered(args: &Args, mut counts: Counts) -> ExitCode {
    let kinds = counts.kinds.clone();
    let rows = counts.rows();
    let never: Vec<_> = rows.iter().filter(|(_, count)| **count == 0).collect();
    let never = never.into_iter().map(|(name, _)| name.trim());
    let never: Vec<_> = never.chain(kinds.missing(args.trim.drafts)).collect();
    if args.seeds < 1000 || never.is_empty() {
        return ExitCode::SUCCESS;
    }
    for name in never {
        println!("in {} seeds, never: {name}", args.seeds);
    }
    ExitCode::FAILURE
}

fn args() -> Option<Args> {
    let mut parsed = Args {
        first: 0,
        seeds: 1000,
        script: false,
        all: false,
        trim: Trim::default(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next()?.parse().ok();
        match arg.as_str() {
            "--seeds" => parsed.seeds = number()?,
            "--from" => parsed.first = number()?,
            "--seed" => (parsed.first, parsed.seeds) = (number()?, 1),
            "--script" => parsed.script = true,
            "--all" => parsed.all = true,
            "--drafts" => parsed.trim.drafts = true,
            "--sends" => parsed.trim.sends = Some(number()? as usize),
            "--without" => {
                let pieces = args.next()?;
                let mut pieces = pieces.split(',').map(String::from);
                let is_known = |piece: &String| Plan::PIECES.contains(&piece.as_str());
                parsed.trim.without = pieces.by_ref().collect();
                if !parsed.trim.without.iter().all(is_known) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    Some(parsed)
}

/// Runs seeds. It stops at the lowest seed that fails, unless all are to run.
fn run(args: &Args) -> (Counts, Option<(u64, String)>) {
    let end = args.first + args.seeds;
    let next = AtomicU64::new(args.first);
    // The lowest failed seed so far. All seeds below it still run.
    let bound = AtomicU64::new(end);
    let all = Mutex::new((Counts::default(), None::<(u64, String)>));
    let work = || {
        let mut own = Counts::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= bound.load(Ordering::Relaxed) {
                break;
            }
            let outcome = world::run(seed, &args.trim, args.script);
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

/// Leaves out every piece without which the seed still fails in the same way.
fn smaller(seed: u64, trim: &Trim, what: &str) -> Trim {
    let shape = |what: &str| what.replace(|c: char| c.is_ascii_digit(), "");
    let fails = |trim: &Trim| {
        let verdict = world::run(seed, trim, false).verdict;
        verdict.is_err_and(|other| shape(&other) == shape(what))
    };
    let mut small = trim.clone();
    for piece in Plan::PIECES {
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

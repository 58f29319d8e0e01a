//! Sessions over a link that fails, from seeds.
//!
//! ```sh
//! cargo run --release -p accp-tests --example simulate -- --seeds 100000
//! cargo run --release -p accp-tests --example simulate -- --seed 4711 --script
//! ```

// It reads as a script, and its parts will be moved apart.
#![allow(clippy::all, clippy::pedantic, unreachable_pub)]

mod plan;
mod world;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use world::{Counts, World};

fn main() -> ExitCode {
    let mut seeds = 1000;
    let mut first = 0;
    let mut script = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|n| n.parse().ok());
        match arg.as_str() {
            "--seeds" => seeds = number().unwrap_or(seeds),
            "--from" => first = number().unwrap_or(first),
            "--seed" => {
                first = number().unwrap_or(first);
                seeds = 1;
            }
            "--script" => script = true,
            _ => {
                eprintln!("usage: simulate [--seeds N] [--from N] [--seed N] [--script]");
                return ExitCode::from(2);
            }
        }
    }
    run(first, seeds, script)
}

fn run(first: u64, seeds: u64, script: bool) -> ExitCode {
    let started = Instant::now();
    let next = AtomicU64::new(first);
    let failed = AtomicBool::new(false);
    let counts = Mutex::new(Counts::default());
    let work = || {
        let mut own = Counts::default();
        while !failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                break;
            }
            let mut world = World::new(seed, script);
            let result = world.run();
            own.add(&world.counts());
            if script {
                println!("{}", world.script().join("\n"));
            }
            if let Err(what) = result {
                if !failed.swap(true, Ordering::Relaxed) {
                    let mut again = World::new(seed, true);
                    let _ = again.run();
                    println!("{}", again.script().join("\n"));
                    println!("seed {seed} failed: {what}");
                    println!(
                        "again: cargo run --release -p accp-tests --example simulate -- --seed {seed} --script"
                    );
                }
            }
        }
        if let Ok(mut counts) = counts.lock() {
            counts.add(&own);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    if let Ok(counts) = counts.lock() {
        println!("{counts}");
    }
    println!(
        "{:.1} s on {threads} threads",
        started.elapsed().as_secs_f64()
    );
    if failed.load(Ordering::Relaxed) {
        println!("FAILED");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

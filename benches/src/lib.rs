//! What the benches share: rounds in which every contender takes its turn, so that a noisy
//! machine slows all of them alike, and ratios against the first one.

use std::hint::black_box;
use std::time::Instant;

/// A named piece of work.
pub struct Contender<'c> {
    name: &'static str,
    work: Box<dyn FnMut() -> usize + 'c>,
}

/// Work that gives back something, so that it cannot be left out.
pub fn contender<'c, T>(name: &'static str, mut work: impl FnMut() -> T + 'c) -> Contender<'c> {
    Contender {
        name,
        work: Box::new(move || {
            black_box(work());
            1
        }),
    }
}

const ROUNDS: usize = 41;

/// Runs the contenders in turns and prints the median nanoseconds of each, and how often
/// the work of one fits into the time of the first (median over the rounds).
pub fn race(title: &str, contenders: Vec<Contender<'_>>) {
    let mut contenders = contenders;
    // As many iterations as take the first one about two milliseconds.
    let mut iterations = 1;
    while time(&mut contenders[0], iterations) < 2e6 {
        iterations *= 2;
    }
    let mut rounds = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for (contender, times) in contenders.iter_mut().zip(&mut rounds) {
            times.push(time(contender, iterations) / iterations as f64);
        }
    }
    println!("{title}");
    let base = rounds[0].clone();
    for (contender, times) in contenders.iter().zip(&rounds) {
        let ratios = base.iter().zip(times).map(|(base, time)| base / time).collect();
        let (nanoseconds, ratio) = (median(times.clone()), median(ratios));
        println!("  {:<28} {nanoseconds:>9.1} ns   {ratio:>5.2} x", contender.name);
    }
    println!();
}

fn time(contender: &mut Contender<'_>, iterations: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..iterations {
        (contender.work)();
    }
    start.elapsed().as_nanos() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

//! Races between contenders. In each round of a race, every contender runs once, so a noisy machine slows all of them
//! equally. Ratios compare each contender with the first one.

use std::hint::black_box;
use std::time::Instant;

/// One of the programs that a race compares: a name, and a function that does pieces of work and returns their
/// number.
pub struct Contender<'c> {
    name: &'static str,
    work: Box<dyn FnMut() -> usize + 'c>,
}

/// Makes a contender. `work` returns a result, so that the compiler cannot leave out the work.
pub fn contender<'c, T>(name: &'static str, mut work: impl FnMut() -> T + 'c) -> Contender<'c> {
    many(name, move || {
        black_box(work());
        1
    })
}

/// Makes a contender that does several pieces of work at once and returns their number.
pub fn many<'c>(name: &'static str, work: impl FnMut() -> usize + 'c) -> Contender<'c> {
    Contender {
        name,
        work: Box::new(work),
    }
}

/// The result of a contender.
pub struct Finish {
    /// Nanoseconds of one piece of work in the fastest round, which the machine disturbed least.
    pub least: f64,
}

const ROUNDS: usize = 41;

/// Runs the contenders in turns, and prints the result of each.
///
/// `benches/instructions` sets the variable `RACE` to count instructions instead of time: with `RACE=list`, a race
/// only prints the names of its contenders; with `RACE=TITLE/NAME/TIMES`, only this contender runs, that many times.
pub fn race(title: &str, contenders: Vec<Contender<'_>>) -> Vec<Finish> {
    let mut contenders = contenders;
    if let Ok(asked) = std::env::var("RACE") {
        for contender in &mut contenders {
            let name = format!("{title}/{}", contender.name);
            let times = asked.strip_prefix(&format!("{name}/"));
            if asked == "list" {
                println!("{name}");
            } else if let Some(times) = times.and_then(|times| times.parse().ok()) {
                time(contender, times);
                std::process::exit(0);
            }
        }
        return contenders.iter().map(|_| Finish { least: 0.0 }).collect();
    }
    // Doubles the iterations until the first contender takes about two milliseconds.
    let mut iterations = 1;
    while time(&mut contenders[0], iterations).0 < 2e6 {
        iterations *= 2;
    }
    let mut rounds = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for (contender, times) in contenders.iter_mut().zip(&mut rounds) {
            let (nanoseconds, count) = time(contender, iterations);
            times.push(nanoseconds / count as f64);
        }
    }
    println!("{title}");
    let base = rounds[0].clone();
    for (contender, times) in contenders.iter().zip(&rounds) {
        let ratios = base
            .iter()
            .zip(times)
            .map(|(base, time)| base / time)
            .collect();
        let (nanoseconds, ratio) = (median(times.clone()), median(ratios));
        println!(
            "  {:<28} {nanoseconds:>9.1} ns   {ratio:>5.2} x",
            contender.name
        );
    }
    println!();
    rounds
        .into_iter()
        .map(|times| Finish {
            least: quantile(times, 0.0),
        })
        .collect()
}

/// Runs a contender. Returns the nanoseconds, and the number of pieces of work.
fn time(contender: &mut Contender<'_>, iterations: usize) -> (f64, usize) {
    let start = Instant::now();
    let count = (0..iterations).map(|_| (contender.work)()).sum();
    (start.elapsed().as_nanos() as f64, count)
}

/// Returns the median.
pub fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// Returns the value below which this share of all values lies.
pub fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * share) as usize]
}

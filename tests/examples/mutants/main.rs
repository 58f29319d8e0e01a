//! Measures how many small mistakes the simulation and the tests find. `cargo mutants` lists the mistakes that it
//! can make, the mutants, and a seed draws some of them. This program plants these mutants in a copy of the
//! workspace. It runs the simulation on each mutant, and if the simulation finds nothing, the tests. Most mutants
//! are planted in one build, in which an environment variable chooses the active mutant.
//!
//! ```sh
//! cargo run --profile simulate -p accp-tests --example mutants -- --count 200 --seed 1
//! cargo run --profile simulate -p accp-tests --example mutants -- --again tests,SURVIVED
//! ```
//!
//! The mutants are those of accp-session, accp-store and the checkpoints of accp-context, without tests, the suite
//! for stores, and functions that only print: `Debug`, and the texts of errors. A mutant that does not build is not
//! counted, and the program draws another. The same holds for the equivalent mutants that `docs/mutants.md` proves.
//!
//! The simulation finds a mutant if one of 1,000 seeds fails, or if they take longer than two minutes. Otherwise the
//! tests find the mutant if a test fails or does not end.
//!
//! Each result goes to `mutants.tsv` in the target folder. If a run is interrupted, the next run reads these results
//! and does the rest. After a change of the tests, `--again` forgets the results with these names first. A result is
//! not used any more if the lines around its mutant have changed.
//!
//! The program fails if less than 90 % of the mutants are found, or less than 80 % by the simulation. It needs
//! `cargo-mutants`, `sh` and `timeout`. `sh` and `timeout` end a program that runs too long or takes too much
//! memory.

#[path = "../planted/copy.rs"]
mod copy;
mod mutant;
mod places;
mod results;
#[path = "../planted/suites.rs"]
mod suites;
#[path = "../planted/together.rs"]
mod together;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use copy::Copy;
use mutant::Mutant;
use results::{Finder, Found, Results};
use suites::{Suite, Tested, build_tests, suites};
use together::Together;

const SEEDS: u32 = 1000;
/// The time limit of the simulation, in seconds.
const SECONDS: u32 = 120;
/// If a build has this many mutants or more, it is worth the time to make another build with the mutants that did
/// not fit into this one.
const ANOTHER_BUILD: usize = 4;
/// The percentage of the mutants that must be found in all, and the percentage that the simulation must find alone.
const FOUND: (usize, usize) = (90, 80);

#[derive(Parser)]
struct Args {
    /// The number of mutants to draw
    #[arg(long, default_value_t = 200)]
    count: usize,
    /// The seed that draws the mutants
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Forget the results with these names, and get them again: simulation, tests, unviable, SURVIVED
    #[arg(long, value_delimiter = ',', value_parser = finder)]
    again: Vec<Finder>,
}

fn finder(name: &str) -> Result<Finder, String> {
    Finder::read(name).ok_or_else(|| "expected simulation, tests, unviable or SURVIVED".into())
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether enough mutants were found.
fn run(args: &Args) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut copy = Copy::of(&root, "mutants")?;
    let mut all = Mutant::all(&copy)?;
    let proofs = std::fs::read_to_string(root.join("docs/mutants.md"));
    let proofs = proofs.map_err(|error| format!("docs/mutants.md: {error}"))?;
    let equivalent = mutant::equivalent(&proofs, &all)?;
    println!(
        "{} mutants, {} of them equivalent",
        all.len(),
        equivalent.len()
    );
    all.retain(|mutant| !equivalent.contains(&(mutant.file.clone(), mutant.what.clone())));
    Mutant::shuffle(&mut all, args.seed);
    let mut results = Results::open(&copy.tree.with_extension("tsv"), &args.again)?;
    let mut is_sound = false;
    loop {
        let (mut found, mut open) = (Vec::new(), Vec::new());
        for (index, mutant) in all.iter().enumerate() {
            if viable(&found) + open.len() == args.count {
                break;
            }
            match results.of(mutant) {
                Some(known) => found.push((mutant, known)),
                None => open.push((index, mutant)),
            }
        }
        if open.is_empty() {
            for (mutant, found) in &found {
                print(mutant, found);
            }
            return Ok(is_enough(&found));
        }
        if !is_sound {
            sound(&copy)?;
            is_sound = true;
        }
        hunt(&mut copy, &open, &mut results)?;
    }
}

fn print(mutant: &Mutant, Found { by, how }: &Found) {
    let Mutant {
        file, line, what, ..
    } = mutant;
    println!("{file}:{line}  {what}  {} {how}", by.name());
}

/// Looks for mutants. Most mutants are in one build, and many of the others in the next build. The last few mutants
/// have a build each.
fn hunt(copy: &mut Copy, open: &[(usize, &Mutant)], results: &mut Results) -> Result<(), String> {
    let mut add = |mutant: &Mutant, found: &Found| {
        print(mutant, found);
        results.add(mutant, found)
    };
    let together = Together::plant(copy, places::ways(copy, open)?)?;
    let is_planted = |(index, _): &&(usize, &Mutant)| together.planted.contains(index);
    println!(
        "{} of {} mutants in one build",
        together.planted.len(),
        open.len()
    );
    let mut left = Vec::new();
    for (index, mutant) in open.iter().filter(is_planted) {
        copy.active = Some(*index);
        if let Some(found) = by_simulation(copy)? {
            add(mutant, &found)?;
            continue;
        }
        let Mutant {
            file, line, what, ..
        } = mutant;
        println!("{file}:{line}  {what}  left for the tests");
        left.push((*index, *mutant));
    }
    copy.active = None;
    let crates: BTreeSet<_> = left.iter().map(|(_, mutant)| &*mutant.of).collect();
    for tests in crates.into_iter().flat_map(suites) {
        build_tests(copy, tests)?;
    }
    for (index, mutant) in left {
        copy.active = Some(index);
        add(mutant, &by_tests(copy, mutant)?)?;
    }
    copy.active = None;
    let rest = open.iter().filter(|one| !is_planted(one)).copied();
    let (rest, planted): (Vec<_>, _) = (rest.collect(), together.planted.len());
    together.restore()?;
    if planted >= ANOTHER_BUILD {
        return hunt(copy, &rest, results);
    }
    for (_, mutant) in rest {
        let changed = mutant.plant(copy)?;
        let found = find(copy, mutant);
        Copy::restore(changed)?;
        add(mutant, &found?)?;
    }
    Ok(())
}

/// Checks that the simulation and the tests pass without a mutant, so that every failure comes from a mutant.
fn sound(copy: &Copy) -> Result<(), String> {
    copy.build_simulation()?;
    if let Some((seed, what)) = copy.simulate(SEEDS, SECONDS, false)? {
        return Err(format!(
            "the simulation fails without a mutant: seed {seed}, {what}"
        ));
    }
    for tests in suites("accp-context") {
        build_tests(copy, tests)?;
        if let Some(found) = found_by(copy, tests)? {
            return Err(format!("a test fails without a mutant: {}", found.how));
        }
    }
    Ok(())
}

/// Runs the simulation and then the tests on the planted mutant.
fn find(copy: &Copy, mutant: &Mutant) -> Result<Found, String> {
    if copy.build_simulation().is_err() {
        return Ok(Found {
            by: Finder::Compiler,
            how: String::new(),
        });
    }
    match by_simulation(copy)? {
        Some(found) => Ok(found),
        None => by_tests(copy, mutant),
    }
}

fn by_simulation(copy: &Copy) -> Result<Option<Found>, String> {
    let found = copy.simulate(SEEDS, SECONDS, false)?;
    Ok(found.map(|(seed, what)| Found {
        by: Finder::Simulation,
        how: format!("seed {seed}: {what}"),
    }))
}

fn by_tests(copy: &Copy, mutant: &Mutant) -> Result<Found, String> {
    for tests in suites(&mutant.of) {
        if let Some(found) = found_by(copy, tests)? {
            return Ok(found);
        }
    }
    Ok(Found {
        by: Finder::Nobody,
        how: String::new(),
    })
}

/// Builds and runs tests. Returns who has found the mutant and how; `None` if all tests pass.
fn found_by(copy: &Copy, tests: Suite) -> Result<Option<Found>, String> {
    let (by, how) = match suites::test(copy, tests)? {
        Tested::Passed => return Ok(None),
        Tested::Failed(how) => (Finder::Tests, how),
        Tested::Unbuilt => (Finder::Compiler, "in tests".into()),
    };
    Ok(Some(Found { by, how }))
}

/// Returns the number of mutants that build.
fn viable(found: &[(&Mutant, Found)]) -> usize {
    let viable = found
        .iter()
        .filter(|(_, found)| found.by != Finder::Compiler);
    viable.count()
}

/// Prints how many mutants were found. Returns whether they are enough.
fn is_enough(found: &[(&Mutant, Found)]) -> bool {
    let of = |finder| found.iter().filter(|(_, found)| found.by == finder).count();
    let (simulation, tests) = (of(Finder::Simulation), of(Finder::Tests));
    let all = viable(found);
    let percent = |part: usize| 100.0 * part as f64 / all.max(1) as f64;
    println!(
        "\n{:>5} mutants, and {} that do not build",
        all,
        of(Finder::Compiler)
    );
    println!(
        "{simulation:>5} found by the simulation, {:.1} %",
        percent(simulation)
    );
    let both = simulation + tests;
    println!(
        "{both:>5} found by the simulation or the tests, {:.1} %",
        percent(both)
    );
    println!("{:>5} survived", of(Finder::Nobody));
    let is = |part: usize, least: usize| part * 100 >= least * all;
    is(both, FOUND.0) && is(simulation, FOUND.1)
}

//! Proves that the simulation finds bugs: plants one bug after another in a copy of the workspace,
//! and runs the simulation on each.
//!
//! ```sh
//! cargo run --release -p accp-tests --example planted
//! cargo run --release -p accp-tests --example planted -- no_mid_check ack_over_a_gap
//! cargo run --release -p accp-tests --example planted -- 0/2     # every second bug; 1/2 are the others
//! ```
//!
//! It fails if a bug is not found within 2,000 seeds, or if the simulation fails without a planted
//! bug. The copy stays below the target folder, so the next run has little to build.

mod bugs;
mod copy;
mod sources;
mod tokens;

use std::path::Path;
use std::process::ExitCode;

use bugs::Bug;
use copy::{Changed, Copy};
use sources::Source;

const SEEDS: u32 = 2000;
/// Bugs with such names are looked for among members of the draft alone.
const DRAFT: &str = "draft_";
/// A bug that makes the simulation run longer than this is found too.
const SECONDS: u32 = 600;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    match run(&names) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Returns each bug whose number has the rest `k` when it is divided by `n`, for a share of `k/n`.
fn part(bugs: Vec<Bug>, share: &str) -> Result<Vec<Bug>, String> {
    let read = |text: &str| text.parse::<usize>().ok();
    let parsed = share
        .split_once('/')
        .and_then(|(rest, of)| Some((read(rest)?, read(of)?)));
    let Some((rest, of)) = parsed.filter(|(rest, of)| rest < of) else {
        return Err(format!("{share}: a share is 0/2 or 1/2, for example"));
    };
    let bugs = bugs.into_iter().enumerate();
    Ok(bugs
        .filter(|(at, _)| at % of == rest)
        .map(|(_, bug)| bug)
        .collect())
}

/// Returns whether all planted bugs were found, and no other bug.
fn run(names: &[String]) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut bugs = Bug::read_all(&root.join("tests/planted"))?;
    match names {
        [] => {}
        [share] if share.contains('/') => bugs = part(bugs, share)?,
        names => bugs.retain(|bug| names.contains(&bug.name)),
    }
    let copy = Copy::of(&root, "planted")?;
    // A bug that does not fit should stop the program now, not after an hour.
    for bug in &bugs {
        Copy::restore(plant(&copy, bug)?)?;
    }
    println!("{:<36} {:>6}  what the simulation says", "bug", "seed");
    let mut missed = 0;
    if let Some((seed, what)) = simulate(&copy, true)? {
        println!("{:<36} {seed:>6}  {what}", "(none)");
        return Err("the simulation fails without a planted bug".into());
    }
    println!("{:<36} {:>6}  nothing in {SEEDS} seeds", "(none)", "-");
    for bug in &bugs {
        let changed = plant(&copy, bug)?;
        let found = simulate(&copy, bug.name.starts_with(DRAFT));
        Copy::restore(changed)?;
        if let Some((seed, what)) = found.map_err(|error| format!("{}: {error}", bug.name))? {
            println!("{:<36} {seed:>6}  {what}", bug.name);
        } else {
            missed += 1;
            println!(
                "{:<36} {:>6}  NOT FOUND in {SEEDS} seeds: {}",
                bug.name, "-", bug.what
            );
        }
    }
    println!("{} of {} bugs found", bugs.len() - missed, bugs.len());
    Ok(missed == 0)
}

/// Plants a bug in the copy.
fn plant(copy: &Copy, bug: &Bug) -> Result<Changed, String> {
    let mut changed = Changed::new();
    for edit in &bug.edits {
        let failed = |error: String| format!("{}: {error}", bug.name);
        let sources = Source::of_crate(&copy.tree, &edit.of).map_err(failed)?;
        let (path, text) = edit.plant(&sources).map_err(failed)?;
        copy.change(&path, &text, &mut changed).map_err(failed)?;
    }
    Ok(changed)
}

/// Builds the simulation and runs it.
fn simulate(copy: &Copy, drafts: bool) -> Result<Option<(String, String)>, String> {
    copy.build_simulation()?;
    copy.simulate(SEEDS, SECONDS, drafts)
}

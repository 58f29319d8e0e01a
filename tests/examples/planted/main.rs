//! Proves that the simulation finds bugs: plants bugs in a copy of the workspace, and runs the simulation on each.
//! All bugs that can be in one build are built together. In that build an environment variable chooses the active
//! bug.
//!
//! ```sh
//! cargo run --release -p accp-tests --example planted
//! cargo run --release -p accp-tests --example planted -- no_mid_check ack_over_a_gap
//! cargo run --release -p accp-tests --example planted -- 0/2     # every second bug; 1/2 are the others
//! cargo run --release -p accp-tests --example planted -- --tests # what the simulation misses, by tests
//! ```
//!
//! The program fails if a bug is not found within 2,000 seeds and `docs/mutants.md` does not explain it, or if the
//! simulation fails without a planted bug. The copy stays below the target folder, so the next run has little to
//! build.

mod bugs;
mod copy;
mod sources;
mod suites;
mod together;
mod tokens;
mod ways;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use bugs::Bug;
use clap::Parser;
use copy::{Changed, Copy};
use sources::Source;
use suites::{Tested, suites};
use together::Together;

/// The text of `docs/mutants.md` after these words explains the bugs that the simulation does not find.
const NOT_FOUND: &str = "does not find the others";
/// The time limit of the simulation, in seconds. A bug that makes the simulation run longer counts as found.
const SECONDS: u32 = 600;

#[derive(Parser)]
struct Args {
    /// The names of bugs, or a share such as 0/2; all bugs by default
    names: Vec<String>,
    /// The number of seeds to run on each bug
    #[arg(long, default_value_t = 2000)]
    seeds: u32,
    /// Run the tests on the bugs that the simulation does not find
    #[arg(long)]
    tests: bool,
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

/// Returns the part of the bugs that `share` names: for `k/n`, the bugs whose number modulo `n` is `k`.
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

/// Returns whether each bug was found or is explained in `docs/mutants.md`.
fn run(args: &Args) -> Result<bool, String> {
    let seeds = args.seeds;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut bugs = Bug::read_all(&root.join("tests/planted"))?;
    match &args.names[..] {
        [] => {}
        [share] if share.contains('/') => bugs = part(bugs, share)?,
        names => bugs.retain(|bug| names.contains(&bug.name)),
    }
    let explained = root.join("docs/mutants.md");
    let explained = std::fs::read_to_string(explained).map_err(|error| error.to_string())?;
    let rest = explained.split_once(NOT_FOUND);
    let explained = rest.map_or_else(String::new, |(_, rest)| rest.to_owned());
    let mut copy = Copy::of(&root, "planted")?;
    let mut crates = BTreeMap::new();
    for edit in bugs.iter().flat_map(|bug| &bug.edits) {
        if !crates.contains_key(&edit.of) {
            crates.insert(edit.of.clone(), Source::of_crate(&copy.tree, &edit.of)?);
        }
    }
    let mut ways = Vec::new();
    for (number, bug) in bugs.iter().enumerate() {
        let found = ways::ways(number, bug, &crates);
        ways.push((
            number,
            found.map_err(|error| format!("{}: {error}", bug.name))?,
        ));
    }
    let together = Together::plant(&copy, ways)?;
    println!(
        "{} of {} bugs in one build",
        together.planted.len(),
        bugs.len()
    );
    println!("{:<44} {:>6}  what the simulation says", "bug", "seed");
    if let Some((seed, what)) = copy.simulate(seeds, SECONDS, true)? {
        println!("{:<44} {seed:>6}  {what}", "(none)");
        return Err("the simulation fails without a planted bug".into());
    }
    println!("{:<44} {:>6}  nothing in {seeds} seeds", "(none)", "-");
    let mut tally = Tally {
        explained,
        seeds,
        ..Tally::default()
    };
    for number in &together.planted {
        copy.active = Some(*number);
        let bug = &bugs[*number];
        let found = copy.simulate(seeds, SECONDS, is_of_drafts(bug))?;
        if tally.tell(bug, found) && args.tests {
            tally.test(&copy, bug)?;
        }
    }
    copy.active = None;
    let planted = together.planted.clone();
    together.restore()?;
    let alone = bugs.iter().enumerate();
    for (_, bug) in alone.filter(|(number, _)| !planted.contains(number)) {
        let changed = plant(&copy, bug)?;
        let hunted = hunt_alone(&copy, bug, args, &mut tally);
        Copy::restore(changed)?;
        hunted.map_err(|error| format!("{}: {error}", bug.name))?;
    }
    println!(
        "{} of {} bugs found by the simulation",
        bugs.len() - tally.missed,
        bugs.len()
    );
    if args.tests {
        println!("{} more by the tests", tally.tested);
    }
    Ok(tally.unexplained == 0)
}

/// Looks for a bug that could not be built together with others.
fn hunt_alone(copy: &Copy, bug: &Bug, args: &Args, tally: &mut Tally) -> Result<(), String> {
    copy.build_simulation()?;
    let found = copy.simulate(args.seeds, SECONDS, is_of_drafts(bug))?;
    if tally.tell(bug, found) && args.tests {
        tally.test(copy, bug)?;
    }
    Ok(())
}

/// The results so far.
#[derive(Default)]
struct Tally {
    /// The text of `docs/mutants.md` that explains bugs which the simulation does not find.
    explained: String,
    seeds: u32,
    missed: usize,
    unexplained: usize,
    tested: usize,
}

impl Tally {
    /// Prints what the simulation says of a bug. Returns whether the simulation has missed the bug.
    fn tell(&mut self, bug: &Bug, found: Option<(String, String)>) -> bool {
        let (name, seeds) = (&bug.name, self.seeds);
        if let Some((seed, what)) = found {
            println!("{name:<44} {seed:>6}  {what}");
            return false;
        }
        self.missed += 1;
        self.unexplained += usize::from(!self.explained.contains(&format!("`{name}`")));
        println!(
            "{name:<44} {:>6}  NOT FOUND in {seeds} seeds: {}",
            "-", bug.what
        );
        true
    }

    /// Runs the tests on a bug, and prints the first test that fails.
    fn test(&mut self, copy: &Copy, bug: &Bug) -> Result<(), String> {
        let of = bug.edits.first().map_or("", |edit| &edit.of);
        for tests in suites(of) {
            if let Tested::Failed(how) = suites::test(copy, tests)? {
                self.tested += 1;
                println!("{:<44} {:>6}  found by {how}", "", "");
                return Ok(());
            }
        }
        println!("{:<44} {:>6}  found by no test", "", "");
        Ok(())
    }
}

/// Returns whether the simulation has to run with members that speak the draft alone. The name of the bug decides
/// this.
fn is_of_drafts(bug: &Bug) -> bool {
    bug.name.starts_with("draft_")
}

/// Plants a bug alone in the copy.
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

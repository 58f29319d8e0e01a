//! Proves that the simulation finds bugs: plants them in a copy of the workspace, and runs the
//! simulation on each. All that can stand beside one another are in one build, in which a variable
//! of the environment chooses the active one.
//!
//! ```sh
//! cargo run --release -p accp-tests --example planted
//! cargo run --release -p accp-tests --example planted -- no_mid_check ack_over_a_gap
//! cargo run --release -p accp-tests --example planted -- 0/2     # every second bug; 1/2 are the others
//! ```
//!
//! It fails if a bug is not found within 2,000 seeds and `docs/mutants.md` does not explain it, or if
//! the simulation fails without a planted bug. The copy stays below the target folder, so the next run
//! has little to build.

mod bugs;
mod copy;
mod sources;
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
use together::Together;

/// Bugs with such names are looked for among members of the draft alone.
const DRAFT: &str = "draft_";
/// A bug that makes the simulation run longer than this is found too.
const SECONDS: u32 = 600;

#[derive(Parser)]
struct Args {
    /// Bugs by name, or a share such as 0/2
    names: Vec<String>,
    #[arg(long, default_value_t = 2000)]
    seeds: u32,
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
    let mut missed = 0;
    let mut unexplained = 0;
    let mut tell = |bug: &Bug, found: Option<(String, String)>| {
        let name = &bug.name;
        let Some((seed, what)) = found else {
            missed += 1;
            unexplained += usize::from(!explained.contains(&format!("`{name}`")));
            println!(
                "{name:<44} {:>6}  NOT FOUND in {seeds} seeds: {}",
                "-", bug.what
            );
            return;
        };
        println!("{name:<44} {seed:>6}  {what}");
    };
    for number in &together.planted {
        copy.active = Some(*number);
        let bug = &bugs[*number];
        tell(bug, simulate(&copy, bug, seeds)?);
    }
    copy.active = None;
    let planted = together.planted.clone();
    together.restore()?;
    let alone = bugs.iter().enumerate();
    for (_, bug) in alone.filter(|(number, _)| !planted.contains(number)) {
        let changed = plant(&copy, bug)?;
        let built = copy.build_simulation();
        let found = built.and_then(|()| simulate(&copy, bug, seeds));
        Copy::restore(changed)?;
        tell(
            bug,
            found.map_err(|error| format!("{}: {error}", bug.name))?,
        );
    }
    println!("{} of {} bugs found", bugs.len() - missed, bugs.len());
    Ok(unexplained == 0)
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

/// Runs the simulation with a bug that is in the build.
fn simulate(copy: &Copy, bug: &Bug, seeds: u32) -> Result<Option<(String, String)>, String> {
    copy.simulate(seeds, SECONDS, bug.name.starts_with(DRAFT))
}

//! Proves that the simulation finds bugs: plants one bug after another in a copy of the workspace,
//! and runs the simulation on each.
//!
//! ```sh
//! cargo run --release -p accp-tests --example planted
//! cargo run --release -p accp-tests --example planted -- no_mid_check ack_over_a_gap
//! ```
//!
//! It fails if a bug is not found within 2,000 seeds, or if the simulation fails without a planted
//! bug. The copy stays below the target folder and is built there in the profile `simulate`. So the
//! next run has little to build, and other builds stay as they are.

mod bugs;
mod sources;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use bugs::Bug;
use sources::Source;

const SEEDS: u32 = 2000;
/// Folders that a build of the simulation does not need.
const LEFT_OUT: [&str; 5] = ["target", ".git", "benches", "fuzz", "power_loss"];

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

/// Returns whether all planted bugs were found, and no other bug.
fn run(names: &[String]) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut bugs = Bug::read_all(&root.join("tests/planted"))?;
    if !names.is_empty() {
        bugs.retain(|bug| names.contains(&bug.name));
    }
    let copy = Copy::of(&root)?;
    // A bug that does not fit should stop the program now, not after an hour.
    for bug in &bugs {
        Copy::restore(copy.plant(bug)?)?;
    }
    println!("{:<36} {:>6}  what the simulation says", "bug", "seed");
    let mut missed = 0;
    if let Some((seed, what)) = copy.simulate()? {
        println!("{:<36} {seed:>6}  {what}", "(none)");
        return Err("the simulation fails without a planted bug".into());
    }
    println!("{:<36} {:>6}  nothing in {SEEDS} seeds", "(none)", "-");
    for bug in &bugs {
        let before = copy.plant(bug)?;
        let found = copy.simulate();
        Copy::restore(before)?;
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

/// A copy of the workspace, and its build folder.
struct Copy {
    root: PathBuf,
    tree: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn of(root: &Path) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // target/release/examples/planted
        let target = program.ancestors().nth(3).unwrap_or(root);
        let copy = Self {
            root: root.into(),
            tree: target.join("planted"),
            target: target.into(),
        };
        copy.update(Path::new(""))?;
        Ok(copy)
    }

    /// Copies only changed files, so that only they are built again.
    fn update(&self, folder: &Path) -> Result<(), String> {
        let place = self.root.join(folder);
        let said = |error| format!("{}: {error}", place.display());
        fs::create_dir_all(self.tree.join(folder)).map_err(said)?;
        for file in fs::read_dir(&place).map_err(said)? {
            let file = file.map_err(said)?;
            let path = folder.join(file.file_name());
            if file.file_type().map_err(said)?.is_dir() {
                if !LEFT_OUT.iter().any(|name| file.file_name() == *name) {
                    self.update(&path)?;
                }
                continue;
            }
            let new = fs::read(file.path()).map_err(said)?;
            if fs::read(self.tree.join(&path)).ok().as_ref() != Some(&new) {
                fs::write(self.tree.join(&path), new).map_err(said)?;
            }
        }
        Ok(())
    }

    /// Plants a bug. Returns the old text of each changed file.
    fn plant(&self, bug: &Bug) -> Result<Vec<(PathBuf, String)>, String> {
        let mut before = Vec::new();
        for edit in &bug.edits {
            let said = |error: &dyn std::fmt::Display| format!("{}: {error}", bug.name);
            let sources = Source::of_crate(&self.tree, &edit.of).map_err(|error| said(&error))?;
            let (path, text) = edit.plant(&sources).map_err(|error| said(&error))?;
            let place = self.tree.join(path);
            let old = fs::read_to_string(&place).map_err(|error| said(&error))?;
            fs::write(&place, text).map_err(|error| said(&error))?;
            before.push((place, old));
        }
        Ok(before)
    }

    /// Takes a bug out, the last edit first, because two edits may be in one file.
    fn restore(before: Vec<(PathBuf, String)>) -> Result<(), String> {
        for (place, text) in before.into_iter().rev() {
            fs::write(&place, text).map_err(|error| format!("{}: {error}", place.display()))?;
        }
        Ok(())
    }

    /// Builds the simulation and runs it. Returns the seed that fails, and the program's message.
    fn simulate(&self) -> Result<Option<(String, String)>, String> {
        let cargo = |args: &[&str]| -> Result<Output, String> {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut command = Command::new(cargo);
            command.args(args).current_dir(&self.tree);
            command.env("CARGO_TARGET_DIR", &self.target);
            // Each bug needs a new build.
            command.env("CARGO_INCREMENTAL", "1");
            command.output().map_err(|error| format!("cargo: {error}"))
        };
        let simulation = [
            "--profile=simulate",
            "--quiet",
            "-p",
            "accp-tests",
            "--example",
            "simulate",
        ];
        let build = cargo(&[&["build"], &simulation[..]].concat())?;
        if !build.status.success() {
            let text = String::from_utf8_lossy(&build.stderr);
            let errors = text.find("error").map_or(&*text, |at| &text[at..]);
            return Err(format!("it does not build:\n{errors}"));
        }
        let seeds = SEEDS.to_string();
        let run = cargo(&[&["run"], &simulation[..], &["--", "--seeds", &seeds]].concat())?;
        if run.status.success() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&run.stdout);
        let line = text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("seed "));
        let found = line.and_then(|line| line.split_once(" failed: "));
        let found = found.map(|(seed, what)| (seed.to_owned(), what.to_owned()));
        // A bug that ends the whole process counts as found too.
        Ok(found.or_else(|| Some(("?".into(), run.status.to_string()))))
    }
}

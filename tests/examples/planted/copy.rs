//! A copy of the workspace below the target folder, in which bugs are planted. The copy has a target folder of its
//! own. In a shared target folder, cargo could not tell a crate of the copy from the same crate of the workspace, so
//! it could take a build with a bug for a build without one.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

/// Folders that have no members of the workspace, so they are not copied.
const LEFT_OUT: [&str; 4] = ["target", ".git", "benches", "fuzz"];
/// The limit of the address space of a program with a bug, in KiB. Without it, an endless loop that allocates would
/// use up the memory of the machine.
const MEMORY: u32 = 12 << 20;
/// The arguments with which cargo builds the simulation.
pub(crate) const SIMULATION: [&str; 6] = [
    "--profile=simulate",
    "--quiet",
    "-p",
    "accp-tests",
    "--example",
    "simulate",
];

/// The path of each changed file, and its old text.
pub(crate) type Changed = Vec<(PathBuf, String)>;

/// A copy of the workspace, and its build folder.
pub(crate) struct Copy {
    root: PathBuf,
    pub(crate) tree: PathBuf,
    pub(crate) target: PathBuf,
    /// The number of the active mistake, if many mistakes are planted in one build.
    pub(crate) active: Option<usize>,
}

impl Copy {
    /// Copies the workspace to a folder of this name.
    pub(crate) fn of(root: &Path, name: &str) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // This program is target/release/examples/planted, so its third ancestor is target.
        let target = program.ancestors().nth(3).unwrap_or(root);
        let copy = Self {
            root: root.into(),
            tree: target.join(name),
            target: target.join(name).join("target"),
            active: None,
        };
        copy.update(Path::new(""))?;
        Ok(copy)
    }

    /// Copies a folder of the workspace, but only the files that have changed, so that only these are built again.
    fn update(&self, folder: &Path) -> Result<(), String> {
        let place = self.root.join(folder);
        let failed = |error| format!("{}: {error}", place.display());
        fs::create_dir_all(self.tree.join(folder)).map_err(failed)?;
        for file in fs::read_dir(&place).map_err(failed)? {
            let file = file.map_err(failed)?;
            let path = folder.join(file.file_name());
            if file.file_type().map_err(failed)?.is_dir() {
                if !LEFT_OUT.iter().any(|name| file.file_name() == *name) {
                    self.update(&path)?;
                }
                continue;
            }
            let new = fs::read(file.path()).map_err(failed)?;
            if fs::read(self.tree.join(&path)).ok().as_ref() != Some(&new) {
                fs::write(self.tree.join(&path), new).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Returns the text of a file.
    pub(crate) fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.tree.join(file)).map_err(|error| format!("{file}: {error}"))
    }

    /// Writes a new text to a file, and adds the old text to `changed`.
    pub(crate) fn change(
        &self,
        path: &Path,
        text: &str,
        changed: &mut Changed,
    ) -> Result<(), String> {
        let place = self.tree.join(path);
        let failed = |error: &dyn Display| format!("{}: {error}", place.display());
        let old = fs::read_to_string(&place).map_err(|error| failed(&error))?;
        fs::write(&place, text).map_err(|error| failed(&error))?;
        changed.push((place, old));
        Ok(())
    }

    /// Undoes changes, the last one first, because two changes may be in one file.
    pub(crate) fn restore(changed: Changed) -> Result<(), String> {
        for (place, text) in changed.into_iter().rev() {
            fs::write(&place, text).map_err(|error| format!("{}: {error}", place.display()))?;
        }
        Ok(())
    }

    /// Runs cargo in the copy.
    ///
    /// # Errors
    /// Returns what the compiler says if cargo fails.
    pub(crate) fn build(&self, args: &[&str]) -> Result<(), String> {
        let output = self.cargo(args)?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let errors = text.find("error").map_or(&*text, |at| &text[at..]);
        Err(format!("it does not build:\n{errors}"))
    }

    /// Runs cargo in the copy, and returns what it prints.
    pub(crate) fn cargo(&self, args: &[&str]) -> Result<Output, String> {
        output(self.environment(Command::new(cargo())).args(args))
    }

    /// Builds the simulation.
    pub(crate) fn build_simulation(&self) -> Result<(), String> {
        self.build(&[&["build"], &SIMULATION[..]].concat())
    }

    /// Runs the simulation for at most this many seconds of processor time. If `drafts` is true, some members speak
    /// the draft alone. Returns the seed that fails and the program's message, or `None` if no seed fails.
    pub(crate) fn simulate(
        &self,
        seeds: u32,
        seconds: u32,
        drafts: bool,
    ) -> Result<Option<(String, String)>, String> {
        let program = self.target.join("simulate/examples/simulate");
        let seeds = seeds.to_string();
        let args = ["--seeds", &seeds, "--drafts"];
        let args = if drafts { &args[..] } else { &args[..2] };
        let run = self.bounded(seconds, program.as_os_str(), args)?;
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
        Ok(found.or_else(|| Some(("?".into(), how_it_ended(run.status)))))
    }

    /// Runs a program in the copy, with limits on its processor time and its memory ([`MEMORY`]).
    pub(crate) fn bounded(
        &self,
        seconds: u32,
        program: &OsStr,
        args: &[&str],
    ) -> Result<Output, String> {
        // Processor time does not depend on other programs on the machine. But a program that waits for ever uses no
        // processor time, so `timeout` ends it.
        let most = 5 * seconds;
        let script =
            format!("ulimit -v {MEMORY}; ulimit -S -t {seconds}; exec timeout -k 5 {most} \"$@\"");
        let mut command = self.environment(Command::new("sh"));
        command.args(["-c", &script, "sh"]).arg(program).args(args);
        output(&mut command)
    }

    fn environment(&self, mut command: Command) -> Command {
        command.current_dir(&self.tree);
        command.env("CARGO_TARGET_DIR", &self.target);
        // Each bug needs a new build, which is faster if it is incremental.
        command.env("CARGO_INCREMENTAL", "1");
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        // A failed test must leave nothing behind in the copy.
        command.env("INSTA_UPDATE", "no");
        command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        command.env("PROPTEST_RNG_SEED", "1");
        if let Some(number) = self.active {
            command.env("MUTANT", number.to_string());
        }
        command
    }
}

/// Returns the cargo that runs this program.
pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Says how a bounded program has ended.
pub(crate) fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(124 | 152), _) | (_, Some(24)) => "it does not end".into(),
        (Some(101), _) => "it panics".into(),
        _ => status.to_string(),
    }
}

fn output(command: &mut Command) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().map_err(|error| format!("{name}: {error}"))
}

//! Runs rustc and measures its time and work.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::AnyError;

/// What a run of rustc costs.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// The time from start to end, in seconds.
    pub time: f64,
    /// The work of the processors, in the unit of [`Counter`].
    pub work: f64,
}

impl Cost {
    pub const MOST: Self = Self {
        time: f64::MAX,
        work: f64::MAX,
    };

    pub fn min(self, other: Self) -> Self {
        Self {
            time: self.time.min(other.time),
            work: self.work.min(other.work),
        }
    }

    /// Returns the text of a cell in the table: the time, and the ratios of the time and the work to those of serde.
    pub fn cell(self, serde: &Self) -> String {
        let Self { time, work } = self;
        format!(
            "{time:.2} s, {:.2} x, {:.2} x",
            time / serde.time,
            work / serde.work
        )
    }
}

/// How the work of the processors is counted.
pub enum Counter {
    /// In instructions, which `perf` writes into this file.
    Instructions(PathBuf),
    /// In seconds of processor time, if the machine does not count instructions.
    Seconds,
}

impl Counter {
    pub fn of_this_machine(folder: &Path) -> Self {
        let file = folder.join("instructions");
        match measured(folder, "true", Some(&file)) {
            Ok(_) => Self::Instructions(file),
            Err(_) => Self::Seconds,
        }
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Instructions(_) => "instructions",
            Self::Seconds => "CPU time, because this machine does not count instructions",
        })
    }
}

/// The rustc command with which cargo compiles a crate.
pub struct Rustc {
    folder: PathBuf,
    command: String,
}

impl Rustc {
    /// Lets cargo compile a new crate with its dependencies. Takes the rustc command of the crate from the output of
    /// cargo.
    pub fn of(folder: &Path, arguments: &[&str], name: &str) -> Result<Self, AnyError> {
        let output = cargo(folder)
            .args(arguments)
            .args(["-vv", "--color", "never", "--package", name])
            .output()?;
        let said = String::from_utf8(output.stderr)?;
        if !output.status.success() {
            return Err(format!("{name} does not compile: {said}").into());
        }
        let this = format!("--crate-name {name} ");
        let command = said.lines().find_map(|line| {
            let command = line
                .trim_start()
                .strip_prefix("Running `")?
                .strip_suffix('`')?;
            command.contains(&this).then(|| command.to_owned())
        });
        Ok(Self {
            folder: folder.to_owned(),
            command: command.ok_or_else(|| format!("cargo did not compile {name}: {said}"))?,
        })
    }

    pub fn run(&self, counter: &Counter) -> Result<Cost, AnyError> {
        match counter {
            Counter::Instructions(file) => measured(&self.folder, &self.command, Some(file)),
            Counter::Seconds => measured(&self.folder, &self.command, None),
        }
    }

    /// Returns the number of bytes of machine code in the library that the command writes.
    pub fn text_size(&self) -> Result<usize, AnyError> {
        let after = |option: &str| {
            let (_, rest) = self.command.split_once(option)?;
            rest.split(' ').next()
        };
        let name = after(" --crate-name ").zip(after(" extra-filename="));
        let (name, extra) = name.ok_or("the command names no file")?;
        let folder = after(" --out-dir ").ok_or("the command names no folder")?;
        let library = Path::new(folder).join(format!("lib{name}{extra}.rlib"));
        let output = Command::new("size")
            .args(["-A", "-d"])
            .arg(library)
            .output()?;
        let said = String::from_utf8(output.stdout)?;
        let sizes = said.lines().filter(|line| line.starts_with(".text"));
        let sizes: Option<Vec<usize>> = sizes
            .map(|line| line.split_whitespace().nth(1)?.parse().ok())
            .collect();
        Ok(sizes.ok_or("`size` says no sizes")?.iter().sum())
    }
}

/// Runs a shell command and measures it. The work is counted in instructions if there is a file for `perf`, otherwise
/// in seconds.
fn measured(folder: &Path, command: &str, instructions: Option<&Path>) -> Result<Cost, AnyError> {
    let perf = instructions.map_or(String::new(), |file| {
        format!("perf stat -x, -e instructions:u -o '{}'", file.display())
    });
    // `env` sets the variables that come before the command.
    let script = format!("TIMEFORMAT='%R %U %S'; time {perf} env {command} >/dev/null 2>&1");
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder)
        .output()?;
    let said = String::from_utf8(output.stderr)?;
    if !output.status.success() {
        return Err(format!("in {}, this fails: {command}", folder.display()).into());
    }
    let numbers: Result<Vec<f64>, _> = said.split_whitespace().map(str::parse).collect();
    let [time, user, system] = numbers?[..] else {
        return Err(format!("bash says no times: {said}").into());
    };
    let work = match instructions {
        None => user + system,
        Some(file) => {
            let text = fs::read_to_string(file)?;
            let mut lines = text.lines().filter_map(|line| line.split_once(','));
            lines
                .find_map(|(count, _)| count.parse().ok())
                .ok_or(text)?
        }
    };
    Ok(Cost { time, work })
}

/// Returns a command of cargo in the workspace of the crates.
pub fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("CARGO_INCREMENTAL", "0");
    cargo
}

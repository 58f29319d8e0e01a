//! What the programs in `examples/` share: how they end, the processes that they kill, and their counts.

use std::error::Error;
use std::fmt::{self, Display};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, ExitCode};

/// The result of a program, and of each of its checks.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Prints what a program found, or its error. Returns its exit code.
pub fn end(result: std::result::Result<impl Display, impl Display>) -> ExitCode {
    match result {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the path of a program as an argument. The path is absolute, because the program runs in other folders.
///
/// # Errors
/// If there is no such file.
pub fn executable(path: &str) -> std::result::Result<PathBuf, String> {
    std::fs::canonicalize(path).map_err(|error| format!("{path}: {error}"))
}

/// A process that was killed.
#[derive(Debug)]
pub struct Killed {
    /// Whether the process had ended before the kill.
    pub had_ended: bool,
    /// What the process had written to its standard output, if the output is a pipe.
    pub stdout: String,
}

/// Kills a process.
///
/// # Errors
/// If the operating system refuses.
pub fn kill(mut child: Child) -> Result<Killed> {
    let had_ended = child.try_wait()?.is_some();
    child.kill()?;
    child.wait()?;
    let mut stdout = String::new();
    if let Some(pipe) = &mut child.stdout {
        pipe.read_to_string(&mut stdout)?;
    }
    Ok(Killed { had_ended, stdout })
}

/// Writes a line for each count.
///
/// # Errors
/// If the writer fails.
pub fn write_counts(f: &mut fmt::Formatter<'_>, counts: &[(&str, u64)]) -> fmt::Result {
    for (name, count) in counts {
        writeln!(f, "{name:<48}{count:>10}")?;
    }
    Ok(())
}

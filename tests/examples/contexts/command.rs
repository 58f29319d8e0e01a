//! Runs the command `accp context`, and copies the folders on which the command works.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use accp_tests::program::Result;

/// The name of the session in every root of this program.
pub(crate) const SESSION: &str = "ledger";

/// Returns the command `accp context` with these arguments, for a root.
pub(crate) fn command(accp: &Path, root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(accp);
    command.arg("context").args(args);
    command
        .args(["--session", SESSION, "--root"])
        .arg(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Returns the command that compresses the list of a file.
pub(crate) fn compress(accp: &Path, root: &Path, list: &Path) -> Command {
    let list = list.to_string_lossy();
    let args = [
        "compress",
        "--window",
        "4096",
        "--messages",
        "openai",
        &list,
    ];
    command(accp, root, &args)
}

/// Runs a command that has to succeed. Returns its standard output.
pub(crate) fn succeed(mut command: Command) -> Result<String> {
    let output = command.output()?;
    let said = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(said(&output.stdout))
    } else {
        Err(format!("{command:?}: {}", said(&output.stderr)).into())
    }
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    for entry in std::fs::read_dir(from).map_err(|error| failed(from, error))? {
        let path: PathBuf = entry.map_err(|error| failed(from, error))?.path();
        let into = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &into)?;
        } else {
            std::fs::copy(&path, &into).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

//! The command, run as its users run it. The tests of `accp-lab` have this file, too.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use super::PROGRAM;

/// The result of a command.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Returns stdout as JSON, one value a line.
    pub(crate) fn json(&self) -> Vec<Json> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Returns the command as a process, without colours and terminal.
pub(crate) fn command() -> Command {
    let mut command = Command::new(PROGRAM);
    for name in [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "ACCP_TOKEN",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command, input: &[u8]) -> Run {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command may stop before it has read its whole input.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs the command with these arguments and this stdin.
pub(crate) fn accp<A: AsRef<OsStr>>(args: &[A], input: impl AsRef<[u8]>) -> Run {
    finish(command().args(args), input.as_ref())
}

/// A folder with files, in which a test runs the command.
pub(crate) struct Folder(pub(crate) tempfile::TempDir);

impl Folder {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            fs::write(folder.path(name), text).unwrap();
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn run(&self, args: &[&str], input: impl AsRef<[u8]>) -> Run {
        finish(
            command().current_dir(self.0.path()).args(args),
            input.as_ref(),
        )
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

/// Returns the folder of the workspace.
pub(crate) fn workspace() -> &'static Path {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above
        .find(|folder| folder.join("Cargo.lock").exists())
        .unwrap()
}

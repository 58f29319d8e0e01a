//! The command `accp`, run as its users run it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod aacp;
mod aacp_fallback;
#[cfg(unix)]
mod agent;
mod bench;
mod built;
mod check;
mod collab;
mod conduct;
mod context;
mod context_drift;
mod context_media;
mod context_tools;
mod convert;
mod credentials;
mod demo;
mod encode_decode;
mod erasure;
mod explain;
mod export;
mod fix;
mod formats;
mod gate;
mod generated;
mod grammar;
#[cfg(target_os = "linux")]
mod guests;
mod hub;
mod import;
mod learn;
mod new;
mod one_hub;
mod operations;
mod primer;
#[cfg(unix)]
mod private;
mod provided;
mod registry;
mod session;
mod strangers;
mod tokens;
#[cfg(feature = "otel")]
mod traces;
#[cfg(unix)]
mod typed;

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;

/// A frame without faults, and a schema.
const GOOD: &str = "@planner>req:schedule{asgn:dev|task:impl_auth|dead:sprint_14|schema:TA}";

/// The result of a command.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    /// Returns stdout as JSON, one value a line.
    fn json(&self) -> Vec<Json> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Returns `accp` as a process, without colours and terminal.
fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_accp"));
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
fn finish(command: &mut Command, input: &[u8]) -> Run {
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

/// Runs `accp` with these arguments and this stdin.
fn accp<A: AsRef<OsStr>>(args: &[A], input: impl AsRef<[u8]>) -> Run {
    finish(command().args(args), input.as_ref())
}

/// A folder with files, in which a test runs `accp`.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            fs::write(folder.path(name), text).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str], input: impl AsRef<[u8]>) -> Run {
        finish(
            command().current_dir(self.0.path()).args(args),
            input.as_ref(),
        )
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the names of the files in the folder.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Returns the folder of the workspace.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

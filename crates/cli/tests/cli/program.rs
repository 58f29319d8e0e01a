//! Runs the command as a user does. The tests of `accp-lab` include this file, too.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use super::PROGRAM;

/// The words of a command line. A text is split at spaces; single quotes keep a word together, as in a shell.
pub(crate) trait Words {
    fn words(&self) -> Vec<OsString>;
}

impl Words for str {
    fn words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        let mut word = None::<String>;
        let mut is_quoted = false;
        for c in self.chars() {
            match c {
                '\'' => {
                    is_quoted = !is_quoted;
                    word.get_or_insert_default();
                }
                ' ' if !is_quoted => words.extend(word.take()),
                c => word.get_or_insert_default().push(c),
            }
        }
        assert!(!is_quoted, "a quote is missing: {self}");
        words.extend(word);
        words.into_iter().map(OsString::from).collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<OsString> {
        self.as_str().words()
    }
}

impl<S: AsRef<OsStr>> Words for [S] {
    fn words(&self) -> Vec<OsString> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<S: AsRef<OsStr>, const N: usize> Words for [S; N] {
    fn words(&self) -> Vec<OsString> {
        self.as_slice().words()
    }
}

impl<S: AsRef<OsStr>> Words for Vec<S> {
    fn words(&self) -> Vec<OsString> {
        self.as_slice().words()
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Vec<OsString> {
        (**self).words()
    }
}

impl<A: Words, B: Words> Words for (A, B) {
    fn words(&self) -> Vec<OsString> {
        [self.0.words(), self.1.words()].concat()
    }
}

impl<A: Words, B: Words, C: Words> Words for (A, B, C) {
    fn words(&self) -> Vec<OsString> {
        [self.0.words(), self.1.words(), self.2.words()].concat()
    }
}

/// The result of a command.
pub(crate) struct Run {
    /// The command line, for messages.
    pub(crate) line: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Returns stdout as JSON, one value a line.
    pub(crate) fn json(&self) -> Vec<Json> {
        let values = self.stdout.lines().map(serde_json::from_str);
        let values = values.collect::<Result<Vec<_>, _>>();
        assert!(values.is_ok(), "{}: {values:?}: {}", self.line, self.stdout);
        values.unwrap()
    }
}

/// Returns the command, ready to run without colours and without a terminal.
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
    // A command may end before it has read its whole input. Then the write fails, which does not matter.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run {
        line: format!("{command:?}"),
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs the command with these arguments and this stdin.
pub(crate) fn accp(args: impl Words, input: impl AsRef<[u8]>) -> Run {
    finish(command().args(args.words()), input.as_ref())
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

    pub(crate) fn run(&self, args: impl Words, input: impl AsRef<[u8]>) -> Run {
        let mut command = command();
        command.current_dir(self.0.path()).args(args.words());
        finish(&mut command, input.as_ref())
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

//! Runs the command `accp collab`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use accp_tests::program::Result;
use serde_json::Value as Json;

/// The deliverable in all folders of this program.
pub(crate) const PRIMARY: &str = "deliverables/decision-memo.md";

/// A review in the form that the protocol demands.
pub(crate) const REVIEW: &str = "Context:\n- Reviewed primary deliverable: `deliverables/decision-memo.md`\n\n\
    Review Scope:\n- Primary deliverable completeness\n\nPosition:\n- Good.\n";

/// The command `accp collab` for one folder.
#[derive(Clone)]
pub(crate) struct Collab {
    accp: PathBuf,
    folder: PathBuf,
    lock: String,
}

impl Collab {
    /// Makes a folder with these participants.
    pub(crate) fn init(
        accp: &Path,
        lock: &str,
        folder: &Path,
        participants: &[String],
    ) -> Result<Self> {
        let collab = Self {
            accp: accp.to_owned(),
            folder: folder.to_owned(),
            lock: lock.to_owned(),
        };
        let mut args = vec![
            "init",
            "--objective",
            "Choose a store",
            "--completion",
            "It is fast",
            "--primary-deliverable-type",
            "decision-memo",
        ];
        for one in participants {
            args.extend(["--participant", one]);
        }
        collab.succeed(&args)?;
        let owner = participants.first().map(String::as_str).unwrap_or_default();
        collab.succeed(&of_deliverable(owner, "deliverable_drafted", "1"))?;
        Ok(collab)
    }

    /// Returns the command with its arguments.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.accp);
        command.arg("collab").args(args);
        command.args(["--format", "json", "--lock", &self.lock, "--folder"]);
        command.arg(&self.folder).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    /// Runs the command, which must succeed. Returns its output.
    pub(crate) fn succeed(&self, args: &[&str]) -> Result<Json> {
        let output = self.command(args).output()?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            return Err(format!("`accp collab {}`: {stdout}", args.join(" ")).into());
        }
        serde_json::from_str(&stdout).map_err(|error| format!("{stdout}: {error}").into())
    }

    /// Returns the folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Returns the arguments that append an event.
pub(crate) fn append<'a>(from: &'a str, event: &'a str, reply: &'a str) -> Vec<&'a str> {
    vec![
        "append",
        "--participant",
        from,
        "--event",
        event,
        "--summary",
        "Done",
        "--reply-to",
        reply,
    ]
}

/// Returns the arguments that append an event about the deliverable.
pub(crate) fn of_deliverable<'a>(from: &'a str, event: &'a str, reply: &'a str) -> Vec<&'a str> {
    let mut args = append(from, event, reply);
    args.extend(["--role", "primary", "--doc", PRIMARY]);
    args
}

//! Runs the command that answers for an agent. For each request, the command runs in its own process group.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use accp_session::{CancelToken, Inbound};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::RwLock;

use super::group::Group;
use accp_console::output::note;

/// Environment variables that may hold a secret of this process: a token, or the password in the URL of a store. The
/// command does not get them.
const SECRETS: [&str; 2] = ["ACCP_TOKEN", "ACCP_STORE"];

/// The environment variable that says that an earlier run of the command may have had the request.
const REDELIVERED: &str = "ACCP_REDELIVERED";

/// The most bytes of a whole frame in `ACCP_FRAME`. Linux does not accept a variable of 128 KiB.
const FRAME: usize = 64 << 10;

/// The number of bytes at the end of stderr in which the last line is searched for.
const LAST: usize = 1024;

/// The options that say how the command runs.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ProgramArgs {
    /// The most bytes that COMMAND may print for one request. A COMMAND that prints more is ended
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    max_output: u64,
    /// If COMMAND fails, answer with the last line of its stderr, which every agent of the session can then read
    #[arg(long)]
    send_stderr: bool,
    /// The number of seconds between SIGTERM and SIGKILL when COMMAND is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    grace: u64,
}

/// The command that an agent runs for each request, with its options.
pub(super) struct Program {
    command: Vec<String>,
    args: ProgramArgs,
    /// Fires when the agent ends.
    stop: CancelToken,
    /// Each run of the command holds this lock for reading. When the agent ends, it takes the lock for writing. So
    /// the agent waits for all runs, and no new run can begin.
    runs: RwLock<()>,
}

/// A reason why a request gets the answer `fail:error`.
type AnyError = Box<dyn std::error::Error + Send + Sync>;

impl Program {
    pub(super) fn new(command: &[String], args: &ProgramArgs) -> Self {
        Self {
            command: command.to_vec(),
            args: args.clone(),
            stop: CancelToken::new(),
            runs: RwLock::new(()),
        }
    }

    /// Runs the command for a frame. Returns what the command prints, or `None` if the request was cancelled first.
    ///
    /// When the agent ends, this function never returns. The request stays without an answer, and the session keeps
    /// it for the next agent of this name.
    ///
    /// # Errors
    /// If the command cannot be run, fails, or prints too much. All agents of the session may see the text of the
    /// error.
    pub(super) async fn run(&self, inbound: &Inbound) -> Result<Option<String>, AnyError> {
        let (frame, cancelled) = (inbound.whole()?, inbound.cancel_token());
        let run = self.runs.read().await;
        let is_short = frame.len() <= FRAME;
        let short = if is_short { frame } else { inbound.text() };
        let mut group = self.start(short, inbound.redelivered())?;
        let ended = tokio::select! {
            ended = self.follow(&mut group, frame) => ended,
            () = cancelled.cancelled() => {
                group.end(self.grace()).await;
                return Ok(None);
            }
            () = self.stop.cancelled() => {
                group.end(self.grace()).await;
                drop(run);
                return std::future::pending().await;
            }
        };
        match ended {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                group.end(self.grace()).await;
                Err(error)
            }
        }
    }

    /// Ends every run, and returns when all have ended.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        drop(self.runs.write().await);
    }

    fn grace(&self) -> Duration {
        Duration::from_secs(self.args.grace)
    }

    fn start(&self, frame: &str, redelivered: bool) -> Result<Group, AnyError> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err("there is no command".into());
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("ACCP_FRAME", frame)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for secret in SECRETS {
            command.env_remove(secret);
        }
        // This process may itself be the command of an agent, and its variable is about another request.
        command.env_remove(REDELIVERED);
        if redelivered {
            command.env(REDELIVERED, "1");
        }
        if self.args.send_stderr {
            command.stderr(Stdio::piped());
        }
        Group::spawn(&mut command).map_err(|error| {
            // The error for the agents of the session does not name the command. Only the operator sees its name.
            note(format_args!("error: {program}: {error}"));
            format!("the command cannot be run: {error}").into()
        })
    }

    /// Follows a command to its end, and returns what it prints if it succeeds.
    async fn follow(&self, group: &mut Group, frame: &str) -> Result<String, AnyError> {
        let child = &mut group.child;
        let (stdin, mut stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A command may end without reading its stdin, so a failed write is not an error.
                let _ = stdin.write_all(format!("{frame}\n").as_bytes()).await;
            }
            Ok(())
        };
        let read = async {
            match &mut stdout {
                Some(stdout) => self.read(stdout).await,
                None => Ok(Vec::new()),
            }
        };
        let errors = async {
            match stderr {
                Some(stderr) => Ok(relay(stderr).await?),
                None => Ok(String::new()),
            }
        };
        // A process that the command has left behind could keep the stdout of the command open. So `exit` ends the
        // whole group.
        let exit = async { Ok(group.exit(self.grace()).await?) };
        let followed = tokio::try_join!(write, read, errors, exit);
        // Our end of the command's stdout stays open until the command has ended. If it was closed earlier, a write
        // of the command would fail, and a shell script would go on with its next line.
        group.child.stdout = stdout;
        let ((), printed, last, status) = followed?;
        if !status.success() {
            return Err(failure(status, &last).into());
        }
        String::from_utf8(printed)
            .map_err(|error| format!("what the command prints: {error}").into())
    }

    async fn read(&self, stdout: impl AsyncRead + Unpin) -> Result<Vec<u8>, AnyError> {
        let most = self.args.max_output;
        let mut printed = Vec::new();
        let mut stdout = stdout.take(most.saturating_add(1));
        stdout.read_to_end(&mut printed).await?;
        if printed.len() as u64 > most {
            note(format_args!(
                "error: the command prints more than {most} bytes; --max-output allows more"
            ));
            return Err(format!("the command prints more than {most} bytes").into());
        }
        Ok(printed)
    }
}

/// Returns how a command has failed, with the last line of its stderr if it may be shown.
fn failure(status: ExitStatus, last: &str) -> String {
    let last = last.trim_end().lines().last().unwrap_or_default();
    let colon = if last.is_empty() { "" } else { ": " };
    format!("the command ended with {status}{colon}{last}")
}

/// Copies the stderr of a command to the stderr of this process as it arrives. Returns its last bytes.
async fn relay(mut stderr: impl AsyncRead + Unpin) -> io::Result<String> {
    let mut ours = tokio::io::stderr();
    let (mut piece, mut last) = ([0; LAST], Vec::new());
    loop {
        let count = stderr.read(&mut piece).await?;
        let Some(piece) = piece.get(..count).filter(|piece| !piece.is_empty()) else {
            return Ok(String::from_utf8_lossy(&last).into_owned());
        };
        // If the stderr of this process is closed, the command goes on without it.
        let _ = ours.write_all(piece).await;
        let _ = ours.flush().await;
        last.extend_from_slice(piece);
        last.drain(..last.len().saturating_sub(LAST));
    }
}

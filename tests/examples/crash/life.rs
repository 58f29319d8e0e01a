//! One life of the process that is killed: from its start to its death.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use accp_runtime::session::Time;

use super::child;
use super::plan::CrashPlan;

/// The longest wait for a line. No turn takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// When the process is killed: after this many lines in both directions, and then after this delay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fuse {
    pub(crate) lines: u64,
    /// Whether the kill waits until the process has been told to do its work.
    pub(crate) at_work: bool,
    pub(crate) delay: Duration,
}

/// A process that can be killed, and its output that was not read yet. The output stays after the process is dead.
pub(crate) struct Life {
    process: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    fuse: Option<Fuse>,
    killed: bool,
}

impl Life {
    pub(crate) fn begin(
        plan: &CrashPlan,
        file: &Path,
        now: Time,
        fuse: Option<Fuse>,
    ) -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args([child::WORD, &plan.side.to_string(), plan.scope.as_str()])
            .arg(now.as_millis().to_string())
            .arg(file)
            .args(plan.plant.map(|plant| plant.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take();
        let (sender, output) = channel();
        if let Some(stdout) = process.stdout.take() {
            thread::spawn(move || {
                let mut stdout = BufReader::new(stdout);
                let mut line = String::new();
                while stdout.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                    // A line without a line feed was cut off, so it does not count.
                    let Some(whole) = line.strip_suffix('\n') else {
                        break;
                    };
                    if sender.send(whole.into()).is_err() {
                        break;
                    }
                    line.clear();
                }
            });
        }
        let mut life = Self {
            process,
            input,
            output,
            fuse,
            killed: false,
        };
        life.burn(0, false);
        Ok(life)
    }

    /// Sends the process a line, unless the process was killed. Returns whether the line was sent.
    pub(crate) fn tell(&mut self, line: &str) -> bool {
        let Some(input) = self.input.as_mut().filter(|_| !self.killed) else {
            return false;
        };
        // If the process has died by itself, the caller notices that it prints no more lines.
        let is_told = input.write_all(format!("{line}\n").as_bytes()).is_ok();
        self.burn(1, line.ends_with(" go"));
        is_told
    }

    /// Returns the process's next line, or `None` if it is dead.
    ///
    /// # Errors
    /// If the process says nothing for too long.
    pub(crate) fn hear(&mut self) -> Result<Option<String>, String> {
        let line = match self.output.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Err("it says nothing".into()),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        };
        self.burn(1, false);
        Ok(Some(line))
    }

    fn burn(&mut self, lines: u64, works: bool) {
        let Some(fuse) = self.fuse.as_mut().filter(|_| !self.killed) else {
            return;
        };
        fuse.lines = fuse.lines.saturating_sub(lines);
        if fuse.lines == 0 && (works || !fuse.at_work) {
            thread::sleep(fuse.delay);
            // The process id is still valid: only `end` waits for the process.
            self.killed = self.process.kill().is_ok();
        }
    }

    /// Waits until the process is dead.
    ///
    /// # Errors
    /// If the process died by itself.
    pub(crate) fn end(mut self) -> Result<(), String> {
        self.input = None;
        let status = self.process.wait().map_err(|error| error.to_string())?;
        let is_fault = status.code() == Some(i32::from(child::FAULT));
        match (self.killed, status.success()) {
            _ if is_fault => Err("it gave up, for the reason above".into()),
            (false, false) => Err(format!("it died: {status}")),
            _ => Ok(()),
        }
    }
}

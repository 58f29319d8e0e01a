//! Kills the command `accp` while it makes a file of sessions.
//!
//! After each kill, the program verifies the file. If the file is not complete, the same command runs again; an
//! import runs again in any case. Then the file must have the same contents as the file of a run without a kill. A
//! seed fixes the kinds of the kills; their instants differ from run to run.

use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use accp_session::{Entry, Stored};
use accp_store::{SqliteStore, Store as _};
use accp_testkit::Rng;
use accp_tests::program;
use serde_json::json;
use tempfile::TempDir;

/// The longest wait for a command. No command takes this long.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time after which a fuse looks at the file again.
const GLANCE: Duration = Duration::from_micros(50);
/// The cure that an error names after a kill.
const CURE: &str = "run that command again";

/// A command that makes the file `made.db`.
#[derive(Debug, Clone, Copy)]
enum Job {
    Import,
    Demo,
}

impl Job {
    fn args(self) -> &'static [&'static str] {
        match self {
            Self::Import => &["session", "import", "-o", "made.db", "chats.jsonl"],
            Self::Demo => &["demo", "--store", "made.db"],
        }
    }
}

/// The instant of a kill.
#[derive(Debug, Clone, Copy)]
enum Fuse {
    /// This long after the start.
    Start(Duration),
    /// This long after the file, its write-ahead log and its journal together have reached this many bytes.
    Bytes(u64, Duration),
}

/// The counts of the kills, by the content of the file after the kill.
#[derive(Debug, Default)]
pub(crate) struct Killed {
    kills: u64,
    no_file: u64,
    unfinished: u64,
    empty: u64,
    part: u64,
    whole: u64,
}

impl fmt::Display for Killed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("kills of `accp`", self.kills),
            ("  before there was a file", self.no_file),
            ("  while the tables were created", self.unfinished),
            ("  before the first session was kept", self.empty),
            ("  with some of the sessions kept", self.part),
            ("  with all sessions kept", self.whole),
        ];
        program::write_counts(f, &rows)
    }
}

/// Kills `accp session import` and `accp demo --store`, each this many times. A run that ends before
/// its kill does not count.
///
/// # Errors
/// If a check fails.
pub(crate) fn run(accp: &Path, kills: u64, seed: u64) -> Result<Killed, String> {
    let mut counts = Killed::default();
    for job in [Job::Import, Job::Demo] {
        let mut rng = Rng::new(seed);
        let undisturbed = Bench::new(accp, job)?;
        let start = Instant::now();
        undisturbed.succeed(job.args())?;
        let whole = Whole {
            takes: start.elapsed(),
            bytes: undisturbed.bytes(),
            contents: undisturbed.contents()?,
        };
        let until = counts.kills + kills;
        while counts.kills < until {
            let fuse = whole.fuse(&mut rng);
            let bench = Bench::new(accp, job)?;
            let checked = match bench.kill(fuse) {
                Ok(true) => bench.check(&whole, &mut counts),
                Ok(false) => continue,
                Err(what) => Err(what),
            };
            checked.map_err(|what| {
                format!("{counts}FAILED with seed {seed}, {job:?}, {fuse:?}: {what}")
            })?;
        }
    }
    Ok(counts)
}

/// The result of a run without a kill.
struct Whole {
    takes: Duration,
    bytes: u64,
    contents: String,
}

impl Whole {
    /// Makes the fuse for the next kill: for any instant, for the time right after the file is created, or for a
    /// time when sessions are stored.
    fn fuse(&self, rng: &mut Rng) -> Fuse {
        let later = Duration::from_micros(rng.below(3_000));
        match rng.below(3) {
            0 => Fuse::Start(Duration::from_micros(
                rng.below(self.takes.as_micros() as u64),
            )),
            1 => Fuse::Bytes(0, later),
            _ => Fuse::Bytes(rng.below(self.bytes), later),
        }
    }
}

/// A folder in which `accp` runs.
struct Bench {
    folder: TempDir,
    accp: PathBuf,
    job: Job,
}

impl Bench {
    fn new(accp: &Path, job: Job) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(fault)?;
        fs::write(folder.path().join("chats.jsonl"), chats()).map_err(fault)?;
        Ok(Self {
            folder,
            accp: accp.into(),
            job,
        })
    }

    fn file(&self, end: &str) -> PathBuf {
        self.folder.path().join(format!("made.db{end}"))
    }

    /// Returns the size of the file with its write-ahead log and its journal; `None` if there is no file.
    fn size(&self) -> Option<u64> {
        let length = |end| fs::metadata(self.file(end)).map(|file| file.len()).ok();
        let beside = length("-wal").unwrap_or(0) + length("-journal").unwrap_or(0);
        Some(length("")? + beside)
    }

    fn bytes(&self) -> u64 {
        self.size().unwrap_or(0)
    }

    fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.accp);
        command.args(args).current_dir(self.folder.path());
        // The temporary files of a killed command are deleted with the folder of the bench.
        command.env("TMPDIR", self.folder.path());
        command.stdin(Stdio::null());
        command
    }

    fn output(&self, args: &[&str]) -> Result<Output, String> {
        self.command(args).output().map_err(fault)
    }

    /// Runs `accp`, which must succeed.
    fn succeed(&self, args: &[&str]) -> Result<(), String> {
        let output = self.output(args)?;
        if output.status.success() {
            return Ok(());
        }
        let why = String::from_utf8_lossy(&output.stderr);
        Err(format!("`accp {}` fails: {why}", args.join(" ")))
    }

    /// Runs the job, and kills it. Returns false if the job ended before the kill.
    fn kill(&self, fuse: Fuse) -> Result<bool, String> {
        let mut command = self.command(self.job.args());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(fault)?;
        self.burn(fuse, &mut child)?;
        match child.try_wait().map_err(fault)? {
            Some(status) if status.success() => Ok(false),
            Some(status) => Err(format!("the command died by itself: {status}")),
            None => {
                child.kill().map_err(fault)?;
                child.wait().map_err(fault)?;
                Ok(true)
            }
        }
    }

    /// Waits for the instant of the kill, or for the end of the job.
    fn burn(&self, fuse: Fuse, child: &mut Child) -> Result<(), String> {
        let start = Instant::now();
        let later = match fuse {
            Fuse::Start(later) => later,
            Fuse::Bytes(bytes, later) => {
                while self.size().is_none_or(|size| size < bytes)
                    && child.try_wait().map_err(fault)?.is_none()
                {
                    if start.elapsed() > PATIENCE {
                        return Err("the command does not end".into());
                    }
                    thread::sleep(GLANCE);
                }
                later
            }
        };
        thread::sleep(later);
        Ok(())
    }

    /// Checks the file after a kill, and lets the same command complete it.
    fn check(&self, whole: &Whole, counts: &mut Killed) -> Result<(), String> {
        counts.kills += 1;
        let is_whole = self.is_whole(whole, counts)?;
        // A demo that is whole is not run again, because it refuses a file that has sessions. An
        // import is run again in any case.
        if !is_whole || matches!(self.job, Job::Import) {
            self.succeed(self.job.args())?;
        }
        self.succeed(&["session", "verify", "made.db"])?;
        if self.contents()? == whole.contents {
            return Ok(());
        }
        Err("the file differs from the file of a run without a kill".into())
    }

    /// Verifies the file as the kill left it. Returns whether it has all sessions.
    fn is_whole(&self, whole: &Whole, counts: &mut Killed) -> Result<bool, String> {
        if self.size().is_none() {
            counts.no_file += 1;
            return Ok(false);
        }
        let verified = self.output(&["session", "verify", "made.db"])?;
        if !verified.status.success() {
            let why = String::from_utf8_lossy(&verified.stderr);
            counts.unfinished += 1;
            let is_told = why.contains(CURE);
            return is_told
                .then_some(false)
                .ok_or_else(|| format!("`accp session verify` after the kill: {why}"));
        }
        let contents = self.contents()?;
        let is_whole = contents == whole.contents;
        let count = match (is_whole, contents.is_empty()) {
            (true, _) => &mut counts.whole,
            (false, true) => &mut counts.empty,
            (false, false) => &mut counts.part,
        };
        *count += 1;
        Ok(is_whole)
    }

    /// Returns everything in the file, as text, except for what each run draws at random: the secrets
    /// of the logs, and the hashes that follow from them.
    fn contents(&self) -> Result<String, String> {
        let mut store = SqliteStore::open_read_only(self.file("")).map_err(fault)?;
        let mut text = String::new();
        for summary in store.list().map_err(fault)? {
            let side = &summary.side;
            let mut stored = store.load(side).map_err(fault)?;
            let mut entries = store.entries(side, 1, usize::MAX).map_err(fault)?;
            if let Some(stored) = &mut stored {
                forget_secret(stored);
            }
            forget_hashes(&mut entries);
            let _ = writeln!(text, "{summary:?}\n{stored:?}\n{entries:?}");
            for key in store.cold_keys(side).map_err(fault)? {
                let kept = store.cold(side, &key).map_err(fault)?;
                let _ = writeln!(text, "{kept:?}");
            }
        }
        Ok(text)
    }
}

fn forget_secret(stored: &mut Stored) {
    (stored.key, stored.voucher) = (None, None);
    forget_hashes(&mut stored.entries);
    forget_hashes(&mut stored.due);
    if let Some(snapshot) = &mut stored.snapshot
        && let Ok(mut fold) = serde_json::from_str::<serde_json::Value>(&snapshot.text)
    {
        for drawn in ["hash", "proof"] {
            fold[drawn].take();
        }
        snapshot.text = fold.to_string();
    }
}

fn forget_hashes(entries: &mut [Entry]) {
    for entry in entries {
        entry.hash = None;
    }
}

/// Makes conversations with long values, which members send piece by piece.
fn chats() -> String {
    let mut chats = String::new();
    for number in 1..=6_usize {
        let long = format!("line {number} of a log that is long\n").repeat(400 * number);
        let chat = json!({ "id": format!("chat/{}", number.min(5)), "messages": [
            { "role": "user", "content": "Read the log." },
            { "role": "assistant", "content": "I do.", "tool_calls": [{ "id": "c1", "type": "function",
                "function": { "name": "read", "arguments": "{\"file\": \"log\"}" } }] },
            { "role": "tool", "tool_call_id": "c1", "name": "read", "content": long },
            { "role": "assistant", "content": format!("It begins with: {}", &long[..300]) },
        ] });
        let _ = writeln!(chats, "{chat}");
    }
    chats
}

fn fault(error: impl fmt::Display) -> String {
    error.to_string()
}

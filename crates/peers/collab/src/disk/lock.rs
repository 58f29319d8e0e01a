//! The lock that all writers of a folder share.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::unwritable;
use crate::finding::{Code, Finding};
use accp_store::files::Files;

/// The file of the lock.
const LOCK_FILE: &str = ".acp.lock";

/// How long a lock in a file holds, unless its owner releases it before.
const LEASE: Duration = Duration::from_secs(10);

/// The longest time that a lock in a file holds, even if the clock of its owner is far ahead.
const LONGEST: Duration = Duration::from_secs(600);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(3);

/// The kind of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// A lock of the operating system on `.acp.lock`. It ends with its process.
    System,
    /// Files `.acp.lock.1`, `.acp.lock.2` and so on, for file systems without locks. The file with
    /// the highest number is the lock, until its owner renames it or 10 seconds are over. The process that creates the
    /// file of the next number gets the lock.
    File,
    /// No lock, for a folder that no other process uses.
    None,
}

/// A lock that is held.
#[derive(Debug)]
pub(super) enum Held {
    /// Closing the file releases the lock.
    System {
        _file: File,
    },
    File(Lease),
    None,
}

impl Held {
    /// Checks that the lock is still held.
    pub(super) fn check(&self) -> Result<(), Vec<Finding>> {
        match self {
            Self::File(lease) if !lease.is_mine() => Err(vec![busy(
                "the lock was held for more than 10 seconds, and another participant has it; try again",
            )]),
            _ => Ok(()),
        }
    }
}

fn busy(text: &str) -> Finding {
    Finding::new(Code::Busy, text).within(LOCK_FILE, None)
}

/// Takes the lock of an existing folder.
pub(super) fn take(
    files: &impl Files,
    folder: &Path,
    locking: Locking,
    patience: Duration,
) -> Result<Held, Vec<Finding>> {
    if locking == Locking::None {
        return Ok(Held::None);
    }
    if let Err(error) = files.resolve(folder) {
        let text = match error.kind() {
            io::ErrorKind::NotFound => {
                "the folder is missing; make it with `accp collab init`".to_owned()
            }
            _ => format!("the folder cannot be reached ({error}); name another one"),
        };
        let folder = folder.display().to_string();
        return Err(vec![
            Finding::new(Code::ProtocolMissing, text).within(&folder, None),
        ]);
    }
    let until = Instant::now() + patience;
    loop {
        let taken = match locking {
            Locking::File => Lease::take(folder).map(|lease| lease.map(Held::File)),
            _ => of_system(folder),
        };
        match taken {
            Ok(Some(held)) => return Ok(held),
            Ok(None) if Instant::now() < until => std::thread::sleep(PAUSE),
            Ok(None) => {
                let text = "another participant has held the lock all the time; try again, or end that process";
                return Err(vec![busy(text)]);
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let text = "the file system has no locks; add --lock file, in the commands of all participants";
                return Err(vec![busy(text)]);
            }
            Err(error) => return Err(vec![unwritable(&folder.join(LOCK_FILE), &error)]),
        }
    }
}

fn of_system(folder: &Path) -> io::Result<Option<Held>> {
    let mut options = OpenOptions::new();
    let file = options
        .create(true)
        .append(true)
        .open(folder.join(LOCK_FILE))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Held::System { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// A lock in a file.
#[derive(Debug)]
pub(super) struct Lease {
    folder: PathBuf,
    number: u64,
}

impl Lease {
    /// Takes the lock; `None` if another process has it.
    fn take(folder: &Path) -> io::Result<Option<Self>> {
        let row = Row::read(folder)?;
        if row.highest > 0 && !row.is_free && !is_over(&numbered(folder, row.highest)) {
            return Ok(None);
        }
        let number = row.highest + 1;
        let path = numbered(folder, number);
        let until = SystemTime::now() + LEASE;
        let until = until.duration_since(UNIX_EPOCH).unwrap_or_default();
        let text = json!({ "owner": std::process::id(), "until": until.as_secs() }).to_string();
        match super::Os.create(&path, text.as_bytes()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(error),
        }
        // Since the files were listed, other processes may have taken and released this number and
        // later ones. So the files are listed again.
        let row = Row::read(folder)?;
        if (row.highest, row.is_free) != (number, false) {
            let _ = std::fs::remove_file(&path);
            return Ok(None);
        }
        for old in row.others {
            // Another process may have removed the old lock.
            let _ = std::fs::remove_file(old);
        }
        let folder = folder.to_owned();
        Ok(Some(Self { folder, number }))
    }

    /// Returns whether no other process has taken the lock over.
    fn is_mine(&self) -> bool {
        let row = Row::read(&self.folder);
        row.is_ok_and(|row| (row.highest, row.is_free) == (self.number, false))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let path = numbered(&self.folder, self.number);
        // If the rename fails, the lease still ends at the time in its text.
        let _ = std::fs::rename(&path, freed(&path));
    }
}

/// The name of a lock that was released.
fn freed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".free");
    name.into()
}

fn numbered(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{LOCK_FILE}.{number}"))
}

/// The locks of a folder.
struct Row {
    /// The highest number; 0 if there is no lock.
    highest: u64,
    /// Whether the lock with the highest number was released.
    is_free: bool,
    /// The files of lower numbers.
    others: Vec<PathBuf>,
}

impl Row {
    fn read(folder: &Path) -> io::Result<Self> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.strip_prefix(LOCK_FILE));
            let Some(rest) = name.and_then(|name| name.strip_prefix('.')) else {
                continue;
            };
            let number = rest.strip_suffix(".free");
            let is_free = number.is_some();
            // A number that does not fit a u32 is not the number of a lock: nobody takes that many
            // locks.
            let number = number.unwrap_or(rest).parse::<u32>();
            found.extend(number.map(|number| (u64::from(number), is_free, entry.path())));
        }
        let highest = found.iter().map(|(number, ..)| *number).max().unwrap_or(0);
        let is_free = found
            .iter()
            .any(|(number, is_free, _)| *number == highest && *is_free);
        let others = found.into_iter().filter(|(number, ..)| *number < highest);
        Ok(Self {
            highest,
            is_free,
            others: others.map(|(_, _, path)| path).collect(),
        })
    }
}

/// Returns whether a lock has expired. It expires at the latest [`LONGEST`] after its file was made, even if a wrong
/// clock has written a later time into it.
fn is_over(path: &Path) -> bool {
    let text = std::fs::read(path).unwrap_or_default();
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let until = json.get("until").and_then(serde_json::Value::as_u64);
    let made = std::fs::metadata(path).and_then(|about| about.modified());
    let made = made.unwrap_or(UNIX_EPOCH);
    let longest = made + LONGEST;
    let until = match until {
        Some(until) => UNIX_EPOCH
            .checked_add(Duration::from_secs(until))
            .unwrap_or(longest),
        // The owner has not written the text yet, so the lock counts from the time of its file.
        None => made + LEASE,
    };
    SystemTime::now() > until.min(longest)
}

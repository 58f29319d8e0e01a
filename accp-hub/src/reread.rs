//! A file that is read again when it changes.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How often the hub looks whether a file has changed.
const EVERY: Duration = Duration::from_secs(1);

/// A file of tokens or keys that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {why}", file = file.display())]
pub struct AccessFileError {
    file: PathBuf,
    why: String,
}

/// What a file says. [`get`](Self::get) reads the file again if it has changed, and looks for that once a
/// second at most.
pub(crate) struct Reread<T> {
    file: PathBuf,
    parse: fn(&str) -> Result<T, String>,
    every: Duration,
    read: Mutex<Read<T>>,
}

struct Read<T> {
    value: Arc<T>,
    stamp: Stamp,
    looked: Instant,
}

/// What tells one version of a file from another.
type Stamp = Option<(SystemTime, u64)>;

impl<T> Reread<T> {
    /// Reads a file. `parse` says what is wrong with a text, and where.
    ///
    /// # Errors
    /// When the file cannot be read, and what `parse` says.
    pub(crate) fn new(
        file: impl Into<PathBuf>,
        parse: fn(&str) -> Result<T, String>,
    ) -> Result<Self, AccessFileError> {
        let file = file.into();
        match read(&file, parse) {
            Ok(read) => Ok(Self {
                file,
                parse,
                every: EVERY,
                read: Mutex::new(read),
            }),
            Err(why) => Err(AccessFileError { file, why }),
        }
    }

    /// Returns what the file says. A file that cannot be used leaves that as it was, and the hub's log says
    /// so.
    pub(crate) fn get(&self) -> Arc<T> {
        let mut held = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if held.looked.elapsed() >= self.every {
            held.looked = Instant::now();
            if stamp(&self.file) != held.stamp {
                let file = self.file.display();
                match read(&self.file, self.parse) {
                    Ok(read) => {
                        *held = read;
                        tracing::info!(%file, "the file was read again");
                    }
                    Err(why) => {
                        tracing::error!(%file, why, "what the file said before stays in force");
                    }
                }
            }
        }
        Arc::clone(&held.value)
    }
}

fn stamp(file: &Path) -> Stamp {
    let file = fs::metadata(file).ok()?;
    Some((file.modified().ok()?, file.len()))
}

fn read<T>(file: &Path, parse: fn(&str) -> Result<T, String>) -> Result<Read<T>, String> {
    // A change between the two lines is seen the next time.
    let stamp = stamp(file);
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    Ok(Read {
        value: Arc::new(parse(&text)?),
        stamp,
        looked: Instant::now(),
    })
}

impl<T> fmt::Debug for Reread<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reread")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u32, String> {
        text.parse().map_err(|_| format!("{text:?} is no number"))
    }

    #[test]
    fn what_a_file_says_follows_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        fs::write(&file, "1").unwrap();
        let read = Reread::new(&file, number).unwrap();
        let read = Reread {
            every: Duration::ZERO,
            ..read
        };
        assert_eq!(*read.get(), 1);
        fs::write(&file, "22").unwrap();
        assert_eq!(*read.get(), 22);
        // What cannot be used changes nothing, and is read again until it can be used.
        fs::write(&file, "three").unwrap();
        assert_eq!(*read.get(), 22);
        fs::remove_file(&file).unwrap();
        assert_eq!(*read.get(), 22);
        fs::write(&file, "4444").unwrap();
        assert_eq!(*read.get(), 4444);
    }

    #[test]
    fn a_file_that_cannot_be_used_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        let missing = Reread::new(&file, number).unwrap_err().to_string();
        assert!(missing.contains("number: No such file"), "{missing}");
        fs::write(&file, "one").unwrap();
        let wrong = Reread::new(&file, number).unwrap_err().to_string();
        assert!(wrong.ends_with("number: \"one\" is no number"), "{wrong}");
    }
}

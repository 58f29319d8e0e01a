//! Files that are read again when they change.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The shortest time between two checks of the files.
const EVERY: Duration = Duration::from_millis(200);

/// Files that keep changing are read after this time, although they are not stable.
const LONGEST: Duration = Duration::from_millis(600);

/// A file of tokens or keys that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {why}", file = file.display())]
pub struct AccessFileError {
    file: PathBuf,
    why: String,
}

/// The content of files. [`get`](Self::get) reads the files again if one has changed and all are stable, which
/// means that two checks found the same versions. `get` checks five times a second at most. So a file that is
/// being written is not read halfway, unless the writer pauses.
pub(crate) struct Reloaded<T> {
    files: Vec<PathBuf>,
    read: Reader<T>,
    every: Duration,
    held: Mutex<FileState<T>>,
}

type Reader<T> = Box<dyn Fn() -> Result<T, String> + Send + Sync>;

struct FileState<T> {
    value: Arc<T>,
    /// The version that is in use.
    read: Vec<Stamp>,
    /// The last version that could not be used. `get` tries it again, but logs it only once.
    failed: Option<Vec<Stamp>>,
    /// The version at the last check. `changes` says since when it differs from the version in use.
    seen: Vec<Stamp>,
    changes: Option<Instant>,
    looked: Instant,
    /// How many times the files were read again.
    revision: u64,
}

/// Identifies a version of a file: its time, its length, and the identity of the file, because a copy may have the
/// time and the length of another version.
type Stamp = Option<(SystemTime, u64, [i64; 4])>;

impl<T: 'static> Reloaded<T> {
    /// Reads a text file. The errors of `parse` say what is wrong, and where.
    ///
    /// # Errors
    /// When the file cannot be read, and the error of `parse`.
    pub(crate) fn text(
        file: impl Into<PathBuf>,
        parse: fn(&str) -> Result<T, String>,
    ) -> Result<Self, AccessFileError> {
        let file = file.into();
        let path = file.clone();
        let read = move || parse(&text(&path).map_err(|error| error.to_string())?);
        Self::new(vec![file.clone()], read).map_err(|why| AccessFileError { file, why })
    }
}

impl<T> Reloaded<T> {
    /// Reads files by a function.
    ///
    /// # Errors
    /// The error of `read`.
    pub(crate) fn new(
        files: Vec<PathBuf>,
        read: impl Fn() -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let held = FileState::new(&files, &read)?;
        Ok(Self {
            files,
            read: Box::new(read),
            every: EVERY,
            held: Mutex::new(held),
        })
    }

    /// Returns the content of the files. If they cannot be used, the old content stays, and the log of the hub says so.
    pub(crate) fn get(&self) -> Arc<T> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.looked.elapsed() >= self.every {
            held.looked = Instant::now();
            let (now, files) = (stamps(&self.files), &self.files);
            let is_stable = now == held.seen;
            held.seen.clone_from(&now);
            if now == held.read {
                (held.changes, held.failed) = (None, None);
                return Arc::clone(&held.value);
            }
            let since = *held.changes.get_or_insert_with(Instant::now);
            // A file that is written without a pause never counts as stable. After `LONGEST` it is read anyway, so
            // that a withdrawn token does not stay valid.
            if is_stable || since.elapsed() >= LONGEST {
                match (self.read)() {
                    Ok(value) => {
                        held.value = Arc::new(value);
                        held.revision += 1;
                        (held.read, held.changes, held.failed) = (now, None, None);
                        tracing::info!(?files, "files were read again");
                    }
                    Err(why) if held.failed.as_ref() != Some(&now) => {
                        held.failed = Some(now);
                        tracing::error!(?files, why, "what the files said before stays in force");
                    }
                    Err(_) => {}
                }
            }
        }
        Arc::clone(&held.value)
    }

    /// Returns an error that names the first file.
    pub(crate) fn unusable(&self, why: String) -> AccessFileError {
        let file = self.files.first().cloned().unwrap_or_default();
        AccessFileError { file, why }
    }

    /// Returns a number that increases when the content has changed.
    pub(crate) fn revision(&self) -> u64 {
        self.get();
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.revision
    }
}

impl<T> FileState<T> {
    fn new(files: &[PathBuf], read: impl Fn() -> Result<T, String>) -> Result<Self, String> {
        // The stamps are taken before the content is read, so the next check notices a change in
        // between.
        let stamps = stamps(files);
        Ok(Self {
            value: Arc::new(read()?),
            seen: stamps.clone(),
            read: stamps,
            failed: None,
            changes: None,
            looked: Instant::now(),
            revision: 0,
        })
    }
}

/// Reads a regular file. Reading a pipe would wait for its writer.
fn text(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.is_file() {
        fs::read_to_string(path)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |file: &PathBuf| {
        let file = fs::metadata(file).ok()?;
        Some((file.modified().ok()?, file.len(), identity(&file)))
    };
    files.iter().map(stamp).collect()
}

/// Returns the identity of a file, and when it or its metadata has changed.
fn identity(file: &fs::Metadata) -> [i64; 4] {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (device, inode) = (file.dev().cast_signed(), file.ino().cast_signed());
        [device, inode, file.ctime(), file.ctime_nsec()]
    }
    #[cfg(not(unix))]
    {
        let _ = file; // time and length have to suffice
        [0; 4]
    }
}

impl<T> fmt::Debug for Reloaded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloaded")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u32, String> {
        text.parse()
            .map_err(|_| format!("{text:?} is not a number"))
    }

    /// Checks twice, so that a changed file counts as stable.
    fn look(read: &Reloaded<u32>) -> u32 {
        read.get();
        *read.get()
    }

    fn at_each_look(file: &Path) -> Reloaded<u32> {
        let read = Reloaded::text(file, number).unwrap();
        let every = Duration::ZERO;
        Reloaded { every, ..read }
    }

    #[test]
    fn what_a_file_says_follows_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        fs::write(&file, "1").unwrap();
        let read = at_each_look(&file);
        assert_eq!(*read.get(), 1);
        fs::write(&file, "22").unwrap();
        assert_eq!(look(&read), 22);
        // Invalid content changes nothing.
        fs::write(&file, "three").unwrap();
        assert_eq!(look(&read), 22);
        fs::remove_file(&file).unwrap();
        assert_eq!(look(&read), 22);
        fs::write(&file, "4444").unwrap();
        assert_eq!(look(&read), 4444);
    }

    #[test]
    fn a_file_that_is_being_written_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        fs::write(&file, "1").unwrap();
        let read = at_each_look(&file);
        for part in ["2", "23", "234", "2345"] {
            fs::write(&file, part).unwrap();
            assert_eq!(*read.get(), 1, "{part}");
        }
        assert_eq!(*read.get(), 2345);
    }

    #[test]
    fn a_file_that_could_not_be_read_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let [file, away] = ["number", "away"].map(|name| folder.path().join(name));
        fs::write(&file, "1").unwrap();
        let fails = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (path, failing) = (file.clone(), Arc::clone(&fails));
        let read = Reloaded::new(vec![file.clone()], move || {
            if failing.load(std::sync::atomic::Ordering::Relaxed) {
                return Err("too many open files".to_owned());
            }
            number(&fs::read_to_string(&path).unwrap())
        });
        let every = Duration::ZERO;
        let read = Reloaded {
            every,
            ..read.unwrap()
        };
        fails.store(true, std::sync::atomic::Ordering::Relaxed);
        fs::write(&away, "2").unwrap();
        fs::rename(&away, &file).unwrap();
        assert_eq!(look(&read), 1);
        fails.store(false, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(look(&read), 2);
    }

    #[test]
    fn a_file_of_the_same_length_and_time_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let [file, copy] = ["number", "copy"].map(|name| folder.path().join(name));
        fs::write(&file, "1").unwrap();
        let read = at_each_look(&file);
        assert_eq!(*read.get(), 1);
        let revision = read.revision();
        fs::write(&copy, "2").unwrap();
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        fs::File::options()
            .write(true)
            .open(&copy)
            .unwrap()
            .set_modified(time)
            .unwrap();
        fs::rename(&copy, &file).unwrap();
        assert_eq!(look(&read), 2);
        assert_eq!(read.revision(), revision + 1);
    }

    #[test]
    fn a_file_that_cannot_be_used_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        let missing = Reloaded::text(&file, number).unwrap_err().to_string();
        assert!(missing.contains("number: No such file"), "{missing}");
        fs::write(&file, "one").unwrap();
        let wrong = Reloaded::text(&file, number).unwrap_err().to_string();
        assert!(
            wrong.ends_with("number: \"one\" is not a number"),
            "{wrong}"
        );
    }
}

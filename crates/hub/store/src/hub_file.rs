//! A file of sessions that only one hub can take at a time.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;

use crate::error::{StoreError, StoreErrorKind};
use crate::files;
use crate::open_file::{OpenFile, unreachable};
use crate::sqlite::SqliteStore;

/// A file of sessions that one hub takes, so that no other hub can take the file. Two hubs on one file would each work
/// on a state that the other hub has changed since.
///
/// The hub holds a lock of the system on a file beside the store, `hub.accp-hub` for `hub.accp`, until this value is
/// dropped or the process ends, however it ends. So the next hub can start at once after a kill. The lock file names
/// its holder. Nobody may remove the lock file: a second hub would make a new one, and each hub would lock a file of
/// its own. Programs that read the store, copy it, or run single sides in it need no lock.
///
/// ```
/// use accp_store::{HubFile, Store, StoreErrorKind};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("hub.accp");
/// let file = HubFile::take(&path, "at 127.0.0.1:7337")?;
/// let mut store = file.open()?;
/// assert!(store.list()?.is_empty());
///
/// let second = HubFile::take(&path, "at 127.0.0.1:7338").unwrap_err();
/// assert_eq!(second.kind(), StoreErrorKind::Busy);
/// assert!(second.to_string().contains("at 127.0.0.1:7337"));
///
/// drop(file);
/// HubFile::take(&path, "at 127.0.0.1:7338")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HubFile {
    path: PathBuf,
    /// The store file as the first call of [`open`](Self::open) found it.
    first: OnceLock<OpenFile>,
    /// Holds the lock, and names the holder.
    lock: File,
}

/// The name of the lock file is the name of the store with this ending.
const END: &str = "-hub";

/// The most bytes of a lock file that are read, to name its holder.
const MOST: u64 = 200;

impl HubFile {
    /// Takes a file for this process. The file need not be there yet. `holder` tells people where this hub is. If
    /// a second hub takes the file, its error names this holder and the number of this process.
    ///
    /// # Errors
    /// [`Busy`](crate::StoreErrorKind::Busy) when another hub has the file; [`Io`](crate::StoreErrorKind::Io)
    /// when the folder cannot be written, or its file system has no locks.
    pub fn take(path: impl AsRef<Path>, holder: &str) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let taken = take(path, holder);
        let lock = taken.map_err(|error| error.in_store(&path.display().to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            first: OnceLock::new(),
            lock,
        })
    }

    /// Changes the text that tells where this hub is. A hub takes its file before it listens, and may know its address
    /// only then.
    ///
    /// # Errors
    /// [`Io`](crate::StoreErrorKind::Io) when the lock file cannot be written.
    ///
    /// ```
    /// use accp_store::HubFile;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("hub.accp");
    /// let file = HubFile::take(&path, "at 127.0.0.1:0")?;
    /// file.names_holder("at 127.0.0.1:40123")?;
    /// let second = HubFile::take(&path, "at 127.0.0.1:0").unwrap_err();
    /// assert!(second.to_string().contains("at 127.0.0.1:40123"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names_holder(&self, holder: &str) -> Result<(), StoreError> {
        let written = write(&self.lock, holder).map_err(unreachable);
        written.map_err(|error| error.in_store(&self.path.display().to_string()))
    }

    /// Opens the store, as [`SqliteStore::open`] does. After the store has failed, this opens it again, but only if
    /// the path still leads to the same file: otherwise a hub would go on with an empty store after somebody has moved
    /// its file away.
    ///
    /// If an erasure of the file was cut short, this call completes the erasure, which takes as long as a copy of the
    /// file. If another process reads the file meanwhile, this call logs a warning, and the next opening tries again.
    ///
    /// # Errors
    /// Those of [`SqliteStore::open`]; [`Gone`](crate::StoreErrorKind::Gone) when the file is not at its place
    /// any more.
    pub fn open(&self) -> Result<SqliteStore, StoreError> {
        let gone = |error: StoreError| error.in_store(&self.path.display().to_string());
        if let Some(first) = self.first.get() {
            first.check().map_err(gone)?;
        }
        let mut store = SqliteStore::open(&self.path)?;
        if let Some(now) = store.open_file() {
            let first = self.first.get_or_init(|| now.clone());
            first.check().map_err(gone)?;
            store.is_at(first);
        }
        match store.complete_erasure() {
            Ok(true) => tracing::info!(
                "an erasure was cut short, and the file has no bytes of what was erased any more; if an erasure was \
                 not answered, ask for it again"
            ),
            Ok(false) => {}
            Err(error) => tracing::warn!(
                "an erasure is not complete, so that the file still has bytes of what was erased: {error}"
            ),
        }
        Ok(store)
    }
}

fn take(path: &Path, holder: &str) -> Result<File, StoreError> {
    // The lock stands beside the target of a link, so that the link and the target share one lock.
    let target = files::target(path).map_err(unreachable)?;
    check_links(&target)?;
    let name = beside(&target, END);
    if name.is_symlink() {
        let text = format!(
            "`{}` is a link, and would lead what names this hub elsewhere: remove it",
            name.display()
        );
        return Err(StoreError::new(StoreErrorKind::Io, text));
    }
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let opened = files::private(&mut options).open(&name);
    let lock = opened.map_err(unreachable)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let text = format!(
                "another hub has this file: {}; use that hub, end it, or name another file",
                holder_of(&lock)
            );
            return Err(StoreError::new(StoreErrorKind::Busy, text));
        }
        Err(TryLockError::Error(error)) => {
            let text = format!(
                "the system does not lock `{}` ({error}), which keeps other hubs from the store: put \
                 the store on a local disk",
                name.display()
            );
            return Err(StoreError::new(StoreErrorKind::Io, text).caused_by(error));
        }
    }
    write(&lock, holder).map_err(unreachable)?;
    warn(&target);
    Ok(lock)
}

/// Refuses what is not a regular file, and a store with hard links: hubs that open the store under two names would have
/// two locks and two write-ahead logs.
fn check_links(store: &Path) -> Result<(), StoreError> {
    let found = std::fs::metadata(store);
    if found.is_ok_and(|found| !found.is_file()) {
        let text = if store.is_dir() {
            "this is a folder: name the file of the sessions in it, which is made if there is none"
        } else {
            "this is not a regular file: name the file of the sessions, which is made if there is none"
        };
        return Err(StoreError::new(StoreErrorKind::Io, text));
    }
    #[cfg(unix)]
    let links = {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(store).map_or(1, |file| file.nlink())
    };
    #[cfg(not(unix))]
    let links = 1;
    if links > 1 {
        let text = format!(
            "the file has {links} names (hard links), and a hub under each would spoil it: remove the others, \
             or copy the file"
        );
        return Err(StoreError::new(StoreErrorKind::Busy, text));
    }
    Ok(())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Warns of files of the store that others on the machine can read.
fn warn(store: &Path) {
    let files = ["", "-wal", "-shm"].map(|end| beside(store, end));
    let open: Vec<_> = files
        .iter()
        .filter(|file| files::is_open_to_others(file))
        .map(|file| file.display().to_string())
        .collect();
    if !open.is_empty() {
        let open = open.join(" ");
        tracing::warn!(
            "others on this machine can open {open}, with all sessions and the secrets of their logs: \
             chmod 600 {open}"
        );
    }
}

/// Names this process in its lock file. This overwrites the bytes of the last holder before it cuts off the rest,
/// so that the write also succeeds on a full disk.
fn write(mut lock: &File, holder: &str) -> io::Result<()> {
    let line = format!("process {} {holder}\n", process::id());
    lock.rewind()?;
    lock.write_all(line.as_bytes())?;
    lock.set_len(line.len() as u64)
}

/// Returns the line of a lock file that names its holder.
fn holder_of(lock: &File) -> String {
    let mut bytes = Vec::new();
    let read = lock.take(MOST).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    match (read, text.lines().next()) {
        (Ok(_), Some(line)) if !line.is_empty() => line.escape_debug().to_string(),
        // The holder has not written yet, or the system does not let other processes read a locked file.
        _ => "another process".to_owned(),
    }
}

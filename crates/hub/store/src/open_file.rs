//! Checks whether the file that a store has open is still under its path, with its write-ahead log.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::{StoreError, StoreErrorKind};
use crate::files;

/// A disk must have room for this many bytes. A commit of a frame writes a few pages.
const ROOM: usize = 64 << 10;

/// The file that a store has open. All clones share what the store knows about the file.
#[derive(Debug, Clone)]
pub(crate) struct OpenFile {
    path: PathBuf,
    number: FileId,
    /// The file that marks an erasure which is not complete.
    mark: PathBuf,
    wal: Arc<Wal>,
}

/// The name of the mark of an erasure is the name of the store with this ending.
const MARK: &str = "-erase";

/// The text in the mark of an erasure.
const MARKED: &str = "The store beside this file still has bytes of what was erased from it. \
                      A hub that starts on the store, and the next erasure, overwrite them and remove this file.\n";

/// The write-ahead log beside the file.
#[derive(Debug)]
struct Wal {
    path: PathBuf,
    /// The identity and the length of the log after the last write; `None` if there was no log then.
    seen: Mutex<Option<(FileId, u64)>>,
    /// Set once commits are lost. No later write brings them back.
    lost: OnceLock<WalLoss>,
}

/// How a write-ahead log was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalLoss {
    /// The file of the log was removed or replaced, while this process had it open.
    Removed,
    /// Bytes of the log are gone.
    Cut,
}

/// Tells a file from others that were or will be under the same name: its device and its inode.
#[cfg(unix)]
type FileId = (u64, u64);
/// Systems other than Unix do not let an open file be removed or replaced, so there is nothing to compare.
#[cfg(not(unix))]
type FileId = ();

impl OpenFile {
    /// Notes the identity of the file under a path, right after the file was opened.
    pub(crate) fn of(path: &Path) -> Result<Self, StoreError> {
        // The absolute path stays right when the process changes its working folder.
        let path = std::path::absolute(path).map_err(unreachable)?;
        let number = number(&path).map_err(lost)?;
        let mut name = path.clone().into_os_string();
        name.push("-wal");
        let wal = Wal {
            path: name.into(),
            seen: Mutex::default(),
            lost: OnceLock::new(),
        };
        let wal = Arc::new(wal);
        // The mark stands beside the target of a link, so that the link and the target share it.
        let mut mark = files::target(&path).map_err(lost)?.into_os_string();
        mark.push(MARK);
        let open = Self {
            path,
            number,
            mark: mark.into(),
            wal,
        };
        open.note();
        Ok(open)
    }

    /// Notes the identity and the length of the write-ahead log after a write.
    pub(crate) fn note(&self) {
        // If the write-ahead log is gone, the next check reports it.
        if let Ok(now) = measure(&self.wal.path) {
            *self.seen() = Some(now);
        }
    }

    /// Checks that the write-ahead log is still the file that the last write left, and that the file is not too short.
    /// Another process may have shortened it properly, by copying the log into the store. `needed` returns the length
    /// that a shortened log must still have.
    pub(crate) fn check_wal(
        &self,
        needed: impl FnOnce() -> Option<u64>,
    ) -> Result<(), (WalLoss, StoreError)> {
        let seen = *self.seen();
        let lost = match (seen, measure(&self.wal.path)) {
            (None, _) => return Ok(()),
            (Some((number, length)), Ok(now)) if number == now.0 => {
                if length <= now.1 || needed().is_some_and(|needed| needed <= now.1) {
                    return Ok(());
                }
                WalLoss::Cut
            }
            _ => WalLoss::Removed,
        };
        let lost = *self.wal.lost.get_or_init(|| lost);
        Err((lost, lost.error()))
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Option<(FileId, u64)>> {
        let seen = self.wal.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether both are the same file.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (&self.path, self.number) == (&other.path, other.number)
    }

    /// Checks that the file is still under its path, and has not lost its write-ahead log.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if let Some(lost) = self.wal.lost.get() {
            return Err(lost.error());
        }
        match number(&self.path) {
            Ok(number) if number == self.number => Ok(()),
            Ok(_) => Err(gone("another file took its place")),
            Err(error) => Err(lost(error)),
        }
    }

    /// Writes the mark of an erasure that is not complete, and syncs it to the disk. Returns whether the mark is new:
    /// it is there already if an earlier erasure was not completed. After an error there is no new mark.
    pub(crate) fn mark_erasure(&self) -> io::Result<bool> {
        let mut options = File::options();
        options.write(true).create_new(true);
        let file = match files::private(&mut options).open(&self.mark) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            made => made?,
        };
        let written = self.write_mark(file);
        if written.is_err() {
            self.unmark_erasure();
        }
        written.map(|()| true)
    }

    fn write_mark(&self, mut file: File) -> io::Result<()> {
        file.write_all(MARKED.as_bytes())?;
        file.sync_all()?;
        #[cfg(unix)]
        {
            if let Some(folder) = self.mark.parent() {
                File::open(folder)?.sync_all()?;
            }
        }
        Ok(())
    }

    /// Removes the mark of an erasure, which is complete.
    pub(crate) fn unmark_erasure(&self) {
        // If the mark cannot be removed, the store is scrubbed once more later, and nothing else happens.
        let _ = fs::remove_file(&self.mark);
    }

    /// Returns whether the store has the mark of an erasure.
    pub(crate) fn has_erasure_mark(&self) -> bool {
        self.mark.exists()
    }

    /// Checks that the disk has room for a commit: it writes a file beside the store, and removes it. A write to the
    /// store would not show this, because the write-ahead log overwrites itself, and so takes commits on a full disk
    /// until it has to grow.
    pub(crate) fn check_room(&self) -> Result<(), StoreError> {
        let mut name = self.path.clone().into_os_string();
        name.push("-probe");
        let mut bytes = vec![0; ROOM];
        // The bytes are random, because a file system that compresses would hardly need room for zeros. If no random
        // bytes are available, zeros are written.
        let _ = getrandom::fill(&mut bytes);
        // An earlier probe may have left its file. If another file has this name, the write fails.
        let _ = fs::remove_file(&name);
        let written = write(Path::new(&name), &bytes);
        let _ = fs::remove_file(&name);
        match written.map_err(|error| (error.kind(), error)) {
            Err((io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, error)) => {
                let text = format!("the disk has no room for {ROOM} bytes: free space");
                Err(StoreError::new(StoreErrorKind::Full, text).caused_by(error))
            }
            // Other errors say nothing about free room. A folder may refuse new files while the
            // store writes to its open ones.
            _ => Ok(()),
        }
    }
}

impl WalLoss {
    fn error(self) -> StoreError {
        let text = match self {
            Self::Removed => {
                "the write-ahead log (`-wal`) was removed or replaced while the file was open: end this \
                 process in good order, so that what it still has comes into the file, then open it anew"
            }
            Self::Cut => {
                "the write-ahead log (`-wal`) was cut while the file was open, and the last commits with it: \
                 end this process, and put back a copy from a backup if the file lacks too much"
            }
        };
        StoreError::new(StoreErrorKind::Gone, text)
    }
}

fn measure(path: &Path) -> io::Result<(FileId, u64)> {
    Ok((number(path)?, fs::metadata(path)?.len()))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    let mut file = files::private(&mut options).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn lost(error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::NotFound => gone("the file was removed or moved away"),
        _ => gone(&format!("the way to the file was closed ({error})")).caused_by(error),
    }
}

fn gone(how: &str) -> StoreError {
    let text = format!(
        "{how} while it was open, so that no other process finds what is committed now: put the file \
         back, or a copy from a backup, then open the store anew"
    );
    StoreError::new(StoreErrorKind::Gone, text)
}

/// Makes the error for a file, or its folder, that the system does not give access to.
pub(crate) fn unreachable(error: io::Error) -> StoreError {
    let (kind, cure) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (StoreErrorKind::Full, "free space on the disk")
        }
        _ => (
            StoreErrorKind::Io,
            "check that the folder exists and that this user may write in it",
        ),
    };
    StoreError::new(kind, format!("{error}: {cure}")).caused_by(error)
}

#[cfg(unix)]
fn number(path: &Path) -> io::Result<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn number(path: &Path) -> io::Result<FileId> {
    fs::metadata(path).map(drop)
}

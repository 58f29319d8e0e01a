//! The file of a store at its place, and whether it still is there.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::{StoreError, StoreErrorKind, files};

/// The bytes that a disk must have room for: a commit of a frame has a few pages.
const ROOM: usize = 64 << 10;

/// The file that a store has open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    path: PathBuf,
    number: Number,
}

/// Tells a file from others that were or will be under the same name: its device and its inode.
#[cfg(unix)]
type Number = (u64, u64);
/// Elsewhere a file that is open cannot be removed or replaced.
#[cfg(not(unix))]
type Number = ();

impl Place {
    /// Notes the file under a path, which was just opened.
    pub(crate) fn of(path: &Path) -> Result<Self, StoreError> {
        // The process may change its working folder.
        let path = std::path::absolute(path).map_err(unreachable)?;
        match number(&path) {
            Ok(number) => Ok(Self { path, number }),
            Err(error) => Err(lost(error)),
        }
    }

    /// Checks that the file is still under its path.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match number(&self.path) {
            Ok(number) if number == self.number => Ok(()),
            Ok(_) => Err(gone("another file took its place")),
            Err(error) => Err(lost(error)),
        }
    }

    /// Checks that the disk has room for a commit, by a file beside that is removed again. A write to the
    /// store alone does not show it: the write-ahead log is written over, and takes commits on a full disk
    /// until it has to grow.
    pub(crate) fn check_room(&self) -> Result<(), StoreError> {
        let mut name = self.path.clone().into_os_string();
        name.push("-probe");
        let mut bytes = vec![0; ROOM];
        // Some file systems keep no bytes of what they can compress. Without random bytes, others still tell.
        let _ = getrandom::fill(&mut bytes);
        let written = write(Path::new(&name), &bytes);
        // If it stays, the next probe writes over it.
        let _ = fs::remove_file(&name);
        match written.map_err(|error| (error.kind(), error)) {
            Err((io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, error)) => {
                let text = format!("the disk has no room for {ROOM} bytes: free space");
                Err(StoreError::new(StoreErrorKind::Full, text).caused_by(error))
            }
            // A folder that takes no file says nothing of the store, whose files are there and open.
            _ => Ok(()),
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
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
    let text = format!("{error}: check that the folder exists and that this user may write in it");
    StoreError::new(StoreErrorKind::Io, text).caused_by(error)
}

#[cfg(unix)]
fn number(path: &Path) -> io::Result<Number> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn number(path: &Path) -> io::Result<Number> {
    fs::metadata(path).map(drop)
}

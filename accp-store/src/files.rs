//! Files as a trait, so that tests can cut the power and fill the disk: for folders that people and programs read too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The most bytes of a file that is read.
pub const MOST_BYTES: u64 = 64 << 20;

/// Reads and writes files. [`Os`] is the file system; tests have others, which lose power or are full.
pub trait Files {
    /// Returns the bytes of a file.
    ///
    /// # Errors
    /// `NotFound`, `FileTooLarge` over [`MOST_BYTES`], and the errors of the system.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Returns where a path leads, without links.
    ///
    /// # Errors
    /// `NotFound`, and the errors of the system, such as links in a circle.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// Writes at the end of a file, which it makes if there is none.
    ///
    /// # Errors
    /// Those of the system. Some of the bytes may be in the file then.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Makes a file, which must not be there.
    ///
    /// # Errors
    /// `AlreadyExists`, and the errors of the system.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Writes a file, over one that is there.
    ///
    /// # Errors
    /// Those of the system.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Cuts a file.
    ///
    /// # Errors
    /// Those of the system.
    fn cut(&self, path: &Path, length: u64) -> io::Result<()>;

    /// Brings a file or a folder to the disk.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, over one that is there.
    ///
    /// # Errors
    /// Those of the system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Os;

impl Files for Os {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let about = fs::metadata(path)?;
        // To open a pipe would wait for somebody who writes into it.
        if !about.is_file() {
            let kind = if about.is_dir() {
                io::ErrorKind::IsADirectory
            } else {
                io::ErrorKind::InvalidInput
            };
            return Err(io::Error::new(kind, "it is not a file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)?
            .write_all(bytes)
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        File::create_new(path)?.write_all(bytes)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        File::create(path)?.write_all(bytes)
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        OpenOptions::new().write(true).open(path)?.set_len(length)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

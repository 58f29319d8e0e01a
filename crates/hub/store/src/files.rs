//! Access to files. The trait [`Files`] lets tests cut the power and fill the disk. [`Private`] and the functions here
//! make files that their owner alone can open.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The largest file that [`Files::read`] reads, in bytes.
pub const MOST_BYTES: u64 = 64 << 20;

/// Reads and writes files. [`Os`] is the file system. Tests use other implementations, which lose power or are
/// full.
pub trait Files {
    /// Returns the bytes of a file.
    ///
    /// # Errors
    /// `NotFound`, `FileTooLarge` over [`MOST_BYTES`], and the errors of the system.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Returns the path with all links resolved.
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

    /// Writes a file, and replaces an existing one.
    ///
    /// # Errors
    /// Those of the system.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Cuts a file to this length.
    ///
    /// # Errors
    /// Those of the system.
    fn cut(&self, path: &Path, length: u64) -> io::Result<()>;

    /// Syncs a file or a folder to the disk.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, and replaces an existing one.
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

/// Makes these options create files that their owner alone can open, where the system has modes.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Makes an empty file for its owner alone, unless there is one. If the path is a link, this makes the target.
///
/// # Errors
/// Those of the system.
pub fn create_private(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let made = private(OpenOptions::new().write(true).create_new(true)).open(target(path)?);
    match made {
        // Another process has made the file. This process must not open it: closing it would end all locks that SQLite
        // has on the file in this process.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// Makes a folder and all missing folders above it, for their owner alone.
///
/// # Errors
/// Those of the system.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Returns whether others than the owner may read or write a file. On systems other than Unix, this is false:
/// there, the folder decides who may open a file.
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Returns the path with all links resolved, even if no file is there yet.
///
/// # Errors
/// `NotFound` when there is no such folder, and the errors of the system, such as links in a circle.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (path.read_link(), path.file_name()) {
        // The recursion ends, because links in a circle give another error than `NotFound` above.
        (Ok(next), _) => target(&folder.join(next)),
        (Err(_), Some(name)) => Ok(folder.canonicalize()?.join(name)),
        (Err(error), None) => Err(error),
    }
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Os;

/// The file system, but every file that it makes is for its owner alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Private;

impl Files for Private {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Os.read(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Os.resolve(path)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        private(OpenOptions::new().create(true).append(true))
            .open(path)?
            .write_all(bytes)
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        private(OpenOptions::new().write(true).create_new(true))
            .open(path)?
            .write_all(bytes)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        private(OpenOptions::new().write(true).create(true).truncate(true))
            .open(path)?
            .write_all(bytes)
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        Os.cut(path, length)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        Os.sync(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Os.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Os.remove(path)
    }
}

impl Files for Os {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let about = fs::metadata(path)?;
        // Only a file is opened, because opening a pipe would wait for a writer.
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

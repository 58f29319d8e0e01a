//! A file that appears when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The beginning of the name of an unfinished file.
const UNFINISHED: &str = ".accp-";

/// A new file that appears at its path only when it is complete.
#[derive(Debug)]
pub struct NewFile(Target);

#[derive(Debug)]
enum Target {
    /// A file without a name: if the command is interrupted, nothing stays in the folder.
    #[cfg(target_os = "linux")]
    Nameless(BufWriter<File>, PathBuf),
    Beside(BufWriter<NamedTempFile>, PathBuf),
    /// A pipe, a device, or a file that this process has open: there is no file to replace.
    Through(BufWriter<File>),
}

impl NewFile {
    /// Starts a file that will replace `path`. If `path` is a link, the new file replaces the target of the link.
    ///
    /// A path of an open file, such as `/dev/fd/3`, adds to this file. To replace the file would lose what the shell and
    /// other commands write into it.
    pub fn create(path: &Path, mode: u32) -> io::Result<Self> {
        if let Some(number) = descriptor(path) {
            let file = opened(number, path)?;
            return Ok(Self(Target::Through(BufWriter::new(file))));
        }
        let target = match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => {
                let file = File::options().write(true).open(path)?;
                return Ok(Self(Target::Through(BufWriter::new(file))));
            }
            Ok(_) => fs::canonicalize(path)?,
            Err(_) => path.to_path_buf(),
        };
        let folder = folder(&target);
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless::create(folder, mode) {
            return Ok(Self(Target::Nameless(BufWriter::new(file), target)));
        }
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        #[cfg(not(unix))]
        let _ = mode; // the folder says who can open a file
        let file = builder.prefix(UNFINISHED).tempfile_in(folder);
        let file = file.map_err(|error| with_cure(&error, folder))?;
        Ok(Self(Target::Beside(BufWriter::new(file), target)))
    }

    /// Returns whether the path has the whole file or none. A pipe gets the output piece by piece.
    pub(super) fn is_whole_or_absent(&self) -> bool {
        !matches!(self.0, Target::Through(_))
    }

    /// Completes the file and moves it to its path.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            #[cfg(target_os = "linux")]
            Target::Nameless(file, target) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.sync_all()?;
                // A file without a name cannot replace another file.
                let mut builder = tempfile::Builder::new();
                let named = builder.prefix(UNFINISHED);
                let named = named.make_in(folder(&target), |path| nameless::name(&file, path))?;
                named.persist(target)?;
                Ok(())
            }
            Target::Beside(file, target) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.as_file().sync_all()?;
                file.persist(target)?;
                Ok(())
            }
            Target::Through(mut file) => file.flush(),
        }
    }
}

/// Returns whether a path names the stdout of this process.
pub(super) fn is_stdout(path: &Path) -> bool {
    descriptor(path) == Some(1)
}

/// Returns the number of the open file that a path names, as `/dev/stdout` and `/dev/fd/3` do. Returns `None` for any
/// other path.
#[cfg(unix)]
fn descriptor(path: &Path) -> Option<u32> {
    /// The most links that a path may lead through. Linux follows as many.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let folder = folder(&path).canonicalize().ok()?;
        let is_of_open_files = folder == Path::new("/dev/fd")
            || fs::canonicalize("/proc/self/fd").is_ok_and(|open| open == folder);
        if is_of_open_files {
            return path.file_name()?.to_str()?.parse().ok();
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

#[cfg(not(unix))]
fn descriptor(_path: &Path) -> Option<u32> {
    None
}

/// Opens an open file again, to write behind what it has.
#[cfg_attr(not(unix), allow(unused_variables))]
fn opened(number: u32, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        // A copy shares its place in the file with all that this command writes to stdout or stderr.
        let copy = match number {
            1 => Some(io::stdout().as_fd().try_clone_to_owned()?),
            2 => Some(io::stderr().as_fd().try_clone_to_owned()?),
            _ => None,
        };
        if let Some(copy) = copy {
            return Ok(copy.into());
        }
    }
    File::options().append(true).open(path)
}

/// Returns the folder of a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Files without a name, which vanish with the process that writes them.
#[cfg(target_os = "linux")]
mod nameless {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags};

    /// Opens a file without a name in a folder. Returns `None` if the file system of the folder has no such files, or if
    /// the file could not get a name later.
    pub(super) fn create(folder: &Path, mode: u32) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open(folder, flags, Mode::from_raw_mode(mode)).ok()?;
        let file = File::from(file);
        fs::symlink_metadata(entry(&file)).ok()?;
        Some(file)
    }

    /// Gives the file a name.
    pub(super) fn name(file: &File, path: &Path) -> io::Result<()> {
        let entry = entry(file);
        rustix::fs::linkat(CWD, &*entry, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
        Ok(())
    }

    /// Returns the path by which the system finds an open file.
    fn entry(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }
}

/// Names the folder in which no file can be made, instead of the temporary file there.
fn with_cure(error: &io::Error, folder: &Path) -> io::Error {
    let (kind, folder) = (error.kind(), folder.display());
    let why = match kind {
        io::ErrorKind::NotFound => format!("there is no folder {folder}; make it first"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("{kind}: this user cannot write into the folder {folder}; name another")
        }
        _ => format!("{kind}: no file can be made in the folder {folder}"),
    };
    io::Error::new(kind, why)
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            #[cfg(target_os = "linux")]
            Target::Nameless(file, _) => file.write(bytes),
            Target::Beside(file, _) => file.write(bytes),
            Target::Through(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            #[cfg(target_os = "linux")]
            Target::Nameless(file, _) => file.flush(),
            Target::Beside(file, _) => file.flush(),
            Target::Through(file) => file.flush(),
        }
    }
}

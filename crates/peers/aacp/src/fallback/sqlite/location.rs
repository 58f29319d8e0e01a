//! The file of a registry in its folder: who can read it, and that it stays out of version control.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::fault::Fault;

/// The files that may stand beside a registry.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Creates the file for its owner alone, if it does not exist. In a work tree of Git, the file gets an entry in the
/// ignore file of its folder first.
pub(super) fn prepare(path: &Path) -> Result<(), Fault> {
    // An empty file is treated as a new one, because its creation may have been interrupted.
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        Ok(found) if found.len() > 0 => return closed(path),
        _ => ignore(path)?,
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => {}
        // Another process has just created the file.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.into()),
    }
    closed(path)
}

/// Checks that only the owner can read the file and the files beside it, to which SQLite gives the same mode.
pub(super) fn closed(path: &Path) -> Result<(), Fault> {
    is_closed(path)?;
    for end in BESIDE {
        is_closed(&beside(path, end))?;
    }
    Ok(())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(unix)]
fn is_closed(path: &Path) -> Result<(), Fault> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = match fs::metadata(path) {
        // The cure for a file of these rights would lock a folder up.
        Ok(found) if found.is_dir() => {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        Ok(found) => found.permissions().mode() & 0o777,
        // A file beside the registry may have been removed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let of_others = mode & 0o077;
    if of_others == 0 {
        return Ok(());
    }
    let file = path.display().to_string();
    Err(Fault::Open { file, mode })
}

/// On other systems the rights of a file come from its folder.
#[cfg(not(unix))]
fn is_closed(_: &Path) -> Result<(), Fault> {
    Ok(())
}

/// Adds the file and the files beside it to `.gitignore` in its folder, if the folder is in a work tree.
fn ignore(path: &Path) -> Result<(), Fault> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let above = folder.canonicalize()?;
    if !above.ancestors().any(|folder| folder.join(".git").exists()) {
        return Ok(());
    }
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        let text = "the name of a registry in a work tree must be UTF-8";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text).into());
    };
    let pattern = pattern(name);
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let mut file = options.open(folder.join(".gitignore"))?;
    // Another process may be creating the same registry, so the file is locked. Closing the file
    // releases the lock.
    file.lock()?;
    let mut found = Vec::new();
    file.read_to_end(&mut found)?;
    let mut lines = found.split(|byte| *byte == b'\n');
    if lines.any(|line| line.trim_ascii_end() == pattern.as_bytes()) {
        return Ok(());
    }
    let before = if found.is_empty() || found.ends_with(b"\n") {
        ""
    } else {
        "\n"
    };
    file.write_all(format!("{before}{pattern}\n").as_bytes())?;
    Ok(())
}

/// Returns the pattern for the ignore file: it matches the registry and the files beside the registry.
fn pattern(name: &str) -> String {
    let mut pattern = String::from("/");
    for character in name.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\' | ' ') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('*');
    pattern
}

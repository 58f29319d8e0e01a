//! The marker that shows that a caller of the model is alive: a locked file beside the registry.
//!
//! The system ends the lock with the process. So the next caller does not wait for the end of the lease of a killed
//! caller. The lease is still needed for a caller that hangs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The text between the name of the registry and the number of the caller.
const MARK: &str = "-call-";

/// The marker of a caller. Dropping this value removes the marker.
#[derive(Debug)]
pub(super) struct Call {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl Call {
    /// Creates the marker, before other processes can see the call, and removes the markers of killed callers. The
    /// caller holds the write lock of the registry, so no other process does this at the same time.
    pub(super) fn begin(registry: &Path, holder: u64) -> io::Result<Self> {
        sweep(registry)?;
        let path = sign(registry, holder);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        // If the file system has no locks, `is_alive` cannot get one either, and the lease decides.
        let _ = file.try_lock();
        Ok(Self { path, _file: file })
    }

    /// Returns whether a caller may be alive. The marker of a dead caller is removed.
    pub(super) fn is_alive(registry: &Path, holder: u64) -> bool {
        let path = sign(registry, holder);
        let file = match OpenOptions::new().write(true).open(&path) {
            Ok(file) => file,
            Err(error) => return error.kind() != io::ErrorKind::NotFound,
        };
        match file.try_lock() {
            Ok(()) => {
                // Another process may have removed the marker already.
                let _ = fs::remove_file(path);
                false
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // A marker that remains has no lock any more, because the lock ends with the open file.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the markers of dead callers.
fn sweep(registry: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (registry.parent(), registry.file_name()) else {
        return Ok(());
    };
    let front = format!("{}{MARK}", name.to_string_lossy());
    for file in fs::read_dir(folder)? {
        let name = file?.file_name();
        let holder = name.to_str().and_then(|name| name.strip_prefix(&front));
        if let Some(holder) = holder.and_then(|text| u64::from_str_radix(text, 16).ok()) {
            Call::is_alive(registry, holder);
        }
    }
    Ok(())
}

fn sign(registry: &Path, holder: u64) -> PathBuf {
    let mut name = registry.as_os_str().to_owned();
    name.push(format!("{MARK}{holder:016x}"));
    name.into()
}

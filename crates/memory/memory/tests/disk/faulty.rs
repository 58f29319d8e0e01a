//! Files on a disk that fails.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use accp_store::files::{Files, Os};

/// How the disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The disk is full, and takes nothing.
    Full,
    /// The disk is full, and takes half of the bytes.
    Half,
    /// The disk takes the bytes, but fails to sync them.
    Sync,
}

/// Files on a disk that fails at one call.
#[derive(Debug, Clone)]
pub(crate) struct Faulty(Rc<State>);

#[derive(Debug)]
struct State {
    fault: Fault,
    /// How many calls succeed before the failure.
    before: Cell<usize>,
    /// Whether the disk fails until somebody mends it.
    lasts: bool,
    broke: Cell<bool>,
    is_mended: Cell<bool>,
}

impl Faulty {
    /// Returns files that fail after this many calls: once, or until the disk is mended.
    pub(crate) fn after(before: usize, fault: Fault, lasts: bool) -> Self {
        Self(Rc::new(State {
            fault,
            before: Cell::new(before),
            lasts,
            broke: Cell::new(false),
            is_mended: Cell::new(false),
        }))
    }

    pub(crate) fn mend(&self) {
        self.0.is_mended.set(true);
    }

    /// Returns whether the disk has failed.
    pub(crate) fn broke(&self) -> bool {
        self.0.broke.get()
    }

    /// Returns whether this call fails.
    fn fails(&self, is_sync: bool) -> bool {
        let state = &self.0;
        let is_sound = state.is_mended.get() || state.broke.get() && !state.lasts;
        if is_sound || is_sync != (state.fault == Fault::Sync) {
            return false;
        }
        let before = state.before.get();
        state.before.set(before.saturating_sub(1));
        state.broke.set(before == 0);
        before == 0
    }

    fn written(
        &self,
        path: &Path,
        bytes: &[u8],
        write: impl Fn(&Path, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.fails(false) {
            return write(path, bytes);
        }
        if self.0.fault == Fault::Half {
            write(path, &bytes[..bytes.len() / 2])?;
        }
        Err(io::ErrorKind::StorageFull.into())
    }
}

impl Files for Faulty {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Os.read(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Os.resolve(path)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.written(path, bytes, |path, bytes| Os.append(path, bytes))
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.written(path, bytes, |path, bytes| Os.create(path, bytes))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.written(path, bytes, |path, bytes| Os.write(path, bytes))
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        Os.cut(path, length)
    }

    fn sync(&self, _: &Path) -> io::Result<()> {
        if self.fails(true) {
            return Err(io::Error::other("the disk has lost what it had"));
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Os.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Os.remove(path)
    }
}

//! Files that record every change to them, and fail on demand.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use accp_collab::disk::{Files, Os};

use crate::log::Log;
use crate::shim::Event;

/// A failure of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A write finds no room, once.
    Full,
    /// Every later write finds no room.
    StaysFull,
    /// A write stops half-way because there is no room.
    ShortWrite,
    /// A sync fails, once.
    Sync,
    /// Every later sync fails.
    StaysUnsynced,
    /// A rename fails.
    Rename,
}

/// The state of the simulated disk.
#[derive(Default)]
pub(crate) struct DiskStatus {
    pub(crate) fault: Option<(Fault, usize)>,
    pub(crate) broke: bool,
}

/// Files that record every change to them, and fail on demand.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) root: PathBuf,
    pub(crate) status: Rc<RefCell<DiskStatus>>,
    pub(crate) log: Log,
}

impl Recorded {
    pub(crate) fn new(root: &Path) -> Self {
        Self::on(root, &Log::default())
    }

    /// Makes files that record their changes in a log. Other writers may add events to the log, too.
    pub(crate) fn on(root: &Path, log: &Log) -> Self {
        Self {
            root: root.to_owned(),
            status: Rc::default(),
            log: log.clone(),
        }
    }

    pub(crate) fn name(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        below.to_string_lossy().into_owned()
    }

    pub(crate) fn tell(&self, event: Event) {
        self.log.tell(event);
    }

    /// If a fault is due that makes this operation fail, returns the fault. `hit` has the faults that concern the
    /// operation.
    fn fault(&self, hit: &[Fault]) -> Option<Fault> {
        let mut status = self.status.borrow_mut();
        let (fault, place) = status.fault.as_mut()?;
        if !hit.contains(fault) {
            return None;
        }
        let fault = *fault;
        if *place > 0 {
            *place -= 1;
            return None;
        }
        let stays = matches!(fault, Fault::StaysFull | Fault::StaysUnsynced);
        status.fault = status.fault.filter(|_| stays);
        status.broke = true;
        Some(fault)
    }

    /// Writes bytes at the end of a file. If a fault is due, writes only half of the bytes, or none.
    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let fault = self.fault(&[Fault::Full, Fault::StaysFull, Fault::ShortWrite]);
        let length = match fault {
            Some(Fault::ShortWrite) => bytes.len() / 2,
            Some(_) => 0,
            None => bytes.len(),
        };
        let at = fs::metadata(path)?.len();
        let part = &bytes[..length];
        Os.append(path, part)?;
        self.tell(Event::Write {
            file: self.name(path),
            at,
            bytes: part.to_vec(),
        });
        fault.map_or(Ok(()), |_| Err(io::ErrorKind::StorageFull.into()))
    }

    fn make(&self, path: &Path) -> io::Result<()> {
        if path.exists() {
            return Ok(());
        }
        Os.write(path, b"")?;
        self.tell(Event::Create(self.name(path)));
        Ok(())
    }
}

impl Files for Recorded {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Os.read(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Os.resolve(path)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make(path)?;
        self.put(path, bytes)
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.append(path, bytes)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make(path)?;
        self.cut(path, 0)?;
        self.put(path, bytes)
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        Os.cut(path, length)?;
        let file = self.name(path);
        self.tell(Event::Truncate { file, size: length });
        Ok(())
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        if self.fault(&[Fault::Sync, Fault::StaysUnsynced]).is_some() {
            return Err(io::Error::other("the sync failed"));
        }
        let name = self.name(path);
        self.tell(if path.is_dir() {
            Event::SyncFolder(name)
        } else {
            Event::Sync(name)
        });
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.fault(&[Fault::Rename]).is_some() {
            return Err(io::Error::other("the rename failed"));
        }
        Os.rename(from, to)?;
        let (from, to) = (self.name(from), self.name(to));
        self.tell(Event::Rename { from, to });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Os.remove(path)?;
        self.tell(Event::Delete(self.name(path)));
        Ok(())
    }
}

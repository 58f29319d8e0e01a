//! Writes the files of a session as cold state has them, and syncs them to the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use accp_registry::Hash;
use accp_store::files::Files;

use super::cold::{Cold, StoredFile};
use super::error::{ContextError, failed};
use crate::names::SessionId;
use crate::plan::FileLookup;

/// The folder of all files, below the root.
const CACHE: &str = "cache";
/// The file that names the session whose files may be unfinished, below the root.
const UNFINISHED: &str = "cache/.unfinished";

/// Writes files below a root.
pub(super) struct Writer<'w, F> {
    root: &'w Path,
    files: &'w F,
}

impl<'w, F: Files> Writer<'w, F> {
    pub(super) fn new(root: &'w Path, files: &'w F) -> Self {
        Self { root, files }
    }

    /// Returns whether there is a file, or something else, at this path below the root.
    pub(super) fn is_taken(&self, path: &str) -> bool {
        !matches!(self.files.resolve(&self.root.join(path)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }

    /// Notes that a session is about to write files. If this process does not finish them, the next one does.
    pub(super) fn begin(&self, id: &SessionId) -> Result<(), ContextError> {
        let path = self.root.join(UNFINISHED);
        let done = self.files.write(&path, id.as_str().as_bytes());
        done.map_err(|error| failed(&path, error))?;
        self.sync(&self.with_folders(&path))
    }

    /// Returns the session whose files may be unfinished.
    pub(super) fn unfinished(&self) -> Result<Option<SessionId>, ContextError> {
        let path = self.root.join(UNFINISHED);
        match self.files.read(&path) {
            // If the note itself was cut off, its session had not begun to write files, so no files
            // are unfinished.
            Ok(bytes) => Ok(std::str::from_utf8(&bytes)
                .ok()
                .and_then(|id| SessionId::new(id).ok())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, error)),
        }
    }

    /// Drops the note: all files are on the disk.
    pub(super) fn end(&self) -> Result<(), ContextError> {
        let path = self.root.join(UNFINISHED);
        match self.files.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, error)),
            _ => Ok(()),
        }
    }

    /// Writes the parts that files lack because of a crash, or because somebody removed a file. Syncs what was
    /// written.
    ///
    /// `last` is the step that may be unfinished. After a loss of power, its files may have any bytes.
    pub(super) fn complete(
        &self,
        cold: &mut Cold,
        files: &[StoredFile],
        last: Option<u64>,
    ) -> Result<(), ContextError> {
        let mut all: BTreeMap<&str, Vec<&StoredFile>> = BTreeMap::new();
        for file in files {
            all.entry(&file.path).or_default().push(file);
        }
        let mut unsure = BTreeSet::new();
        for (name, parts) in all {
            let path = self.root.join(name);
            let is_last = |part: &StoredFile| last.is_some_and(|last| part.is_of(last));
            let there = match self.files.read(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(failed(&path, error)),
            };
            let missing = missing(cold, &there, &parts, is_last)?;
            let missing = missing.ok_or_else(|| ContextError::Changed {
                path: name.to_owned(),
            })?;
            if !missing.text.is_empty() {
                let mut done = Ok(());
                if missing.from < there.len() {
                    done = self.files.cut(&path, missing.from as u64);
                }
                let done = done.and_then(|()| self.files.append(&path, &missing.text));
                done.map_err(|error| failed(&path, error))?;
            }
            // A file of the last step may be whole without being on the disk: its bytes were
            // written, and the crash came before the sync. So the file is synced again.
            if !missing.text.is_empty() || parts.iter().any(|part| is_last(part)) {
                unsure.extend(self.with_folders(&path));
            }
        }
        self.sync(&unsure)
    }

    /// Brings the folders of cold state to the disk. SQLite syncs its files and their names, and not the names of the
    /// folders above.
    pub(super) fn sync_folders(&self) -> Result<(), ContextError> {
        self.sync(&self.with_folders(&self.root.join(CACHE)))
    }

    /// Returns a path with the folders above it, up to the root. All these folders are synced: a file is safe only if
    /// its name in the folder is safe, too.
    fn with_folders(&self, path: &Path) -> BTreeSet<PathBuf> {
        path.ancestors()
            .filter(|at| !at.as_os_str().is_empty())
            .take_while(|at| at.starts_with(self.root))
            .map(Path::to_owned)
            .collect()
    }

    fn sync(&self, paths: &BTreeSet<PathBuf>) -> Result<(), ContextError> {
        paths.iter().try_for_each(|path| {
            let done = self.files.sync(path);
            done.map_err(|error| failed(path, error))
        })
    }
}

/// The end that a file lacks.
struct Missing {
    /// Where the text begins in the file. Bytes of the file from here on are wrong.
    from: usize,
    text: Vec<u8>,
}

/// Returns the text that a file lacks at its end. `None` if the file has other bytes than those that were written.
/// `parts` are in the order of the file.
fn missing(
    cold: &mut Cold,
    mut there: &[u8],
    parts: &[&StoredFile],
    is_last: impl Fn(&StoredFile) -> bool,
) -> Result<Option<Missing>, ContextError> {
    let mut missing = Missing {
        from: there.len(),
        text: Vec::new(),
    };
    for part in parts {
        let range = usize::try_from(part.from)
            .and_then(|from| Ok(from..from + usize::try_from(part.bytes)?));
        let Ok(range) = range else {
            return Ok(None);
        };
        if let Some(bytes) = there.get(range.clone())
            && Hash::of(bytes) == part.digest
        {
            continue;
        }
        let text = cold.file(part)?;
        // An unfinished write may have left a part of the text in the file.
        let begun = there.get(range.start..).unwrap_or_default();
        let rest = text.as_bytes().strip_prefix(begun);
        match rest {
            Some(rest) if missing.from + missing.text.len() == range.start + begun.len() => {
                missing.text.extend_from_slice(rest);
            }
            None if is_last(part) && missing.text.is_empty() => {
                there = &there[..range.start];
                missing.from = range.start;
                missing.text.extend_from_slice(text.as_bytes());
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(missing))
}

/// Looks up files on the disk for a plan.
pub(super) struct DiskLookup<'h, F> {
    pub(super) root: &'h Path,
    pub(super) work: &'h Path,
    pub(super) files: &'h F,
    /// The root that commands in the texts of a list name; `None` if these commands name no root.
    pub(super) named: Option<&'h str>,
}

impl<F: Files> FileLookup for DiskLookup<'_, F> {
    fn is_taken(&self, path: &str) -> bool {
        Writer::new(self.root, self.files).is_taken(path)
    }

    fn written(&self, path: &str) -> Option<String> {
        String::from_utf8(self.files.read(&self.work.join(path)).ok()?).ok()
    }

    fn root(&self) -> Option<String> {
        self.named.map(str::to_owned)
    }
}

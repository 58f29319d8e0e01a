//! Folders on a disk: read, locked, written and watched.
//!
//! An event is in the log, and synced, before [`Shared::append`] returns. `protocol.json` has a copy of the state,
//! and is replaced as a whole. If the copy is behind, the log decides.
//!
//! ```
//! use accp_collab::disk::{Draft, Shared};
//! use accp_collab::{Mode, FolderSettings};
//!
//! let dir = tempfile::tempdir()?;
//! let shared = Shared::new(dir.path().join("round"));
//! let settings = FolderSettings {
//!     participants: vec!["ada".into(), "bob".into()],
//!     objective: "Choose a store".into(),
//!     gates: vec!["It is fast".into()],
//!     kind: Some(accp_collab::Kind::Adr),
//!     file: None,
//!     checklist: vec![],
//!     mode: Mode::Internal,
//!     dir: "deliverables".into(),
//!     repo_root: None,
//! };
//! shared.init(settings, false).unwrap();
//! let draft = Draft {
//!     reply_to: Some(1),
//!     doc: Some("deliverables/adr.md".into()),
//!     role: Some(accp_collab::Role::Primary),
//!     ..Draft::new("ada", "deliverable_drafted", "A first draft")
//! };
//! let appended = shared.append(&draft).unwrap();
//! assert_eq!((appended.event.seq, appended.state.phase().as_str()), (2, "drafting"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod append;
mod declare;
mod init;
#[cfg(feature = "link")]
mod link;
mod lock;
mod repair;
mod review;
mod source;
mod wait;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::finding::{Code, Finding};
use crate::folder::{Folder, Scope, missing};
use crate::protocol::PROTOCOL_FILE;

pub use accp_store::files::{Files, MOST_BYTES, Os};
pub use append::{Appended, Draft};
pub use declare::Declaration;
pub use init::Made;
#[cfg(feature = "link")]
pub use link::FolderLink;
pub use lock::Locking;
pub use repair::Repaired;
pub use wait::{Ready, Reason, Waiting};

/// A folder that several processes share.
#[derive(Debug, Clone)]
pub struct Shared<F = Os> {
    path: PathBuf,
    locking: Locking,
    patience: Duration,
    files: F,
}

impl Shared {
    /// Names a folder. Nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::on(Os, path)
    }
}

impl<F: Files> Shared<F> {
    /// Names a folder that is reached through `files`, and not through the files of the system.
    pub fn on(files: F, path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            locking: Locking::System,
            patience: Duration::from_secs(30),
            files,
        }
    }

    /// Chooses the kind of lock. All participants of a folder have to choose the same.
    #[must_use]
    pub fn with_locking(mut self, locking: Locking) -> Self {
        self.locking = locking;
        self
    }

    /// Chooses how long a writer waits for the lock. The default is 30 seconds.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the folder.
    pub fn read(&self, scope: Scope) -> Folder {
        let mut source = source::OfFolder::new(&self.files, &self.path);
        Folder::read(&mut source, scope)
    }

    /// Takes the lock of a folder with a protocol.json. In any other folder it makes no lock file, and
    /// fails.
    fn lock_there(&self) -> Result<lock::Held, Vec<Finding>> {
        let resolve = |path: &Path| self.files.resolve(path).map_err(|error| error.kind());
        let protocol = self.path.join(PROTOCOL_FILE);
        if resolve(&self.path).is_ok() && resolve(&protocol) == Err(ErrorKind::NotFound) {
            let code = Code::ProtocolMissing;
            let missing = missing(PROTOCOL_FILE);
            return Err(vec![Finding { code, ..missing }]);
        }
        self.lock()
    }

    fn lock(&self) -> Result<lock::Held, Vec<Finding>> {
        lock::take(&self.files, &self.path, self.locking, self.patience)
    }
}

/// Makes the finding for a file that cannot be written.
fn unwritable(path: &Path, error: &std::io::Error) -> Finding {
    let cure = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room, and try again",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "give this user the right to write into the folder"
        }
        ErrorKind::NotFound => "restore it from a copy, and try again",
        ErrorKind::IsADirectory | ErrorKind::InvalidInput => "put a file there, and try again",
        ErrorKind::FileTooLarge => "make it shorter, and try again",
        _ => "look after the disk, and try again",
    };
    let text = format!("the file cannot be written ({error}); {cure}");
    Finding::new(Code::Unwritable, text).within(&path.display().to_string(), None)
}

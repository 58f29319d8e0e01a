//! The errors of a session that keeps its files below a root folder.

use std::io;
use std::path::Path;

use super::cold::ColdError;
use crate::names::SessionId;
use crate::plan::PlanError;

/// Why a call on a session failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The list, the session or the window does not allow a list to be returned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Cold state cannot be read or written.
    #[error(transparent)]
    Cold(#[from] ColdError),
    /// A file cannot be read or written.
    #[error("{path}: {source}; {cure}")]
    Files {
        /// The path.
        path: String,
        /// What can be done.
        cure: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A file has other bytes than those that the session wrote.
    #[error(
        "{path}: the file is not what was written there (its SHA-256 differs); take it back from a copy, or remove it, \
         and it is written again"
    )]
    Changed {
        /// The path below the root.
        path: String,
    },
    /// There is already a file at a path that the session is about to begin.
    #[error(
        "{path}: the session is about to begin this file, and it is there already; take `cache/cold.accp` back from a \
         copy if it is gone, or move the file away, or give another id (`--session`)"
    )]
    Taken {
        /// The path below the root.
        path: String,
    },
    /// The conversation has no such message.
    #[error(
        "there is no message {message}; the conversation has {of}, and the first has the index 0"
    )]
    NoMessage {
        /// The index that was asked for.
        message: usize,
        /// How many messages there are.
        of: usize,
    },
    /// The session has no such checkpoint.
    #[error("there is no checkpoint {number}; the session has {of}, from 1 on")]
    NoCheckpoint {
        /// The number that was asked for.
        number: u64,
        /// How many checkpoints there are.
        of: u64,
    },
    /// There is no such session.
    #[error(
        "there is no session {id} below {root}; name the folder of its sessions (`--root`), or begin it: `accp context \
         compress --session {id}`"
    )]
    NoSession {
        /// The id.
        id: String,
        /// The root.
        root: String,
    },
}

impl ContextError {
    pub(super) fn missing(root: &Path, id: &SessionId) -> Self {
        Self::NoSession {
            id: id.as_str().to_owned(),
            root: root.display().to_string(),
        }
    }
}

/// Returns the error for a file or folder, with what can be done.
pub(super) fn failed(path: &Path, source: io::Error) -> ContextError {
    let cure = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, and try again",
        io::ErrorKind::FileTooLarge => "raise the limit for files (`ulimit -f`), and try again",
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotFound => {
            "give a root that this program may write (`--root`), and try again"
        }
        io::ErrorKind::NotADirectory
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::IsADirectory => {
            "move away what stands there, or give another root (`--root`)"
        }
        _ => "try again when the cause is gone",
    };
    ContextError::Files {
        path: path.display().to_string(),
        cure,
        source,
    }
}

//! Errors of a store.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::side::SideId;

/// An error of a store: its kind, the store and the side at fault, and a text that says what helps.
///
/// A host or member must send nothing of a commit that failed.
#[derive(Clone)]
pub struct StoreError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: StoreErrorKind,
    store: Option<String>,
    side: Option<SideId>,
    text: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The cause of a [`StoreError`], which tells what helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another process holds the lock: try again.
    Busy,
    /// The disk is full: free space, then try again.
    Full,
    /// The disk or its file system failed: open the store anew.
    Io,
    /// The store holds damaged data: take a copy back from a backup.
    Corrupt,
    /// Another version wrote the file: update, or export the sessions with the version that
    /// wrote it.
    Version,
    /// The file is not a store of sessions: give the name of another file.
    Foreign,
    /// The store is empty, because the program that creates it has not finished: run that program
    /// again.
    Unfinished,
    /// The file is not at its place any more: it was removed, moved or replaced while it was open. No other
    /// process finds what is committed now. Put the file back, or a copy from a backup, then open the
    /// store anew.
    Gone,
    /// A batch does not fit the data in the store, probably because a second process runs the same
    /// side: close one of the two, then restore the session.
    Conflict,
    /// The application could not write its rows along with a batch: restore its session, and have
    /// the frame handled again.
    Rows,
}

impl StoreError {
    /// Makes an error with this text, which says what was expected, what was found, and what helps.
    pub fn new(kind: StoreErrorKind, text: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            store: None,
            side: None,
            text: text.into(),
            source: None,
        }))
    }

    /// Names the store, such as its file.
    pub fn in_store(mut self, store: &str) -> Self {
        self.0.store = Some(store.into());
        self
    }

    /// Names the side at fault.
    pub fn in_side(mut self, side: &SideId) -> Self {
        self.0.side = Some(side.clone());
        self
    }

    /// Names the error that caused this error.
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into().into());
        self
    }

    /// Returns the kind of the error, which tells what helps.
    pub fn kind(&self) -> StoreErrorKind {
        self.0.kind
    }

    /// Returns whether the data itself is at fault, so that opening the store again does not help.
    pub fn is_damage(&self) -> bool {
        let kind = self.kind();
        matches!(
            kind,
            StoreErrorKind::Corrupt | StoreErrorKind::Version | StoreErrorKind::Foreign
        )
    }

    /// Returns the side at fault. In a group that was refused, this is the side that caused the
    /// refusal.
    pub fn side(&self) -> Option<&SideId> {
        self.0.side.as_ref()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.store, &self.0.side) {
            (Some(store), Some(side)) => write!(f, "{store}, side `{side}`: ")?,
            (Some(store), None) => write!(f, "{store}: ")?,
            (None, Some(side)) => write!(f, "side `{side}`: ")?,
            (None, None) => {}
        }
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("StoreError");
        debug.field("kind", &self.0.kind);
        debug.field("text", &self.to_string());
        if let Some(source) = &self.0.source {
            debug.field("source", source);
        }
        debug.finish()
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0.source {
            Some(source) => Some(source.as_ref()),
            None => None,
        }
    }
}

//! The list of changes, and the words for them.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::breaking::{Breaking, Broken, REFUSED_FIELD, breaks};
use crate::model::FrameSpec;
use crate::protocol::Protocol;

/// A difference between two registries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The JSON pointer (RFC 6901) of the changed part, in the registry that holds it.
    pub pointer: String,
    /// The change, from the old state to the new one.
    pub description: String,
    /// How the change breaks a peer; `None` if it does not.
    pub breaking: Option<Breaking>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.description)?;
        match self.breaking {
            Some(breaking) => write!(f, "\n    {breaking}"),
            None => Ok(()),
        }
    }
}

/// The changes that are found so far.
pub(super) struct Changes {
    pub(super) protocol: &'static Protocol,
    pub(super) list: Vec<Change>,
}

impl Changes {
    /// Names a frame in a description: `frame req:plan`
    pub(super) fn what(&self, frame: &FrameSpec) -> String {
        format!("{} {}", self.protocol.noun, self.title(frame))
    }

    pub(super) fn title(&self, frame: &FrameSpec) -> String {
        self.protocol.title(&frame.head)
    }

    pub(super) fn push(
        &mut self,
        pointer: String,
        description: String,
        breaking: Option<Breaking>,
    ) {
        self.list.push(Change {
            pointer,
            description,
            breaking,
        });
    }

    /// Adds the change once for each way in which it breaks a reader. If it breaks no reader, adds it once.
    pub(super) fn push_each(
        &mut self,
        pointer: &str,
        description: &str,
        breaking: impl IntoIterator<Item = Breaking>,
    ) {
        let mut breaking = breaking.into_iter();
        let first = breaking.next();
        self.push(pointer.to_string(), description.to_string(), first);
        for more in breaking {
            self.push(pointer.to_string(), description.to_string(), Some(more));
        }
    }

    /// Adds a change from one text to another.
    pub(super) fn compare<T: PartialEq + fmt::Display + ?Sized>(
        &mut self,
        pointer: &str,
        what: &str,
        old: &T,
        new: &T,
        breaking: impl IntoIterator<Item = Breaking>,
    ) {
        if old != new {
            let description = format!("the {what} changed from `{old}` to `{new}`");
            self.push_each(pointer, &description, breaking);
        }
    }

    /// Adds the change that a field is now required, or no longer.
    pub(super) fn required(&mut self, at: &str, name: &str, frame: &str, now: bool) {
        let (now, reader) = if now {
            ("now", Broken::New)
        } else {
            ("no longer", Broken::Old)
        };
        let description = format!("`{name}` is {now} required{frame}");
        self.push(at.to_string(), description, breaks(reader, REFUSED_FIELD));
    }
}

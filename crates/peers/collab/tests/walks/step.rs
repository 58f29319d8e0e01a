//! A step of a walk.

use crate::walks::line::Line;

/// Files and what is written into them; `None` removes the file.
pub(crate) type Writes = Vec<(String, Option<Vec<u8>>)>;

/// An event that is appended, or files that are written, and why.
pub(crate) enum Step {
    Append(Line),
    Write(String, Writes),
}

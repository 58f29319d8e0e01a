//! Faults of a view, in words for its author.

use std::fmt;

use accp_frame::ErrorCode;

/// The most characters of the view that a fault repeats.
const EXCERPT: usize = 24;

/// All reasons why a view cannot be read, one per line, to be sent back to the model that wrote the view.
///
/// A fault repeats a piece of the view. So show the text only to the author of the view.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::Registry;
/// use accp_runtime::view::View;
///
/// let view = View::new(Arc::new(Registry::standard()));
/// let text = "@me>req:schedule TA(dev,impl_auth,urgent)\n@me>done:schedule TA(dev,,,,,,lots)\n";
/// assert_eq!(view.read(text).unwrap_err().to_string(), "\
/// E1004 in block 2, line 2, TA.progress: expected an integer of 64 bits, found `lots`
/// E1004 in block 2, line 2, TA: expected the field task, which schema TA requires, found `)`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewError {
    faults: Vec<Fault>,
}

/// A reason why a view cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// E1001 for the form, E1002 for an intent, E1003 for the code of a schema, E1004 for a value
    /// that does not fit its field and for a field that is missing.
    pub code: ErrorCode,
    /// The byte in the text, from 0.
    pub at: usize,
    /// The block, from 1; 0 before the first block. Definitions and facts are blocks.
    pub block: usize,
    /// The line of the text, from 1.
    pub line: usize,
    /// The field: `TA.deps[1]`; empty outside of fields.
    pub path: String,
    /// What was expected there, and the cure.
    pub expected: String,
    /// The beginning of the text at this place; empty at the end of a line.
    pub found: String,
}

impl ViewError {
    /// Finds the line of each fault in the text, and returns the faults as an error.
    ///
    /// # Errors
    /// When there are faults.
    pub(super) fn check(text: &str, faults: Vec<Unplaced>) -> Result<(), Self> {
        if faults.is_empty() {
            return Ok(());
        }
        let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let faults = faults.into_iter().map(|fault| Fault {
            code: fault.code,
            at: fault.at,
            block: fault.block,
            line: lines.partition_point(|line| *line < fault.at) + 1,
            path: fault.path,
            expected: fault.expected,
            found: excerpt(text.get(fault.at..).unwrap_or_default()),
        });
        let faults = faults.collect();
        Err(Self { faults })
    }

    /// Returns the faults in the order in which they were found. There is at least one.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            f.write_str(if at > 0 { "\n" } else { "" })?;
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ViewError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in block {}, line {}",
            self.code, self.block, self.line
        )?;
        if !self.path.is_empty() {
            write!(f, ", {}", self.path)?;
        }
        write!(f, ": expected {}", self.expected)?;
        match &*self.found {
            "" => f.write_str(", found the end of the line"),
            found => write!(f, ", found `{found}`"),
        }
    }
}

/// Returns the beginning of a line, up to the first mark that may end a value.
fn excerpt(rest: &str) -> String {
    let ends = |(at, c): (usize, char)| c == '\n' || at > 0 && ",)]}".contains(c);
    let found = rest.char_indices().take_while(|next| !ends(*next));
    found.map(|(_, c)| c).take(EXCERPT).collect()
}

/// A fault whose line is not known yet.
#[derive(Debug)]
pub(super) struct Unplaced {
    pub(super) code: ErrorCode,
    pub(super) at: usize,
    pub(super) block: usize,
    pub(super) path: String,
    pub(super) expected: String,
}

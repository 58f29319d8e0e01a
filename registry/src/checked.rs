//! Reads JSON documents that people write, and reports every mistake with its place and its cure. The readers of
//! registries, vocabularies and workflows use this module.

use alloc::vec::Vec;

use serde_json::Value;

use crate::accp::ACCP;
use crate::assemble::Source;
use crate::problem::{Problem, Problems};

pub use crate::json::child;
pub use crate::reader::{Reader, suggest};

/// Reads a document. `read` reports each mistake with its JSON pointer.
///
/// # Errors
/// A text that is not JSON; each key that stands twice; all problems that `read` reports, in the
/// order of the text.
///
/// ```
/// use accp_registry::checked;
///
/// let read = |text| {
///     checked::document("names.json", text, |reader, json| {
///         let names = reader.strings("", Some(json));
///         names.into_iter().map(|(_, name)| name.to_owned()).collect::<Vec<_>>()
///     })
/// };
/// assert_eq!(read(r#"["a", "b"]"#).unwrap(), ["a", "b"]);
/// assert_eq!(
///     read("[\"a\",\n 1]").unwrap_err().to_string(),
///     "names.json:2:2 at /1: expected a string, found the integer 1\n    replace it with a string",
/// );
/// ```
pub fn document<T>(
    file: &str,
    text: &str,
    read: impl FnOnce(&mut Reader<'_>, &Value) -> T,
) -> Result<T, Problems> {
    let source = Source::parse(Some(file), text)?;
    let mut problems: Vec<Problem> = source.duplicates().collect();
    let mut reader = Reader {
        protocol: &ACCP,
        problems: &mut problems,
    };
    let found = read(&mut reader, source.json());
    if problems.is_empty() {
        return Ok(found);
    }
    Err(Problems::new(source.place(problems)))
}

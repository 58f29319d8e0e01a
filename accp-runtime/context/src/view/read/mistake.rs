//! The mistakes that the lenient reader repairs.

use std::fmt;

/// A mistake that models make in views, and that [`View::read_lenient`](crate::view::View::read_lenient)
/// repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Mistake {
    /// A code fence around blocks.
    Fence,
    /// Other text around the blocks.
    Prose,
    /// Marks of lists, quotes or code around a block.
    Mark,
    /// A block without its `@`.
    Sender,
    /// An intent in capitals.
    Intent,
    /// A frame as peers write it, in place of a block.
    Frame,
    /// Spaces or line breaks where none belong, or no space where one belongs.
    Spaces,
    /// No code of a schema where only one schema fits, or the schema's name in place of its code.
    Code,
    /// A text that has to be a JSON string and is not, or a number in quotes.
    Quotes,
    /// A value in a spelling that its type does not have: `True`, `12.0`, `null`, `@dev`.
    Spelling,
    /// A separator too many, or `=` after a key.
    Separator,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mistake::Fence => "no code fence around blocks",
            Mistake::Prose => "text outside of the blocks is left out",
            Mistake::Mark => "no marks around a block",
            Mistake::Sender => "a block begins with '@'",
            Mistake::Intent => "an intent is in small letters",
            Mistake::Frame => "a block, and not a frame as peers write it",
            Mistake::Spaces => "spaces and line breaks only as in the form",
            Mistake::Code => "a record begins with the code of its schema",
            Mistake::Quotes => "only such a text is a JSON string",
            Mistake::Spelling => "a value is spelt as its type demands",
            Mistake::Separator => "',' stands between values and ':' behind a key",
        })
    }
}

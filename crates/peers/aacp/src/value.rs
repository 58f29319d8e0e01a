//! Values of fields: the trait for Rust types that hold a value, and the writer of a value.

mod impls;

use std::fmt::{Display, Write as _};

use crate::class::{SEPARATOR, forbidden_at, is_clean};
use crate::error::{ValueError, WriteError, WriteFault};
use crate::finding::{Code, Finding};

type Result<T> = std::result::Result<T, WriteError>;

/// A value of a field, as a Rust type. A text type can hold every value. A list is a value with commas.
///
/// ```
/// use accp_aacp::PacketValue;
///
/// assert_eq!(<Vec<u32>>::read("1,2"), Ok(vec![1, 2]));
/// assert!(<bool>::read("yes").is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value of a packet",
    note = "text (`&str`, `Cow<str>`, `String`), integers, `bool` and a `Vec` of these are"
)]
pub trait PacketValue<'p>: Sized {
    /// Reads a value as it stands in the packet.
    ///
    /// # Errors
    /// What was expected.
    fn read(value: &'p str) -> std::result::Result<Self, ValueError>;

    /// Writes the value.
    ///
    /// # Errors
    /// A character that cannot stand in a value.
    fn write(&self, writer: &mut ValueWriter<'_>) -> Result<()>;
}

/// Writes one value.
#[derive(Debug)]
pub struct ValueWriter<'w> {
    out: &'w mut String,
    is_item: bool,
}

impl<'w> ValueWriter<'w> {
    pub(crate) fn new(out: &'w mut String) -> Self {
        Self {
            out,
            is_item: false,
        }
    }

    /// Appends a text to the value.
    ///
    /// # Errors
    /// A character that cannot stand in a value; in an item of a list, `,` is one too.
    pub fn text(&mut self, text: &str) -> Result<()> {
        plain(text)?;
        if self.is_item && text.bytes().any(|byte| byte == b',') {
            return Err(WriteError::new(WriteFault::Comma));
        }
        self.out.push_str(text);
        Ok(())
    }

    /// Appends a number, whose text has digits and a sign only.
    pub(crate) fn number(&mut self, number: impl Display) {
        // A `String` takes every text.
        let _ = write!(self.out, "{number}");
    }

    /// Appends the text that a value displays.
    ///
    /// # Errors
    /// As [`ValueWriter::text`].
    pub fn display(&mut self, value: impl Display) -> Result<()> {
        self.text(&value.to_string())
    }

    /// Writes the items of a list, with commas between them.
    ///
    /// # Errors
    /// An item with `,`: so a list of lists cannot be written. A list whose only item is empty.
    pub fn list<'p, T: PacketValue<'p>>(&mut self, items: &[T]) -> Result<()> {
        if self.is_item && items.len() > 1 {
            return Err(WriteError::new(WriteFault::Comma));
        }
        let start = self.out.len();
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            let mut writer = ValueWriter {
                out: self.out,
                is_item: true,
            };
            item.write(&mut writer)?;
        }
        if items.len() == 1 && self.out.len() == start {
            return Err(WriteError::new(WriteFault::EmptyItem));
        }
        Ok(())
    }
}

/// Refuses the characters that cannot stand in a field.
#[inline]
pub(crate) fn plain(text: &str) -> Result<()> {
    if is_clean(text) {
        return Ok(());
    }
    odd(text)
}

/// Checks a text that is not clean ASCII, as [`plain`] does.
#[cold]
fn odd(text: &str) -> Result<()> {
    if forbidden_at(text).is_some() {
        let finding = Finding::error(Code::ControlCharacter);
        return Err(WriteError::new(WriteFault::Finding(finding)));
    }
    if text.contains(SEPARATOR) {
        return Err(WriteError::new(WriteFault::Separator));
    }
    Ok(())
}

//! Errors that the compiler composes while it evaluates constants.

/// The greatest number of bytes of an error; a longer text is cut.
const SPACE: usize = 1024;

/// The text of an error.
#[derive(Debug)]
pub struct ConstError {
    bytes: [u8; SPACE],
    length: usize,
}

impl ConstError {
    /// Returns the text.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            // A registry's names are ASCII, so no character is cut.
            Err(_) => "the variants are not those of the registry",
        }
    }

    pub(super) const fn of(start: &str) -> Self {
        let empty = Self {
            bytes: [0; SPACE],
            length: 0,
        };
        empty.and(start.as_bytes())
    }

    pub(super) const fn and(mut self, text: &[u8]) -> Self {
        let mut at = 0;
        while at < text.len() && self.length < SPACE {
            self.bytes[self.length] = text[at];
            self.length += 1;
            at += 1;
        }
        self
    }
}

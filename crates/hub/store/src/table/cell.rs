//! The values of columns, and the checksum of a row.

use std::fmt::Write as _;

use accp_session::Mid;

use crate::changes::{Conflict, checked};

/// The value of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Integer(i64),
    /// No column of the format has this type. A value of this type shows that the table is damaged, or is not of the
    /// format.
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "only SQLite has columns without a type")
    )]
    Real(f64),
    /// A text, which is UTF-8 unless it is damaged.
    Text(&'a [u8]),
    Bytes(&'a [u8]),
}

/// Converts a number to the value of a column.
pub(crate) fn integer(number: u64) -> Result<Cell<'static>, Conflict> {
    Ok(Cell::Integer(checked(number)? as i64)) // it fits
}

pub(crate) fn text(text: &str) -> Cell<'_> {
    Cell::Text(text.as_bytes())
}

/// A message id as a column keeps it: 48 bits, or its name.
pub(crate) enum MidCell {
    Bits(i64),
    Name(String),
}

impl MidCell {
    pub(crate) fn new(mid: &Mid) -> Self {
        match mid.as_bits() {
            Some(bits) => Self::Bits(bits as i64), // 48 bits
            None => Self::Name(mid.to_string()),
        }
    }

    pub(crate) fn cell(&self) -> Cell<'_> {
        match self {
            Self::Bits(bits) => Cell::Integer(*bits),
            Self::Name(name) => text(name),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}"); // writing to a String cannot fail
        hex
    })
}

/// Returns the CRC-32 of columns. Each column adds one byte for its type, and 8 bytes in little-endian order. The 8
/// bytes hold the number, or the length of the text or of the bytes. The text or the bytes follow after them.
pub(crate) fn checksum(cells: &[Cell<'_>]) -> i64 {
    let mut crc = Crc::default();
    for cell in cells {
        crc.cell(*cell);
    }
    crc.finish()
}

struct Crc {
    hasher: crc32fast::Hasher,
    /// Short pieces are gathered, because the hasher is faster with long ones.
    short: [u8; 128],
    length: usize,
}

impl Default for Crc {
    fn default() -> Self {
        Self {
            hasher: crc32fast::Hasher::new(),
            short: [0; 128],
            length: 0,
        }
    }
}

impl Crc {
    fn cell(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Null => self.head(0, 0),
            Cell::Integer(number) => self.head(1, number),
            Cell::Real(number) => self.head(4, number.to_bits() as i64),
            Cell::Text(bytes) => self.bytes(2, bytes),
            Cell::Bytes(bytes) => self.bytes(3, bytes),
        }
    }

    fn head(&mut self, tag: u8, number: i64) {
        if self.length + 9 > self.short.len() {
            self.flush();
        }
        self.short[self.length] = tag;
        self.short[self.length + 1..self.length + 9].copy_from_slice(&number.to_le_bytes());
        self.length += 9;
    }

    fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.head(tag, bytes.len() as i64);
        self.flush();
        self.hasher.update(bytes);
    }

    fn flush(&mut self) {
        self.hasher.update(&self.short[..self.length]);
        self.length = 0;
    }

    fn finish(mut self) -> i64 {
        self.flush();
        i64::from(self.hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_format() {
        let cells = [
            Cell::Integer(-2),
            Cell::Null,
            Cell::Text(b"ab"),
            Cell::Bytes(b"c"),
        ];
        let bytes = [
            &[1, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[2, 2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b'],
            &[3, 1, 0, 0, 0, 0, 0, 0, 0, b'c'],
        ];
        assert_eq!(
            checksum(&cells),
            i64::from(crc32fast::hash(&bytes.concat()))
        );
    }
}

//! Splits an input into the texts of its JSON values, one at a time.

use std::io::{self, BufRead};

/// Splits an input into the texts of its JSON values. Only the text of one value is kept.
#[derive(Debug)]
pub(super) struct Scanner<R> {
    input: R,
    bytes: u64,
    place: Place,
}

/// The place of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The line, from 1.
    pub(super) line: u64,
    /// The column in bytes, from 1.
    pub(super) column: u64,
}

/// How the text of a value ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// At its last byte, or where the text cannot be JSON any more.
    Here,
    /// After this many bytes, at the end of its first line: the second line is a value of its own.
    Cut(usize),
}

/// How a byte belongs to the value that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A byte of the value.
    More,
    /// The end of a line within the value.
    Line,
    /// The last byte of the value.
    Last,
    /// A byte behind the value. The value ended before this byte.
    Before,
}

/// The arrays, objects and strings that the bytes read so far have not closed.
#[derive(Debug, Default)]
struct Open {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    lines: usize,
}

impl<R: BufRead> Scanner<R> {
    pub(super) fn new(input: R) -> Self {
        let place = Place { line: 1, column: 1 };
        Self {
            input,
            bytes: 0,
            place,
        }
    }

    /// Returns the number of bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the place of the next byte.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Reads all that is left.
    pub(super) fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.input.read_to_end(&mut rest)?;
        self.bytes += rest.len() as u64;
        Ok(rest)
    }

    /// Skips the byte order mark of UTF-8. Returns whether the mark is that of UTF-16.
    pub(super) fn skip_mark(&mut self) -> io::Result<bool> {
        for byte in *b"\xEF\xBB\xBF" {
            if self.peek()? != Some(byte) {
                break;
            }
            self.skip()?;
        }
        self.place.column = 1;
        Ok(matches!(self.peek()?, Some(0xFE | 0xFF)))
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    /// Skips a byte.
    pub(super) fn skip(&mut self) -> io::Result<()> {
        if let Some(byte) = self.peek()? {
            self.pass(&[byte]);
            self.input.consume(1);
        }
        Ok(())
    }

    /// Counts bytes that were read.
    fn pass(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let after = bytes
            .iter()
            .rev()
            .take_while(|byte| **byte != b'\n')
            .count();
        let lines = bytes.split(|byte| *byte == b'\n').count() - 1;
        self.place.line += lines as u64;
        self.place.column = if lines == 0 { self.place.column } else { 1 } + after as u64;
    }

    /// Skips white space, and returns the byte behind it.
    pub(super) fn next(&mut self) -> io::Result<Option<u8>> {
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.skip()?;
        }
        Ok(None)
    }

    /// Reads the text of the value that begins here. `is_value` tells whether a line is a value of
    /// its own.
    pub(super) fn value(
        &mut self,
        out: &mut Vec<u8>,
        is_value: impl Fn(&[u8]) -> bool,
    ) -> io::Result<End> {
        out.clear();
        let mut open = Open::default();
        let mut first_line = 0;
        loop {
            let chunk = self.input.fill_buf()?;
            let at_end = chunk.is_empty();
            let (mut taken, mut step) = (0, Step::More);
            for byte in chunk {
                step = open.step(*byte);
                if step == Step::Before {
                    break;
                }
                taken += 1;
                if step != Step::More {
                    break;
                }
            }
            let before = out.len();
            if step == Step::Before && before + taken == 0 {
                // No value begins with this byte. The reader takes the byte all the same, or else it would stop here
                // forever.
                taken = 1;
            }
            out.extend_from_slice(&chunk[..taken]);
            self.input.consume(taken);
            self.pass(&out[before..]);
            let is_line = step == Step::Line;
            let is_over = at_end || matches!(step, Step::Last | Step::Before);
            if is_line || at_end {
                open.lines += 1;
                match open.lines {
                    1 => first_line = out.len(),
                    2 if is_value(&out[first_line..]) => return Ok(End::Cut(first_line)),
                    _ => {}
                }
            }
            if is_over {
                return Ok(End::Here);
            }
        }
    }
}

impl Open {
    fn step(&mut self, byte: u8) -> Step {
        if self.in_string {
            let was_escaped = std::mem::replace(&mut self.is_escaped, false);
            match byte {
                // A string of JSON has no line break, so the value was broken off before this byte.
                b'\n' => return Step::Before,
                b'\\' => self.is_escaped = !was_escaped,
                b'"' if !was_escaped => {
                    self.in_string = false;
                    return self.end();
                }
                _ => {}
            }
            return Step::More;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                return self.end();
            }
            b'\n' if self.depth > 0 => return Step::Line,
            b'}' | b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => {
                return Step::Before;
            }
            _ => {}
        }
        Step::More
    }

    fn end(&self) -> Step {
        if self.depth == 0 {
            Step::Last
        } else {
            Step::More
        }
    }
}

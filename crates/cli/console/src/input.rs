//! The input of a command: a file or stdin, read line by line in bounded memory.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::str::Utf8Error;

use accp_frame::Limits;

use crate::outcome::Failure;
use crate::output;

/// The greatest number of bytes of a line that are kept. One byte more than a frame may have shows that a frame is
/// too long.
const LINE_BYTES: usize = Limits::DEFAULT.frame_bytes + 1;

/// How messages describe the characters that a frame may have.
pub const PRINTABLE: &str = "printable ASCII (a text value writes other characters as %XX)";

/// The byte order mark that some editors write at the start of a file. It is not part of a line.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// The argument that names the input of most commands.
#[derive(Debug, clap::Args)]
pub struct InputArg {
    /// The file to read; stdin by default, or for `-`
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

impl InputArg {
    /// Opens the named file, or stdin.
    pub fn open(&self) -> Result<Input, Failure> {
        Input::open(self.file.as_deref())
    }
}

/// An open input, with its name for reports.
pub struct Input {
    /// The path as it was given, or `stdin`.
    pub name: String,
    /// The bytes that are left.
    pub reader: Box<dyn BufRead>,
}

/// A stream that may let the command wait: stdin, or a pipe that has a name. Before it waits, the command writes out
/// what it has to say of the lines before.
struct Slow<R>(R);

impl<R: Read> Read for Slow<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        output::before_a_wait();
        self.0.read(buffer)
    }
}

impl Input {
    /// Opens the file, or stdin if there is no path or the path is `-`.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        match path {
            Some(path) if path != Path::new("-") => {
                let file = File::open(path).map_err(Failure::at(path))?;
                let found = file.metadata();
                // Opening a folder succeeds; only reading from it fails.
                if found.as_ref().is_ok_and(fs::Metadata::is_dir) {
                    return Err(Failure::at(path)(io::ErrorKind::IsADirectory.into()));
                }
                let reader: Box<dyn BufRead> = if found.is_ok_and(|found| found.is_file()) {
                    Box::new(BufReader::new(file))
                } else {
                    Box::new(BufReader::new(Slow(file)))
                };
                Ok(Self {
                    name: output::on_one_line(&path.display().to_string()).into_owned(),
                    reader,
                })
            }
            _ => {
                if io::stdin().is_terminal() {
                    output::note("reading from the terminal; end the input with Ctrl-D");
                }
                let reader = Box::new(BufReader::new(Slow(io::stdin())));
                Ok(Self {
                    name: "stdin".to_owned(),
                    reader,
                })
            }
        }
    }

    /// Makes an input of given bytes, such as those of an argument.
    pub fn of_bytes(name: &str, bytes: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            reader: Box::new(io::Cursor::new(bytes.to_owned())),
        }
    }

    /// Skips a byte order mark at the start. Use this for an input that is not read line by line.
    pub fn skip_mark(&mut self) -> Result<(), Failure> {
        let fail = |error| Failure::Io(self.name.clone(), error);
        if self.reader.fill_buf().map_err(fail)?.starts_with(BOM) {
            self.reader.consume(BOM.len());
        }
        Ok(())
    }

    /// Reads the whole input as text. Returns the name of the input and the text.
    pub fn text(self) -> Result<(String, String), Failure> {
        let (name, bytes) = self.bytes(u64::MAX)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::Input(format!("{name}: byte {at} is not UTF-8; give UTF-8"))
        })?;
        Ok((name, text))
    }

    /// Reads at most `most` bytes of the input. Returns the name of the input and the bytes.
    pub fn bytes(mut self, most: u64) -> Result<(String, Vec<u8>), Failure> {
        self.skip_mark()?;
        let mut bytes = Vec::new();
        let read = self.reader.take(most).read_to_end(&mut bytes);
        read.map_err(|error| Failure::Io(self.name.clone(), error))?;
        Ok((self.name, bytes))
    }

    /// Splits the input into lines.
    pub fn into_lines(self) -> Lines {
        Lines {
            name: self.name,
            reader: self.reader,
            number: 0,
            bytes: Vec::new(),
        }
    }
}

/// The lines of an input.
pub struct Lines {
    /// The name of the input, for reports.
    pub name: String,
    reader: Box<dyn BufRead>,
    number: u64,
    bytes: Vec<u8>,
}

/// One line, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'l> {
    /// The number of the line, from 1.
    pub number: u64,
    /// The bytes of the line. If the line is longer than a frame can be, these are only its beginning.
    pub bytes: &'l [u8],
}

impl<'l> Line<'l> {
    /// Returns the line as text.
    ///
    /// # Errors
    /// Returns the place of the first byte that is not UTF-8. For a frame, the caller should report that
    /// [`PRINTABLE`] is expected at this place.
    pub fn text(self) -> Result<&'l str, Utf8Error> {
        std::str::from_utf8(self.bytes)
    }

    /// Returns whether only the beginning of the line is kept.
    pub fn is_cut(self) -> bool {
        self.bytes.len() == LINE_BYTES
    }
}

impl Lines {
    /// Returns the next line that is not blank.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, Failure> {
        while self.read()? {
            if !self.bytes.trim_ascii().is_empty() {
                return Ok(Some(self.line()));
            }
        }
        Ok(None)
    }

    /// Returns the next line, also if it is blank.
    pub fn next_of_all(&mut self) -> Result<Option<Line<'_>>, Failure> {
        Ok(self.read()?.then(|| self.line()))
    }

    fn line(&self) -> Line<'_> {
        Line {
            number: self.number,
            bytes: &self.bytes,
        }
    }

    /// Reads a line into `bytes`. Returns `false` at the end of the input.
    fn read(&mut self) -> Result<bool, Failure> {
        self.bytes.clear();
        let fail = |error| Failure::Io(self.name.clone(), error);
        // The limit has two more bytes, for the line end.
        let mut bounded = (&mut self.reader).take(LINE_BYTES as u64 + 2);
        if bounded.read_until(b'\n', &mut self.bytes).map_err(fail)? == 0 {
            return Ok(false);
        }
        if self.bytes.ends_with(b"\n") {
            self.bytes.pop();
            if self.bytes.ends_with(b"\r") {
                self.bytes.pop();
            }
        } else {
            self.reader.skip_until(b'\n').map_err(fail)?;
        }
        self.bytes.truncate(LINE_BYTES);
        self.number += 1;
        if self.number == 1 && self.bytes.starts_with(BOM) {
            self.bytes.drain(..BOM.len());
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let reader = Box::new(io::Cursor::new(text.to_vec()));
        let mut lines = Input {
            name: "test".to_owned(),
            reader,
        }
        .into_lines();
        let mut all = Vec::new();
        while let Some(Line { number, bytes }) = lines.next_line().unwrap() {
            all.push((number, bytes.to_vec()));
        }
        all
    }

    proptest! {
        #[test]
        fn the_lines_are_those_of_the_text(bytes in proptest::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), any::<u8>()], 0..60,
        )) {
            let expected: Vec<_> = (1..)
                .zip(bytes.split(|byte| *byte == b'\n'))
                .map(|(number, line)| (number, line.strip_suffix(b"\r").unwrap_or(line).to_vec()))
                .filter(|(_, line)| !line.trim_ascii().is_empty())
                .collect();
            prop_assert_eq!(lines(&[&bytes[..], b"\n"].concat()), expected);
        }
    }

    #[test]
    fn line_ends_and_blank_lines_do_not_count() {
        let expected = vec![(1, b"a".to_vec()), (3, b"b ".to_vec()), (5, b"c".to_vec())];
        assert_eq!(lines(b"a\r\n\r\nb \n \t\nc"), expected);
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"\n\n"), []);
    }

    #[test]
    fn of_a_huge_line_the_beginning_is_kept() {
        for length in [
            LINE_BYTES - 1,
            LINE_BYTES,
            LINE_BYTES + 1,
            LINE_BYTES + 2,
            5 * LINE_BYTES,
        ] {
            for end in ["\n", "\r\n"] {
                let text = format!("{}{end}next", "x".repeat(length));
                let found = lines(text.as_bytes());
                assert_eq!(found.len(), 2, "{length}");
                assert_eq!(found[0].1.len(), length.min(LINE_BYTES));
                assert_eq!(found[1], (2, b"next".to_vec()));
            }
        }
    }

    #[test]
    fn a_byte_order_mark_at_the_start_does_not_count() {
        let expected = vec![(1, b"a".to_vec()), (2, "\u{feff}b".as_bytes().to_vec())];
        assert_eq!(lines("\u{feff}a\n\u{feff}b\n".as_bytes()), expected);
        assert_eq!(lines("\u{feff}\r\n".as_bytes()), []);
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_as_they_are() {
        assert_eq!(lines(b"\xff\xfe\n"), [(1, b"\xff\xfe".to_vec())]);
    }
}

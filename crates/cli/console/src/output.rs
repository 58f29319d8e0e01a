//! The output of a command: to stderr, and to stdout or a file. A file is written under another name in the same
//! folder, and then renamed.
//!
//! A command writes for people or for programs. Output for people (`line`, `print`, `note`, `error`) goes through
//! [`for_people`], because nearly every line holds text that others wrote. The functions for programs have other
//! names (`record`, `data`, `print_data`, `print_content`). So a command that uses the wrong function by mistake
//! escapes too much, and not too little.

mod new_file;
mod stdout;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anstream::ColorChoice;

use crate::outcome::{Failure, Outcome, Verdict};
use accp_frame::words::printable;
pub use new_file::NewFile;
use stdout::Stdout;
pub(crate) use stdout::before_a_wait;

/// Prints `error: ...` on stderr.
pub fn error(message: impl fmt::Display) {
    let (on, off) = if is_styled(&io::stderr()) {
        ("\x1b[1;31m", "\x1b[0m")
    } else {
        ("", "")
    };
    record(format_args!(
        "{on}error{off}: {}",
        for_people(&message.to_string())
    ));
}

/// Prints a line for people on stderr. If stderr is closed, the command goes on.
pub fn note(message: impl fmt::Display) {
    record(for_people(&message.to_string()));
}

/// Prints a text with colours and a line break on stderr. If stderr is closed, the command goes on.
pub fn show(text: &Styled) {
    record(&text.0);
}

/// Prints a line for programs on stderr, as it is. If stderr is closed, the command goes on.
pub fn record(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// A text for people with colours. The code that makes it must already have escaped all text that others wrote.
#[derive(Debug)]
pub struct Styled(pub String);

/// Escapes invisible characters, and characters that could control a terminal. Line ends stay. Marks that belong to
/// the letter before them stay, too; the scripts of India have such marks.
pub fn for_people(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n' || is_in_a_word(c))
}

/// Escapes a text as [`for_people`] does, and also its line breaks, so that it stays on one line.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_in_a_word)
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if printable(text) == text {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if stays(c) {
            out.push(c);
        } else {
            out.push_str(&printable(c.encode_utf8(&mut [0; 4])));
        }
    }
    Cow::Owned(out)
}

/// Returns whether a character can occur in a word after its first letter.
fn is_in_a_word(c: char) -> bool {
    !c.is_ascii() && String::from_iter(['a', c]).escape_debug().eq(['a', c])
}

/// Returns whether to write colours to a stream. Returns false if the stream is not a terminal, or if `NO_COLOR` is
/// set.
pub fn is_styled(stream: &impl anstream::stream::RawStream) -> bool {
    anstream::AutoStream::choice(stream) != ColorChoice::Never
}

/// The mode of a file with content of conversations or sessions: only its owner can open it.
pub const PRIVATE: u32 = 0o600;
/// The mode of code, grammars and registries, before the umask.
pub const SHARED: u32 = 0o666;

/// Fails if two of these paths are the same file: one file cannot be both read and written, or written twice. The files
/// need not be there yet. `-` is no file.
pub fn distinct<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for path in paths.into_iter().filter(|path| *path != Path::new("-")) {
        let real = real(path);
        if seen.contains(&real) {
            let name = path.display();
            return Err(Failure::Misuse(format!(
                "{name} is named twice: give input, output and side file names of their own"
            )));
        }
        seen.push(real);
    }
    Ok(())
}

/// Returns the one name of a file, however a path spells it.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok();
        let place = folder.zip(path.file_name());
        place.map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name))
    })
}

/// The destination of a command's result.
#[derive(Debug)]
pub struct Output {
    name: String,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Stdout(Stdout),
    File(NewFile),
}

impl Output {
    /// Returns stdout as the destination.
    pub fn stdout() -> Self {
        let sink = Sink::Stdout(Stdout::new());
        Self {
            name: "stdout".to_owned(),
            sink,
        }
    }

    /// Opens the file, or stdout if there is no path, or if the path is `-` or names stdout, as `/dev/stdout` does. A
    /// file gets this mode, [`PRIVATE`] or [`SHARED`], even if it replaces a file with another mode.
    pub fn to(path: Option<&Path>, mode: u32) -> Result<Self, Failure> {
        match path {
            Some(path) if path != Path::new("-") && !new_file::is_stdout(path) => {
                let file = NewFile::create(path, mode).map_err(Failure::at(path))?;
                Ok(Self {
                    name: path.display().to_string(),
                    sink: Sink::File(file),
                })
            }
            _ => Ok(Self::stdout()),
        }
    }

    /// Writes a whole text for people to stdout.
    pub fn print(text: &[u8]) -> Result<(), Failure> {
        let text = String::from_utf8_lossy(text);
        Self::print_data(for_people(&text).as_bytes())
    }

    /// Writes a whole text for programs to stdout, as it is.
    pub fn print_data(text: &[u8]) -> Result<(), Failure> {
        let mut out = Self::stdout();
        out.data(text)?;
        out.finish()
    }

    /// Prints `text` for people and a line break to stdout.
    pub fn print_line(text: impl fmt::Display) -> Result<(), Failure> {
        let mut out = Self::stdout();
        out.line(text)?;
        out.finish()
    }

    /// Prints `text` for programs, as it is, and a line break to stdout.
    pub fn print_record(text: impl fmt::Display) -> Result<(), Failure> {
        let mut out = Self::stdout();
        out.record(text)?;
        out.finish()
    }

    /// Prints a text that comes from a file or a store, and a line break. A file or a program gets the text
    /// unchanged. A terminal gets it with escapes, as text for people.
    pub fn print_content(text: impl fmt::Display) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            return Self::print_line(text);
        }
        Self::print_record(text)
    }

    /// Writes a whole text for programs to a file, or to stdout, as [`to`](Self::to) does.
    pub fn write(path: Option<&Path>, mode: u32, text: &[u8]) -> Result<(), Failure> {
        let mut out = Self::to(path, mode)?;
        out.data(text)?;
        out.finish()
    }

    /// Returns whether the output is stdout. Unlike a file, stdout keeps what was written, even if the command fails
    /// later.
    pub fn is_stdout(&self) -> bool {
        matches!(self.sink, Sink::Stdout(_))
    }

    /// Writes `text` for people, and a line break.
    pub fn line(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        self.record(for_people(&text.to_string()))
    }

    /// Writes a text with colours, and a line break.
    pub fn show(&mut self, text: &Styled) -> Result<(), Failure> {
        self.record(&text.0)
    }

    /// Writes `text` for programs, as it is, and a line break.
    pub fn record(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        let written = match &mut self.sink {
            Sink::Stdout(stdout) => writeln!(stdout, "{text}"),
            Sink::File(file) => writeln!(file, "{text}"),
        };
        written.map_err(|error| self.failure(error))
    }

    /// Writes `text` for programs, as it is, without a line break.
    pub fn data(&mut self, text: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.sink {
            Sink::Stdout(stdout) => stdout.write_all(text),
            Sink::File(file) => file.write_all(text),
        };
        written.map_err(|error| self.failure(error))
    }

    /// Flushes stdout. Does nothing for a file, which appears at its path only at [`finish`](Self::finish).
    pub fn flush(&mut self) -> Result<(), Failure> {
        let flushed = match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::File(_) => Ok(()),
        };
        flushed.map_err(|error| self.failure(error))
    }

    /// Ends a command that found this number of faults. A file appears at its path only if there are no faults. A pipe
    /// and a device have got the output already.
    pub fn conclude(mut self, faults: u64) -> Outcome {
        match self.sink {
            Sink::File(ref file) if faults > 0 && file.is_whole_or_absent() => {
                note(format_args!(
                    "{} was not written: {faults} at fault",
                    self.name
                ));
            }
            Sink::File(_) => self.finish()?,
            Sink::Stdout(_) => self.flush()?,
        }
        Ok(Verdict::of(faults))
    }

    /// Completes the output. Without this call, a new file does not replace the old file.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        match self.sink {
            Sink::Stdout(_) => Ok(()),
            Sink::File(file) => file.finish().map_err(|error| Failure::Io(self.name, error)),
        }
    }

    fn failure(&self, error: io::Error) -> Failure {
        Failure::Io(self.name.clone(), error)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_people_read_holds_nothing_that_a_terminal_acts_on() {
        for (text, shown) in [
            ("a \"frame\",\nnext: né", "a \"frame\",\nnext: né"),
            ("\u{1b}[2J\u{7}\u{9b}2J\r", r"\u{1b}[2J\u{7}\u{9b}2J\r"),
            ("\u{202e}x\u{200f}\u{61c}", r"\u{202e}x\u{200f}\u{61c}"),
            (
                "नमस्ते e\u{301} \u{2764}\u{fe0f}",
                "नमस्ते e\u{301} \u{2764}\u{fe0f}",
            ),
        ] {
            assert_eq!(for_people(text), shown);
        }
        assert_eq!(on_one_line("fine\nerror: fake"), r"fine\nerror: fake");
    }

    #[test]
    fn a_file_takes_its_place_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "old").unwrap();

        let mut output = Output::to(Some(&path), PRIVATE).unwrap();
        output.line("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = Output::to(Some(&folder.path().join("out")), PRIVATE).unwrap();
        output.line("half").unwrap();
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let failure = Output::to(Some(folder.path()), PRIVATE).unwrap_err();
        assert!(
            failure.to_string().ends_with(": is a directory"),
            "{failure}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let mut output = Output::to(Some(Path::new("/dev/null")), PRIVATE).unwrap();
        output.line("gone").unwrap();
        output.finish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut output = Output::to(Some(&link), PRIVATE).unwrap();
        output.line("new").unwrap();
        output.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new\n");
    }
}

//! Recorded conversations from a file, one at a time.

use std::io::{self, BufRead};

use serde_json::Value as Json;

/// JSON values from JSON Lines, or from one JSON document that may span lines.
pub(super) struct Documents<R> {
    input: R,
    line: u64,
    buffer: Vec<u8>,
    /// Bytes read so far.
    pub(super) bytes: u64,
}

/// Why a file gives no further conversation.
#[derive(Debug)]
pub(super) enum Fault {
    Io(io::Error),
    /// The text is at fault, at this line and column from 1.
    Text {
        line: u64,
        column: u64,
        message: String,
    },
}

impl<R: BufRead> Documents<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            line: 0,
            buffer: Vec::new(),
            bytes: 0,
        }
    }

    /// The next value and the line it starts on.
    ///
    /// # Errors
    /// When reading fails, or the text is no JSON.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Json)>, Fault> {
        loop {
            self.buffer.clear();
            if self.read_line()? == 0 {
                return Ok(None);
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        let start = self.line;
        match serde_json::from_slice(&self.buffer) {
            Ok(json) => Ok(Some((start, json))),
            // A line that is only the beginning of a value: a document over several lines.
            Err(error) if error.is_eof() && start == 1 => {
                while self.read_line()? > 0 {}
                match serde_json::from_slice(&self.buffer) {
                    Ok(json) => Ok(Some((start, json))),
                    Err(error) => Err(self.fault(start, &error)),
                }
            }
            Err(error) => Err(self.fault(start, &error)),
        }
    }

    fn read_line(&mut self) -> Result<usize, Fault> {
        let read = self
            .input
            .read_until(b'\n', &mut self.buffer)
            .map_err(Fault::Io)?;
        self.line += u64::from(read > 0);
        self.bytes += read as u64;
        Ok(read)
    }

    fn fault(&self, start: u64, error: &serde_json::Error) -> Fault {
        let cause = error.to_string();
        let cause = cause.split(" at line ").next().unwrap_or_default();
        let looks_like_json = self.buffer.trim_ascii_start().starts_with(b"{")
            || self.buffer.trim_ascii_start().starts_with(b"[");
        let message = if error.is_eof() {
            format!(
                "the JSON ends too early ({cause}): the file is cut; restore it, or remove this line"
            )
        } else if looks_like_json {
            format!("no JSON: {cause}")
        } else {
            format!(
                "no JSON: {cause}; expected recorded conversations, one object a line with \
                 `messages`, each a `role` and a `content`"
            )
        };
        let line = start + (error.line() as u64).saturating_sub(1);
        Fault::Text {
            line,
            column: error.column() as u64,
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Result<(u64, Json), String>> {
        let mut documents = Documents::new(text.as_bytes());
        let mut found = Vec::new();
        loop {
            match documents.next() {
                Ok(Some(document)) => found.push(Ok(document)),
                Ok(None) => return found,
                Err(Fault::Io(error)) => panic!("{error}"),
                Err(Fault::Text {
                    line,
                    column,
                    message,
                }) => {
                    found.push(Err(format!("{line}:{column}: {message}")));
                    return found;
                }
            }
        }
    }

    #[test]
    fn lines_and_whole_documents_are_read() {
        let one = serde_json::json!({ "messages": [] });
        assert_eq!(
            read("{\"messages\":[]}\n\n{\"messages\":[]}"),
            [Ok((1, one.clone())), Ok((3, one.clone()))]
        );
        assert_eq!(read("{\n  \"messages\": []\n}\n"), [Ok((1, one))]);
    }

    #[test]
    fn what_is_no_conversation_file_is_told_by_place() {
        insta::assert_debug_snapshot!(read("Dear all,\nplease find\n"), @r#"
        [
            Err(
                "1:1: no JSON: expected value; expected recorded conversations, one object a line with `messages`, each a `role` and a `content`",
            ),
        ]
        "#);
        insta::assert_debug_snapshot!(read("{\"messages\":[]}\n{\"messages\":[{\"ro"), @r#"
        [
            Ok(
                (
                    1,
                    Object {
                        "messages": Array [],
                    },
                ),
            ),
            Err(
                "2:17: the JSON ends too early (EOF while parsing a string): the file is cut; restore it, or remove this line",
            ),
        ]
        "#);
        insta::assert_debug_snapshot!(read("{\n  \"messages\": [\n    {\"role\": }\n"), @r#"
        [
            Err(
                "3:14: no JSON: expected value",
            ),
        ]
        "#);
    }
}

//! A reader of recorded conversations from a file.

use std::io::{self, BufRead};

use serde_json::Value as Json;

use crate::conversation::{Conversation, NotConversation};
use crate::format::Format;
use crate::formats;

/// Reads the recorded conversations of an input one at a time: JSON Lines, one JSON document
/// that may span lines, or an array of conversations.
///
/// ```
/// let input = r#"{ "id": "a", "messages": [{ "role": "user", "content": "Hello" }] }"#;
/// for conversation in accp_recordings::conversations(input.as_bytes()) {
///     let conversation = conversation?;
///     assert_eq!(conversation.id().as_deref(), Some("a"));
///     assert_eq!(conversation.messages().len(), 1);
/// }
/// # Ok::<(), accp_recordings::ReadError>(())
/// ```
pub fn conversations(input: impl BufRead) -> impl Iterator<Item = Result<Conversation, ReadError>> {
    Documents::new(input).map(|document| document?.conversation(None))
}

/// A JSON value of an input: one conversation, or another value of a file in the same form.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The line on which the value begins, from 1. All elements of an array have the line of the
    /// array.
    pub line: u64,
    /// The value.
    pub json: Json,
}

impl Document {
    /// Returns the document as a conversation of this format; without one, the format is found
    /// out by the content.
    ///
    /// # Errors
    /// When the document is not a conversation.
    pub fn conversation(self, format: Option<Format>) -> Result<Conversation, ReadError> {
        let line = self.line;
        let conversation = match format {
            Some(format) => Conversation::read(self.json, format),
            None => Conversation::new(self.json),
        };
        conversation.map_err(|why| ReadError::Conversation { line, why })
    }
}

/// The reason why an input gives no further conversation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The text is not JSON, or its JSON would not be restored unchanged.
    #[error("{line}:{column}: {message}")]
    Text {
        /// From 1.
        line: u64,
        /// In bytes, from 1.
        column: u64,
        /// The expected text, and the cure.
        message: String,
    },
    /// The JSON is not a conversation.
    #[error("{line}: {why}")]
    Conversation {
        /// From 1.
        line: u64,
        /// The reason.
        why: NotConversation,
    },
}

/// Iterates over the JSON values of an input, and ends after the first error.
#[derive(Debug)]
pub struct Documents<R> {
    input: R,
    line: u64,
    buffer: Vec<u8>,
    /// Values that were read and not yet returned, with their line, in reverse order.
    pending: Vec<Document>,
    bytes: u64,
    has_failed: bool,
}

impl<R: BufRead> Iterator for Documents<R> {
    type Item = Result<Document, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        while self.pending.is_empty() {
            match self.read() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.has_failed = true;
                    return Some(Err(error));
                }
            }
        }
        let first = self.pending.pop()?;
        if formats::is_entry(&first.json) {
            return Some(self.entries(first));
        }
        Some(Ok(first))
    }
}

impl<R: BufRead> Documents<R> {
    /// Reads from this input.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: 0,
            buffer: Vec::new(),
            pending: Vec::new(),
            bytes: 0,
            has_failed: false,
        }
    }

    /// Returns the number of bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the rest of a file whose lines are the entries of one conversation.
    fn entries(&mut self, first: Document) -> Result<Document, ReadError> {
        let mut entries = vec![first.json];
        loop {
            let read = self.pending.drain(..).rev();
            entries.extend(read.map(|document| document.json));
            match self.read() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.has_failed = true;
                    return Err(error);
                }
            }
        }
        Ok(Document {
            line: first.line,
            json: Json::Array(entries),
        })
    }

    /// Reads the next line, or the rest of the input, into `pending`. Returns whether the input
    /// had more.
    fn read(&mut self) -> Result<bool, ReadError> {
        loop {
            self.buffer.clear();
            if self.read_line()? == 0 {
                return Ok(false);
            }
            if self.line == 1 {
                self.take_byte_order_mark()?;
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        let start = self.line;
        let cut = match serde_json::from_slice(self.buffer.trim_ascii_end()) {
            Ok(json) => {
                self.held(start)?;
                self.put(start, vec![json]);
                return Ok(true);
            }
            Err(error) if error.is_eof() => self.fault(start, &error),
            Err(error) => return Err(self.fault(start, &error)),
        };
        // A document over several lines begins here, unless the next line is a whole object.
        let next = self.buffer.len();
        self.read_line()?;
        if serde_json::from_slice::<serde_json::Map<String, Json>>(&self.buffer[next..]).is_ok() {
            return Err(cut);
        }
        while self.read_line()? > 0 {}
        let documents =
            serde_json::Deserializer::from_slice(self.buffer.trim_ascii_end()).into_iter();
        let documents: Result<Vec<Json>, _> = documents.collect();
        let documents = documents.map_err(|error| self.fault(start, &error))?;
        self.held(start)?;
        self.put(start, documents);
        Ok(true)
    }

    /// Keeps the values of a text that begins on this line. An array of conversations is split
    /// into its elements. Values after the first are given the line number of the last line read.
    fn put(&mut self, start: u64, values: Vec<Json>) {
        let lines = std::iter::once(start).chain(std::iter::repeat(self.line));
        for (line, json) in lines.zip(values) {
            let all = match json {
                Json::Array(items) if items.iter().any(formats::is_whole) => items,
                json => vec![json],
            };
            let documents = all.into_iter().map(|json| Document { line, json });
            self.pending.extend(documents);
        }
        self.pending.reverse();
    }

    /// Skips the byte order mark of UTF-8, and refuses a text with the mark of UTF-16.
    fn take_byte_order_mark(&mut self) -> Result<(), ReadError> {
        if self.buffer.starts_with(b"\xEF\xBB\xBF") {
            self.buffer.drain(..3);
        }
        if self.buffer.starts_with(b"\xFF\xFE") || self.buffer.starts_with(b"\xFE\xFF") {
            let message = "the text is UTF-16; save it as UTF-8".to_owned();
            return Err(ReadError::Text {
                line: 1,
                column: 1,
                message,
            });
        }
        Ok(())
    }

    /// Refuses an integer outside 64 bits: the restored number would differ.
    fn held(&self, start: u64) -> Result<(), ReadError> {
        let Some((at, digits)) = unheld_integer(&self.buffer) else {
            return Ok(());
        };
        let before = &self.buffer[..at];
        let lines = before.split(|&byte| byte == b'\n').count() as u64 - 1;
        let column = before
            .iter()
            .rev()
            .take_while(|&&byte| byte != b'\n')
            .count() as u64
            + 1;
        let message = format!(
            "the integer {digits} is outside 64 bits and would not come back the same; record it \
             as a string"
        );
        Err(ReadError::Text {
            line: start + lines,
            column,
            message,
        })
    }

    fn read_line(&mut self) -> Result<usize, ReadError> {
        let read = self.input.read_until(b'\n', &mut self.buffer)?;
        self.line += u64::from(read > 0);
        self.bytes += read as u64;
        Ok(read)
    }

    fn fault(&self, start: u64, error: &serde_json::Error) -> ReadError {
        let cause = error.to_string();
        let cause = cause.split(" at line ").next().unwrap_or_default();
        let looks_like_json = self.buffer.trim_ascii_start().starts_with(b"{")
            || self.buffer.trim_ascii_start().starts_with(b"[");
        let message = if error.is_eof() {
            format!(
                "the JSON ends too early ({cause}): the file is cut; restore it, or remove this line"
            )
        } else if looks_like_json {
            format!("not JSON: {cause}")
        } else {
            format!(
                "not JSON: {cause}; expected recorded conversations, one object a line with \
                 `messages`, each a `role` and a `content`"
            )
        };
        let line = start + (error.line() as u64).saturating_sub(1);
        ReadError::Text {
            line,
            column: error.column() as u64,
            message,
        }
    }
}

/// Returns the first integer of a valid JSON text that is outside 64 bits, and its offset.
fn unheld_integer(json: &[u8]) -> Option<(usize, &str)> {
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(&byte) = json.get(at).filter(|&&byte| byte != b'"') {
                    at += if byte == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                let in_number =
                    |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                at += json[start..]
                    .iter()
                    .take_while(|byte| in_number(byte))
                    .count();
                let text = std::str::from_utf8(&json[start..at]).ok()?;
                let integer = !text.contains(['.', 'e', 'E']);
                if integer && text.parse::<i64>().is_err() && text.parse::<u64>().is_err() {
                    return Some((start, text));
                }
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Result<(u64, Json), String>> {
        let documents = Documents::new(text.as_bytes());
        let told = documents.map(|document| match document {
            Ok(Document { line, json }) => Ok((line, json)),
            Err(error) => Err(error.to_string()),
        });
        told.collect()
    }

    #[test]
    fn lines_and_whole_documents_are_read() {
        let one = serde_json::json!({ "messages": [] });
        assert_eq!(
            read("{\"messages\":[]}\n\n{\"messages\":[]}"),
            [Ok((1, one.clone())), Ok((3, one.clone()))]
        );
        let pretty = "{\n  \"messages\": []\n}\n";
        assert_eq!(read(pretty), [Ok((1, one.clone()))]);
        assert_eq!(read(&format!("\u{feff}{pretty}")), [Ok((1, one.clone()))]);
        let twice = read(&format!("\n{pretty}{pretty}"));
        assert_eq!(twice, [Ok((2, one.clone())), Ok((7, one))]);
    }

    #[test]
    fn an_integer_that_would_change_is_refused() {
        let text = "{\"messages\":[{\"n\":[1e400,18446744073709551615,-9223372036854775808]}]}";
        assert!(unheld_integer(text.as_bytes()).is_none());
        for digits in [
            "18446744073709551616",
            "-9223372036854775809",
            "123456789012345678901234567890",
        ] {
            let text = format!(
                "{{\"messages\":[]}}\n{{\"messages\":[{{\"t\":\"\\\"{digits}\",\"n\":{digits}}}]}}"
            );
            let found = read(&text);
            let message = found[1].as_ref().unwrap_err();
            assert!(
                message.starts_with("2:") && message.contains(digits),
                "{message}"
            );
        }
    }

    #[test]
    fn the_line_that_is_cut_is_the_one_named() {
        let found = read("{\"messages\":[\n{\"messages\":[]}\n{\"messages\":[]}\n");
        let message = found[0].as_ref().unwrap_err();
        assert!(
            message.starts_with("1:") && message.contains("the file is cut"),
            "{message}"
        );
    }

    #[test]
    fn what_is_no_conversation_file_is_told_by_place() {
        insta::assert_debug_snapshot!(read("Dear all,\nplease find\n"), @r#"
        [
            Err(
                "1:1: not JSON: expected value; expected recorded conversations, one object a line with `messages`, each a `role` and a `content`",
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
                "3:14: not JSON: expected value",
            ),
        ]
        "#);
    }
}

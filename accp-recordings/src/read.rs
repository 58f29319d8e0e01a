//! Recorded conversations from a file, one at a time.

use std::io::{self, BufRead};

use serde_json::Value as Json;

/// JSON values from JSON Lines, or from one JSON document that may span lines.
#[derive(Debug)]
pub struct Documents<R> {
    input: R,
    line: u64,
    buffer: Vec<u8>,
    /// Further values of a document over several lines, the last one first.
    pending: Vec<Json>,
    bytes: u64,
}

/// Why a file gives no further conversation.
#[derive(Debug)]
pub enum Fault {
    /// Reading failed.
    Io(io::Error),
    /// The text is at fault, at this line and column from 1.
    Text {
        /// From 1.
        line: u64,
        /// In bytes, from 1.
        column: u64,
        /// What was expected, and the cure.
        message: String,
    },
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
        }
    }

    /// The next value and the line it starts on.
    ///
    /// # Errors
    /// When reading fails, or the text is no JSON.
    #[allow(clippy::should_implement_trait, reason = "it is an iterator soon")]
    pub fn next(&mut self) -> Result<Option<(u64, Json)>, Fault> {
        if let Some(json) = self.pending.pop() {
            return Ok(Some((self.line, json)));
        }
        loop {
            self.buffer.clear();
            if self.read_line()? == 0 {
                return Ok(None);
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
            Ok(json) => return self.held(start).map(|()| Some((start, json))),
            Err(error) if error.is_eof() => self.fault(start, &error),
            Err(error) => return Err(self.fault(start, &error)),
        };
        // The beginning of a document over several lines, unless the next line is whole.
        let next = self.buffer.len();
        self.read_line()?;
        if serde_json::from_slice::<serde_json::Map<String, Json>>(&self.buffer[next..]).is_ok() {
            return Err(cut);
        }
        while self.read_line()? > 0 {}
        let documents =
            serde_json::Deserializer::from_slice(self.buffer.trim_ascii_end()).into_iter();
        let documents: Result<Vec<Json>, _> = documents.collect();
        self.pending = documents.map_err(|error| self.fault(start, &error))?;
        self.held(start)?;
        self.pending.reverse();
        Ok(self.pending.pop().map(|json| (start, json)))
    }

    /// A mark of UTF-8 is passed over; what is marked as UTF-16 is refused by its name.
    fn take_byte_order_mark(&mut self) -> Result<(), Fault> {
        if self.buffer.starts_with(b"\xEF\xBB\xBF") {
            self.buffer.drain(..3);
        }
        if self.buffer.starts_with(b"\xFF\xFE") || self.buffer.starts_with(b"\xFE\xFF") {
            let message = "the text is UTF-16; save it as UTF-8".to_owned();
            return Err(Fault::Text {
                line: 1,
                column: 1,
                message,
            });
        }
        Ok(())
    }

    /// Refuses an integer that no 64-bit number holds: it would come back as another one.
    fn held(&self, start: u64) -> Result<(), Fault> {
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
        Err(Fault::Text {
            line: start + lines,
            column,
            message,
        })
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
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

/// The conversations of a document: itself, or the elements of an array of conversations.
pub fn conversations(json: Json) -> Vec<Json> {
    match json {
        Json::Array(items) if items.iter().any(|item| item.get("messages").is_some()) => items,
        json => vec![json],
    }
}

/// The first integer of a valid JSON text that is outside 64 bits, and where it stands.
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

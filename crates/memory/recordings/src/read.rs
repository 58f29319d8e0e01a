//! A reader of recorded conversations from a file.

mod aider;
mod scan;

use std::io::{self, BufRead};

use serde_json::Value as Json;

use crate::conversation::{Conversation, NotConversation};
use crate::exact::{LoneSurrogates, read_json, replace_lone_surrogates};
use crate::format::Format;
use crate::formats;
use scan::{End, Place, Scanner};

/// Reads the recorded conversations of an input one at a time: JSON Lines, one JSON document
/// that may span lines, an array of conversations, or a chat history of aider in Markdown.
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

/// A JSON value of an input. It is a conversation, or any other value in a file of the same layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The line on which the value begins, from 1.
    pub line: u64,
    /// The value. It has U+FFFD in the place of a lone surrogate.
    pub json: Json,
    /// The lone surrogates of the value.
    lone: LoneSurrogates,
    /// The line of each item, if the items stand on lines of their own.
    lines: Vec<u64>,
}

impl Document {
    /// Makes one document of the items of a list.
    fn of(items: Vec<Self>) -> Self {
        let mut lone = LoneSurrogates::default();
        let lines: Vec<_> = items.iter().map(|item| item.line).collect();
        let json = items.into_iter().enumerate().map(|(index, item)| {
            lone.add(index, item.lone);
            item.json
        });
        Self {
            json: json.collect(),
            line: lines.first().copied().unwrap_or_default(),
            lone,
            lines,
        }
    }

    /// Returns the document as a conversation of this format. If `format` is `None`, the content of the document shows
    /// the format.
    ///
    /// # Errors
    /// When the document is not a conversation.
    pub fn conversation(self, format: Option<Format>) -> Result<Conversation, ReadError> {
        let line = self.line;
        let conversation = match format {
            Some(format) => Conversation::read(self.json, format),
            None => Conversation::new(self.json),
        };
        match conversation {
            Ok(conversation) => Ok(conversation.with_lone(self.lone)),
            Err(why) => {
                let item = why.item().and_then(|item| self.lines.get(item));
                let line = item.copied().unwrap_or(line);
                Err(ReadError::Conversation { line, why })
            }
        }
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
        /// The line, from 1.
        line: u64,
        /// The column in bytes, from 1.
        column: u64,
        /// The expected text, and the cure.
        message: String,
    },
    /// The JSON is not a conversation.
    #[error("{line}: {why}")]
    Conversation {
        /// The line, from 1.
        line: u64,
        /// The reason.
        why: NotConversation,
    },
}

/// Iterates over the JSON values of an input, and ends after the first error. It keeps one value at
/// a time: a line, a document over several lines, or an element of an array of conversations.
#[derive(Debug)]
pub struct Documents<R> {
    input: Scanner<R>,
    buffer: Vec<u8>,
    /// The array that is being read.
    array: Option<Array>,
    /// Values that were read and not yet returned, in reverse order.
    pending: Vec<Document>,
    has_begun: bool,
    /// Whether a value was returned that is a conversation by itself.
    has_whole: bool,
    has_failed: bool,
}

/// An array at the top of an input.
#[derive(Debug)]
struct Array {
    begins: Place,
    /// The elements of an array that is one conversation, or may be one.
    items: Vec<Document>,
    /// Whether the elements are conversations, which are returned one by one.
    is_several: bool,
    has_elements: bool,
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
            return Some(self.entries(first, |_| true));
        }
        // After whole conversations, a single message is a mistake, so it does not begin a
        // conversation.
        if !self.has_whole && formats::is_message(&first.json) {
            return Some(self.entries(first, formats::is_next));
        }
        self.has_whole = true;
        Some(Ok(first))
    }
}

impl<R: BufRead> Documents<R> {
    /// Reads from this input.
    pub fn new(input: R) -> Self {
        Self {
            input: Scanner::new(input),
            buffer: Vec::new(),
            array: None,
            pending: Vec::new(),
            has_begun: false,
            has_whole: false,
            has_failed: false,
        }
    }

    /// Returns the number of bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.input.bytes()
    }

    /// Reads the values after `first` as long as they belong to the same conversation, and joins them.
    fn entries(
        &mut self,
        first: Document,
        belongs: impl Fn(&Json) -> bool,
    ) -> Result<Document, ReadError> {
        let mut entries = vec![first];
        loop {
            while let Some(next) = self.pending.pop_if(|next| belongs(&next.json)) {
                entries.push(next);
            }
            if !self.pending.is_empty() {
                break;
            }
            match self.read() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.has_failed = true;
                    return Err(error);
                }
            }
        }
        Ok(Document::of(entries))
    }

    /// Reads the next value, or the next element of an array, into `pending`. Returns whether the
    /// input had more.
    fn read(&mut self) -> Result<bool, ReadError> {
        if !std::mem::replace(&mut self.has_begun, true) && self.input.skip_mark()? {
            let message = "the text is UTF-16; save it as UTF-8";
            return Err(error(self.input.place(), message));
        }
        if let Some(array) = self.array.take() {
            self.element(array)?;
            return Ok(true);
        }
        let next = self.input.next()?;
        let begins = self.input.place();
        match next {
            None => return Ok(false),
            Some(0x1f) => {
                let message =
                    "the file is packed with gzip; unpack it first (`gunzip -c FILE | accp ..`)";
                return Err(error(begins, message));
            }
            Some(b'#') => self.markdown(begins)?,
            Some(b'[') => {
                self.input.skip()?;
                self.array = Some(Array {
                    begins,
                    items: Vec::new(),
                    is_several: false,
                    has_elements: false,
                });
            }
            Some(_) => {
                let document = self.value(is_line)?;
                self.pending.push(document);
            }
        }
        Ok(true)
    }

    /// Reads a chat history in Markdown, to the end of the input.
    fn markdown(&mut self, begins: Place) -> Result<(), ReadError> {
        let text = String::from_utf8(self.input.rest()?);
        let text = text.map_err(|_| error(begins, "the text is not UTF-8; save it as UTF-8"))?;
        let expected = "not JSON, and not a chat history of aider, which begins with \
                        `# aider chat started at`";
        let documents = aider::documents(&text, begins.line);
        self.pending = documents.ok_or_else(|| error(begins, expected))?;
        self.pending.reverse();
        Ok(())
    }

    /// Reads the next element of an array, or its end.
    fn element(&mut self, mut array: Array) -> Result<(), ReadError> {
        let mut next = self.input.next()?;
        if next == Some(b']') {
            self.input.skip()?;
            if !array.is_several {
                self.put(array);
            }
            return Ok(());
        }
        if array.has_elements && next.is_some() {
            if next != Some(b',') {
                return Err(error(self.input.place(), "not JSON: expected `,` or `]`"));
            }
            self.input.skip()?;
            next = self.input.next()?;
        }
        if next.is_none() {
            return Err(error(array.begins, &cut("an array without its end")));
        }
        let document = self.value(|_| false)?;
        array.is_several |= !array.has_elements && formats::is_whole(&document.json);
        array.has_elements = true;
        if array.is_several {
            self.pending.push(document);
        } else {
            array.items.push(document);
        }
        self.array = Some(array);
        Ok(())
    }

    /// Puts the elements of an array into `pending`, if the first element is not a conversation by itself. If another
    /// element is a conversation, each element is a document of its own; otherwise the whole array is one document.
    fn put(&mut self, array: Array) {
        if array.items.iter().any(|item| formats::is_whole(&item.json)) {
            self.pending.extend(array.items);
        } else {
            let line = array.begins.line;
            let whole = Document::of(array.items);
            self.pending.push(Document { line, ..whole });
        }
        self.pending.reverse();
    }

    /// Reads the value that begins here. `is_value` tells whether a line is a value of its own.
    fn value(&mut self, is_value: impl Fn(&[u8]) -> bool) -> Result<Document, ReadError> {
        let begins = self.input.place();
        if let End::Cut(at) = self.input.value(&mut self.buffer, is_value)? {
            self.buffer.truncate(at);
        }
        let read = read_json(self.buffer.trim_ascii_end());
        let (json, lone) = read.map_err(|error| self.fault(begins, &error))?;
        self.held(begins)?;
        Ok(Document {
            line: begins.line,
            json,
            lone,
            lines: Vec::new(),
        })
    }

    /// Refuses an integer outside 64 bits: the restored number would differ.
    fn held(&self, begins: Place) -> Result<(), ReadError> {
        let Some((at, digits)) = unheld_integer(&self.buffer) else {
            return Ok(());
        };
        let before = &self.buffer[..at];
        let lines = before.split(|&byte| byte == b'\n').count() - 1;
        let in_line = before.iter().rev().take_while(|&&byte| byte != b'\n');
        let place = within(begins, lines as u64, in_line.count() as u64);
        let message = format!(
            "the integer {digits} is outside 64 bits and would not come back the same; record it \
             as a string"
        );
        Err(error(place, &message))
    }

    fn fault(&self, begins: Place, error: &serde_json::Error) -> ReadError {
        let cause = error.to_string();
        let cause = cause.split(" at line ").next().unwrap_or_default();
        let looks_like_json = self.buffer.starts_with(b"{") || self.array.is_some();
        let message = if error.is_eof() {
            cut(cause)
        } else if error.is_data() {
            // The text is JSON, but breaks a rule of this reader, such as a repeated member. The
            // cause names the cure.
            cause.to_owned()
        } else if looks_like_json {
            format!("not JSON: {cause}")
        } else {
            format!(
                "not JSON: {cause}; expected recorded conversations, one object a line with \
                 `messages`, each a `role` and a `content`"
            )
        };
        let is_stream = ["data:", "event:"]
            .iter()
            .any(|begins| self.buffer.starts_with(begins.as_bytes()));
        let message = if is_stream {
            "not JSON: a stream of events; record the whole answer, or the events as a JSON array \
             beside the request: {\"request\": .., \"response\": [..]}"
                .to_owned()
        } else {
            message
        };
        let lines = (error.line() as u64).saturating_sub(1);
        let place = within(begins, lines, (error.column() as u64).saturating_sub(1));
        self::error(place, &message)
    }
}

/// Returns whether a line is a recording of its own.
fn is_line(line: &[u8]) -> bool {
    let text = std::str::from_utf8(line).map(replace_lone_surrogates);
    let json = text.ok().and_then(|text| serde_json::from_str(&text).ok());
    json.is_some_and(|json| formats::is_whole(&json) || formats::is_entry(&json))
}

/// Returns the place that is `lines` lines, and `bytes` bytes in the last of these lines, after `begins`.
fn within(begins: Place, lines: u64, bytes: u64) -> Place {
    let column = if lines == 0 { begins.column } else { 1 };
    Place {
        line: begins.line + lines,
        column: column + bytes,
    }
}

fn cut(cause: &str) -> String {
    format!("the JSON ends too early ({cause}): the file is cut; restore it, or remove this line")
}

fn error(place: Place, message: &str) -> ReadError {
    ReadError::Text {
        line: place.line,
        column: place.column,
        message: message.to_owned(),
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
mod tests;

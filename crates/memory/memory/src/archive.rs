//! The archive of a conversation: Markdown that people read, and that a program splits into messages again.
//!
//! A message stands under a heading, in a fence that is longer than any fence inside:
//!
//! ````text
//! ## 12 · tool · get_order · 2026-01-29T14:25:30+02:00
//!
//! ```
//! {"order": "ORD-12345"}
//! ```
//! ````
//!
//! The heading has the number of the message, the role, the tools that the message calls or whose results it has, and
//! the time. `-` stands for unknown tools or an unknown time. New messages are appended to the file.

mod fence;
mod heading;
mod page;

use std::fmt;

use time::OffsetDateTime;

use crate::list::MessageList;
use crate::media::Way;
use crate::names::CommandOptions;
use crate::parsed::{Parsed, parse};
use fence::Lines;

/// A message in the form that the archive stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// The index in the conversation, from 0.
    pub number: usize,
    /// Who speaks: `system`, `user`, `assistant`, `tool` or `other`.
    pub role: String,
    /// The tools that the message calls, or whose results it has.
    pub tools: Vec<String>,
    /// When the message was archived, if that is known. A time that RFC 3339 cannot write counts as unknown: one
    /// before the year 0 or after 9999, or with seconds in its zone.
    pub time: Option<OffsetDateTime>,
    /// What the message says: words, calls and results. If the speaker has a name, the name and a colon are the first
    /// line.
    pub text: String,
}

impl Archived {
    /// Returns the messages of a list in the form that the archive stores. The first message has the number 0.
    pub fn of(list: &MessageList, time: Option<OffsetDateTime>) -> Vec<Self> {
        let all = parse(
            list.form(),
            Way::Command(&CommandOptions::default()),
            list.messages(),
        );
        all.iter()
            .map(|message| Self::of_parsed(message, time))
            .collect()
    }

    /// Returns a message in the form that the archive stores.
    pub(crate) fn of_parsed(message: &Parsed, time: Option<OffsetDateTime>) -> Self {
        page::archived(message, time)
    }
}

/// A message that stands in an archive, and its place there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The message.
    pub message: Archived,
    /// The first line of its text, from 1.
    pub first: usize,
    /// The last line of its text. An empty text has one line.
    pub last: usize,
    /// The bytes of the archive up to the end of the message, with its closing fence.
    pub end: usize,
}

/// A place in an archive that is not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// The file ends within a message.
    #[error(
        "line {line}: the message that begins here has no end, so the file was cut off; cut the file before this \
         line, and append the message again"
    )]
    Torn {
        /// The line of the heading, from 1.
        line: usize,
    },
    /// A line is neither a heading nor inside a fence.
    #[error(
        "line {line}: expected a heading such as `## 12 · tool · get_order · -` and a fence below, found {found:?}; \
         take the file back from a copy, or remove the line"
    )]
    Stray {
        /// The line, from 1.
        line: usize,
        /// The beginning of the line.
        found: String,
    },
}

impl ArchiveError {
    /// Returns the same error with its line number raised by `above`, the number of lines above the text in its file.
    #[cfg(feature = "disk")]
    pub(crate) fn below(self, above: usize) -> Self {
        match self {
            Self::Torn { line } => Self::Torn { line: line + above },
            Self::Stray { line, found } => Self::Stray {
                line: line + above,
                found,
            },
        }
    }
}

/// Writes and reads the text of an archive.
///
/// ```
/// use accp_memory::{Archive, Archived};
///
/// let message = Archived {
///     number: 12,
///     role: "tool".into(),
///     tools: vec!["get_order".into()],
///     time: None,
///     text: "ORD-12345\n```\nrye\n```".into(),
/// };
/// let text = Archive::text(&[message.clone()]);
/// assert!(text.starts_with("## 12 · tool · get_order · -\n\n````\nORD-12345\n"));
///
/// let found = Archive::read(&text).next().expect("a message")?;
/// assert_eq!((found.first, found.last, found.message), (4, 7, message));
/// # Ok::<(), accp_memory::ArchiveError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Archive;

impl Archive {
    /// Writes messages. A caller may append the text of later messages to the text of earlier ones: the result is the
    /// text of all messages.
    pub fn text(messages: &[Archived]) -> String {
        let mut out = String::new();
        for message in messages {
            let fence = fence::around(&message.text);
            out.push_str("## ");
            out.push_str(&heading::write(message));
            for part in ["\n\n", &fence, "\n", &message.text, "\n", &fence, "\n\n"] {
                out.push_str(part);
            }
        }
        out
    }

    /// Reads the messages of an archive. Titles (`# ..`) and blank lines between messages are skipped.
    ///
    /// After a message without an end nothing more is read.
    pub fn read(text: &str) -> Sections<'_> {
        Sections(Lines::new(text))
    }
}

/// The messages of an archive, in their order.
#[derive(Clone)]
pub struct Sections<'t>(Lines<'t>);

impl Iterator for Sections<'_> {
    type Item = Result<Section, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let skipped = |line: &str| line.trim().is_empty() || line.starts_with("# ");
        let (number, line) = self.0.find(|(_, line)| !skipped(line))?;
        Some(match heading::of_line(line) {
            Some(message) => self.message(number, message),
            None => Err(self.stray(number, line)),
        })
    }
}

impl Sections<'_> {
    fn message(&mut self, line: usize, message: Archived) -> Result<Section, ArchiveError> {
        let fence = self.0.find(|(_, line)| !line.trim().is_empty());
        let (number, fence) = fence.ok_or(ArchiveError::Torn { line })?;
        if !fence::is_fence(fence) {
            // A crash may have cut the file here. Then no message follows, and none is lost.
            return Err(if self.0.is_at_end() {
                ArchiveError::Torn { line }
            } else {
                self.stray(number, fence)
            });
        }
        let (text, last) = self.0.until(fence).ok_or(ArchiveError::Torn { line })?;
        Ok(Section {
            message: Archived {
                text: text.to_owned(),
                ..message
            },
            first: number + 1,
            last,
            end: self.0.at(),
        })
    }

    /// Skips to the next heading, and returns the error for a line that is neither a heading nor a fence.
    fn stray(&mut self, line: usize, found: &str) -> ArchiveError {
        self.0.skip_to(|line| heading::of_line(line).is_some());
        let found = found.chars().take(60).collect();
        ArchiveError::Stray { line, found }
    }
}

impl fmt::Debug for Sections<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sections").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("```".to_owned()),
            Just("\n``````\n".to_owned()),
            Just("\n## 3 · user · - · -\n\n```\n".to_owned()),
            Just("\r\n".to_owned()),
            Just("\r".to_owned()),
            Just("\0".to_owned()),
            Just("\u{2028}\u{85}".to_owned()),
            Just("~~~\n# title\n".to_owned()),
            Just("x".repeat(5_000)),
            ".{0,12}",
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    fn any_message() -> impl Strategy<Value = Archived> {
        let tools = prop::collection::vec(prop_oneof!["[a-z_]{1,8}", ".{0,6}", any_text()], 0..3);
        let role = prop_oneof![Just("tool".to_owned()), ".{0,5}"];
        let time = prop::option::of((0i64..4_000_000_000, -720i32..840));
        (any::<usize>(), role, tools, time, any_text()).prop_map(
            |(number, role, tools, time, text)| {
                let time = time.map(|(seconds, minutes)| {
                    let zone = time::UtcOffset::from_whole_seconds(minutes * 60).unwrap();
                    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap();
                    time.to_offset(zone)
                });
                Archived {
                    number,
                    role,
                    tools,
                    time,
                    text,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(messages in prop::collection::vec(any_message(), 0..6)) {
            let text = Archive::text(&messages);
            let found: Vec<_> = Archive::read(&text).collect::<Result<_, _>>().unwrap();
            let lines: Vec<_> = text.split('\n').collect();
            for section in &found {
                prop_assert_eq!(&lines[section.first - 1..section.last].join("\n"), &section.message.text);
                prop_assert!(text[..section.end].ends_with("`\n"));
            }
            let found: Vec<_> = found.into_iter().map(|section| section.message).collect();
            prop_assert_eq!(&found, &messages);
            let halves: String = messages.chunks(2).map(Archive::text).collect();
            prop_assert_eq!(halves, text);
        }

        /// If a file was cut off, its whole messages are read, and nothing else.
        #[test]
        fn a_cut_file_gives_its_whole_messages(messages in prop::collection::vec(any_message(), 1..5), at: prop::sample::Index) {
            let text = Archive::text(&messages);
            let mut end = at.index(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let mut found = Vec::new();
            let mut errors = 0;
            for section in Archive::read(&text[..end]) {
                match section {
                    Ok(section) => found.push(section.message),
                    Err(_) => errors += 1,
                }
            }
            prop_assert!(errors <= 1);
            prop_assert_eq!(&found[..], &messages[..found.len()]);
        }

        #[test]
        fn any_text_is_read_without_panic(text in any_text()) {
            let _all: Vec<_> = Archive::read(&text).collect();
        }
    }

    #[test]
    fn what_is_no_message_is_said_with_its_line() {
        let message = Archived {
            number: 1,
            role: "user".into(),
            tools: Vec::new(),
            time: None,
            text: "rye".into(),
        };
        let text = Archive::text(std::slice::from_ref(&message));
        let changed =
            format!("# title\n\n{text}a note\nof two lines\n{text}## 2 · user · - · -\n\n```\nx\n");
        let all: Vec<_> = Archive::read(&changed).collect();
        assert_eq!(all.len(), 4);
        assert_eq!(all[0].as_ref().map(|section| section.first), Ok(6));
        let found = "a note".to_owned();
        assert_eq!(all[1], Err(ArchiveError::Stray { line: 9, found }));
        assert_eq!(
            all[2].as_ref().map(|section| &section.message),
            Ok(&message)
        );
        assert_eq!(all[3], Err(ArchiveError::Torn { line: 17 }));
    }
}

//! Syntax errors of frames and packets, described with the terms of the protocol.

use std::borrow::Cow;
use std::fmt;

use pest::error::{ErrorVariant, InputLocation};

/// Describes the rules of a grammar in errors, with the terms of its protocol.
pub(crate) trait Explain: pest::RuleType {
    /// Returns the part that a rule stands for; `None` for a rule that only continues a part that could also end
    /// here.
    fn expected(self) -> Option<Expected>;

    /// Names the part before a fault: `after the agent id`.
    fn place(rules: &[Self], before: &str) -> String;

    /// Returns the cure of a fault, if the cure says more than the list of expected parts.
    fn cure(rules: &[Self], before: &str, found: Option<char>) -> Option<Cow<'static, str>>;
}

/// The first byte that makes it impossible for a text to be a frame or a packet, and the parts that are allowed at
/// this place.
///
/// [`Display`](fmt::Display) is for the author of the text: it may show a key or a character of the text.
/// [`SyntaxError::for_peer`] makes an error without them, which may go to a peer.
///
/// ```
/// let error = accp_grammar::parse("@dev>done:plan{pri:high;why:x").unwrap_err();
/// assert_eq!(error.at(), 27);
/// assert_eq!(error.expected(), "'|' or '}' after the value of `pri`");
/// assert_eq!(error.found(), Some(':'));
/// assert_eq!(error.cure(), Some(r"inside a value ':' is written '\:'"));
/// assert_eq!(error.for_peer().to_string(), "E1001 at byte 27: expected '|' or '}'");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    at: usize,
    fault: Fault,
    found: Option<char>,
    /// The part before the fault, as in `after the agent id`; empty for a limit.
    place: String,
    cure: Option<Cow<'static, str>>,
}

/// The fault, without any text of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// One of these must follow, or the name or value before the fault must continue.
    Expected(Vec<Expected>),
    /// The frame has more bytes than this limit.
    FrameBytes(usize),
    /// Arrays and maps are nested deeper than this limit.
    Depth(u32),
    /// The payload or the metadata has more params than this limit.
    Params(u32),
    /// The frame has more params, elements and entries than this limit.
    Elements(u32),
    /// The packet has more bytes than this limit.
    PacketBytes(usize),
    /// The packet has more fields than this limit.
    Fields(u32),
    /// The thread has too little stack left for the parser.
    Stack,
}

/// One part that is allowed at the place of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Expected {
    /// `agent-id`
    AgentId,
    /// `intent`
    Intent,
    /// `operation`
    Operation,
    /// `task` of a packet
    Task,
    /// `dom` of a packet
    Dom,
    /// `key`
    Key,
    /// `value`
    Value,
    /// `ref-key`
    RefKey,
    /// `delimiter`, after a backslash
    Delimiter,
    /// One of `@ > : { } [ ] | ,`
    Mark(char),
    /// The end of the frame.
    End,
    /// The end of the packet.
    EndOfPacket,
}

/// The part of a [`SyntaxError`] that a peer may see: the code, the byte and the expected parts, but no text of the
/// frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} at byte {at}: {fault}", SyntaxError::CODE)]
pub struct PeerError {
    /// The byte of the frame, from 0.
    pub at: usize,
    /// The fault at this byte.
    pub fault: Fault,
}

impl SyntaxError {
    /// `PARSE_ERROR` of draft section 3.6: the code of every fault of the grammar.
    pub const CODE: &str = "E1001";

    /// Returns the byte with the fault, counted from 0; the length of the text if the text ends too early. A frame
    /// can begin with the text before this byte, but no frame begins with the text up to and including this byte. For
    /// a limit, this is the first byte over the limit.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the fault, for programs.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Returns the expected part, and the part before it: `'>' after the agent id`.
    pub fn expected(&self) -> String {
        let fault = self.fault.to_string();
        let words = fault.strip_prefix("expected ").unwrap_or(&fault);
        format!(
            "{words}{}{}",
            if self.place.is_empty() { "" } else { " " },
            self.place
        )
    }

    /// Returns the character at this place; `None` at the end of the text.
    pub fn found(&self) -> Option<char> {
        self.found
    }

    /// Returns the cure, if the cure says more than the list of expected parts.
    pub fn cure(&self) -> Option<&str> {
        self.cure.as_deref()
    }

    /// Returns the error that may be sent to the peer that wrote the frame.
    pub fn for_peer(&self) -> PeerError {
        PeerError {
            at: self.at,
            fault: self.fault.clone(),
        }
    }

    /// Returns the error for a text that exceeds a limit at this byte.
    pub(crate) fn limit(at: usize, fault: Fault) -> Self {
        let cure = match fault {
            Fault::FrameBytes(_) => Some("split it into parts, or send values by reference"),
            Fault::Depth(_) => Some("send the inner value by reference"),
            Fault::Params(_) | Fault::Elements(_) => Some("split it, or send a list by reference"),
            Fault::PacketBytes(_) => Some("leave the data where it is, and name it in a data_ptr"),
            Fault::Fields(_) => Some("split it into several packets"),
            Fault::Stack => Some("parse on a thread with a larger stack"),
            Fault::Expected(_) => None,
        };
        Self {
            at,
            fault,
            found: None,
            place: String::new(),
            cure: cure.map(Cow::Borrowed),
        }
    }

    /// Returns the fault that pest found. Its place is the furthest place at which pest tried a rule.
    ///
    /// The generated grammar gives each mark its own rule, and a fault never lies inside a token. So the byte at the
    /// place is the first byte that cannot stand there.
    pub(crate) fn of_pest<R: Explain>(text: &str, error: &pest::error::Error<R>) -> Self {
        let (InputLocation::Pos(at) | InputLocation::Span((at, _))) = error.location;
        let ErrorVariant::ParsingError {
            positives: rules, ..
        } = &error.variant
        else {
            return Self::limit(at, Fault::Stack);
        };
        let mut expected: Vec<_> = rules.iter().filter_map(|rule| rule.expected()).collect();
        expected.sort_unstable();
        expected.dedup();
        let (before, rest) = text.split_at(at);
        let found = rest.chars().next();
        Self {
            at,
            place: R::place(rules, before),
            cure: R::cure(rules, before, found),
            fault: Fault::Expected(expected),
            found,
        }
    }

    /// Returns the first fault of bytes that are not UTF-8 as a whole. `text` is the beginning that is UTF-8, and
    /// `cure` is the cure of the byte after `text`.
    ///
    /// `wrong` is a character that no text of the grammar can hold. The function replaces that byte by `wrong`, so
    /// the first fault of the new text is the first fault of the bytes. `parse` returns the fault of a text.
    pub(crate) fn of_bytes(
        text: &[u8],
        wrong: char,
        cure: &'static str,
        parse: impl Fn(&str) -> Option<Self>,
    ) -> Self {
        let at = text.len();
        let mut text = String::from_utf8_lossy(text).into_owned();
        text.push(wrong);
        match parse(&text) {
            Some(error) if error.at < at || !matches!(error.fault, Fault::Expected(_)) => error,
            Some(error) => Self {
                found: Some(char::REPLACEMENT_CHARACTER),
                cure: Some(Cow::Borrowed(cure)),
                ..error
            },
            None => Self::limit(at, Fault::Expected(Vec::new())),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: ", self.at)?;
        match &self.fault {
            Fault::Expected(_) => {
                write!(
                    f,
                    "expected {}, found {}",
                    self.expected(),
                    Found(self.found)
                )?;
            }
            limit => write!(f, "{limit}")?,
        }
        match &self.cure {
            Some(cure) => write!(f, "; {cure}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SyntaxError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Expected(expected) => {
                f.write_str("expected ")?;
                for (index, one) in expected.iter().enumerate() {
                    let separator = match index {
                        0 => "",
                        _ if index + 1 == expected.len() => " or ",
                        _ => ", ",
                    };
                    write!(f, "{separator}{one}")?;
                }
                Ok(())
            }
            Fault::FrameBytes(limit) => write!(f, "a frame has at most {limit} bytes"),
            Fault::Depth(limit) => write!(f, "arrays and maps nest at most {limit} deep"),
            Fault::Params(limit) => {
                write!(
                    f,
                    "a payload and a metadata block have at most {limit} params"
                )
            }
            Fault::Elements(limit) => {
                write!(
                    f,
                    "a frame has at most {limit} params, elements and entries"
                )
            }
            Fault::PacketBytes(limit) => write!(f, "a packet has at most {limit} bytes"),
            Fault::Fields(limit) => write!(f, "a packet has at most {limit} fields"),
            Fault::Stack => f.write_str("too little stack is left to parse the frame"),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Expected::AgentId => "an agent id",
            Expected::Intent => "an intent",
            Expected::Operation => "an operation name",
            Expected::Task => "a task",
            Expected::Dom => "a domain",
            Expected::Key => "a key",
            Expected::Value => "a value",
            Expected::RefKey => "the key of a reference",
            Expected::Delimiter => "one of the 12 delimiters",
            Expected::Mark(mark) => return write!(f, "'{mark}'"),
            Expected::End => "the end of the frame",
            Expected::EndOfPacket => "the end of the packet",
        })
    }
}

struct Found(Option<char>);

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("the end"),
            Some('\'') => f.write_str("\"'\""),
            Some('\\') => f.write_str("'\\'"),
            Some(c) => write!(f, "{c:?}"),
        }
    }
}

#[cfg(test)]
mod tests;

//! Errors: [`DecodeError`] if the author of the frame is at fault, [`EncodeError`] if the caller is.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use accp_registry::ErrorCode;

/// The place of a value inside a frame: `ScheduleTask.deps[2]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Path {
    /// The segments, innermost first: they are added from the inside out.
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Name(Cow<'static, str>),
    Index(usize),
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.segments.iter().rev().enumerate() {
            match segment {
                Segment::Name(name) if at == 0 => f.write_str(name)?,
                Segment::Name(name) => write!(f, ".{name}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The reason why a frame was refused: the fault is in the frame.
///
/// [`Display`](fmt::Display) is for the local log and may show a character of the frame. The peer
/// may receive [`DecodeError::code`], [`DecodeError::at`] and [`DecodeError::expected`], which
/// never hold a piece of the frame's payload (draft section 3.6).
///
/// ```
/// use accp_runtime::{ErrorCode, Frame};
///
/// let error = Frame::parse("@planner:plan{}").unwrap_err();
/// assert_eq!(error.code(), ErrorCode::PARSE_ERROR);
/// assert_eq!(error.at(), 8);
/// assert_eq!(error.to_string(), "E1001 at byte 8: expected '>' after the agent id, found ':'");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    inner: Box<Decode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Decode {
    code: ErrorCode,
    at: usize,
    expected: Cow<'static, str>,
    found: Option<Found>,
    path: Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Char(char),
    End,
}

impl DecodeError {
    /// Returns a refusal with its code, the byte in the frame, and the expectation there.
    #[cold]
    pub fn new(code: ErrorCode, at: usize, expected: impl Into<Cow<'static, str>>) -> Self {
        let expected = expected.into();
        Self {
            inner: Box::new(Decode {
                code,
                at,
                expected,
                found: None,
                path: Path::default(),
            }),
        }
    }

    /// Returns a syntax error (E1001): the text at `at` is not what the grammar expects.
    #[cold]
    pub(crate) fn syntax(text: &str, at: usize, expected: &'static str) -> Self {
        let mut error = Self::new(ErrorCode::PARSE_ERROR, at, expected);
        error.inner.found = Some(text.get(at..).map_or(Found::End, |rest| {
            rest.chars().next().map_or(Found::End, Found::Char)
        }));
        error
    }

    /// Returns the code of the refusal (draft section 3.6).
    pub fn code(&self) -> ErrorCode {
        self.inner.code
    }

    /// Returns the byte of the frame at which reading stopped, from 0.
    pub fn at(&self) -> usize {
        self.inner.at
    }

    /// Returns the expectation at this byte, in words of the protocol and without payload.
    pub fn expected(&self) -> &str {
        &self.inner.expected
    }

    /// Returns the path to the value at fault, such as `ScheduleTask.deps[2]`; empty for the whole
    /// frame.
    pub fn path(&self) -> String {
        alloc::string::ToString::to_string(&self.inner.path)
    }

    /// Adds the field, or the type, that holds the value at fault.
    #[cold]
    #[must_use]
    pub fn within(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.inner.path.segments.push(Segment::Name(name.into()));
        self
    }

    /// Adds the index of the element at fault.
    #[cold]
    #[must_use]
    pub fn within_index(mut self, index: usize) -> Self {
        self.inner.path.segments.push(Segment::Index(index));
        self
    }

    /// Returns the same refusal with another byte, because the frame was read from a changed copy of its text.
    #[cold]
    pub(crate) fn moved_to(mut self, at: usize) -> Self {
        self.inner.at = at;
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decode {
            code,
            at,
            expected,
            found,
            path,
        } = &*self.inner;
        write!(f, "{code} at byte {at}")?;
        if !path.segments.is_empty() {
            write!(f, " in {path}")?;
        }
        write!(f, ": expected {expected}")?;
        match found {
            Some(Found::Char(c)) => write!(f, ", found {c:?}"),
            Some(Found::End) => f.write_str(", found the end"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for DecodeError {}

/// The reason why a message could not be written: the caller is at fault, and nothing was written.
///
/// ```
/// use accp_runtime::{AgentId, ErrorCode};
///
/// let error = AgentId::new("dev team").unwrap_err();
/// assert_eq!(error.to_string(), "`dev team` is not an agent id: letters, digits, '-' and '_' only");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeError {
    inner: Box<Encode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Encode {
    code: ErrorCode,
    message: String,
    path: Path,
}

impl EncodeError {
    /// Returns a refusal with the code that a reader of the frame would have given.
    #[cold]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            inner: Box::new(Encode {
                code,
                message,
                path: Path::default(),
            }),
        }
    }

    /// Returns the code that a reader of the frame would have given (draft section 3.6).
    pub fn code(&self) -> ErrorCode {
        self.inner.code
    }

    /// Returns the path to the value at fault, such as `ScheduleTask.deps[2]`; empty for the whole
    /// frame.
    pub fn path(&self) -> String {
        alloc::string::ToString::to_string(&self.inner.path)
    }

    /// Adds the field, or the type, that holds the value at fault.
    #[cold]
    #[must_use]
    pub fn within(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.inner.path.segments.push(Segment::Name(name.into()));
        self
    }

    /// Adds the index of the element at fault.
    #[cold]
    #[must_use]
    pub fn within_index(mut self, index: usize) -> Self {
        self.inner.path.segments.push(Segment::Index(index));
        self
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Encode { message, path, .. } = &*self.inner;
        if path.segments.is_empty() {
            f.write_str(message)
        } else {
            write!(f, "{path}: {message}")
        }
    }
}

impl core::error::Error for EncodeError {}

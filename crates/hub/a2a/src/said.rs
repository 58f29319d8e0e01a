//! Frames of a log, as far as a task needs them.

use accp_frame::{DecodeError, DecodeOptions, Envelope, Frame, Limits};
use accp_session::Mid;

/// The media type of a frame (draft section 12).
pub(crate) const ACCP: &str = "application/accp";
pub(crate) const TEXT: &str = "text/plain";
/// The bytes of words that go into a frame in any script. Longer ones go by reference.
pub(crate) const LONG: usize = 16 << 10;

/// How frames are read that may have values in the place of references. The size of a request is bounded
/// before.
pub(crate) const WIDE: DecodeOptions = DecodeOptions {
    limits: Limits::NONE,
    marks: true,
};

/// How frames of clients are read: a long value goes by reference, and everything else has the limits of a frame.
pub(crate) const LONG_VALUES: DecodeOptions = DecodeOptions {
    limits: Limits {
        frame_bytes: usize::MAX,
        ..Limits::DEFAULT
    },
    marks: true,
};

/// A frame with its envelope.
pub(crate) struct Said<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) envelope: Envelope<'static>,
}

impl<'a> Said<'a> {
    pub(crate) fn read(text: &'a str) -> Result<Self, DecodeError> {
        let frame = Frame::parse(text)?;
        let envelope = frame.envelope()?;
        Ok(Self { frame, envelope })
    }

    pub(crate) fn agent(&self) -> &str {
        &self.frame.agent
    }

    pub(crate) fn intent(&self) -> &str {
        &self.frame.intent
    }

    /// Returns the chain of the frame: its `cid`, or else its own id.
    pub(crate) fn chain(&self) -> Option<Mid> {
        let envelope = &self.envelope;
        let chain = envelope.correlation_id.as_deref();
        chain.or(envelope.msg_id.as_deref()).map(Mid::parse)
    }

    /// Returns the name of the chain as it is written.
    pub(crate) fn chain_name(&self) -> Option<&str> {
        let envelope = &self.envelope;
        let chain = envelope.correlation_id.as_deref();
        chain.or(envelope.msg_id.as_deref())
    }

    /// Returns the id of the message that caused this one.
    pub(crate) fn cause(&self) -> Option<Mid> {
        self.envelope.causation_id.as_deref().map(Mid::parse)
    }

    /// Returns the value of a param, under its short or its full name, as it is written.
    fn param(&self, short: &str, full: &str) -> Option<&str> {
        let value = self.frame.get(short).or_else(|| self.frame.get(full));
        value.map(accp_frame::RawValue::as_str)
    }

    /// Returns whether a piece of a stream is the last one.
    pub(crate) fn is_final(&self) -> bool {
        self.param("done", "is_final") == Some("true")
    }

    /// Reads a frame that may have values in the place of references.
    pub(crate) fn read_wide(text: &'a str) -> Result<Self, DecodeError> {
        let frame = Frame::parse_with(text, &WIDE)?;
        let envelope = frame.envelope()?;
        Ok(Self { frame, envelope })
    }

    /// Returns the text of the frame without its metadata.
    pub(crate) fn head(&self) -> String {
        let [header, body, _] = self.frame.parts();
        header + &body
    }
}

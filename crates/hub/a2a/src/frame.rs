//! Frames with their envelopes, as tasks need them.

use accp_frame::{DecodeError, DecodeOptions, Envelope, Frame, Limits};
use accp_session::Mid;

/// The media type of a frame (draft section 12).
pub(crate) const ACCP: &str = "application/accp";
pub(crate) const TEXT: &str = "text/plain";
/// The key in a frame's metadata whose value names the agent that gets the request.
pub(crate) const TO: &str = "to";
/// A text of at most this many bytes fits in a frame, whatever characters are escaped. Longer text goes by reference.
pub(crate) const LONG: usize = 16 << 10;

/// Options for frames in which values may have replaced references. They need no limits, because the size of the
/// request was checked before.
pub(crate) const WIDE: DecodeOptions = DecodeOptions {
    limits: Limits::NONE,
    marks: true,
};

/// Options for frames of clients: a long value goes by reference, so the length of the frame has no limit.
pub(crate) const LONG_VALUES: DecodeOptions = DecodeOptions {
    limits: Limits {
        frame_bytes: usize::MAX,
        ..Limits::DEFAULT
    },
    marks: true,
};

/// A frame with its envelope.
pub(crate) struct TaskFrame<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) envelope: Envelope<'static>,
}

impl<'a> TaskFrame<'a> {
    pub(crate) fn read(text: &'a str) -> Result<Self, DecodeError> {
        Self::of(Frame::parse(text)?)
    }

    /// Reads a frame in which values may have replaced references.
    pub(crate) fn read_wide(text: &'a str) -> Result<Self, DecodeError> {
        Self::of(Frame::parse_with(text, &WIDE)?)
    }

    fn of(frame: Frame<'a>) -> Result<Self, DecodeError> {
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
        self.chain_name().map(Mid::parse)
    }

    /// Returns the name of the chain as it is written.
    pub(crate) fn chain_name(&self) -> Option<&str> {
        let envelope = &self.envelope;
        let chain = envelope.correlation_id.as_deref();
        chain.or(envelope.msg_id.as_deref())
    }

    /// Returns the id of the frame that caused this frame.
    pub(crate) fn cause(&self) -> Option<Mid> {
        self.envelope.causation_id.as_deref().map(Mid::parse)
    }

    /// Returns whether a piece of a stream is the last one.
    pub(crate) fn is_final(&self) -> bool {
        let value = self
            .frame
            .get("done")
            .or_else(|| self.frame.get("is_final"));
        value.is_some_and(|value| value.as_str() == "true")
    }

    /// Returns the text of the frame without its metadata.
    pub(crate) fn head(&self) -> String {
        let [header, body, _] = self.frame.parts();
        header + &body
    }
}

//! The first look at a frame: its grammar, its envelope and nothing that needs a schema.

use crate::{
    DecodeError, DecodeOptions, Envelope, ErrorCode, Header, Intent, Limits, Reader, Value,
};

use super::Mid;

/// A frame that keeps to the grammar.
#[derive(Debug)]
pub(crate) struct Scanned<'a> {
    pub text: &'a str,
    pub header: Header<'a>,
    pub intent: Intent,
    /// Where the payload ends, after its `}`.
    pub end: usize,
    pub envelope: Envelope<'a>,
}

impl<'a> Scanned<'a> {
    /// Step 1 of decoding (draft section 7.3): the grammar, whole.
    pub(crate) fn new(text: &'a str, limits: Limits) -> Result<Self, DecodeError> {
        let options = DecodeOptions {
            limits,
            marks: true,
        };
        let mut r = Reader::new(text, options)?;
        let header = r.header()?;
        while r.param()?.is_some() {
            r.skip_value()?;
        }
        let end = r.at();
        let envelope = Envelope::read(&mut r)?;
        let Some(intent) = Intent::lookup(header.intent) else {
            let at = 2 + header.agent.len();
            let expected = "an intent of the draft (section 4.1)";
            return Err(DecodeError::new(ErrorCode::INVALID_INTENT, at, expected));
        };
        Ok(Self {
            text,
            header,
            intent,
            end,
            envelope,
        })
    }

    /// As [`Scanned::new`], of an entry, which was judged before it became one.
    pub(crate) fn of_entry(text: &'a str) -> Result<Self, DecodeError> {
        Self::new(text, Limits::NONE)
    }

    /// The frame without its metadata.
    pub(crate) fn head(&self) -> &'a str {
        self.text.get(..self.end).unwrap_or_default()
    }

    pub(crate) fn mid(&self) -> Option<Mid> {
        self.envelope.msg_id.as_deref().map(Mid::parse)
    }

    pub(crate) fn cid(&self) -> Option<Mid> {
        self.envelope.correlation_id.as_deref().map(Mid::parse)
    }

    pub(crate) fn aid(&self) -> Option<Mid> {
        self.envelope.causation_id.as_deref().map(Mid::parse)
    }

    /// A whole number in the metadata that is ours.
    pub(crate) fn extra(&self, key: &str) -> Option<u64> {
        match self.envelope.extra.get(key)? {
            Value::Integer(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// A text in the metadata that is ours; an id of digits alone reads as an integer.
    pub(crate) fn extra_mid(&self, key: &str) -> Option<Mid> {
        match self.envelope.extra.get(key)? {
            Value::String(text) => Some(Mid::parse(text)),
            Value::Integer(value) => Some(Mid::parse(&alloc::format!("{value}"))),
            _ => None,
        }
    }
}

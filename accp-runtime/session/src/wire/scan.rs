//! The first look at a frame: its grammar, its envelope and nothing that needs a schema.

use std::time::Duration;

use accp_frame::{
    DecodeError, DecodeOptions, DynamicFrame, Envelope, ErrorCode, Header, Intent, Limits, Reader,
    Value,
};
use accp_registry::{Registry, Schema};

use accp_context::Time;
use accp_frame::__internal::CheckedFrame;

use crate::log::mid::Mid;
use crate::reference::UNBOUNDED;

/// A frame that keeps to the grammar.
#[derive(Debug)]
pub(crate) struct Scanned<'a> {
    pub text: &'a str,
    pub header: Header<'a>,
    pub intent: Intent,
    /// The beginning of the payload, after its `{`.
    pub start: usize,
    /// The end of the payload, after its `}`.
    pub end: usize,
    /// The schema code, if there is one.
    pub schema: Option<&'a str>,
    pub envelope: Envelope<'a>,
    mid: Option<Mid>,
    cid: Option<Mid>,
}

impl<'a> Scanned<'a> {
    /// Does step 1 of decoding (draft section 7.3): the whole grammar.
    pub(crate) fn new(text: &'a str, limits: Limits) -> Result<Self, DecodeError> {
        Self::with_intent(text, limits, |header| {
            let at = 2 + header.agent.len();
            let expected = "an intent of the draft (section 4.1)";
            Intent::lookup(header.intent)
                .ok_or_else(|| DecodeError::new(ErrorCode::INVALID_INTENT, at, expected))
        })
    }

    /// Returns the id of a frame that keeps to the grammar, whatever its intent and size.
    pub(crate) fn mid_of(text: &str) -> Option<Mid> {
        let scanned = Scanned::with_intent(text, Limits::NONE, |_| Ok(Intent::ACK)).ok()?;
        scanned.mid
    }

    fn with_intent(
        text: &'a str,
        limits: Limits,
        intent: impl FnOnce(&Header<'a>) -> Result<Intent, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let options = DecodeOptions {
            limits,
            marks: true,
        };
        let mut r = Reader::new(text, options)?;
        let header = r.header()?;
        let start = r.at();
        let mut schema = None;
        while let Some(key) = r.param()? {
            let value = r.skip_value()?;
            if key == "schema" {
                schema = Some(value);
            }
        }
        let end = r.at();
        let envelope = Envelope::read(&mut r)?;
        Ok(Self {
            text,
            intent: intent(&header)?,
            header,
            start,
            end,
            schema,
            mid: envelope.msg_id.as_deref().map(Mid::parse),
            cid: envelope.correlation_id.as_deref().map(Mid::parse),
            envelope,
        })
    }

    /// As [`Scanned::new`], for an entry. An entry has no limits: it was judged before.
    pub(crate) fn of_entry(text: &'a str) -> Result<Self, DecodeError> {
        Self::new(text, Limits::NONE)
    }

    /// Returns the schema of the frame in `registry`.
    pub(crate) fn schema_in<'r>(&self, registry: &'r Registry) -> Option<&'r Schema> {
        let head = [self.intent.as_str(), self.header.operation];
        registry.schema_of(self.schema?, &head)
    }

    /// Returns the message of a frame that was judged before; `None` if the registry does not know it.
    pub(crate) fn message(&self, registry: &Registry) -> Option<DynamicFrame<'a>> {
        DynamicFrame::decode_with(self.text, registry, &UNBOUNDED).ok()
    }

    /// Returns the frame for the checks that need the registry.
    pub(crate) fn checked(&self) -> CheckedFrame<'_, 'a> {
        CheckedFrame {
            text: self.text,
            header: self.header,
            intent: self.intent,
            start: self.start,
            schema: self.schema,
            envelope: &self.envelope,
        }
    }

    /// Returns the frame without its metadata.
    pub(crate) fn head(&self) -> &'a str {
        self.text.get(..self.end).unwrap_or_default()
    }

    /// Returns whether the frame has expired: `ttl > 0` and `ts + ttl < now - skew`.
    pub(crate) fn has_expired(&self, skew: Duration, now: Time) -> bool {
        let (ts, ttl) = (self.envelope.timestamp, self.envelope.ttl);
        let ttl = ttl.unwrap_or(0);
        let end = ts.unwrap_or(i64::MAX).saturating_add(ttl);
        let skew = i64::try_from(skew.as_secs()).unwrap_or(i64::MAX);
        (ttl > 0) & (end < now.as_secs().saturating_sub(skew))
    }

    /// Returns whether the `ttl` of the frame is over, by the clock of a side that has taken the frame at `at`. The
    /// sender made the frame earlier than that, so no tolerance for clocks is needed.
    pub(crate) fn has_outlasted(&self, at: Time, now: Time) -> bool {
        let ttl = self.envelope.ttl.unwrap_or(0);
        ttl > 0 && at.as_secs().saturating_add(ttl) < now.as_secs()
    }

    pub(crate) fn mid(&self) -> Option<&Mid> {
        self.mid.as_ref()
    }

    pub(crate) fn cid(&self) -> Option<&Mid> {
        self.cid.as_ref()
    }

    pub(crate) fn aid(&self) -> Option<Mid> {
        self.envelope.causation_id.as_deref().map(Mid::parse)
    }

    /// Returns whether this frame ends the request with the id `asked` in the chain `chain`. It does so if it is
    /// `done`, `fail` or `end`, and its `aid` is `asked`. Without an `aid`, it has to be in that chain.
    pub(crate) fn answers(&self, asked: &Mid, chain: &Mid) -> bool {
        let is_about = match self.aid() {
            Some(aid) => aid == *asked,
            None => self.cid() == Some(chain),
        };
        is_about && self.ends()
    }

    /// Returns whether the frame ends a request: it is `done`, `fail` or `end`.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.intent, Intent::DONE | Intent::FAIL | Intent::END)
    }

    /// Returns a whole number from the extra pairs of the metadata.
    pub(crate) fn extra(&self, key: &str) -> Option<u64> {
        match self.envelope.extra.get(key)? {
            Value::Integer(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// Returns an id from the extra pairs of the metadata. An id that has only digits was read as an integer.
    pub(crate) fn extra_mid(&self, key: &str) -> Option<Mid> {
        match self.envelope.extra.get(key)? {
            Value::String(text) => Some(Mid::parse(text)),
            Value::Integer(value) => Some(Mid::parse(&format!("{value}"))),
            _ => None,
        }
    }
}

/// Reads a frame from its bytes: first the text, then the grammar.
pub(crate) fn scan(frame: &[u8], limits: accp_frame::Limits) -> Result<Scanned<'_>, DecodeError> {
    match std::str::from_utf8(frame) {
        Ok(text) => Scanned::new(text, limits),
        Err(_) => Err(accp_frame::Frame::parse_bytes(frame)
            .err()
            .unwrap_or_else(|| DecodeError::new(ErrorCode::PARSE_ERROR, 0, "printable ASCII"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use accp_frame::{DecodeOptions, DynamicFrame, Registry};

    const KEYS: &[&str] = &[
        "asgn", "assignee", "task", "pri", "priority", "dead", "deps", "stat", "prog", "x", "d",
        "data", "schema", "_",
    ];
    const VALUES: &[&str] = &[
        "dev",
        "\\@dev",
        "a_b",
        "42",
        "1.5",
        "true",
        "~",
        "[a,b]",
        "[]",
        "{a:1}",
        "{a:1,a:2}",
        "$cold.p1",
        "TA",
        "TX",
        "XX",
        "[[a,1]]",
    ];

    fn param() -> impl Strategy<Value = String> {
        (prop::sample::select(KEYS), prop::sample::select(VALUES))
            .prop_map(|(key, value)| format!("{key}:{value}"))
    }

    proptest! {
        #[test]
        fn the_check_says_what_decoding_says(
            params in prop::collection::vec(param(), 0..7),
            operation in prop::sample::select(&["schedule", "tool", "plan"][..]),
            intent in prop::sample::select(&["req", "done", "fail"][..]),
            coded in any::<bool>(),
        ) {
            let mut params = params;
            if coded {
                params.push("schema:TA".into());
            }
            let text = format!("@a>{intent}:{operation}{{{}}}[mid:m1,seq:1]", params.join("|"));
            let registry = Registry::shared();
            let options = DecodeOptions::default();
            let decoded = DynamicFrame::decode_with(&text, registry, &options).map(|_| ());
            if let Ok(frame) = Scanned::of_entry(&text) {
                let checked = frame.checked().check(registry, &options);
                prop_assert_eq!(checked, decoded, "{}", text);
            }
        }
    }
}

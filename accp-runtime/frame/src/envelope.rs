//! The message envelope.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use accp_registry::{ErrorCode, lexical};

use crate::error::{DecodeError, EncodeError};
use crate::reader::{Key, Keys, Reader};
use crate::value::{Map, Value};

/// The envelope fields of a frame's metadata (draft section 3.5).
///
/// The codec reads and writes the fields as they are. The session checks that `mid`, `seq` and `ts`
/// are present, in order and in time.
///
/// ```
/// use accp_runtime::Envelope;
///
/// let envelope = Envelope::new("100001000001", 1).at(1_714_000_000).answering("100001000000");
/// assert_eq!(envelope.to_string(), "[mid:100001000001,seq:1,ts:1714000000,cid:100001000000]");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Envelope<'a> {
    /// `mid`, the message id: 12 hexadecimal digits.
    pub msg_id: Option<Cow<'a, str>>,
    /// `seq`, from 1.
    pub sequence: Option<u64>,
    /// `ts`, Unix seconds.
    pub timestamp: Option<i64>,
    /// `cid`, the message id of the request, in a response.
    pub correlation_id: Option<Cow<'a, str>>,
    /// `aid`, the id of the message that caused this one.
    pub causation_id: Option<Cow<'a, str>>,
    /// `sid`, the session.
    pub session_id: Option<Cow<'a, str>>,
    /// `ttl` in seconds; 0 never expires.
    pub ttl: Option<i64>,
    /// All other pairs, under the key as written.
    pub extra: Map<'a>,
}

/// The keys of the envelope's own fields, each with the number of its field. The short keys come first, in the
/// order of the writer.
static KEYS: Keys = Keys::new(&[
    Key::new("mid", 0),
    Key::new("seq", 1),
    Key::new("ts", 2),
    Key::new("cid", 3),
    Key::new("aid", 4),
    Key::new("sid", 5),
    Key::new("ttl", 6),
    Key::new("msg_id", 0),
    Key::new("sequence", 1),
    Key::new("timestamp", 2),
    Key::new("correlation_id", 3),
    Key::new("causation_id", 4),
    Key::new("session_id", 5),
]);

impl<'a> Envelope<'a> {
    /// Returns an envelope with a message id and a sequence number.
    pub fn new(msg_id: impl Into<Cow<'a, str>>, sequence: u64) -> Self {
        Self {
            msg_id: Some(msg_id.into()),
            sequence: Some(sequence),
            ..Self::default()
        }
    }

    /// Adds the time, in Unix seconds.
    pub fn at(mut self, timestamp: i64) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Adds the correlation id: the id of the message that this one answers.
    pub fn answering(mut self, correlation_id: impl Into<Cow<'a, str>>) -> Self {
        self.correlation_id = Some(correlation_id.into());
        self
    }

    /// Returns whether a field is set, by its short or its full name.
    pub fn has(&self, field: &str) -> bool {
        match field {
            "mid" | "msg_id" => self.msg_id.is_some(),
            "seq" | "sequence" => self.sequence.is_some(),
            "ts" | "timestamp" => self.timestamp.is_some(),
            "cid" | "correlation_id" => self.correlation_id.is_some(),
            "aid" | "causation_id" => self.causation_id.is_some(),
            "sid" | "session_id" => self.session_id.is_some(),
            "ttl" => self.ttl.is_some(),
            key => self.extra.get(key).is_some(),
        }
    }

    /// Returns the number of pairs in the metadata.
    pub(crate) fn len(&self) -> usize {
        let fields = [
            self.msg_id.is_some(),
            self.sequence.is_some(),
            self.timestamp.is_some(),
            self.correlation_id.is_some(),
            self.causation_id.is_some(),
            self.session_id.is_some(),
            self.ttl.is_some(),
        ];
        fields.into_iter().filter(|set| *set).count() + self.extra.len()
    }

    /// Returns the same envelope, owned.
    pub fn into_owned(self) -> Envelope<'static> {
        let own = |text: Option<Cow<'_, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        Envelope {
            msg_id: own(self.msg_id),
            sequence: self.sequence,
            timestamp: self.timestamp,
            correlation_id: own(self.correlation_id),
            causation_id: own(self.causation_id),
            session_id: own(self.session_id),
            ttl: self.ttl,
            extra: self.extra.into_owned(),
        }
    }

    /// Reads the metadata after a payload, and the end of the frame.
    ///
    /// # Errors
    /// E1001 for a breach of the grammar, a repeated pair, or an invalid `mid` or `seq`; E1004 for
    /// another field of the wrong type or a value that is not a scalar.
    pub fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut envelope = Self::default();
        envelope.read_from(r)?;
        Ok(envelope)
    }

    /// Reads the metadata as [`Envelope::read`] does, into an existing empty envelope.
    pub(crate) fn read_from(&mut self, r: &mut Reader<'a>) -> Result<(), DecodeError> {
        // The writer of this crate writes the envelope fields in this order, so each of its keys is found at once.
        // The loop below reads extra pairs, and pairs in another order.
        if r.expects("[mid:", ",mid:")? {
            text(r, &mut self.msg_id, MSG_ID)?;
        }
        if r.expects("[seq:", ",seq:")? {
            self.read_sequence(r)?;
        }
        if r.expects("[ts:", ",ts:")? {
            seconds(r, &mut self.timestamp, TIMESTAMP)?;
        }
        if r.expects("[cid:", ",cid:")? {
            text(r, &mut self.correlation_id, CORRELATION_ID)?;
        }
        if r.expects("[aid:", ",aid:")? {
            text(r, &mut self.causation_id, CAUSATION_ID)?;
        }
        if r.expects("[sid:", ",sid:")? {
            text(r, &mut self.session_id, SESSION_ID)?;
        }
        if r.expects("[ttl:", ",ttl:")? {
            seconds(r, &mut self.ttl, TTL)?;
        }
        loop {
            match r.metadata_of(&KEYS)? {
                0 => text(r, &mut self.msg_id, MSG_ID)?,
                1 => self.read_sequence(r)?,
                2 => seconds(r, &mut self.timestamp, TIMESTAMP)?,
                3 => text(r, &mut self.correlation_id, CORRELATION_ID)?,
                4 => text(r, &mut self.causation_id, CAUSATION_ID)?,
                5 => text(r, &mut self.session_id, SESSION_ID)?,
                6 => seconds(r, &mut self.ttl, TTL)?,
                Reader::END => return r.finish(),
                _ => self.read_extra(r.unknown_key(), r)?,
            }
        }
    }

    fn read_sequence(&mut self, r: &mut Reader<'a>) -> Result<(), DecodeError> {
        let at = r.at();
        let value = integer(r, SEQUENCE)?;
        let value = u64::try_from(value).map_err(|_| SEQUENCE.fault(at))?;
        once(&mut self.sequence, value, at, SEQUENCE)
    }

    fn read_extra(&mut self, key: &'a str, r: &mut Reader<'a>) -> Result<(), DecodeError> {
        let at = r.at();
        let value = Value::read(r)?;
        if matches!(value, Value::Array(_) | Value::Map(_)) {
            return Err(DecodeError::new(
                ErrorCode::INVALID_TYPE,
                at,
                "a scalar in the metadata",
            ));
        }
        match self.extra.insert(key, value) {
            None => Ok(()),
            Some(_) => Err(DecodeError::new(
                ErrorCode::PARSE_ERROR,
                at,
                "every key once in the metadata",
            )),
        }
    }

    /// Appends the metadata block; nothing when no field is set.
    ///
    /// # Errors
    /// E1001 when `sequence` is above [`i64::MAX`], or when an extra key does not fit the grammar or is the key of an
    /// envelope field; E1004 when an extra value is not a scalar.
    pub fn write(&self, out: &mut String) -> Result<(), EncodeError> {
        let mut digits = itoa::Buffer::new();
        let start = out.len();
        let mut pairs = Pairs { out, start };
        pairs.text(",mid:", self.msg_id.as_deref());
        if let Some(sequence) = self.sequence {
            if i64::try_from(sequence).is_err() {
                let message = format!("sequence {sequence} is above {}", i64::MAX);
                return Err(EncodeError::new(ErrorCode::PARSE_ERROR, message));
            }
            pairs.key(",seq:");
            pairs.out.push_str(digits.format(sequence));
        }
        if let Some(timestamp) = self.timestamp {
            pairs.key(",ts:");
            pairs.out.push_str(digits.format(timestamp));
        }
        pairs.text(",cid:", self.correlation_id.as_deref());
        pairs.text(",aid:", self.causation_id.as_deref());
        pairs.text(",sid:", self.session_id.as_deref());
        if let Some(ttl) = self.ttl {
            pairs.key(",ttl:");
            pairs.out.push_str(digits.format(ttl));
        }
        for (key, value) in self.extra.iter() {
            let own = accp_registry::ENVELOPE
                .iter()
                .any(|f| f.short == key || f.full == key);
            if own || !lexical::is_key(key) {
                let message = format!("`{key}` cannot be a further key of the metadata");
                return Err(EncodeError::new(ErrorCode::PARSE_ERROR, message));
            }
            if matches!(value, Value::Array(_) | Value::Map(_)) {
                let message = format!("`{key}` is {}; metadata holds scalars", value.kind());
                return Err(EncodeError::new(ErrorCode::INVALID_TYPE, message));
            }
            if matches!(value, Value::Ref(to) if !lexical::is_ref_key(to)) {
                return Err(crate::value::no_ref_key(value));
            }
            pairs.key(",");
            pairs.out.push_str(key);
            pairs.out.push(':');
            value.write(pairs.out);
        }
        if pairs.out.len() > pairs.start {
            pairs.out.push(']');
        }
        Ok(())
    }
}

/// Appends the pairs of a metadata block that starts at byte `start`.
struct Pairs<'o> {
    out: &'o mut String,
    start: usize,
}

impl Pairs<'_> {
    /// Appends a key that begins with a comma, such as `,mid:`. For the first pair, writes a bracket instead of the
    /// comma.
    #[expect(
        clippy::inline_always,
        reason = "the compiler copies a constant key as a number"
    )]
    #[inline(always)]
    fn key(&mut self, key: &'static str) {
        if self.out.len() == self.start {
            self.out.push('[');
            self.out.push_str(key.get(1..).unwrap_or_default());
        } else {
            self.out.push_str(key);
        }
    }

    #[expect(clippy::inline_always, reason = "as for `key`")]
    #[inline(always)]
    fn text(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.key(key);
            lexical::write_string(self.out, text);
        }
    }
}

impl core::fmt::Display for Envelope<'_> {
    /// Writes the metadata block. For an envelope that cannot be written, it writes the error.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut text = String::new();
        match self.write(&mut text) {
            Ok(()) => f.write_str(&text),
            Err(error) => write!(f, "[{error}]"),
        }
    }
}

/// The rule for the value of a pair: the error code for any other value, and the words that describe a valid value.
#[derive(Clone, Copy)]
struct Expected(ErrorCode, &'static str);

const MSG_ID: Expected = Expected(ErrorCode::PARSE_ERROR, "one msg_id");
const SEQUENCE: Expected = Expected(
    ErrorCode::PARSE_ERROR,
    "one sequence number, an integer from 0",
);
const TIMESTAMP: Expected = Expected(
    ErrorCode::INVALID_TYPE,
    "one timestamp, integer Unix seconds",
);
const CORRELATION_ID: Expected = Expected(ErrorCode::INVALID_TYPE, "one correlation_id");
const CAUSATION_ID: Expected = Expected(ErrorCode::INVALID_TYPE, "one causation_id");
const SESSION_ID: Expected = Expected(ErrorCode::INVALID_TYPE, "one session_id");
const TTL: Expected = Expected(ErrorCode::INVALID_TYPE, "one ttl, integer seconds");

impl Expected {
    /// Returns the error for a value at byte `at` that breaks this rule.
    #[cold]
    fn fault(self, at: usize) -> DecodeError {
        DecodeError::new(self.0, at, self.1)
    }
}

#[inline]
fn once<T>(
    slot: &mut Option<T>,
    value: T,
    at: usize,
    Expected(_, what): Expected,
) -> Result<(), DecodeError> {
    if slot.is_some() {
        return Err(DecodeError::new(ErrorCode::PARSE_ERROR, at, what));
    }
    *slot = Some(value);
    Ok(())
}

#[inline]
fn text<'a>(
    r: &mut Reader<'a>,
    slot: &mut Option<Cow<'a, str>>,
    expected: Expected,
) -> Result<(), DecodeError> {
    if slot.is_none()
        && let Some(raw) = r.plain()
    {
        *slot = Some(Cow::Borrowed(raw));
        return Ok(());
    }
    marked(r, slot, expected)
}

/// Reads a text that has an escape or a mark. Refuses a value that is not a text.
#[cold]
fn marked<'a>(
    r: &mut Reader<'a>,
    slot: &mut Option<Cow<'a, str>>,
    expected: Expected,
) -> Result<(), DecodeError> {
    let at = r.at();
    match r.scalar()? {
        Some(raw) => once(slot, r.string_of(raw), at, expected),
        None => Err(expected.fault(at)),
    }
}

#[inline]
fn integer(r: &mut Reader<'_>, expected: Expected) -> Result<i64, DecodeError> {
    match r.digits() {
        Some(value) => Ok(value),
        None => other_integer(r, expected),
    }
}

/// Reads an integer in any spelling. Refuses a value that is not an integer.
#[cold]
fn other_integer(r: &mut Reader<'_>, expected: Expected) -> Result<i64, DecodeError> {
    let at = r.at();
    r.scalar()?
        .and_then(lexical::parse_integer)
        .ok_or_else(|| expected.fault(at))
}

#[inline]
fn seconds(
    r: &mut Reader<'_>,
    slot: &mut Option<i64>,
    expected: Expected,
) -> Result<(), DecodeError> {
    let at = r.at();
    let value = integer(r, expected)?;
    once(slot, value, at, expected)
}

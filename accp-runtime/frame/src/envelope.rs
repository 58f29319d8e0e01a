//! The message envelope.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use accp_registry::{ErrorCode, lexical};

use crate::error::{DecodeError, EncodeError};
use crate::reader::{Key, Reader};
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
const KEYS: &[Key] = &[
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
];

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
        use ErrorCode as E;
        let mut next = 0;
        while let Some(key) = r.metadata_of(KEYS, &mut next)? {
            match key {
                0 => text(r, &mut self.msg_id, E::PARSE_ERROR, "one msg_id")?,
                1 => {
                    let what = "one sequence number, an integer from 0";
                    let at = r.at();
                    let value = integer(r, E::PARSE_ERROR, what)?;
                    let Ok(value) = u64::try_from(value) else {
                        return Err(DecodeError::new(E::PARSE_ERROR, at, what));
                    };
                    once(&mut self.sequence, value, at, what)?;
                }
                2 => {
                    let what = "one timestamp, integer Unix seconds";
                    seconds(r, &mut self.timestamp, what)?;
                }
                3 => {
                    let what = "one correlation_id";
                    text(r, &mut self.correlation_id, E::INVALID_TYPE, what)?;
                }
                4 => {
                    let what = "one causation_id";
                    text(r, &mut self.causation_id, E::INVALID_TYPE, what)?;
                }
                5 => text(r, &mut self.session_id, E::INVALID_TYPE, "one session_id")?,
                6 => seconds(r, &mut self.ttl, "one ttl, integer seconds")?,
                _ => self.read_extra(r.unknown_key(), r)?,
            }
        }
        r.finish()
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
    /// E1001 when `sequence` is above [`i64::MAX`], or an extra key does not fit the grammar or is
    /// one of the envelope's own; E1004 when an extra value is not a scalar.
    pub fn write(&self, out: &mut String) -> Result<(), EncodeError> {
        let mut digits = itoa::Buffer::new();
        let start = out.len();
        let mut pairs = Pairs { out, start };
        pairs.put_text("mid:", self.msg_id.as_deref());
        if let Some(sequence) = self.sequence {
            if i64::try_from(sequence).is_err() {
                let message = format!("sequence {sequence} is above {}", i64::MAX);
                return Err(EncodeError::new(ErrorCode::PARSE_ERROR, message));
            }
            pairs.put("seq:", digits.format(sequence));
        }
        if let Some(timestamp) = self.timestamp {
            pairs.put("ts:", digits.format(timestamp));
        }
        pairs.put_text("cid:", self.correlation_id.as_deref());
        pairs.put_text("aid:", self.causation_id.as_deref());
        pairs.put_text("sid:", self.session_id.as_deref());
        if let Some(ttl) = self.ttl {
            pairs.put("ttl:", digits.format(ttl));
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
            pairs.put(key, ":");
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
    /// Appends a key and its text, after a comma unless it is the first pair.
    #[inline]
    fn put(&mut self, key: &str, text: &str) {
        self.out.push(if self.out.len() == self.start {
            '['
        } else {
            ','
        });
        self.out.push_str(key);
        self.out.push_str(text);
    }

    #[inline]
    fn put_text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.put(key, "");
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

#[inline]
fn once<T>(
    slot: &mut Option<T>,
    value: T,
    at: usize,
    what: &'static str,
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
    code: ErrorCode,
    what: &'static str,
) -> Result<(), DecodeError> {
    if slot.is_none()
        && let Some(raw) = r.plain()
    {
        *slot = Some(Cow::Borrowed(raw));
        return Ok(());
    }
    marked(r, slot, code, what)
}

/// Reads a text that has an escape or a mark. Refuses a value that is not a text.
#[cold]
fn marked<'a>(
    r: &mut Reader<'a>,
    slot: &mut Option<Cow<'a, str>>,
    code: ErrorCode,
    what: &'static str,
) -> Result<(), DecodeError> {
    let at = r.at();
    match r.scalar()? {
        Some(raw) => once(slot, r.string_of(raw), at, what),
        None => Err(DecodeError::new(code, at, what)),
    }
}

#[inline]
fn integer(r: &mut Reader<'_>, code: ErrorCode, what: &'static str) -> Result<i64, DecodeError> {
    if let Some(value) = r.digits() {
        return Ok(value);
    }
    let at = r.at();
    r.scalar()?
        .and_then(lexical::parse_integer)
        .ok_or_else(|| DecodeError::new(code, at, what))
}

#[inline]
fn seconds(
    r: &mut Reader<'_>,
    slot: &mut Option<i64>,
    what: &'static str,
) -> Result<(), DecodeError> {
    let at = r.at();
    let value = integer(r, ErrorCode::INVALID_TYPE, what)?;
    once(slot, value, at, what)
}

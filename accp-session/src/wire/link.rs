//! Frames that speak about the link and not in the session: never numbered, logged, relayed,
//! acknowledged or answered by an error.

use std::borrow::Cow;

use accp_registry::Hash;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::wire::scan::Scanned;
use crate::{MemberId, Mid, Scope, Time};
use accp_frame::{
    AgentId, DecodeError, EncodeError, EncodeOptions, Envelope, ErrorCode, Intent, Map, Message,
    Registry, Value,
};

/// Bytes of a value in one frame, before base64.
pub(crate) const PIECE: usize = 24 * 1024;

/// A link frame that was received.
#[derive(Debug)]
pub(crate) enum Link {
    /// Every position up to `held` is there; to a sender, its frames up to `of`, which took
    /// the `seq` `at`.
    Ack {
        of: Option<Mid>,
        at: Option<u64>,
        held: u64,
    },
    Ping,
    Pong {
        held: u64,
    },
    Hello(Hello),
    Error(PeerError),
    /// Asks for bytes from an offset on.
    Want {
        key: String,
        at: u64,
    },
    Bytes(Piece),
}

/// `sync:registry`: who is there, and what is held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hello {
    pub version: u64,
    /// The first digits of the registry's hash, or all of them.
    pub hash: String,
    /// The last position held.
    pub position: u64,
    /// From the host: how frames are numbered.
    pub sender_scope: bool,
    /// From the host: the number of the member.
    pub member: Option<MemberId>,
    /// From the host, to a member that holds nothing: the fold to start from.
    pub snapshot: Option<u64>,
    /// From the host: the position after which it relays.
    pub from: Option<u64>,
    /// Extensions that the sender understands.
    pub extensions: Vec<String>,
}

/// A refusal by the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerError {
    /// The frame that it is about; `None` when that could not be read.
    pub of: Option<Mid>,
    /// The code.
    pub code: ErrorCode,
    /// What was expected, in words of the protocol.
    pub message: String,
    /// Whether sending again may help.
    pub retry: bool,
    /// With E3003: the `seq` that is due.
    pub expected_sequence: Option<u64>,
    /// With E2001 on a delta: the version that is held.
    pub version: Option<u64>,
    /// With E3002: who sent the frame that has this id.
    pub holder: Option<MemberId>,
    /// With E3002: the `seq` that it took.
    pub sequence: Option<u64>,
    /// With E1001: the byte of the frame at fault.
    pub at: Option<u64>,
}

/// A piece of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub key: String,
    pub at: u64,
    pub length: u64,
    pub digest: Hash,
    pub data: Vec<u8>,
}

fn number(map: &Map<'_>, key: &str) -> Option<u64> {
    match map.get(key)? {
        Value::Integer(value) => u64::try_from(*value).ok(),
        _ => None,
    }
}

/// A text, or an integer that is meant as one: digits of a hash may be decimal ones only.
fn text(map: &Map<'_>, key: &str) -> Option<String> {
    match map.get(key)? {
        Value::String(text) => Some(text.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        _ => None,
    }
}

fn missing(what: &'static str) -> DecodeError {
    DecodeError::new(ErrorCode::INVALID_TYPE, 0, what)
}

impl Link {
    /// Whether the frame speaks about the link.
    pub(crate) fn is(frame: &Scanned<'_>) -> bool {
        let extra = &frame.envelope.extra;
        // A part of an error names the first part of it.
        let is_error = frame.intent == Intent::FAIL
            && frame.header.operation == "error"
            && extra.get("of").is_some()
            && extra.get("pt").is_none();
        is_error || Self::is_reserved(frame.intent, frame.header.operation)
    }

    /// Whether every frame of this kind speaks about the link, so that none can be sent in the
    /// session.
    pub(crate) fn is_reserved(intent: Intent, operation: &str) -> bool {
        match intent {
            Intent::ACK | Intent::PING | Intent::PONG => true,
            Intent::SYNC => matches!(operation, "registry" | "bytes"),
            Intent::QRY => operation == "bytes",
            _ => false,
        }
    }

    /// Reads a link frame.
    pub(crate) fn read(frame: &Scanned<'_>) -> Result<Self, DecodeError> {
        let held = frame.envelope.sequence.unwrap_or_default();
        let of = frame.extra_mid("of");
        Ok(match frame.intent {
            Intent::ACK => Self::Ack {
                of,
                at: frame.extra("at"),
                held,
            },
            Intent::PING => Self::Ping,
            Intent::PONG => Self::Pong { held },
            Intent::FAIL => Self::Error(PeerError::read(frame, of)?),
            Intent::QRY => {
                let message = Message::decode(frame.text, Registry::shared())?;
                let key = text(&message.payload, "key").ok_or_else(|| missing("a key"))?;
                let at = number(&message.payload, "at").unwrap_or_default();
                Self::Want { key, at }
            }
            _ if frame.header.operation == "bytes" => Self::Bytes(Piece::read(frame)?),
            _ => Self::Hello(Hello::read(frame)?),
        })
    }
}

impl Hello {
    fn read(frame: &Scanned<'_>) -> Result<Self, DecodeError> {
        let message = Message::decode(frame.text, Registry::shared())?;
        let payload = &message.payload;
        let extensions = match payload.get("ext") {
            Some(Value::Array(items)) => items
                .iter()
                .filter_map(Value::as_str)
                .map(String::from)
                .collect(),
            _ => Vec::new(),
        };
        let member = number(payload, "n").and_then(|n| MemberId::new(u16::try_from(n).ok()?));
        Ok(Self {
            version: number(payload, "version").unwrap_or_default(),
            hash: text(payload, "hash").unwrap_or_default(),
            position: number(payload, "pos").unwrap_or_default(),
            sender_scope: text(payload, "scope").as_deref() == Some("sender"),
            member,
            snapshot: number(payload, "snap"),
            from: number(payload, "from"),
            extensions,
        })
    }

    pub(crate) fn scope(&self) -> Scope {
        if self.sender_scope {
            Scope::Sender
        } else {
            Scope::Shared
        }
    }

    pub(crate) fn payload(&self) -> Map<'static> {
        let mut map = Map::new();
        let mut put = |key: &'static str, value: Value<'static>| {
            map.insert(key, value);
        };
        put("version", Value::Integer(self.version as i64));
        put("hash", Value::String(Cow::Owned(self.hash.clone())));
        put("pos", Value::Integer(self.position as i64));
        if let Some(member) = self.member {
            put("n", Value::Integer(i64::from(member.number())));
            put("scope", Value::from(self.scope().as_str()));
        }
        if let Some(snapshot) = self.snapshot {
            put("snap", Value::Integer(snapshot as i64));
        }
        if let Some(from) = self.from {
            put("from", Value::Integer(from as i64));
        }
        let extensions = self.extensions.iter().cloned().map(Value::from);
        put("ext", Value::Array(extensions.collect()));
        map
    }
}

impl PeerError {
    fn read(frame: &Scanned<'_>, of: Option<Mid>) -> Result<Self, DecodeError> {
        let message = Message::decode(frame.text, Registry::shared())?;
        let payload = &message.payload;
        let code = text(payload, "code").and_then(|code| code.parse().ok());
        let code: ErrorCode = code.ok_or_else(|| missing("an error code, as in E1001"))?;
        let retry = match payload.get("retry") {
            Some(Value::Boolean(retry)) => *retry,
            _ => code.is_retryable().unwrap_or(false),
        };
        Ok(Self {
            of,
            code,
            message: text(payload, "msg").unwrap_or_default(),
            retry,
            expected_sequence: number(payload, "expected_sequence"),
            version: number(payload, "version"),
            holder: number(payload, "holder").and_then(|n| MemberId::new(u16::try_from(n).ok()?)),
            sequence: number(payload, "sequence"),
            at: number(payload, "at"),
        })
    }

    pub(crate) fn payload(&self) -> Map<'static> {
        let mut map = Map::new();
        let mut put = |key: &'static str, value: Option<Value<'static>>| {
            if let Some(value) = value {
                map.insert(key, value);
            }
        };
        let integer = |value: u64| Value::Integer(value as i64);
        put("code", Some(Value::from(self.code.to_string())));
        put("msg", Some(Value::from(self.message.clone())));
        put("retry", Some(Value::Boolean(self.retry)));
        put("expected_sequence", self.expected_sequence.map(integer));
        put("version", self.version.map(integer));
        put(
            "holder",
            self.holder
                .map(|member| integer(u64::from(member.number()))),
        );
        put("sequence", self.sequence.map(integer));
        put("at", self.at.map(integer));
        map
    }
}

impl Piece {
    fn read(frame: &Scanned<'_>) -> Result<Self, DecodeError> {
        let message = Message::decode(frame.text, Registry::shared())?;
        let payload = &message.payload;
        let key = text(payload, "key").ok_or_else(|| missing("a key"))?;
        let digest = text(payload, "sha").and_then(|digits| digits.parse().ok());
        let data = text(payload, "data").unwrap_or_default();
        Ok(Self {
            key,
            at: number(payload, "at").unwrap_or_default(),
            length: number(payload, "len").ok_or_else(|| missing("the length of the value"))?,
            digest: digest.ok_or_else(|| missing("a SHA-256 of 64 digits"))?,
            data: BASE64.decode(data).map_err(|_| missing("data in base64"))?,
        })
    }

    pub(crate) fn payload(&self) -> Map<'static> {
        let mut map = Map::new();
        map.insert("key", Value::from(self.key.clone()));
        map.insert("at", Value::Integer(self.at as i64));
        map.insert("len", Value::Integer(self.length as i64));
        map.insert("sha", Value::from(self.digest.to_string()));
        map.insert("data", Value::from(BASE64.encode(&self.data)));
        map
    }

    /// The piece at `at` of these bytes.
    pub(crate) fn of(key: &str, bytes: &[u8], digest: Hash, at: u64) -> Self {
        let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(PIECE).min(bytes.len());
        Self {
            key: key.into(),
            at: start as u64,
            length: bytes.len() as u64,
            digest,
            data: bytes.get(start..end).unwrap_or_default().into(),
        }
    }
}

/// An id in a place without a type: digits alone need no mark as an integer.
pub(crate) fn mid_value(mid: &Mid) -> Value<'static> {
    let text = mid.to_string();
    if Value::from(text.as_str()).to_string() == text {
        return Value::from(text);
    }
    match text.parse() {
        Ok(digits) => Value::Integer(digits),
        Err(_) => Value::from(text),
    }
}

/// Whether a link frame is about a frame, and which; `~` for one that could not be read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<'m> {
    Nothing,
    Frame(Option<&'m Mid>),
}

/// What every link frame says of its sender.
#[derive(Debug)]
pub(crate) struct Stamp<'s> {
    pub agent: &'s AgentId<'static>,
    pub mid: String,
    /// The last position that the sender holds.
    pub held: u64,
    pub now: Time,
}

impl Stamp<'_> {
    /// `@hub>ack:frame{}[mid:..,seq:57,ts:..,of:101000001001,at:12]`: to a sender, that its
    /// frames up to this one, which took the `seq` 12, are there.
    pub(crate) fn ack(&self, of: Option<(&Mid, u64)>) -> String {
        let Self {
            agent,
            mid,
            held,
            now,
        } = self;
        let ts = now.as_secs();
        match of {
            Some((of, at)) => {
                let of = mid_value(of);
                format!("@{agent}>ack:frame{{}}[mid:{mid},seq:{held},ts:{ts},of:{of},at:{at}]")
            }
            None => format!("@{agent}>ack:frame{{}}[mid:{mid},seq:{held},ts:{ts}]"),
        }
    }

    /// `@a>ping:link{}` and its answer.
    pub(crate) fn beat(&self, intent: Intent) -> String {
        let Self {
            agent,
            mid,
            held,
            now,
        } = self;
        let ts = now.as_secs();
        format!("@{agent}>{intent}:link{{}}[mid:{mid},seq:{held},ts:{ts}]")
    }

    /// Any other link frame.
    ///
    /// # Errors
    /// Where the payload is over the limits of a frame.
    pub(crate) fn frame(
        &self,
        intent: Intent,
        operation: &'static str,
        schema: Option<&'static str>,
        payload: Map<'static>,
        of: Of<'_>,
    ) -> Result<String, EncodeError> {
        let mut envelope = Envelope::new(self.mid.as_str(), self.held).at(self.now.as_secs());
        if let Of::Frame(of) = of {
            envelope
                .extra
                .insert("of", of.map_or(Value::Null, mid_value));
        }
        let message = Message {
            agent: self.agent.clone(),
            intent,
            operation: Cow::Borrowed(operation),
            schema: schema.map(Cow::Borrowed),
            payload,
            envelope,
        };
        let options = EncodeOptions {
            inline: true,
            ..EncodeOptions::default()
        };
        message.encode_with(Registry::shared(), options)
    }
}

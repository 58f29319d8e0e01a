//! Link frames, which are about the link and not part of the session. They are never numbered,
//! logged, relayed, acknowledged or answered by an error.

use std::borrow::Cow;

use accp_registry::Hash;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::wire::frames::{BytesQry, BytesSync, LinkFrame, RegistrySync};
use crate::wire::scan::Scanned;
use crate::{MemberId, Mid, Scope, Time};
use accp_frame::profiles::ErrorFail;
use accp_frame::{
    AgentId, DecodeError, EncodeError, EncodeFrame, EncodeOptions, Envelope, ErrorCode, Intent,
    Typed, Value,
};

/// The greatest number of bytes of a value in one frame, before base64.
pub(crate) const PIECE: usize = 24 * 1024;

/// A link frame that was received.
#[derive(Debug)]
pub(crate) enum Link {
    /// The sender of this frame holds every position up to `held`. A host also acknowledges the
    /// receiver's frames up to `of`, which took the `seq` `at`.
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

/// `sync:registry`: the registry of a side, and the position that it holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hello {
    pub version: u64,
    /// The first digits of the registry's hash, or all of them.
    pub hash: String,
    /// The last position that the sender holds.
    pub position: u64,
    /// From the host: true if each sender has its own numbers.
    pub sender_scope: bool,
    /// From the host: the number of the member.
    pub member: Option<MemberId>,
    /// From the host, to a member that holds nothing: the position of the fold to start from.
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
    /// The frame that the refusal is about; `None` when that could not be read.
    pub of: Option<Mid>,
    /// The code.
    pub code: ErrorCode,
    /// The expected content, in words of the protocol.
    pub message: String,
    /// True if sending the frame again may help.
    pub retry: bool,
    /// With E3003: the `seq` that is due.
    pub expected_sequence: Option<u64>,
    /// With E2001 on a delta: the version that is held.
    pub version: Option<u64>,
    /// With E3002: the sender of the frame that has this id.
    pub holder: Option<MemberId>,
    /// With E3002: the `seq` that this frame took.
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

#[cold]
fn wrong(what: &'static str) -> DecodeError {
    DecodeError::new(ErrorCode::INVALID_TYPE, 0, what)
}

/// Returns the number if it is not negative.
fn unsigned(number: i64) -> Option<u64> {
    u64::try_from(number).ok()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the member with this number.
pub(crate) fn member(number: i64) -> Option<MemberId> {
    MemberId::new(u16::try_from(number).ok()?)
}

impl Link {
    /// Returns whether the frame is a link frame.
    pub(crate) fn is(frame: &Scanned<'_>) -> bool {
        let extra = &frame.envelope.extra;
        // In a part of a frame, `of` names the first part.
        let is_error = frame.intent == Intent::FAIL
            && frame.header.operation == "error"
            && extra.get("of").is_some()
            && extra.get("pt").is_none();
        is_error || Self::is_reserved(frame.intent, frame.header.operation)
    }

    /// Returns whether every frame of this kind is a link frame, so that no application can send it
    /// in the session.
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
            Intent::FAIL => Self::Error(PeerError::read(frame.text, of)?),
            _ => match Typed::<LinkFrame<'_>>::decode(frame.text)?.frame {
                LinkFrame::BytesQry(want) => Self::Want {
                    key: want.key.into_owned(),
                    at: want.at.and_then(unsigned).unwrap_or_default(),
                },
                LinkFrame::BytesSync(piece) => Self::Bytes(Piece::try_from(piece)?),
                LinkFrame::RegistrySync(hello) => Self::Hello(Hello::from(hello)),
                _ => return Err(wrong("a frame about the link")),
            },
        })
    }
}

impl From<RegistrySync<'_>> for Hello {
    fn from(said: RegistrySync<'_>) -> Self {
        Self {
            version: said.version.and_then(unsigned).unwrap_or_default(),
            // A hash of digits alone reads as an integer.
            hash: match said.hash {
                Some(Value::String(digits)) => digits.into_owned(),
                Some(digits @ Value::Integer(_)) => digits.to_string(),
                _ => String::new(),
            },
            position: said.position.and_then(unsigned).unwrap_or_default(),
            sender_scope: said.scope.as_deref() == Some(Scope::Sender.as_str()),
            member: said.member.and_then(member),
            snapshot: said.snapshot.and_then(unsigned),
            from: said.from.and_then(unsigned),
            extensions: said.extensions.map_or(Vec::new(), owned),
        }
    }
}

impl Hello {
    pub(crate) fn scope(&self) -> Scope {
        if self.sender_scope {
            Scope::Sender
        } else {
            Scope::Shared
        }
    }

    pub(crate) fn frame(&self) -> RegistrySync<'_> {
        RegistrySync {
            version: Some(signed(self.version)),
            hash: Some(Value::from(self.hash.as_str())),
            position: Some(signed(self.position)),
            member: self.member.map(|member| member.number().into()),
            scope: self.member.map(|_| self.scope().as_str().into()),
            snapshot: self.snapshot.map(signed),
            from: self.from.map(signed),
            extensions: Some(borrowed(&self.extensions)),
        }
    }
}

/// Returns texts that outlive their frame.
pub(crate) fn owned(texts: Vec<Cow<'_, str>>) -> Vec<String> {
    texts.into_iter().map(Cow::into_owned).collect()
}

/// Returns texts for a frame.
pub(crate) fn borrowed(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

impl PeerError {
    fn read(text: &str, of: Option<Mid>) -> Result<Self, DecodeError> {
        let error = Typed::<ErrorFail<'_>>::decode(text)?.frame;
        let code = error.code.parse();
        Ok(Self {
            of,
            code: code.map_err(|_| wrong("an error code, as in E1001"))?,
            message: error.msg.into_owned(),
            retry: error.retry,
            expected_sequence: error.expected_sequence.and_then(unsigned),
            version: error.version.and_then(unsigned),
            holder: error.holder.and_then(member),
            sequence: error.sequence.and_then(unsigned),
            at: error.at.and_then(unsigned),
        })
    }

    pub(crate) fn frame(&self) -> ErrorFail<'_> {
        ErrorFail {
            code: self.code.to_string().into(),
            msg: self.message.as_str().into(),
            retry: self.retry,
            expected_sequence: self.expected_sequence.map(signed),
            version: self.version.map(signed),
            field: None,
            at: self.at.map(signed),
            holder: self.holder.map(|member| member.number().into()),
            sequence: self.sequence.map(signed),
            tool_name: None,
            escalate_to: None,
        }
    }
}

impl TryFrom<BytesSync<'_>> for Piece {
    type Error = DecodeError;

    fn try_from(said: BytesSync<'_>) -> Result<Self, DecodeError> {
        let length = unsigned(said.length);
        let digest = said.digest.parse();
        let data = BASE64.decode(&*said.data.unwrap_or_default());
        Ok(Self {
            key: said.key.into_owned(),
            at: said.at.and_then(unsigned).unwrap_or_default(),
            length: length.ok_or_else(|| wrong("the length of the value"))?,
            digest: digest.map_err(|_| wrong("a SHA-256 of 64 digits"))?,
            data: data.map_err(|_| wrong("data in base64"))?,
        })
    }
}

/// Asks for the bytes under a key, from byte `at` on.
pub(crate) fn want(key: &str, at: u64) -> BytesQry<'_> {
    BytesQry {
        key: key.into(),
        at: Some(signed(at)),
    }
}

impl Piece {
    pub(crate) fn frame(&self) -> BytesSync<'_> {
        BytesSync {
            key: self.key.as_str().into(),
            at: Some(signed(self.at)),
            length: signed(self.length),
            digest: self.digest.to_string().into(),
            data: Some(BASE64.encode(&self.data).into()),
        }
    }

    /// Returns the piece at byte `at` of these bytes.
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

/// Returns an id for a place without a type. An id of digits alone becomes an unmarked integer.
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

/// The frame that a link frame is about, if any. `Frame(None)` is `~`: the frame could not be read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<'m> {
    Nothing,
    Frame(Option<&'m Mid>),
}

/// The sender's data in every link frame.
#[derive(Debug)]
pub(crate) struct Stamp<'s> {
    pub agent: &'s AgentId<'static>,
    pub mid: String,
    /// The last position that the sender holds.
    pub held: u64,
    pub now: Time,
}

impl Stamp<'_> {
    /// Writes `@hub>ack:frame{}[mid:..,seq:57,ts:..,of:101000001001,at:12]`. It tells a sender that
    /// its frames up to this one, which took the `seq` 12, have arrived.
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

    /// Writes `@a>ping:link{}` or its answer.
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

    /// Writes any other link frame.
    ///
    /// # Errors
    /// When the payload is over the limits of a frame.
    pub(crate) fn frame(&self, frame: impl EncodeFrame, of: Of<'_>) -> Result<String, EncodeError> {
        let mut envelope = Envelope::new(self.mid.as_str(), self.held).at(self.now.as_secs());
        if let Of::Frame(of) = of {
            envelope
                .extra
                .insert("of", of.map_or(Value::Null, mid_value));
        }
        let options = EncodeOptions {
            inline: true,
            ..EncodeOptions::default()
        };
        let mut text = String::new();
        Typed::new(self.agent.clone(), frame, envelope).encode_into(&mut text, options)?;
        Ok(text)
    }
}

//! Link frames, which are about the link and not part of the session. They are never numbered,
//! logged, relayed, acknowledged or answered by an error.

use std::borrow::Cow;

use accp_registry::Hash;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::log::mid::{MemberId, Mid};
use crate::log::vouch::Voucher;
use crate::options::Scope;
use crate::wire::frames::{BytesQry, BytesSync, LinkFrame, RegistrySync, ServesSync};
use crate::wire::scan::Scanned;
use accp_frame::profiles::ErrorFail;
use accp_frame::{DecodeError, DynamicFrame, ErrorCode, Intent, Map, Registry, Typed, Value};

/// The greatest number of bytes of a value in one frame, before base64.
pub(crate) const PIECE: usize = 24 * 1024;

/// A link frame that was received.
#[derive(Debug)]
pub(crate) enum Link {
    /// The sender of this frame holds every position up to `held`. A host also acknowledges the receiver's frames
    /// up to `of`, which took the `seq` `at`. The accepted ones among these frames are in the log by position `up`,
    /// the last relayed position.
    Ack {
        of: Option<Mid>,
        at: Option<u64>,
        up: Option<u64>,
        held: u64,
    },
    Ping {
        held: u64,
    },
    Pong {
        held: u64,
    },
    Hello(Box<Hello>),
    Error {
        error: PeerError,
        held: u64,
    },
    /// Asks for bytes from an offset on.
    Want {
        key: String,
        at: u64,
    },
    Bytes(Piece),
    /// A member tells the host which requests it takes.
    Serves(Vec<String>),
    /// A member asks to leave the session, or the host confirms that the member has left.
    Bye,
}

/// `sync:registry`: the registry of a side, and the position that it holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Hello {
    pub version: u64,
    /// The first digits of the registry's hash, or all of them.
    pub hash: String,
    /// From the host: the level of the draft that the session keeps to.
    pub level: Option<u8>,
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
    /// From the host: the last epoch among the ids of the member that the session has consumed.
    pub epoch: Option<u64>,
    /// From a member: the last voucher of the host, for the position that the member holds or for the
    /// fold that it started from. From the host: its voucher for the position `from`.
    pub voucher: Option<Voucher>,
    /// From a member: the number of its first frame that it has not found in the log. From the host:
    /// the number that it expects of the member.
    pub next: Option<u64>,
    /// From the host: the last frame of the member that it has consumed.
    pub last: Option<Mid>,
    /// From the host: the last position that the member has acknowledged.
    pub seen: Option<u64>,
    /// From the host: the number of the last value that the member has put.
    pub puts: Option<u64>,
    /// From a member: frames of its own whose entries it may have missed. From the host: the list that the member
    /// sent.
    pub asks: Vec<Mid>,
    /// From the host: the frames of `asks` that the log has (`has`), and those that took a number but are not in
    /// the log (`gone`).
    pub has: Vec<Mid>,
    pub gone: Vec<Mid>,
    /// From the host: the position up to which the log shows why frames are gone, if that is not
    /// `position`. Dropped frames are not relayed.
    pub up: Option<u64>,
    /// Extensions that the sender understands.
    pub extensions: Vec<String>,
    /// True if the sender knows the draft alone: it says the version and the hash of its registry,
    /// and perhaps `schemas`.
    pub draft: bool,
    /// The `seq` of the frame: from a peer of the draft alone, the last number that it knows of.
    pub number: Option<u64>,
    /// For or from a peer of the draft alone: schemas in the form of section 6.2.
    pub schemas: Option<Map<'static>>,
}

/// A refusal by the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerError {
    /// The id of the frame that the refusal is about; `None` when the id could not be read.
    pub of: Option<Mid>,
    /// The code.
    pub code: ErrorCode,
    /// The expected content, in words of the protocol.
    pub message: String,
    /// True if sending the frame again may help.
    pub retry: bool,
    /// With E3003: the `seq` that is due.
    pub expected_sequence: Option<u64>,
    /// With E2001 on a delta: the version of the shared state that the sender of the error has.
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

/// Returns the number of a param. A param with another value is ignored.
fn number(value: Option<&Value<'_>>) -> Option<u64> {
    match value? {
        Value::Integer(number) => unsigned(*number),
        _ => None,
    }
}

/// Returns the text of a param. A text that has only digits and no mark was read as an integer.
fn text(value: Option<&Value<'_>>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.to_string()),
        Value::Integer(digits) => Some(digits.to_string()),
        _ => None,
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the member with this number.
pub(crate) fn member(number: u64) -> Option<MemberId> {
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

    /// Returns whether the frame says that another number is due. A peer that knows only the draft
    /// does not name the frame.
    pub(crate) fn is_about_turn(frame: &Scanned<'_>) -> bool {
        let is_error = frame.intent == Intent::FAIL && frame.header.operation == "error";
        is_error && PeerError::read(frame.text, None).is_ok_and(|error| error.is_about_turn())
    }

    /// Returns whether every frame of this kind is a link frame, so that no application can send it
    /// in the session.
    pub(crate) fn is_reserved(intent: Intent, operation: &str) -> bool {
        match intent {
            Intent::ACK | Intent::PING | Intent::PONG => true,
            Intent::SYNC => matches!(operation, "registry" | "bytes" | "serves" | "bye"),
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
                // A peer that knows only the draft names the frame by `cid`.
                of: of.or_else(|| frame.cid().cloned()),
                at: frame.extra("at"),
                up: frame.extra("up"),
                held,
            },
            Intent::PING => Self::Ping { held },
            Intent::PONG => Self::Pong { held },
            Intent::FAIL => Self::Error {
                error: PeerError::read(frame.text, of)?,
                held,
            },
            _ => match Typed::<LinkFrame<'_>>::decode(frame.text)?.frame {
                LinkFrame::BytesQry(want) => Self::Want {
                    key: text(Some(&want.key)).ok_or_else(|| wrong("a key"))?,
                    at: want.at.and_then(unsigned).unwrap_or_default(),
                },
                LinkFrame::BytesSync(piece) => Self::Bytes(Piece::try_from(piece)?),
                LinkFrame::ServesSync(serves) => Self::Serves(owned(serves.heads)),
                LinkFrame::ByeSync(_) => Self::Bye,
                LinkFrame::RegistrySync(hello) => Self::Hello(Box::new(Hello {
                    number: frame.envelope.sequence,
                    ..Hello::from(hello)
                })),
                _ => return Err(wrong("a frame about the link")),
            },
        })
    }
}

impl From<RegistrySync<'_>> for Hello {
    fn from(hello: RegistrySync<'_>) -> Self {
        let number_of = |value: &Option<Value<'_>>| number(value.as_ref());
        let texts = |value: &Option<Value<'_>>| -> Vec<String> {
            match value {
                Some(Value::Array(all)) => all.iter().filter_map(|one| text(Some(one))).collect(),
                _ => Vec::new(),
            }
        };
        let mids = |value| texts(value).iter().map(|mid| Mid::parse(mid)).collect();
        let extra = [&hello.position, &hello.member, &hello.extensions];
        Self {
            draft: hello.hash.is_some() && extra.into_iter().all(Option::is_none),
            number: None,
            schemas: match hello.schemas.clone() {
                Some(Value::Map(schemas)) => Some(schemas.into_owned()),
                _ => None,
            },
            version: number_of(&hello.version).unwrap_or_default(),
            hash: text(hello.hash.as_ref()).unwrap_or_default(),
            level: number_of(&hello.level).and_then(|level| u8::try_from(level).ok()),
            position: number_of(&hello.position).unwrap_or_default(),
            sender_scope: text(hello.scope.as_ref()).as_deref() == Some(Scope::Sender.as_str()),
            member: number_of(&hello.member).and_then(member),
            snapshot: number_of(&hello.snapshot),
            from: number_of(&hello.from),
            epoch: number_of(&hello.epoch),
            voucher: text(hello.proof.as_ref()).and_then(|digits| Voucher::read(&digits)),
            next: number_of(&hello.next),
            seen: number_of(&hello.seen),
            puts: number_of(&hello.puts),
            last: text(hello.last.as_ref()).map(|mid| Mid::parse(&mid)),
            asks: mids(&hello.asks),
            has: mids(&hello.has),
            gone: mids(&hello.gone),
            up: number_of(&hello.up),
            extensions: texts(&hello.extensions),
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
        let number = |number: u64| Value::Integer(signed(number));
        let mids = |mids: &[Mid]| {
            let all = || Value::Array(mids.iter().map(mid_value).collect());
            (!mids.is_empty()).then(all)
        };
        let extensions = self
            .extensions
            .iter()
            .map(|name| Value::from(name.as_str()));
        RegistrySync {
            version: Some(number(self.version)),
            hash: Some(Value::from(self.hash.as_str())),
            level: self.level.map(|level| number(level.into())),
            position: Some(number(self.position)).filter(|_| !self.draft),
            member: self.member.map(|member| number(member.number().into())),
            scope: self.member.map(|_| Value::from(self.scope().as_str())),
            snapshot: self.snapshot.map(number),
            from: self.from.map(number),
            epoch: self.epoch.map(number),
            proof: self.voucher.map(|voucher| Value::from(voucher.digits())),
            next: self.next.map(number),
            seen: self.seen.map(number),
            puts: self.puts.map(number),
            last: self.last.as_ref().map(mid_value),
            asks: mids(&self.asks),
            has: mids(&self.has),
            gone: mids(&self.gone),
            up: self.up.map(number),
            schemas: self.schemas.clone().map(Value::Map),
            extensions: Some(Value::Array(extensions.collect())).filter(|_| !self.draft),
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
    /// Returns whether another number is due. Such an error is out of date once the host has taken a later frame.
    pub(crate) fn is_about_turn(&self) -> bool {
        self.code == ErrorCode::SEQUENCE_GAP
    }

    /// Reads an error. A peer may leave out the schema. Then this reads the params that are there; only the code is
    /// necessary.
    pub(crate) fn read(frame: &str, of: Option<Mid>) -> Result<Self, DecodeError> {
        let message = DynamicFrame::decode(frame, Registry::shared())?;
        let get = |name: &str| message.payload.get(name);
        let code = text(get("code")).and_then(|code| code.parse().ok());
        let code: ErrorCode = code.ok_or_else(|| wrong("an error code, as in E1001"))?;
        let retry = match get("retry") {
            Some(Value::Boolean(retry)) => *retry,
            _ => code.is_retryable().unwrap_or(false),
        };
        Ok(Self {
            of,
            code,
            message: text(get("msg")).unwrap_or_default(),
            retry,
            expected_sequence: number(get("expected_sequence")),
            version: number(get("version")),
            holder: number(get("holder")).and_then(member),
            sequence: number(get("sequence")),
            at: number(get("at")),
        })
    }

    pub(crate) fn frame(&self) -> ErrorFail<'_> {
        ErrorFail {
            retry: self.retry,
            expected_sequence: self.expected_sequence.map(signed),
            version: self.version.map(signed),
            at: self.at.map(signed),
            holder: self.holder.map(|member| member.number().into()),
            sequence: self.sequence.map(signed),
            ..error_frame(self.code, self.message.as_str())
        }
    }
}

/// Returns an error as a frame (draft section 3.6).
pub(crate) fn error_frame<'m>(code: ErrorCode, message: impl Into<Cow<'m, str>>) -> ErrorFail<'m> {
    ErrorFail {
        code: code.to_string().into(),
        msg: message.into(),
        retry: code.is_retryable().unwrap_or(false),
        expected_sequence: None,
        version: None,
        field: None,
        at: None,
        holder: None,
        sequence: None,
        tool_name: None,
        escalate_to: None,
    }
}

impl TryFrom<BytesSync<'_>> for Piece {
    type Error = DecodeError;

    fn try_from(piece: BytesSync<'_>) -> Result<Self, DecodeError> {
        let length = unsigned(piece.length);
        let digest = piece.digest.parse();
        let data = BASE64.decode(text(piece.data.as_ref()).unwrap_or_default());
        Ok(Self {
            key: text(Some(&piece.key)).ok_or_else(|| wrong("a key"))?,
            at: piece.at.and_then(unsigned).unwrap_or_default(),
            length: length.ok_or_else(|| wrong("the length of the value"))?,
            digest: digest.map_err(|_| wrong("a SHA-256 of 64 digits"))?,
            data: data.map_err(|_| wrong("data in base64"))?,
        })
    }
}

/// Says which requests a member takes.
pub(crate) fn serves(heads: &[String]) -> ServesSync<'_> {
    ServesSync {
        heads: borrowed(heads),
    }
}

/// Asks for the bytes under a key, from byte `at` on.
pub(crate) fn want(key: &str, at: u64) -> BytesQry<'_> {
    BytesQry {
        key: Value::from(key),
        at: Some(signed(at)),
    }
}

impl Piece {
    pub(crate) fn frame(&self) -> BytesSync<'_> {
        BytesSync {
            key: Value::from(self.key.as_str()),
            at: Some(signed(self.at)),
            length: signed(self.length),
            digest: self.digest.to_string().into(),
            data: Some(Value::from(BASE64.encode(&self.data))),
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

/// Returns an id for a place without a type. An id that has only digits becomes an integer, because it needs a mark
/// as a text.
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

//! What frames of the session say to the session itself.

use std::borrow::Cow;

use accp_registry::{ErrorCode, Hash};

use crate::wire::scan::Scanned;
use crate::{Checkpoint, MemberId, Scope};
use accp_frame::{
    AgentId, DecodeError, DecodeOptions, Envelope, Intent, Limits, Map, Message, Registry, Value,
};

/// A frame that is folded and handed to no handler: those of the host about the session,
/// and the announcement of values by anybody.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Control {
    /// `sync:open`: the first entry of all.
    Open {
        agent: String,
        scope: Scope,
        /// What tokens are counted with; without it there is no context to speak of.
        tokenizer: Option<String>,
    },
    /// `sync:join`: a member is there.
    Join {
        member: MemberId,
        agents: Vec<String>,
        supervisor: bool,
    },
    /// `sync:leave`: it is not any more.
    Leave { member: MemberId },
    /// `sync:grant`: values of another session may be read here.
    Grant { session: String, key: String },
    /// `sync:expire`: the bytes under these keys are gone.
    Expire { keys: Vec<String> },
    /// `sync:put`: values that frames of this sender will refer to.
    Put { values: Vec<(String, Hash, u64)> },
    /// `sync:schemas`: the registry in force.
    Schemas { hash: Hash },
    /// `sync:veto`: a checkpoint was put off.
    Veto { why: String },
    /// `sync:checkpoint`: hot state was moved to warm and cold state.
    Checkpoint(Box<Checkpoint>),
}

impl Control {
    /// Whether the frame is one.
    pub(crate) fn is(frame: &Scanned<'_>) -> bool {
        Self::said_by(frame.intent, frame.header.operation).is_some()
    }

    /// Whether only the host may say it.
    pub(crate) fn is_host_s(frame: &Scanned<'_>) -> bool {
        Self::is(frame) && frame.header.operation != "put"
    }

    /// The API that writes a frame about the session, which no application may send; `None`
    /// for all other frames.
    pub(crate) fn said_by(intent: Intent, operation: &str) -> Option<&'static str> {
        if intent != Intent::SYNC {
            return None;
        }
        Some(match operation {
            "open" => "which a host writes when it begins: see Session::host",
            "join" => "which a host writes for Input::Join",
            "leave" => "which a host writes for Input::Leave",
            "grant" => "which a host writes for Input::Grant",
            "expire" => "which a host writes for Input::Expire",
            "schemas" => "which a host writes for Input::Register",
            "veto" => "which a host writes for CheckpointHooks",
            "checkpoint" => "which a host writes for Input::Phase and the other triggers",
            "put" => "which a session writes for values that go by reference",
            _ => return None,
        })
    }

    /// Reads one, of any size: a host writes its own without limits, and the gate has held the
    /// others to theirs.
    pub(crate) fn read(frame: &Scanned<'_>) -> Result<Self, DecodeError> {
        let options = DecodeOptions {
            limits: Limits::NONE,
            marks: true,
        };
        let message = Message::decode_with(frame.text, Registry::shared(), &options)?;
        let payload = &message.payload;
        Ok(match frame.header.operation {
            "open" => Self::Open {
                agent: text(payload, "agent")?,
                scope: if text(payload, "scope")? == Scope::Sender.as_str() {
                    Scope::Sender
                } else {
                    Scope::Shared
                },
                tokenizer: text(payload, "tok").ok(),
            },
            "join" => Self::Join {
                member: member(payload)?,
                agents: texts(payload, "agents")?,
                supervisor: matches!(payload.get("sup"), Some(Value::Boolean(true))),
            },
            "leave" => Self::Leave {
                member: member(payload)?,
            },
            "grant" => Self::Grant {
                session: text(payload, "sid")?,
                key: text(payload, "key")?,
            },
            "expire" => Self::Expire {
                keys: texts(payload, "keys")?,
            },
            "schemas" => Self::Schemas {
                hash: text(payload, "hash")?
                    .parse()
                    .map_err(|_| expected("hash: a SHA-256 of 64 digits"))?,
            },
            "veto" => Self::Veto {
                why: text(payload, "rationale")?,
            },
            "checkpoint" => Self::Checkpoint(Box::new(Checkpoint::from_message(&message)?)),
            _ => Self::Put {
                values: puts(payload)?,
            },
        })
    }

    /// The frame that says it, without its envelope.
    pub(crate) fn to_message(&self, agent: &AgentId<'static>) -> Message<'static> {
        if let Self::Checkpoint(checkpoint) = self {
            return checkpoint.to_message(agent);
        }
        let (operation, payload) = self.payload();
        Message {
            agent: agent.clone(),
            intent: Intent::SYNC,
            operation: Cow::Borrowed(operation),
            schema: None,
            payload,
            envelope: Envelope::default(),
        }
    }

    fn payload(&self) -> (&'static str, Map<'static>) {
        let mut map = Map::new();
        let mut put = |key: &'static str, value: Value<'static>| {
            map.insert(key, value);
        };
        let list =
            |texts: &[String]| Value::Array(texts.iter().cloned().map(Value::from).collect());
        let operation = match self {
            Self::Open {
                agent,
                scope,
                tokenizer,
            } => {
                if let Some(tokenizer) = tokenizer {
                    put("tok", Value::from(tokenizer.clone()));
                }
                put("agent", Value::from(agent.clone()));
                put("scope", Value::from(scope.as_str()));
                "open"
            }
            Self::Join {
                member,
                agents,
                supervisor,
            } => {
                put("n", Value::Integer(i64::from(member.number())));
                put("agents", list(agents));
                if *supervisor {
                    put("sup", Value::Boolean(true));
                }
                "join"
            }
            Self::Leave { member } => {
                put("n", Value::Integer(i64::from(member.number())));
                "leave"
            }
            Self::Grant { session, key } => {
                put("sid", Value::from(session.clone()));
                put("key", Value::from(key.clone()));
                "grant"
            }
            Self::Expire { keys } => {
                put("keys", list(keys));
                "expire"
            }
            Self::Schemas { hash } => {
                put("hash", Value::from(hash.to_string()));
                "schemas"
            }
            Self::Veto { why } => {
                put("rationale", Value::from(why.clone()));
                "veto"
            }
            Self::Put { values } => {
                let values = values.iter().map(|(key, digest, length)| {
                    Value::Array(vec![
                        Value::from(key.clone()),
                        Value::from(digest.to_string()),
                        Value::Integer(*length as i64),
                    ])
                });
                put("keys", Value::Array(values.collect()));
                "put"
            }
            Self::Checkpoint(_) => "checkpoint",
        };
        (operation, map)
    }
}

/// The name under which a value is put: its owner and its number.
pub(crate) fn put_key(key: &str) -> Option<(MemberId, u64)> {
    let (member, number) = key.strip_prefix('k')?.split_once('_')?;
    let canonical = |text: &str| text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    if !canonical(member) || !canonical(number) {
        return None;
    }
    Some((MemberId::new(member.parse().ok()?)?, number.parse().ok()?))
}

#[cold]
fn expected(what: &'static str) -> DecodeError {
    DecodeError::new(ErrorCode::INVALID_TYPE, 0, what)
}

fn member(payload: &Map<'_>) -> Result<MemberId, DecodeError> {
    match payload.get("n") {
        Some(Value::Integer(n)) => u16::try_from(*n).ok().and_then(MemberId::new),
        _ => None,
    }
    .ok_or_else(|| expected("n: the number of a member, 100 to 899"))
}

fn text(payload: &Map<'_>, key: &'static str) -> Result<String, DecodeError> {
    match payload.get(key) {
        Some(Value::String(text)) => Ok(text.to_string()),
        _ => Err(expected("a text").within(key)),
    }
}

fn texts(payload: &Map<'_>, key: &'static str) -> Result<Vec<String>, DecodeError> {
    let Some(Value::Array(items)) = payload.get(key) else {
        return Err(expected("a list of texts").within(key));
    };
    let texts = items.iter().map(|item| item.as_str().map(String::from));
    let texts = texts.collect::<Option<Vec<_>>>();
    let mut texts = texts.ok_or_else(|| expected("a list of texts").within(key))?;
    texts.shrink_to_fit();
    Ok(texts)
}

fn puts(payload: &Map<'_>) -> Result<Vec<(String, Hash, u64)>, DecodeError> {
    let what = "a list of [key,SHA-256,length]";
    let Some(Value::Array(items)) = payload.get("keys") else {
        return Err(expected(what).within("keys"));
    };
    let one = |item: &Value<'_>| -> Option<(String, Hash, u64)> {
        let Value::Array(triple) = item else {
            return None;
        };
        let [
            Value::String(key),
            Value::String(digest),
            Value::Integer(length),
        ] = &triple[..]
        else {
            return None;
        };
        let length = u64::try_from(*length).ok()?;
        Some((Cow::into_owned(key.clone()), digest.parse().ok()?, length))
    };
    items
        .iter()
        .map(one)
        .collect::<Option<_>>()
        .ok_or_else(|| expected(what).within("keys"))
}

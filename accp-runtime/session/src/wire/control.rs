//! Control frames, which are about the session itself.

use std::borrow::Cow;

use accp_registry::{ErrorCode, Hash};

use crate::log::mid::MemberId;
use crate::options::Scope;
use crate::reference::ColdKey;
use crate::reference::UNBOUNDED;
use crate::wire::frames::{
    ControlFrame, ExpireSync, GrantSync, JoinSync, LeaveSync, LevelSync, OpenSync, PutSync,
    SchemasSync, TakesSync, VetoSync,
};
use crate::wire::link::{borrowed, member, owned};
use crate::wire::scan::Scanned;
use accp_context::Checkpoint;
use accp_frame::{
    AgentId, DecodeError, EncodeError, EncodeOptions, Envelope, Intent, Limits, Typed, Value,
};

/// A control frame, which is folded and goes to no handler. Only the host may write one, except for
/// the announcement of values, which anybody may write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Control {
    /// `sync:open`: the first entry of the log.
    Open {
        agent: String,
        scope: Scope,
        /// The name of the tokenizer; without it there is no context.
        tokenizer: Option<String>,
    },
    /// `sync:join`: a member joins.
    Join {
        member: MemberId,
        agents: Vec<String>,
        supervisor: bool,
    },
    /// `sync:leave`: a member leaves.
    Leave { member: MemberId },
    /// `sync:grant`: values of another session may be read here.
    Grant { session: String, key: String },
    /// `sync:expire`: the bytes under these keys have expired.
    Expire { keys: Vec<String> },
    /// `sync:put`: values that frames of this sender will refer to.
    Put { values: Vec<(String, Hash, u64)> },
    /// `sync:takes`: the requests that a member takes from now on.
    Takes {
        member: MemberId,
        heads: Vec<String>,
    },
    /// `sync:schemas`: the registry in force.
    Schemas { hash: Hash },
    /// `sync:veto`: a hook deferred a checkpoint.
    Veto { why: String },
    /// `sync:level`: the settings of the host allow another level of the draft.
    Level { level: u8 },
    /// `sync:checkpoint`: hot state was moved to warm and cold state.
    Checkpoint(Box<Checkpoint>),
}

impl Control {
    /// Returns whether the frame is a control frame.
    pub(crate) fn is(frame: &Scanned<'_>) -> bool {
        Self::instead_of(frame.intent, frame.header.operation).is_some()
    }

    /// Returns whether only the host may write the frame.
    pub(crate) fn is_host_s(frame: &Scanned<'_>) -> bool {
        Self::is(frame) && frame.header.operation != "put"
    }

    /// Names the API that writes a control frame, which no application may send. Returns `None` for
    /// all other frames.
    pub(crate) fn instead_of(intent: Intent, operation: &str) -> Option<&'static str> {
        if intent != Intent::SYNC {
            return None;
        }
        Some(match operation {
            "open" => "which a host writes when it begins: see Session::host",
            "join" => "which a host writes for Input::Join",
            "leave" => "which a host writes for Input::Leave",
            "grant" => "which a host writes for Input::Grant",
            "expire" => "which a host writes for Input::Expire",
            "takes" => "which a host writes for Input::Takes",
            "schemas" => "which a host writes for Input::Register",
            "level" => "which a host writes when its settings change: see Options::level",
            "veto" => "which a host writes for CheckpointHooks",
            "checkpoint" => "which a host writes for Input::Phase and the other triggers",
            "put" => "which a session writes for values that go by reference",
            _ => return None,
        })
    }

    /// Reads a control frame of any size. A host writes its own without limits, and the gate has
    /// checked those of members.
    pub(crate) fn read(frame: &Scanned<'_>) -> Result<Self, DecodeError> {
        if frame.header.operation == "checkpoint" {
            return Ok(Self::Checkpoint(Box::new(Checkpoint::decode(frame.text)?)));
        }
        Ok(
            match Typed::<ControlFrame<'_>>::decode_with(frame.text, &UNBOUNDED)?.frame {
                ControlFrame::OpenSync(open) => Self::Open {
                    agent: open.agent.into_owned(),
                    scope: Scope::named(&open.scope)
                        .ok_or_else(|| wrong("scope", "shared or sender"))?,
                    tokenizer: open.tokenizer.map(Cow::into_owned),
                },
                ControlFrame::JoinSync(join) => Self::Join {
                    member: the_member(join.member)?,
                    agents: owned(join.agents),
                    supervisor: join.supervisor == Some(true),
                },
                ControlFrame::LeaveSync(leave) => Self::Leave {
                    member: the_member(leave.member)?,
                },
                ControlFrame::GrantSync(grant) => Self::Grant {
                    session: grant.session.into_owned(),
                    key: grant.key.into_owned(),
                },
                ControlFrame::ExpireSync(expire) => Self::Expire {
                    keys: expire.keys.iter().map(text).collect::<Result<_, _>>()?,
                },
                ControlFrame::SchemasSync(schemas) => Self::Schemas {
                    hash: schemas
                        .hash
                        .parse()
                        .map_err(|_| wrong("hash", "a SHA-256 of 64 digits"))?,
                },
                ControlFrame::VetoSync(veto) => Self::Veto {
                    why: veto.rationale.into_owned(),
                },
                ControlFrame::LevelSync(sync) => Self::Level {
                    level: level(sync.level)?,
                },
                ControlFrame::TakesSync(takes) => Self::Takes {
                    member: the_member(takes.member)?,
                    heads: owned(takes.heads),
                },
                ControlFrame::PutSync(put) => Self::Put {
                    values: put.keys.iter().map(value).collect::<Result<_, _>>()?,
                },
            },
        )
    }

    /// Encodes the control frame.
    ///
    /// # Errors
    /// E1001 for an envelope that no frame can hold.
    pub(crate) fn encode(
        &self,
        agent: &AgentId<'_>,
        envelope: Envelope<'_>,
    ) -> Result<String, EncodeError> {
        let frame = match self {
            Self::Checkpoint(checkpoint) => return checkpoint.encode(agent, envelope),
            Self::Open {
                agent,
                scope,
                tokenizer,
            } => ControlFrame::OpenSync(OpenSync {
                tokenizer: tokenizer.as_deref().map(Cow::Borrowed),
                agent: agent.into(),
                scope: scope.as_str().into(),
            }),
            Self::Join {
                member,
                agents,
                supervisor,
            } => ControlFrame::JoinSync(JoinSync {
                member: member.number().into(),
                agents: borrowed(agents),
                supervisor: supervisor.then_some(true),
            }),
            Self::Leave { member } => ControlFrame::LeaveSync(LeaveSync {
                member: member.number().into(),
            }),
            Self::Grant { session, key } => ControlFrame::GrantSync(GrantSync {
                session: session.into(),
                key: key.into(),
            }),
            Self::Expire { keys } => ControlFrame::ExpireSync(ExpireSync {
                keys: keys.iter().map(|key| Value::from(&**key)).collect(),
            }),
            Self::Takes { member, heads } => ControlFrame::TakesSync(TakesSync {
                member: member.number().into(),
                heads: borrowed(heads),
            }),
            Self::Schemas { hash } => ControlFrame::SchemasSync(SchemasSync {
                hash: hash.to_string().into(),
            }),
            Self::Veto { why } => ControlFrame::VetoSync(VetoSync {
                rationale: why.into(),
            }),
            Self::Level { level } => ControlFrame::LevelSync(LevelSync {
                level: (*level).into(),
            }),
            Self::Put { values } => ControlFrame::PutSync(PutSync {
                keys: values.iter().map(triple).collect(),
            }),
        };
        let options = EncodeOptions {
            inline: true,
            limits: Limits::NONE,
            ..EncodeOptions::default()
        };
        let mut text = String::new();
        Typed::new(agent.clone(), frame, envelope).encode_into(&mut text, options)?;
        Ok(text)
    }
}

/// Reads the key of a value: its owner and its number.
pub(crate) fn put_key(key: &str) -> Option<(MemberId, u64)> {
    match ColdKey::parse(key)? {
        ColdKey::Value { member, number } => Some((member, number)),
        _ => None,
    }
}

#[cold]
fn wrong(key: &'static str, what: &'static str) -> DecodeError {
    DecodeError::new(ErrorCode::INVALID_TYPE, 0, what).within(key)
}

fn the_member(number: i64) -> Result<MemberId, DecodeError> {
    let number = u64::try_from(number).ok();
    number
        .and_then(member)
        .ok_or_else(|| wrong("n", "the number of a member, 100 to 899 or 9000 to 9999"))
}

fn level(number: i64) -> Result<u8, DecodeError> {
    let known = u8::try_from(number).ok();
    let known = known.filter(|level| (1..=3).contains(level));
    known.ok_or_else(|| wrong("lvl", "a level, 1 to 3"))
}

fn text(value: &Value<'_>) -> Result<String, DecodeError> {
    let text = value.as_str().map(String::from);
    text.ok_or_else(|| wrong("keys", "a list of texts"))
}

/// Reads `[key,SHA-256,length]`.
fn value(value: &Value<'_>) -> Result<(String, Hash, u64), DecodeError> {
    let read = || {
        let Value::Array(triple) = value else {
            return None;
        };
        let [key, digest, Value::Integer(length)] = &triple[..] else {
            return None;
        };
        let length = u64::try_from(*length).ok()?;
        Some((key.as_str()?.into(), digest.as_str()?.parse().ok()?, length))
    };
    read().ok_or_else(|| wrong("keys", "a list of [key,SHA-256,length]"))
}

fn triple((key, digest, length): &(String, Hash, u64)) -> Value<'_> {
    let length = i64::try_from(*length).unwrap_or(i64::MAX);
    Value::Array(vec![
        Value::from(key.as_str()),
        Value::from(digest.to_string()),
        length.into(),
    ])
}

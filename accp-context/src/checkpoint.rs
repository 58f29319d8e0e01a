//! A checkpoint, as it stands in the log.

use std::borrow::Cow;

use accp_registry::Intent;

use super::Time;
use super::digest::{Digest, parse_key, parse_number};
use accp_frame::{AgentId, DecodeError, Envelope, ErrorCode, Map, Message, Value};

/// Why a checkpoint is taken (draft section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Trigger {
    /// An agent has completed a task.
    Done,
    /// Hot state holds more than 400 tokens.
    Hot,
    /// A task is handed over.
    Esc,
    /// The application says that a phase ends.
    Phase,
    /// An agent asks for it.
    Comp,
}

impl Trigger {
    /// Every trigger, in the order of the draft.
    pub const ALL: [Self; 5] = [Self::Done, Self::Hot, Self::Esc, Self::Phase, Self::Comp];

    /// The name in a checkpoint: `done`, `hot`, `esc`, `phase`, `comp`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Hot => "hot",
            Self::Esc => "esc",
            Self::Phase => "phase",
            Self::Comp => "comp",
        }
    }

    /// What a frame of this intent triggers.
    ///
    /// ```
    /// use accp_runtime::Intent;
    /// use accp_runtime::session::Trigger;
    ///
    /// assert_eq!(Trigger::of(Intent::ESC), Some(Trigger::Esc));
    /// assert_eq!(Trigger::of(Intent::REQ), None);
    /// ```
    pub fn of(intent: Intent) -> Option<Self> {
        match intent {
            Intent::DONE => Some(Self::Done),
            Intent::ESC => Some(Self::Esc),
            Intent::COMP => Some(Self::Comp),
            _ => None,
        }
    }
}

/// A frame that stays in hot state, and how it is shown from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Its position.
    pub position: u64,
    /// Tokens of its line; 0 when it is not shown at all.
    pub tokens: u32,
    /// Whether the line is a preview.
    pub cut: bool,
}

/// What a checkpoint changed (`CheckpointResult`, draft sections 5.3 and 7.1).
///
/// The host makes it, with [`Checkpointer::take`](super::Checkpointer::take), and it stands
/// in the log as a frame `sync:checkpoint`; everybody copies it, with `apply` of
/// [`Hot`](super::Hot) and [`Warm`](super::Warm).
///
/// ```
/// use accp_runtime::session::{Checkpoint, Trigger};
/// use accp_runtime::{Message, Registry};
///
/// let registry = Registry::standard();
/// let text = "@hub>sync:checkpoint{at:1714000000000|covers:7|id:ckpt_1|kept:[[8,12]]|left:[1-5,7]|on:[esc]}";
/// let message = Message::decode(text, &registry)?;
/// let checkpoint = Checkpoint::from_message(&message)?;
/// assert_eq!(checkpoint.triggers(), [Trigger::Esc]);
/// assert_eq!(checkpoint.left(), [(1, 5), (7, 7)]);
/// assert_eq!(checkpoint.to_message(&message.agent).encode(&registry)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub(crate) id: u64,
    pub(crate) covers: u64,
    pub(crate) at: Time,
    /// Ascending, as are the rest.
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) digest: Option<Digest>,
    pub(crate) merged: Option<(u64, Option<Digest>)>,
    pub(crate) left: Vec<(u64, u64)>,
    pub(crate) kept: Vec<Kept>,
}

impl Checkpoint {
    /// The number, from 1; `$warm.ckpt_1` refers to the first.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The last position before the frame that triggered it: everything up to there is
    /// folded into it.
    pub fn covers(&self) -> u64 {
        self.covers
    }

    /// When the host took it.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Why, each reason once.
    pub fn triggers(&self) -> &[Trigger] {
        &self.triggers
    }

    /// What warm state gains; `None` when no frame left hot state.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// What becomes one in warm state: all up to the checkpoint of this number, and what
    /// stands for them.
    pub fn merged(&self) -> Option<(u64, Option<&Digest>)> {
        let (through, digest) = self.merged.as_ref()?;
        Some((*through, digest.as_ref()))
    }

    /// The manifest: the frames that left hot state, as ranges of positions. A range begins
    /// and ends with one, and no frame in it is hot any more; each is `$cold.p<position>`.
    pub fn left(&self) -> &[(u64, u64)] {
        &self.left
    }

    /// The frames that stay in hot state, ascending by position.
    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// What becomes of the frame at this position.
    pub(crate) fn kept_at(&self, position: u64) -> Option<&Kept> {
        let found = self
            .kept
            .binary_search_by_key(&position, |kept| kept.position);
        Some(&self.kept[found.ok()?])
    }

    /// The frame `sync:checkpoint` that says all of this, without an envelope. It is within
    /// the default limits of a frame, but not under the 50-character rule: encode it with
    /// [`EncodeOptions::inline`](accp_frame::EncodeOptions::inline).
    pub fn to_message(&self, agent: &AgentId<'_>) -> Message<'static> {
        let mut payload = Map::new();
        let mut put = |key: &'static str, value: Value<'static>| payload.insert(key, value);
        put("id", Value::from(format!("ckpt_{}", self.id)));
        put("covers", integer(self.covers));
        put("at", Value::Integer(self.at.as_millis()));
        let triggers = self.triggers.iter();
        put(
            "on",
            Value::Array(triggers.map(|on| Value::from(on.as_str())).collect()),
        );
        if !self.left.is_empty() {
            let left = self.left.iter().map(|(from, to)| {
                if from == to {
                    integer(*from)
                } else {
                    Value::from(format!("{from}-{to}"))
                }
            });
            put("left", Value::Array(left.collect()));
        }
        if !self.kept.is_empty() {
            let kept = self.kept.iter().map(|kept| {
                let mut parts = Vec::from([integer(kept.position), integer(kept.tokens.into())]);
                if kept.cut {
                    parts.push(Value::Boolean(true));
                }
                Value::Array(parts)
            });
            put("kept", Value::Array(kept.collect()));
        }
        if let Some((through, _)) = &self.merged {
            put("old", Value::from(format!("ckpt_{through}")));
        }
        if let Some((_, Some(digest))) = &self.merged {
            digest.write_to(&mut payload, "old_");
        }
        if let Some(digest) = &self.digest {
            digest.write_to(&mut payload, "");
        }
        Message {
            agent: agent.clone().into_owned(),
            intent: Intent::SYNC,
            operation: Cow::Borrowed("checkpoint"),
            schema: None,
            payload,
            envelope: Envelope::default(),
        }
    }

    /// Reads what [`to_message`](Self::to_message) has written.
    ///
    /// # Errors
    /// E1004 with the param that is missing or is none of a checkpoint.
    pub fn from_message(message: &Message<'_>) -> Result<Self, DecodeError> {
        if message.intent != Intent::SYNC || message.operation != "checkpoint" {
            return Err(expected("sync:checkpoint"));
        }
        let payload = &message.payload;
        let id = read(payload, "id", "the key of a checkpoint, ckpt_1", |value| {
            parse_key(value.as_str()?)
        })?;
        let mut merged = None;
        if payload.get("old").is_some() {
            let what = "the key of an earlier checkpoint, ckpt_1";
            let through = read(payload, "old", what, |value| {
                parse_key(value.as_str()?).filter(|through| *through < id)
            })?;
            merged = Some((through, Digest::read_from(payload, "old_", through)?));
        }
        let what = "a list of [position,tokens], ascending";
        let kept = list(payload, "kept", what, kept)?;
        if !kept.is_sorted_by(|a, b| a.position < b.position) {
            return Err(expected(what).within("kept"));
        }
        Ok(Self {
            id,
            covers: read(payload, "covers", "a position, an integer from 0", number)?,
            at: read(
                payload,
                "at",
                "milliseconds, an integer",
                |value| match value {
                    Value::Integer(millis) => Some(Time::from_millis(*millis)),
                    _ => None,
                },
            )?,
            triggers: list(payload, "on", "a list of triggers", |value| {
                let name = value.as_str()?;
                Trigger::ALL.into_iter().find(|on| on.as_str() == name)
            })?,
            digest: Digest::read_from(payload, "", id)?,
            merged,
            left: list(
                payload,
                "left",
                "a list of positions and ranges, 3 or 1-9",
                range,
            )?,
            kept,
        })
    }
}

fn integer(number: u64) -> Value<'static> {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn number(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// `7` or `1-9`
fn range(value: &Value<'_>) -> Option<(u64, u64)> {
    if let Some(position) = number(value) {
        return Some((position, position));
    }
    let (from, to) = value.as_str()?.split_once('-')?;
    let (from, to) = (parse_number(from)?, parse_number(to)?);
    (from < to).then_some((from, to))
}

/// `[7,12]` or `[7,12,true]`
fn kept(value: &Value<'_>) -> Option<Kept> {
    let Value::Array(parts) = value else {
        return None;
    };
    let (position, tokens, cut) = match parts.as_slice() {
        [position, tokens] => (position, tokens, false),
        [position, tokens, Value::Boolean(cut)] => (position, tokens, *cut),
        _ => return None,
    };
    Some(Kept {
        position: number(position)?,
        tokens: u32::try_from(number(tokens)?).ok()?,
        cut,
    })
}

fn read<T>(
    payload: &Map<'_>,
    key: &'static str,
    what: &'static str,
    read: impl FnOnce(&Value<'_>) -> Option<T>,
) -> Result<T, DecodeError> {
    let value = payload.get(key).and_then(read);
    value.ok_or_else(|| expected(what).within(key))
}

/// A list; one that is empty may be missing.
fn list<T>(
    payload: &Map<'_>,
    key: &'static str,
    what: &'static str,
    item: impl FnMut(&Value<'_>) -> Option<T>,
) -> Result<Vec<T>, DecodeError> {
    match payload.get(key) {
        None => Ok(Vec::new()),
        Some(_) => read(payload, key, what, |value| match value {
            Value::Array(items) => items.iter().map(item).collect(),
            _ => None,
        }),
    }
}

#[cold]
fn expected(what: &'static str) -> DecodeError {
    DecodeError::new(ErrorCode::INVALID_TYPE, 0, what)
}

//! A checkpoint in the log.

use accp_registry::Intent;

use crate::digest::{Digest, Told, parse_key, parse_number, wrong};
use crate::frames::CheckpointSync;
use crate::preview::UNBOUNDED;
use crate::time::Time;
use accp_frame::{
    AgentId, DecodeError, EncodeError, EncodeOptions, Envelope, Limits, Typed, Value,
};

/// The reason for a checkpoint (draft section 5.2).
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
    /// An agent asks for a checkpoint.
    Comp,
}

impl Trigger {
    /// All triggers, in the order of the draft.
    pub const ALL: [Self; 5] = [Self::Done, Self::Hot, Self::Esc, Self::Phase, Self::Comp];

    /// Returns the name in a checkpoint: `done`, `hot`, `esc`, `phase`, `comp`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Hot => "hot",
            Self::Esc => "esc",
            Self::Phase => "phase",
            Self::Comp => "comp",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|on| on.as_str() == name)
    }

    /// Returns the trigger that a frame of this intent sets off.
    ///
    /// ```
    /// use accp_runtime::Intent;
    /// use accp_runtime::context::Trigger;
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

/// A frame that stays in hot state, and how the context shows it from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The position of the frame.
    pub position: u64,
    /// Tokens of the frame's line; 0 when the context does not show the frame.
    pub tokens: u32,
    /// Whether the line is a preview.
    pub cut: bool,
}

/// The changes that a checkpoint makes (`CheckpointResult`, draft sections 5.3 and 7.1).
///
/// The host takes a checkpoint with [`Checkpointer::take`](super::Checkpointer::take) and writes it
/// to the log as a frame `sync:checkpoint`. Members copy the checkpoint with `apply` of
/// [`Hot`](super::Hot) and [`Warm`](super::Warm).
///
/// ```
/// use accp_runtime::context::{Checkpoint, Trigger};
/// use accp_runtime::{AgentId, Envelope};
///
/// let text = "@hub>sync:checkpoint{at:1714000000000|covers:7|id:ckpt_1|kept:[[8,12]]|left:[1-5,7]|on:[esc]}";
/// let checkpoint = Checkpoint::decode(text)?;
/// assert_eq!(checkpoint.triggers(), [Trigger::Esc]);
/// assert_eq!(checkpoint.left(), [(1, 5), (7, 7)]);
/// assert_eq!(checkpoint.encode(&AgentId::new("hub")?, Envelope::default())?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub(crate) id: u64,
    pub(crate) covers: u64,
    pub(crate) at: Time,
    pub(crate) version: u64,
    /// Ascending. The lists `left` and `kept` ascend, too.
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) digest: Option<Digest>,
    pub(crate) merged: Option<(u64, Option<Digest>)>,
    pub(crate) left: Vec<(u64, u64)>,
    pub(crate) kept: Vec<Kept>,
}

impl Checkpoint {
    /// Returns the number of the checkpoint, from 1. `$warm.ckpt_1` refers to the first.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the last position before the frame that triggered the checkpoint. The checkpoint
    /// covers all positions up to this one.
    pub fn covers(&self) -> u64 {
        self.covers
    }

    /// Returns the time at which the host took the checkpoint.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Returns the version of the shared state that the checkpoint covers (draft section 5.4); 0 where nothing is
    /// shared. The next change of the state leads to this version plus one.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the triggers, each once.
    pub fn triggers(&self) -> &[Trigger] {
        &self.triggers
    }

    /// Returns the digest that warm state gains; `None` when no frame left, or when there is no room for a line.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Returns the merge of old checkpoints: the number of the last checkpoint that is merged, and
    /// the digest that replaces all digests up to this number.
    pub fn merged(&self) -> Option<(u64, Option<&Digest>)> {
        let (through, digest) = self.merged.as_ref()?;
        Some((*through, digest.as_ref()))
    }

    /// Returns the manifest: the frames that left hot state, as ranges of positions. A range begins
    /// and ends with a frame that left, and no frame in the range is hot any more. Each of these
    /// frames is `$cold.p<position>`.
    pub fn left(&self) -> &[(u64, u64)] {
        &self.left
    }

    /// Returns the frames that stay in hot state, ascending by position.
    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// Returns how the frame at this position stays; `None` if it leaves.
    pub(crate) fn kept_at(&self, position: u64) -> Option<&Kept> {
        let found = self
            .kept
            .binary_search_by_key(&position, |kept| kept.position);
        Some(&self.kept[found.ok()?])
    }

    /// Writes the frame `sync:checkpoint`. The frame keeps to the default limits of a frame, but
    /// not to the 50-character rule.
    ///
    /// # Errors
    /// E1001 for an envelope that a frame cannot hold.
    pub fn encode(
        &self,
        agent: &AgentId<'_>,
        envelope: Envelope<'_>,
    ) -> Result<String, EncodeError> {
        let digest = self.digest.as_ref().map(Digest::told).unwrap_or_default();
        let old = self.merged.as_ref().and_then(|(_, old)| old.as_ref());
        let old = old.map(Digest::told).unwrap_or_default();
        let through = self.merged.as_ref().map(|(through, _)| through);
        let left = self.left.iter().map(|(from, to)| {
            if from == to {
                Value::Integer(integer(*from))
            } else {
                Value::from(format!("{from}-{to}"))
            }
        });
        let kept = self.kept.iter().map(|kept| {
            let mut parts = vec![integer(kept.position).into(), i64::from(kept.tokens).into()];
            parts.extend(kept.cut.then_some(Value::Boolean(true)));
            Value::Array(parts)
        });
        let frame = CheckpointSync {
            id: format!("ckpt_{}", self.id).into(),
            covers: integer(self.covers),
            at: self.at.as_millis(),
            triggers: Some(self.triggers.iter().map(|on| on.as_str().into()).collect()),
            version: Some(integer(self.version)).filter(|version| *version > 0),
            left: stated(left.collect()),
            kept: stated(kept.collect()),
            from: digest.from,
            cold: digest.cold,
            summary: digest.summary,
            facts: digest.facts,
            late: digest.late,
            late_summary: digest.late_summary,
            tokens: digest.tokens,
            old: through.map(|through| format!("ckpt_{through}").into()),
            old_from: old.from,
            old_cold: old.cold,
            old_summary: old.summary,
            old_facts: old.facts,
            old_tokens: old.tokens,
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

    /// Reads a frame that [`encode`](Self::encode) has written.
    ///
    /// # Errors
    /// E1001 when the text does not follow the grammar. E1004 for another frame, and for a param
    /// that is missing or does not fit a checkpoint; the error names the param.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        let frame = Typed::<CheckpointSync<'_>>::decode_with(text, &UNBOUNDED)?.frame;
        let id =
            parse_key(&frame.id).ok_or_else(|| wrong("id", "the key of a checkpoint, ckpt_1"))?;
        let merged = frame.old.map(|old| {
            let through = parse_key(&old).filter(|through| *through < id);
            let through =
                through.ok_or_else(|| wrong("old", "the key of an earlier checkpoint, ckpt_1"))?;
            let told = Told {
                from: frame.old_from,
                cold: frame.old_cold,
                summary: frame.old_summary,
                facts: frame.old_facts,
                tokens: frame.old_tokens,
                ..Told::default()
            };
            Ok((through, Digest::of(told, through, "old_")?))
        });
        let told = Told {
            from: frame.from,
            cold: frame.cold,
            summary: frame.summary,
            facts: frame.facts,
            late: frame.late,
            late_summary: frame.late_summary,
            tokens: frame.tokens,
        };
        let triggers = frame.triggers.unwrap_or_default();
        let triggers = triggers.iter().map(|name| Trigger::named(name)).collect();
        let left = frame.left.unwrap_or_default().iter().map(range).collect();
        let kept: Option<Vec<_>> = frame.kept.unwrap_or_default().iter().map(kept).collect();
        let ascends = |kept: &Vec<Kept>| kept.is_sorted_by(|a, b| a.position < b.position);
        let covers = u64::try_from(frame.covers);
        let version = u64::try_from(frame.version.unwrap_or(0));
        Ok(Self {
            id,
            covers: covers.map_err(|_| wrong("covers", "a position, an integer from 0"))?,
            at: Time::from_millis(frame.at),
            version: version.map_err(|_| wrong("v", "a version, an integer from 0"))?,
            triggers: Option::ok_or_else(triggers, || wrong("on", "a list of triggers"))?,
            digest: Digest::of(told, id, "")?,
            merged: merged.transpose()?,
            left: Option::ok_or_else(left, || {
                wrong("left", "a list of positions and ranges, 3 or 1-9")
            })?,
            kept: kept
                .filter(ascends)
                .ok_or_else(|| wrong("kept", "a list of [position,tokens], ascending"))?,
        })
    }
}

/// Returns the list, or `None` if it is empty.
fn stated<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Reads `7` or `1-9`.
fn range(value: &Value<'_>) -> Option<(u64, u64)> {
    if let Some(position) = number(value) {
        return Some((position, position));
    }
    let (from, to) = value.as_str()?.split_once('-')?;
    let (from, to) = (parse_number(from)?, parse_number(to)?);
    (from < to).then_some((from, to))
}

/// Reads `[7,12]` or `[7,12,true]`.
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

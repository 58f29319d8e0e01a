//! The line that stays in the context for a checkpoint.

use std::borrow::Cow;
use std::collections::BTreeMap;

use accp_registry::lexical;
use serde::{Deserialize, Serialize};

use crate::fact::{Fact, read, read_facts, write_facts};
use crate::limits::line_tokens;
use crate::preview::UNBOUNDED;
use accp_frame::{DecodeError, ErrorCode, Frame, Map, RawValue, TokenCounter, Value};

/// The line in the context for one checkpoint, or for several that were merged (draft section 5.1,
/// tier 2).
///
/// ```text
/// @warm>sync:ckpt_3{cold:p12-p20|sum:a.req.plan;b.done.plan|facts:[[task,T1,{status:done}]]}
/// ```
///
/// `cold` says where the frames are; `from` is the first of several checkpoints. `late_sum` is a
/// summary of the checkpoint `late` that came after that checkpoint was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Digest {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) cold: Option<(u64, u64)>,
    pub(crate) summary: String,
    /// A summary that came late, and the number of its checkpoint.
    pub(crate) late: Option<(u64, String)>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) tokens: u32,
}

impl Digest {
    /// Returns the first and the last of the checkpoints that the digest stands for.
    pub fn checkpoints(&self) -> (u64, u64) {
        (self.first, self.last)
    }

    /// Returns the first and the last position of the frames that the digest stands for. `None`
    /// when the digest only has facts of frames that were cut.
    pub fn cold(&self) -> Option<(u64, u64)> {
        self.cold
    }

    /// Returns the summary, at most 100 tokens as written in the line (draft section 5.3, item 3).
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns the late summary that the line carries, and the number of the checkpoint that it sums up: the
    /// checkpoint before this digest. A late summary has at most 100 tokens, like any summary.
    pub fn late(&self) -> Option<(u64, &str)> {
        let (checkpoint, text) = self.late.as_ref()?;
        Some((*checkpoint, text))
    }

    /// Returns the late summary of this digest if a later digest carries one, and otherwise the summary of this
    /// digest. A merged digest has the late summaries of its checkpoints already.
    pub(crate) fn last_summary<'d>(&'d self, later: impl Iterator<Item = &'d Self>) -> &'d str {
        let mut late = later.filter_map(Self::late);
        let late = late.find(|(id, _)| (*id, *id) == self.checkpoints());
        late.map_or(&self.summary, |(_, text)| text)
    }

    /// Returns the key facts by entity, the entity mentioned last at the end, then by relationship.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Returns the tokens of the line.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Returns the line that the context shows for this digest. The line is a frame.
    pub fn line(&self) -> String {
        let mut out = format!("@warm>sync:ckpt_{}{{", self.last);
        let mut separator = "";
        for (key, text) in self.params() {
            out.push_str(separator);
            out.push_str(key);
            out.push(':');
            out.push_str(&text);
            separator = "|";
        }
        out.push('}');
        out
    }

    /// Returns the params of the line, with values as wire text.
    fn params(&self) -> impl Iterator<Item = (&'static str, String)> {
        let from = (self.first < self.last).then(|| format!("ckpt_{}", self.first));
        let cold = self.cold.map(span);
        let wire = |text: &str| {
            let mut wire = String::new();
            lexical::write_untyped(&mut wire, text);
            wire
        };
        let summary = (!self.summary.is_empty()).then(|| wire(&self.summary));
        let late = self.late();
        let facts = (!self.facts.is_empty()).then(|| {
            let mut text = String::new();
            write_facts(&mut text, &self.facts);
            text
        });
        let params = [
            ("from", from),
            ("cold", cold),
            ("sum", summary),
            ("late", late.map(|(id, _)| format!("ckpt_{id}"))),
            ("late_sum", late.map(|(_, text)| wire(text))),
            ("facts", facts),
        ];
        let stated = |(key, text): (_, Option<String>)| Some((key, text?));
        params.into_iter().filter_map(stated)
    }

    /// Returns the tokens of the line as `counter` counts them.
    pub(crate) fn count(&self, counter: &dyn TokenCounter) -> u32 {
        line_tokens(&self.line(), counter)
    }

    /// Resolves a path in the digest: `summary`, `facts`, `cold`, a relationship, or an entity and
    /// a relationship. The empty path means the whole digest.
    pub(crate) fn resolve(&self, path: &str, summary: &str) -> Option<Value<'static>> {
        match path {
            "" => {
                let parts = ["cold", "facts", "summary"];
                let parts = parts.map(|part| Some((part, self.resolve(part, summary)?)));
                let all: Map<'static> = parts.into_iter().flatten().collect();
                Some(Value::Map(all))
            }
            "summary" => Some(Value::from(summary.to_owned())),
            "cold" => self.cold.map(span).map(Value::from),
            "facts" => {
                let triple = |fact: &Fact| {
                    let relationship = Value::from(fact.relationship().to_string());
                    let parts = [fact.entity(), relationship, fact.value()];
                    Value::Array(parts.map(Value::into_owned).into())
                };
                Some(Value::Array(self.facts.iter().map(triple).collect()))
            }
            path => {
                let fact = self.facts.iter().rev().find(|fact| fact.is_at(path))?;
                Some(fact.value().into_owned())
            }
        }
    }

    /// Returns the digest as params of a frame.
    pub(crate) fn told(&self) -> Told<'_> {
        let mut params: BTreeMap<_, _> = self.params().collect();
        let facts = params.remove("facts");
        Told {
            from: params.remove("from").map(Cow::Owned),
            cold: params.remove("cold").map(Cow::Owned),
            summary: (!self.summary.is_empty()).then(|| self.summary.as_str().into()),
            facts: facts.map(|facts| read(&facts).into_owned()),
            late: params.remove("late").map(Cow::Owned),
            late_summary: self.late().map(|(_, text)| text.into()),
            tokens: Some(self.tokens.into()),
        }
    }

    /// Reads the digest of the checkpoint `last` from params of a frame that begin with `prefix`.
    /// `None` when the frame has no such digest.
    ///
    /// # Errors
    /// E1004; the error names the param.
    pub(crate) fn of(told: Told<'_>, last: u64, prefix: &str) -> Result<Option<Self>, DecodeError> {
        let wrong = |key: &str, what| wrong(format!("{prefix}{key}"), what);
        let Some(tokens) = told.tokens else {
            return Ok(None);
        };
        let tokens = u32::try_from(tokens).ok().filter(|tokens| *tokens > 0);
        let first = told.from.map_or(Some(last), |key| {
            parse_key(&key).filter(|first| *first < last)
        });
        let cold = told
            .cold
            .map(|cold| parse_span(&cold).ok_or_else(|| wrong("cold", "two positions, p1-p9")));
        let late = match (told.late, told.late_summary) {
            (None, None) => None,
            (key, text) => {
                let id = key.and_then(|key| parse_key(&key).filter(|id| *id < last));
                let late = id.zip(text.map(Cow::into_owned));
                Some(late.ok_or_else(|| wrong("late", "an earlier checkpoint and its summary"))?)
            }
        };
        let facts = told
            .facts
            .map_or(Some(Vec::new()), |facts| read_facts(&facts));
        Ok(Some(Self {
            first: first.ok_or_else(|| wrong("from", "an earlier checkpoint, ckpt_1"))?,
            last,
            cold: cold.transpose()?,
            summary: told.summary.unwrap_or_default().into_owned(),
            late,
            facts: facts.ok_or_else(|| wrong("facts", "a list of [entity,{field:value}]"))?,
            tokens: tokens.ok_or_else(|| wrong("tok", "tokens, an integer from 1"))?,
        }))
    }
}

/// A digest as params of a frame.
#[derive(Default)]
pub(crate) struct Told<'a> {
    pub from: Option<Cow<'a, str>>,
    pub cold: Option<Cow<'a, str>>,
    pub summary: Option<Cow<'a, str>>,
    pub facts: Option<Value<'a>>,
    pub late: Option<Cow<'a, str>>,
    pub late_summary: Option<Cow<'a, str>>,
    pub tokens: Option<i64>,
}

#[cold]
pub(crate) fn wrong(key: impl Into<Cow<'static, str>>, what: &'static str) -> DecodeError {
    DecodeError::new(ErrorCode::INVALID_TYPE, 0, what).within(key)
}

/// Reads the number of a checkpoint, from 1: 3 for `ckpt_3`.
pub(crate) fn parse_key(key: &str) -> Option<u64> {
    parse_number(key.strip_prefix("ckpt_")?).filter(|id| *id > 0)
}

/// Writes `p12-p20`, or `p12` for one position.
fn span((from, to): (u64, u64)) -> String {
    if from == to {
        format!("p{from}")
    } else {
        format!("p{from}-p{to}")
    }
}

fn parse_span(text: &str) -> Option<(u64, u64)> {
    let position = |text: &str| parse_number(text.strip_prefix('p')?);
    match text.split_once('-') {
        None => position(text).map(|at| (at, at)),
        Some((from, to)) => {
            let (from, to) = (position(from)?, position(to)?);
            (from < to).then_some((from, to))
        }
    }
}

/// Reads a whole number without a sign and without leading zeros.
pub(crate) fn parse_number(text: &str) -> Option<u64> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = canonical && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| canonical)
}

/// A digest in a snapshot: its line. Reading checks the line against the grammar, because any
/// program may have written the snapshot.
#[derive(Serialize, Deserialize)]
struct Stored {
    tokens: u32,
    line: String,
}

impl From<Digest> for Stored {
    fn from(digest: Digest) -> Self {
        Self {
            tokens: digest.tokens,
            line: digest.line(),
        }
    }
}

impl TryFrom<Stored> for Digest {
    type Error = DecodeError;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let frame = Frame::parse_with(&stored.line, &UNBOUNDED)?;
        let last = parse_key(&frame.operation);
        let last = last.ok_or_else(|| wrong("operation", "the key of a checkpoint, ckpt_1"))?;
        let text = |key: &'static str| match frame.get(key).map(RawValue::value).transpose()? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(key, "a text")),
        };
        let told = Told {
            from: text("from")?,
            cold: text("cold")?,
            summary: text("sum")?,
            late: text("late")?,
            late_summary: text("late_sum")?,
            facts: frame.get("facts").map(RawValue::value).transpose()?,
            tokens: Some(stored.tokens.into()),
        };
        let digest = Self::of(told, last, "")?;
        digest.ok_or_else(|| wrong("tok", "tokens"))
    }
}

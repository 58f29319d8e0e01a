//! What stays in the context of a checkpoint.

use accp_registry::lexical;
use serde::{Deserialize, Serialize};

use super::fact::{Fact, read, read_facts, write_facts};
use super::limits::line_tokens;
use super::preview::UNBOUNDED;
use accp_frame::{DecodeError, ErrorCode, Frame, Map, TokenCounter, Value};

/// What warm state holds of one checkpoint, or of several that became one (draft section
/// 5.1, tier 2): a line in the context.
///
/// ```text
/// @warm>sync:ckpt_3{cold:p12-p20|sum:a.req.plan;b.done.plan|facts:[[task,T1,{status:done}]]}
/// ```
///
/// `cold` says where the frames are, `from` the first of several checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Digest {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) cold: Option<(u64, u64)>,
    pub(crate) summary: String,
    pub(crate) facts: Vec<Fact>,
    pub(crate) tokens: u32,
}

impl Digest {
    /// The first and the last of the checkpoints that it stands for.
    pub fn checkpoints(&self) -> (u64, u64) {
        (self.first, self.last)
    }

    /// The first and the last position of the frames that it stands for; `None` when it
    /// only has facts of frames that were cut.
    pub fn cold(&self) -> Option<(u64, u64)> {
        self.cold
    }

    /// The summary: at most 100 tokens as it stands in the line (draft section 5.3, item 3).
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// The key facts: by entity, the one mentioned last at the end, then by relationship.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Tokens of the line.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// The line in the context, a frame.
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

    /// The params of the line, values in their wire text.
    fn params(&self) -> impl Iterator<Item = (&'static str, String)> {
        let from = (self.first < self.last).then(|| format!("ckpt_{}", self.first));
        let cold = self.cold.map(span);
        let summary = (!self.summary.is_empty()).then(|| {
            let mut text = String::new();
            lexical::write_untyped(&mut text, &self.summary);
            text
        });
        let facts = (!self.facts.is_empty()).then(|| {
            let mut text = String::new();
            write_facts(&mut text, &self.facts);
            text
        });
        let params = [
            ("from", from),
            ("cold", cold),
            ("sum", summary),
            ("facts", facts),
        ];
        let stated = |(key, text): (_, Option<String>)| Some((key, text?));
        params.into_iter().filter_map(stated)
    }

    /// Tokens of the line as `counter` counts them.
    pub(crate) fn count(&self, counter: &dyn TokenCounter) -> u32 {
        line_tokens(&self.line(), counter)
    }

    /// What a path within it leads to: `summary`, `facts`, `cold`, a relationship, or an
    /// entity and a relationship; the empty path to all of it.
    pub(crate) fn resolve(&self, path: &str) -> Option<Value<'static>> {
        match path {
            "" => {
                let parts = ["cold", "facts", "summary"];
                let parts = parts.map(|part| Some((part, self.resolve(part)?)));
                let all: Map<'static> = parts.into_iter().flatten().collect();
                Some(Value::Map(all))
            }
            "summary" => Some(Value::from(self.summary.clone())),
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

    /// Adds its params to a payload, each key after `prefix`, and its tokens as `tok`.
    pub(crate) fn write_to(&self, payload: &mut Map<'static>, prefix: &str) {
        let mut put = |key: &str, value: Value<'static>| {
            payload.insert(format!("{prefix}{key}"), value);
        };
        for (key, text) in self.params() {
            put(key, read(&text).into_owned());
        }
        put("tok", Value::Integer(i64::from(self.tokens)));
    }

    /// The digest of the checkpoint `last` that [`write_to`](Self::write_to) has written;
    /// `None` when there is none.
    pub(crate) fn read_from(
        payload: &Map<'_>,
        prefix: &str,
        last: u64,
    ) -> Result<Option<Self>, DecodeError> {
        let get = |key: &str| payload.get(&format!("{prefix}{key}"));
        let tokens = match get("tok") {
            None => return Ok(None),
            Some(Value::Integer(tokens)) => u32::try_from(*tokens).ok(),
            Some(_) => None,
        };
        let Some(tokens) = tokens.filter(|tokens| *tokens > 0) else {
            return Err(expected(prefix, "tok", "tokens, an integer from 1"));
        };
        let first = match get("from") {
            None => last,
            Some(value) => value
                .as_str()
                .and_then(parse_key)
                .filter(|first| *first < last)
                .ok_or_else(|| expected(prefix, "from", "an earlier checkpoint, ckpt_1"))?,
        };
        let cold = match get("cold") {
            None => None,
            Some(value) => Some(
                value
                    .as_str()
                    .and_then(parse_span)
                    .ok_or_else(|| expected(prefix, "cold", "two positions, p1-p9"))?,
            ),
        };
        let summary = match get("sum") {
            None => String::new(),
            Some(Value::String(text)) => text.to_string(),
            Some(_) => return Err(expected(prefix, "sum", "a text")),
        };
        let facts = match get("facts") {
            None => Vec::new(),
            Some(value) => read_facts(value)
                .ok_or_else(|| expected(prefix, "facts", "a list of [entity,{field:value}]"))?,
        };
        Ok(Some(Self {
            first,
            last,
            cold,
            summary,
            facts,
            tokens,
        }))
    }
}

#[cold]
fn expected(prefix: &str, key: &str, what: &'static str) -> DecodeError {
    DecodeError::new(ErrorCode::INVALID_TYPE, 0, what).within(format!("{prefix}{key}"))
}

/// The number of a checkpoint, from 1: 3 of `ckpt_3`.
pub(crate) fn parse_key(key: &str) -> Option<u64> {
    parse_number(key.strip_prefix("ckpt_")?).filter(|id| *id > 0)
}

/// `p12-p20`, or `p12` for one.
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

/// A whole number in its one spelling.
pub(crate) fn parse_number(text: &str) -> Option<u64> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = canonical && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| canonical)
}

/// A digest as a snapshot holds it: its line. So what a snapshot says is held to the
/// grammar, whoever wrote it.
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
        let Some(last) = parse_key(&frame.operation) else {
            return Err(expected("", "operation", "the key of a checkpoint, ckpt_1"));
        };
        let mut payload: Map<'_> = Map::new();
        for param in &frame.payload {
            payload.insert(param.key.clone(), param.value.value()?);
        }
        payload.insert("tok", Value::Integer(i64::from(stored.tokens)));
        let digest = Self::read_from(&payload, "", last)?;
        digest.ok_or_else(|| expected("", "tok", "tokens"))
    }
}

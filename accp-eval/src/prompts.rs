//! Prompts as JSON Lines, written for other programs to recount, and read from other programs.
//!
//! A line is a prompt: `corpus`, `conversation`, `turn` (the index of the message that answers
//! the prompt), `agent`, `cache` (prompts with the same value share a cache), `policy`, and
//! `segments` in order. A segment has `kind` and `text`. Where the policy says so, a segment also
//! has `message` (the index of the message that it shows) and `records` (lists of
//! `[key, value]`). The prompt is the texts joined without a separator.
//!
//! A line with `need` is a need of a turn and follows from the prompts: `quote`, `argument`,
//! `identifier`, or `sight` for a message at first sight; its `text`, its `source` (the index of a
//! message), whether it is `real`, and its `fate`: `shown`, `fetched`, `miss` or `lost`.
//!
//! A program that writes prompts to be measured may leave out `agent` and `cache`, and may add
//! `milliseconds` to a prompt. A message that was removed from the prompts and can be restored is
//! a line with `message` (the index) and `original` (the compact JSON of the message) in place of
//! `turn` and `segments`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use accp_context::policy::{Agent, Kind, Message, Policy, Record, Segment};
use serde_json::{Value as Json, json};

use crate::net::Told;
use crate::transcript::Transcript;

/// The place of a prompt: its corpus, conversation, turn and policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'p> {
    pub(crate) corpus: &'p str,
    pub(crate) conversation: &'p str,
    pub(crate) turn: usize,
    pub(crate) policy: &'p str,
}

/// Returns a prompt as a line of a dump.
pub(crate) fn line(place: &Place<'_>, agent: &Agent, prompt: &[Segment]) -> Json {
    let segments: Vec<Json> = prompt.iter().map(segment_json).collect();
    json!({
        "corpus": place.corpus,
        "conversation": place.conversation,
        "turn": place.turn,
        "agent": &*agent.name,
        "cache": &*agent.cache,
        "policy": place.policy,
        "segments": segments,
    })
}

/// Returns a need of a turn, with its fate, as a line of a dump.
pub(crate) fn need(place: &Place<'_>, told: &Told, text: Option<&str>) -> Json {
    json!({
        "corpus": place.corpus,
        "conversation": place.conversation,
        "turn": place.turn,
        "policy": place.policy,
        "need": told.class,
        "text": text,
        "source": told.source,
        "real": told.is_real,
        "fate": told.fate,
    })
}

fn segment_json(segment: &Segment) -> Json {
    let mut json = json!({ "kind": segment.kind.name(), "text": &*segment.text });
    if let Some(message) = segment.message {
        json["message"] = message.into();
    }
    if !segment.records.is_empty() {
        let records = segment.records.iter().map(|Record(pairs)| json!(pairs));
        json["records"] = records.collect();
    }
    json
}

/// A policy whose prompts another program made.
#[derive(Debug, Default)]
pub struct Rival {
    pub(crate) name: String,
    /// The prompts, by corpus and conversation.
    conversations: BTreeMap<(String, String), Played>,
}

/// The prompts of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Played {
    turns: BTreeMap<usize, Vec<Segment>>,
    originals: BTreeMap<usize, String>,
    /// The time that making the prompts took.
    pub(crate) time: Duration,
}

/// Plays back prompts of another program.
#[derive(Debug)]
pub(crate) struct Playback<'p> {
    played: &'p Played,
    /// The number of messages so far.
    turn: usize,
}

/// Reads the policies of a dump, in the order of their first lines.
#[derive(Debug, Default)]
pub struct Rivals {
    rivals: Vec<Rival>,
    /// Texts of segments, shared because prompts repeat most of the previous prompt.
    texts: HashSet<Arc<str>>,
}

impl Rivals {
    /// Takes a line of the dump.
    ///
    /// # Errors
    /// When the line is not a prompt.
    pub fn add(&mut self, json: &Json) -> Result<(), PromptError> {
        // A dump has needs beside prompts; they follow from the prompts.
        if json.get("need").is_some() {
            return Ok(());
        }
        let line = Line::read(json, &mut self.texts)?;
        let rivals = &mut self.rivals;
        let index = rivals.iter().position(|rival| rival.name == line.policy);
        let index = index.unwrap_or_else(|| {
            rivals.push(Rival {
                name: line.policy,
                ..Rival::default()
            });
            rivals.len() - 1
        });
        let rival = &mut rivals[index];
        let played = rival.conversations.entry(line.conversation).or_default();
        match line.what {
            What::Prompt(turn, segments, time) => {
                played.turns.insert(turn, segments);
                played.time += time;
            }
            What::Original(index, original) => {
                played.originals.insert(index, original);
            }
        }
        Ok(())
    }

    /// Returns the policies.
    pub fn into_rivals(self) -> Vec<Rival> {
        self.rivals
    }
}

/// A line of a dump is not a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptError {
    /// The segment at fault, from 0, if the fault is in a segment.
    segment: Option<usize>,
    /// The key at fault.
    name: &'static str,
    expected: String,
}

impl std::error::Error for PromptError {}

impl fmt::Display for PromptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(segment) = self.segment {
            write!(f, "segments[{segment}]: ")?;
        }
        let Self { name, expected, .. } = self;
        write!(
            f,
            "expected `{name}` to be {expected}; write prompts as `accp bench context --dump` does"
        )
    }
}

/// A rival has prompts for some turns of a conversation only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a prompt of `{rival}` for turn {turn} of conversation `{conversation}` of `{corpus}`, \
     found none; write prompts for all turns of a conversation, or for none"
)]
pub struct RivalError {
    rival: String,
    turn: usize,
    conversation: String,
    corpus: String,
}

impl Rival {
    /// Returns the prompts for this conversation, or `None` if the rival has none.
    ///
    /// # Errors
    /// When the rival has prompts for some turns only.
    pub(crate) fn of(
        &self,
        corpus: &str,
        transcript: &Transcript,
    ) -> Result<Option<&Played>, RivalError> {
        let key = (corpus.to_owned(), transcript.id.clone());
        let Some(played) = self.conversations.get(&key) else {
            return Ok(None);
        };
        let turns = transcript
            .messages
            .iter()
            .filter(|message| transcript.agent(message).is_some());
        for message in turns {
            if !played.turns.contains_key(&message.index) {
                return Err(RivalError {
                    rival: self.name.clone(),
                    turn: message.index,
                    conversation: transcript.id.clone(),
                    corpus: corpus.to_owned(),
                });
            }
        }
        Ok(Some(played))
    }
}

impl Played {
    pub(crate) fn playback(&self) -> Playback<'_> {
        Playback {
            played: self,
            turn: 0,
        }
    }
}

impl Policy for Playback<'_> {
    fn push(&mut self, _: &Message) {
        self.turn += 1;
    }

    fn prompt(&mut self, _: &Agent) -> Vec<Segment> {
        self.played
            .turns
            .get(&self.turn)
            .cloned()
            .unwrap_or_default()
    }

    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        self.played
            .originals
            .get(&index)
            .map(|original| original.as_str().into())
    }
}

/// A line of a dump.
struct Line {
    conversation: (String, String),
    policy: String,
    what: What,
}

enum What {
    Prompt(usize, Vec<Segment>, Duration),
    Original(usize, String),
}

impl Line {
    fn read(json: &Json, texts: &mut HashSet<Arc<str>>) -> Result<Self, PromptError> {
        let text = |name| {
            let text = json.get(name).and_then(Json::as_str);
            text.map(str::to_owned)
                .ok_or_else(|| missing(name, "a string"))
        };
        let index = |name| {
            let index = json.get(name).and_then(Json::as_u64);
            index
                .map(|index| index as usize)
                .ok_or_else(|| missing(name, "the index of a message"))
        };
        let what = if json.get("original").is_some() {
            What::Original(index("message")?, text("original")?)
        } else {
            let segments = json.get("segments").and_then(Json::as_array);
            let segments = segments.ok_or_else(|| missing("segments", "an array"))?;
            let segments = segments.iter().enumerate().map(|(index, json)| {
                segment(json, texts).map_err(|error| PromptError {
                    segment: Some(index),
                    ..error
                })
            });
            let time = json
                .get("milliseconds")
                .and_then(Json::as_f64)
                .unwrap_or_default();
            let time = Duration::try_from_secs_f64(time / 1000.0);
            let time = time.map_err(|_| missing("milliseconds", "a time"))?;
            What::Prompt(index("turn")?, segments.collect::<Result<_, _>>()?, time)
        };
        Ok(Self {
            conversation: (text("corpus")?, text("conversation")?),
            policy: text("policy")?,
            what,
        })
    }
}

fn segment(json: &Json, texts: &mut HashSet<Arc<str>>) -> Result<Segment, PromptError> {
    let text = json.get("text").and_then(Json::as_str);
    let text = text.ok_or_else(|| missing("text", "a string"))?;
    let known = texts.get(text).cloned();
    let text = known.unwrap_or_else(|| Arc::from(text));
    texts.insert(Arc::clone(&text));
    let names = Kind::ALL.map(Kind::name);
    let name = json.get("kind").and_then(Json::as_str);
    let kind = Kind::ALL.into_iter().find(|kind| Some(kind.name()) == name);
    let kind = kind.ok_or_else(|| missing("kind", format!("one of {}", names.join(", "))))?;
    let mut segment = Segment::new(kind, text);
    if let Some(message) = json.get("message") {
        let message = message.as_u64().map(|index| index as usize);
        segment.message =
            Some(message.ok_or_else(|| missing("message", "the index of a message"))?);
    }
    if let Some(records) = json.get("records") {
        let records = records.as_array().and_then(|records| {
            let records = records
                .iter()
                .map(|record| serde_json::from_value(record.clone()).ok().map(Record));
            records.collect::<Option<Vec<_>>>()
        });
        let records = records.ok_or_else(|| missing("records", "lists of [key, value]"))?;
        segment.records = records.into();
    }
    Ok(segment)
}

fn missing(name: &'static str, expected: impl Into<String>) -> PromptError {
    PromptError {
        segment: None,
        name,
        expected: expected.into(),
    }
}

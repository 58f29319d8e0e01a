//! Prompts as JSON Lines, written for other programs to recount, and read from other programs.
//!
//! A line is a prompt: `corpus`, `conversation`, `turn` (the index of the message that answers the prompt), `agent`,
//! `cache` (the agent's name if it has a system prompt of its own; costs do not look at it), `policy`, and `segments`
//! in order. A segment has `kind` and `text`, and `message` (the index of the message that it shows) if the policy
//! tells it. If `list` is true, each segment but the tool schemas is a message of a list, as JSON; else the prompt is
//! the texts joined without a separator. The prompts of the policy `list` show which messages the agent reads.
//!
//! The figures of the instrument follow from the prompts, and are there to compare: `tokens`, `begins` (the tokens
//! of the longest common beginning, also below the minimum), `carried` (the tokens of the windows that the agent
//! carries from earlier turns), and what the agent fetches in the turn: `sources`, `windows` (their tokens) and
//! `lost` (sources that are searched for).
//!
//! A line with `need` is a need of a turn and follows from the prompts: `quote`, `argument`,
//! `identifier`, or `sight` for a message at first sight; its `text`, its `source` (the index of a
//! message), whether it is `real`, and its `fate`: `shown`, `fetched`, `miss` or `lost`.
//!
//! A line with `message` (the index) and `original` in place of `turn` and `segments` is a message that the policy
//! can give back when the conversation is over, as compact JSON. The policy `list` gives back each message in our
//! form (`role`, `name`, `content`, `tool_calls`), whatever the format of the recording is. So a dump is all that a
//! program needs to recount net cost (`tests/recount/recount.py`).
//!
//! A program that writes prompts to be measured may leave out `agent`, `cache`, the figures, the needs and the
//! originals, and may add `milliseconds` to a prompt. Without `list`, its prompts are lists if each segment of each
//! prompt, but for the tool schemas, is a JSON object with a `role`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use accp_memory::policy::{Agent, Kind, Message, Policy, Segment};
use serde_json::{Value as Json, json};

use crate::net::Analysis;
use crate::replay::{Counted, Kept};
use crate::transcript::{Transcript, Transcripts};

/// The name of a policy that reads its prompts from a file begins with this.
pub const FROM_FILE: &str = "file:";

/// Returns the lines of a dump for a conversation under a policy.
pub(crate) fn dump(place: [&str; 3], kept: &Kept, analysis: &Analysis) -> String {
    let mut out = String::new();
    let [corpus, conversation, policy] = place;
    let mut line = |turn: Option<usize>, rest: Json| {
        let mut line = json!({ "corpus": corpus, "conversation": conversation, "policy": policy });
        if let Some(turn) = turn {
            line["turn"] = turn.into();
        }
        if let (Json::Object(line), Json::Object(rest)) = (&mut line, rest) {
            line.extend(rest);
        }
        let _ = writeln!(out, "{line}");
    };
    for prompt in &kept.prompts {
        let agent = &prompt.agent;
        let segments: Vec<Json> = prompt.segments.iter().map(segment_json).collect();
        let Counted {
            tokens,
            begins,
            recovery,
        } = &prompt.counted;
        let rest = json!({
            "agent": &*agent.name,
            "cache": &*agent.cache,
            "list": prompt.is_list,
            "segments": segments,
            "tokens": tokens,
            "begins": begins,
            "carried": recovery.carried,
            "sources": recovery.sources,
            "windows": recovery.windows,
            "lost": recovery.lost,
        });
        line(Some(prompt.turn), rest);
    }
    for outcome in &kept.outcomes {
        let text = outcome.needle.map(|needle| analysis.matcher.text(needle));
        let rest = json!({
            "need": outcome.class,
            "text": text,
            "source": outcome.source,
            "real": outcome.is_real,
            "fate": outcome.fate,
        });
        line(Some(outcome.turn), rest);
    }
    for (index, original) in &kept.originals {
        line(None, json!({ "message": index, "original": original }));
    }
    out
}

fn segment_json(segment: &Segment) -> Json {
    let mut json = json!({ "kind": segment.kind.name(), "text": &*segment.text });
    if let Some(message) = segment.message {
        json["message"] = message.into();
    }
    json
}

/// A policy whose prompts another program made.
#[derive(Debug, Default)]
pub struct Rival {
    /// [`FROM_FILE`] and the name in the dump.
    pub(crate) name: String,
    /// The prompts, by corpus and conversation.
    conversations: BTreeMap<(String, String), Played>,
}

/// The prompts of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// The place of the first line.
    place: String,
    turns: BTreeMap<usize, Vec<Segment>>,
    /// Whether a prompt is not a list of messages.
    has_text: bool,
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

/// Reads the policies of dumps, in the order of their first lines.
#[derive(Debug, Default)]
pub struct Rivals {
    rivals: Vec<Rival>,
    /// Texts of segments, shared because prompts repeat most of the previous prompt.
    texts: HashSet<Arc<str>>,
}

impl Rivals {
    /// Takes a line of a dump, with its file and number for reports.
    ///
    /// # Errors
    /// When the line is not a prompt, or a second prompt for its turn.
    pub fn add(&mut self, json: &Json, file: &str, line: u64) -> Result<(), PromptError> {
        // A dump also has lines for needs. They follow from the prompts, so they are skipped.
        if json.get("need").is_some() {
            return Ok(());
        }
        let read = Line::read(json, &mut self.texts)?;
        let rivals = &mut self.rivals;
        let index = rivals.iter().position(|rival| rival.name == read.policy);
        let index = index.unwrap_or_else(|| {
            rivals.push(Rival {
                name: read.policy,
                ..Rival::default()
            });
            rivals.len() - 1
        });
        let conversations = &mut rivals[index].conversations;
        let played = conversations.entry(read.conversation).or_default();
        if played.place.is_empty() {
            played.place = format!("{file}:{line}");
        }
        match read.what {
            What::Prompt(turn, segments, is_list, time) => {
                played.has_text |= !is_list;
                if played.turns.insert(turn, segments).is_some() {
                    return Err(missing("turn", "another turn than in an earlier line"));
                }
                played.time += time;
            }
            What::Original(index, original) => {
                played.originals.insert(index, original);
            }
        }
        Ok(())
    }

    /// Returns the policies, for a measurement of these corpora.
    ///
    /// # Errors
    /// When a policy has no prompts for any of the corpora.
    pub fn into_rivals(self, corpora: &[String]) -> Result<Vec<Rival>, RivalError> {
        for rival in &self.rivals {
            let mut held = rival.conversations.iter();
            if !rival
                .conversations
                .keys()
                .any(|(corpus, _)| corpora.contains(corpus))
                && let Some(((corpus, _), played)) = held.next()
            {
                let (corpora, corpus) = (corpora.join("`, `"), corpus.clone());
                return Err(played.fault(Fault::Corpus { corpora, corpus }));
            }
        }
        Ok(self.rivals)
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
            "expected `{name}` to be {expected}; write prompts as `accp-lab bench --dump` does"
        )
    }
}

/// The prompts of another program do not fit the recorded conversations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct RivalError {
    /// The file and line at which the prompts of the conversation begin.
    place: String,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error(
        "expected prompts for `{corpora}`, found `{corpus}`; as `corpus` write the name of the \
         file of conversations without its extension"
    )]
    Corpus { corpora: String, corpus: String },
    #[error(
        "expected a conversation of `{corpus}`, found `{conversation}`; as `conversation` write \
         the `id` that the file has, or without one `conversation N`, counted from 1"
    )]
    Conversation {
        corpus: String,
        conversation: String,
    },
    #[error(
        "expected a prompt for turn {turn} of conversation `{conversation}` of `{corpus}`, found \
         none; write prompts for all turns of a conversation, or for none"
    )]
    NoPrompt {
        turn: usize,
        conversation: String,
        corpus: String,
    },
    #[error(
        "expected no prompt for turn {turn} of conversation `{conversation}` of `{corpus}`, found \
         one; as `turn` write the index of an agent's message, counted from 0"
    )]
    NoTurn {
        turn: usize,
        conversation: String,
        corpus: String,
    },
}

impl Rival {
    /// Checks that all conversations of this corpus are among the recorded ones.
    ///
    /// # Errors
    /// When the corpus of a rival has a conversation that was not recorded.
    pub(crate) fn check(&self, corpus: &str, recorded: &Transcripts) -> Result<(), RivalError> {
        for ((own, conversation), played) in &self.conversations {
            if own == corpus && !recorded.has(conversation) {
                return Err(played.fault(Fault::Conversation {
                    corpus: corpus.to_owned(),
                    conversation: conversation.clone(),
                }));
            }
        }
        Ok(())
    }

    /// Returns the prompts for this conversation, or `None` if the rival has none.
    ///
    /// # Errors
    /// When the rival has prompts for some turns only, or for a message that is not an agent's.
    pub(crate) fn of(
        &self,
        corpus: &str,
        transcript: &Transcript,
    ) -> Result<Option<&Played>, RivalError> {
        let key = (corpus.to_owned(), transcript.id.clone());
        let Some(played) = self.conversations.get(&key) else {
            return Ok(None);
        };
        let (corpus, conversation) = key;
        let messages = transcript.messages.iter();
        let turns = messages.filter(|message| transcript.agent(message).is_some());
        let turns: BTreeSet<usize> = turns.map(|message| message.index).collect();
        if let Some(&turn) = turns.iter().find(|turn| !played.turns.contains_key(turn)) {
            return Err(played.fault(Fault::NoPrompt {
                turn,
                conversation,
                corpus,
            }));
        }
        if let Some(&turn) = played.turns.keys().find(|turn| !turns.contains(turn)) {
            return Err(played.fault(Fault::NoTurn {
                turn,
                conversation,
                corpus,
            }));
        }
        Ok(Some(played))
    }
}

impl Played {
    fn fault(&self, fault: Fault) -> RivalError {
        let place = self.place.clone();
        RivalError { place, fault }
    }

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

    fn is_list(&self) -> bool {
        !self.played.has_text
    }
}

/// A line of a dump.
struct Line {
    conversation: (String, String),
    policy: String,
    what: What,
}

enum What {
    Prompt(usize, Vec<Segment>, bool, Duration),
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
            let segments: Vec<Segment> = segments.collect::<Result<_, _>>()?;
            let list = json.get("list").and_then(Json::as_bool);
            let is_list = list.unwrap_or_else(|| segments.iter().all(is_message));
            What::Prompt(index("turn")?, segments, is_list, time)
        };
        Ok(Self {
            conversation: (text("corpus")?, text("conversation")?),
            policy: format!("{FROM_FILE}{}", text("policy")?),
            what,
        })
    }
}

/// Returns whether a segment can be a message of a list, or has tool schemas.
fn is_message(segment: &Segment) -> bool {
    let is_message = |text: &str| {
        let json: Result<Json, _> = serde_json::from_str(text);
        json.is_ok_and(|json| json["role"].is_string())
    };
    segment.kind == Kind::Tools || is_message(&segment.text)
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
    Ok(segment)
}

fn missing(name: &'static str, expected: impl Into<String>) -> PromptError {
    PromptError {
        segment: None,
        name,
        expected: expected.into(),
    }
}

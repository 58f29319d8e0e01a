//! An entry of a log: the frame as its sender wrote it, or a line of JSON for people and their tools.

use std::sync::Arc;

use accp_client::{Error, Hub};
use accp_context::{Checkpoint, Digest};
use accp_frame::{DecodeOptions, Frame, Limits, Registry, words};
use accp_session::{Entry, EntryKind, MemberId};
use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use serde_json::{Value as Json, json};

use crate::abort::LINES;
use crate::answer::{ACCP, line};

/// The form in which a log is read.
pub(crate) enum Form {
    /// Frames, as their senders wrote them.
    Frames,
    /// Lines of JSON, each with a frame as text and in plain words. The registry gives the words.
    Lines(Arc<Registry>),
}

impl Form {
    /// Returns the form that a request asks for in `Accept`.
    pub(crate) async fn of(headers: &HeaderMap, hub: &Hub) -> Result<Self, Error> {
        let accepted = headers.get_all(header::ACCEPT).iter();
        let accepted = accepted.filter_map(|value| value.to_str().ok());
        let mut kinds = accepted.flat_map(|value| value.split(','));
        let is_lines = kinds.any(|kind| {
            let kind = kind.split(';').next().unwrap_or_default();
            kind.trim().eq_ignore_ascii_case(LINES)
        });
        if is_lines {
            Ok(Self::Lines(hub.registry().await?))
        } else {
            Ok(Self::Frames)
        }
    }

    pub(crate) fn media_type(&self) -> &'static str {
        match self {
            Self::Frames => ACCP,
            Self::Lines(_) => LINES,
        }
    }

    /// Writes an entry.
    pub(crate) async fn line(&mut self, entry: &Entry, hub: &Hub) -> Result<Bytes, Error> {
        match self {
            Self::Frames => Ok(line(&entry.text)),
            Self::Lines(known) => {
                // A control frame may add schemas, so the registry is read again.
                if entry.kind == EntryKind::Control {
                    *known = hub.registry().await?;
                }
                Ok(line(&describe(entry, known).to_string()))
            }
        }
    }
}

/// Returns an entry as JSON, with its frame as text and in plain words.
fn describe(entry: &Entry, registry: &Registry) -> Json {
    let options = DecodeOptions {
        limits: Limits::NONE,
        marks: true,
    };
    let frame = Frame::parse_with(&entry.text, &options).ok();
    let is_checkpoint = entry.kind == EntryKind::Control
        && frame
            .as_ref()
            .is_some_and(|frame| (&*frame.intent, &*frame.operation) == ("sync", "checkpoint"));
    let checkpoint = is_checkpoint.then(|| Checkpoint::decode(&entry.text).ok());
    json!({
        "position": entry.position,
        "at_ms": entry.at.as_millis(),
        "kind": match entry.kind {
            EntryKind::Control => "control",
            EntryKind::Repeat => "repeat",
            _ => "frame",
        },
        "sender": entry.sender.number(),
        "to": entry.to.map(MemberId::number),
        "agent": frame.as_ref().map(|frame| &frame.agent),
        "intent": frame.as_ref().map(|frame| &frame.intent),
        "operation": frame.as_ref().map(|frame| &frame.operation),
        "tokens": entry.tokens,
        "cut": entry.cut,
        "words": words::twin(&entry.text, registry),
        "frame": &*entry.text,
        "checkpoint": checkpoint.flatten().as_ref().map(changes),
    })
}

/// Returns the changes that a checkpoint makes: the ranges of positions that left the context, and what
/// stays in their place.
fn changes(checkpoint: &Checkpoint) -> Json {
    let triggers = checkpoint.triggers().iter().map(|on| on.as_str());
    json!({
        "id": checkpoint.id(),
        "triggers": triggers.collect::<Vec<_>>(),
        "covers": checkpoint.covers(),
        "left": checkpoint.left(),
        "kept": checkpoint.kept().len(),
        "digest": checkpoint.digest().map(digest),
        "merged": checkpoint.merged().map(|(through, _)| through),
    })
}

/// Returns the line in the context for one checkpoint, or for several that were merged.
pub(crate) fn digest(digest: &Digest) -> Json {
    let facts = digest.facts().iter().map(|fact| {
        json!([
            fact.entity().to_json(),
            fact.relationship(),
            fact.value().to_json()
        ])
    });
    let (first, last) = digest.checkpoints();
    json!({
        "first": first,
        "last": last,
        "cold": digest.cold(),
        "summary": digest.summary(),
        "late": digest.late().map(|(id, summary)| json!({ "of": id, "summary": summary })),
        "facts": facts.collect::<Vec<_>>(),
        "tokens": digest.tokens(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_says_what_left_and_what_stands_in_its_place() {
        let text = "@hub>sync:checkpoint{at:0|cold:p1-p2|covers:7|facts:[[task,T1,{status:done}]]\
            |id:ckpt_2|kept:[[8,12]]|left:[1-2,7]|on:[done,hot]|sum:dev.done.plan*2|tok:32}";
        let checkpoint = Checkpoint::decode(text).expect("a checkpoint");
        let expected = json!({
            "id": 2, "triggers": ["done", "hot"], "covers": 7, "left": [[1, 2], [7, 7]], "kept": 1,
            "merged": null,
            "digest": {
                "first": 2, "last": 2, "cold": [1, 2], "summary": "dev.done.plan*2", "late": null,
                "facts": [["T1", "status", "done"], ["T1", "task", "T1"]], "tokens": 32,
            },
        });
        assert_eq!(changes(&checkpoint), expected);
    }
}

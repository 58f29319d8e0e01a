//! A simple reader of the frames of a run. It only knows the shapes that runs produce.

use std::fmt::Write as _;

use accp_runtime::session::{MemberId, Mid};
use accp_session::{Batch, OutboxChange};

/// The start of the host's frame about a checkpoint.
pub(crate) const CHECKPOINT: &str = ">sync:checkpoint{";

/// Returns the number of the checkpoint in a frame about a checkpoint.
pub(crate) fn checkpoint(text: &str) -> Option<u64> {
    let (_, rest) = params(text, CHECKPOINT)?.split_once("id:ckpt_")?;
    rest.split(['|', '}']).next()?.parse().ok()
}

/// Returns the text after an operation such as `>sync:put{`, if the frame has this operation.
pub(crate) fn params<'t>(text: &'t str, operation: &str) -> Option<&'t str> {
    text[text.find('>')?..].strip_prefix(operation)
}

/// Returns whether a frame has an operation such as `>sync:put{`.
pub(crate) fn is_a(text: &str, operation: &str) -> bool {
    params(text, operation).is_some()
}

/// Returns the index of the byte at which the metadata begins, which is after the last `}[`.
fn metadata(text: &str) -> Option<usize> {
    let mut end = text.len();
    loop {
        end = text[..end].rfind('[')?;
        if text[..end].ends_with('}') {
            return Some(end + 1);
        }
    }
}

/// Returns the value of a metadata key.
pub(crate) fn meta<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut rest = text[metadata(text)?..].strip_suffix(']')?;
    loop {
        let value = rest
            .strip_prefix(key)
            .and_then(|rest| rest.strip_prefix(':'));
        let end = rest.bytes().position(|byte| byte == b',');
        if let Some(value) = value {
            return Some(end.map_or(value, |end| &value[..end - key.len() - 1]));
        }
        rest = &rest[end? + 1..];
    }
}

/// Returns a number from the metadata.
pub(crate) fn number_in<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    meta(text, key)?.parse().ok()
}

/// Returns an id from the metadata.
pub(crate) fn mid_in(text: &str, key: &str) -> Option<Mid> {
    meta(text, key).map(Mid::parse)
}

/// Returns a number from the payload.
pub(crate) fn field(text: &str, key: &str) -> Option<u64> {
    let payload = &text[text.find('{')?..metadata(text).map_or(text.len(), |at| at - 2)];
    let mut rest = payload;
    loop {
        let at = rest.find(key)?;
        let starts = rest[..at].ends_with(['{', '|']);
        rest = &rest[at + key.len()..];
        if let (true, Some(value)) = (starts, rest.strip_prefix(':')) {
            return value.split(['|', '}']).next()?.parse().ok();
        }
    }
}

/// Returns the intent in the header.
pub(crate) fn intent(text: &str) -> &str {
    let header = text.split(':').next().unwrap_or_default();
    header.split_once('>').map_or("", |(_, intent)| intent)
}

/// Returns the params of a change of the shared state, if the frame is one.
pub(crate) fn changes_of(text: &str) -> Option<&str> {
    params(head(text), ">sync:state{")
}

/// Returns the frame without its metadata.
pub(crate) fn head(text: &str) -> &str {
    metadata(text).map_or(text, |at| &text[..at - 1])
}

/// Returns the member that has made an id: an id of twelve decimal digits begins with the number of its member.
pub(crate) fn maker(id: &Mid) -> Option<MemberId> {
    let id = id.to_string();
    let is_made = id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_digit());
    let digits = if id.starts_with('9') { 4 } else { 3 };
    let number = id.get(..digits).filter(|_| is_made)?;
    MemberId::new(number.parse().ok()?)
}

/// The target of a reference in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Goal<'t> {
    /// A frame, by its position.
    Frame(u64),
    /// A checkpoint, by its number.
    Checkpoint(u64),
    /// A value, by the member that put it and the number of the put.
    Value(MemberId, u64),
    /// A key of another session.
    Foreign(&'t str, &'t str),
    /// Nothing that exists.
    Nothing,
}

/// Returns the references of a frame, each with its key and its target. Texts of a run have no other `$`.
pub(crate) fn goals(text: &str) -> impl Iterator<Item = (&str, Goal<'_>)> {
    let keys = head(text).split('$').skip(1).map(|rest| {
        let ends = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.');
        rest.split(ends).next().unwrap_or_default()
    });
    keys.map(|key| (key, goal(key).unwrap_or(Goal::Nothing)))
}

/// Reads a number that has no leading zeros.
fn counter<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse()
        .ok()
        .filter(|_| !text.starts_with('0') || text == "0")
}

/// Returns the target of a reference; `None` if the key has no known form.
pub(crate) fn goal(key: &str) -> Option<Goal<'_>> {
    let mut words = key.split('.');
    let (tier, name) = (words.next()?, words.next()?);
    match tier {
        "hot" | "cold" if name.starts_with('p') => Some(Goal::Frame(counter(name.get(1..)?)?)),
        "warm" => Some(Goal::Checkpoint(counter(name.strip_prefix("ckpt_")?)?)),
        "cold" => {
            let (member, number) = name.strip_prefix('k')?.split_once('_')?;
            let member = MemberId::new(member.parse().ok()?)?;
            Some(Goal::Value(member, counter(number)?))
        }
        "ext" => Some(Goal::Foreign(name, words.next()?)),
        _ => None,
    }
}

/// Returns a batch as the script shows it.
pub(crate) fn in_short(batch: &Batch) -> String {
    let mut out = String::new();
    for entry in &batch.entries {
        let (position, kind, text) = (entry.position, entry.kind, &entry.text);
        let _ = write!(out, "{kind:?} {position}={text}, ");
    }
    for change in &batch.outbox {
        let _ = match change {
            OutboxChange::Put(frame) => write!(out, "keeps {}, ", frame.text(0)),
            OutboxChange::Remove(mid) => write!(out, "forgets {mid}, "),
        };
    }
    for cold in &batch.cold {
        let bytes = if cold.bytes.is_some() {
            "the bytes of "
        } else {
            ""
        };
        let _ = write!(out, "{bytes}{}, ", cold.key);
    }
    for position in &batch.handled {
        let _ = write!(out, "{position} is handled, ");
    }
    for position in &batch.lapsed {
        let _ = write!(out, "{position} has lapsed, ");
    }
    if let Some(snapshot) = &batch.snapshot {
        let _ = write!(out, "a snapshot at {}, ", snapshot.position);
    }
    for (what, number) in [
        ("outbox from", batch.outbox_sequence),
        ("last put", batch.last_put),
        ("epoch", batch.epoch.map(u64::from)),
    ] {
        if let Some(number) = number {
            let _ = write!(out, "{what} {number}, ");
        }
    }
    let _ = write!(out, "then {} sends", batch.sends.len());
    out
}

/// Shortens the long values of a line, so that a person can read it.
pub(crate) fn abbreviated(line: &str) -> String {
    const LONG: usize = 60;
    let ends = |c: char| matches!(c, ':' | '|' | ',' | '{' | '}' | '[' | ']' | ' ');
    let words = line.split_inclusive(ends).map(|word| {
        let count = word.chars().count();
        if count <= LONG {
            return word.to_owned();
        }
        let start: String = word.chars().take(LONG / 3).collect();
        let end = word.chars().next_back().filter(|c| ends(*c));
        let end = end.map(String::from).unwrap_or_default();
        format!("{start}...({count} characters){end}")
    });
    words.collect()
}

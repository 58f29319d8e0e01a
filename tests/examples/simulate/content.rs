//! Checks what checkpoints keep of the frames. The observer extracts the same facts by itself (draft section 5.3).
//!
//! Some frames are about records, and each such frame changes the state of its record. The observer follows these
//! states, and the lines of warm state that the checkpoints in the log describe.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::{DecodeOptions, DynamicFrame, Limits, Value};
use accp_session::Entry;

use super::node::{REGISTRY, Result, said};
use super::text::{head, intent};

/// The field that names a record, and the field whose value changes.
pub(super) const RECORD: &str = "item_id";
pub(super) const STATE: &str = "status";
/// The intents of frames that tell about the task.
const TELLING: [&str; 6] = ["req", "done", "fail", "wait", "esc", "qry"];
/// The most tokens of a line in warm state, the most tokens of all lines together, and the most bytes of a line.
const LINE: u32 = 200;
const WARM: u32 = 2000;
const BYTES: usize = 3000;
/// The host may stop adding facts when a line has less room than this many tokens. The host stops after eight facts
/// in a row that do not fit, and no fact has more tokens than this.
const SPARE: u32 = 45;

pub(super) type Key = (String, String);

/// What the observer knows of warm state.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// The frames that are about a record, by their position. For each frame, the record and its state.
    pub(super) told: BTreeMap<u64, (String, String)>,
    /// The lines of warm state.
    pub(super) lines: Vec<Line>,
    /// Frames that the last checkpoint has kept in part.
    pub(super) cut: BTreeSet<u64>,
}

/// The line of one checkpoint, or of several that were merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) last: u64,
    tokens: u32,
    bytes: usize,
    pub(super) facts: BTreeMap<Key, String>,
}

impl Line {
    fn has_room(&self) -> bool {
        self.tokens + SPARE <= LINE && self.bytes + 4 * SPARE as usize <= BYTES
    }
}

/// A checkpoint, read from the text of its frame.
pub(super) struct Read {
    pub(super) id: u64,
    pub(super) left: Vec<(u64, u64)>,
    pub(super) cut: BTreeSet<u64>,
    pub(super) line: Option<Line>,
    /// If checkpoints were merged: the last position of the merged part, and the line that replaces their lines.
    pub(super) old: Option<(u64, Option<Line>)>,
}

fn number(value: Option<&Value<'_>>) -> Option<u64> {
    match value? {
        Value::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn checkpoint_of(value: Option<&Value<'_>>) -> Option<u64> {
    let key = value?.as_str()?;
    key.strip_prefix("ckpt_")?.parse().ok()
}

/// Reads `[entity,{field:value}]`, `[kind,entity]` and `[kind,entity,{field:value}]`.
fn facts_in(value: Option<&Value<'_>>) -> BTreeMap<Key, String> {
    let mut facts = BTreeMap::new();
    let Some(Value::Array(groups)) = value else {
        return facts;
    };
    for group in groups {
        let Value::Array(parts) = group else { continue };
        let (kind, entity, fields) = match parts.as_slice() {
            [entity, fields @ (Value::Map(_) | Value::Array(_))] => (None, entity, Some(fields)),
            [kind, entity] => (Some(kind), entity, None),
            [kind, entity, fields] => (Some(kind), entity, Some(fields)),
            _ => continue,
        };
        let entity = entity.to_string();
        let mut add = |name: String, value: &Value<'_>| {
            facts.insert((entity.clone(), name), value.to_string());
        };
        if let Some(kind) = kind.and_then(Value::as_str) {
            add(kind.to_owned(), &Value::from(entity.as_str()));
        }
        match fields {
            Some(Value::Map(map)) => {
                map.iter()
                    .for_each(|(name, value)| add(name.to_owned(), value));
            }
            Some(Value::Array(pairs)) => {
                for pair in pairs {
                    if let Value::Array(pair) = pair
                        && let [name, value] = pair.as_slice()
                    {
                        add(name.as_str().unwrap_or_default().to_owned(), value);
                    }
                }
            }
            _ => {}
        }
    }
    facts
}

impl Read {
    pub(super) fn of(text: &str) -> Result<Self> {
        let options = DecodeOptions {
            limits: Limits::NONE,
            marks: true,
        };
        let frame = DynamicFrame::decode_with(text, &REGISTRY, &options).map_err(said)?;
        let get = |name: &str| frame.payload.get(name);
        let list = |name: &str| match get(name) {
            Some(Value::Array(items)) => items.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let id = checkpoint_of(get("id")).ok_or("a checkpoint without a number")?;
        let left = list("left").into_iter().filter_map(|range| {
            let (from, to) = range.split_once('-').unwrap_or((&range, &range));
            Some((from.parse().ok()?, to.parse().ok()?))
        });
        let cut = list("kept").into_iter().filter_map(|kept| {
            let kept = kept.strip_suffix(",true]")?.strip_prefix('[')?;
            kept.split(',').next()?.parse().ok()
        });
        let line = |last: u64, tokens: &str, facts: &str| {
            let tokens = number(get(tokens))? as u32;
            let bytes = get(facts).map_or(0, |facts| facts.to_string().len());
            Some(Line {
                last,
                tokens,
                bytes,
                facts: facts_in(get(facts)),
            })
        };
        let old = checkpoint_of(get("old"));
        Ok(Self {
            id,
            left: left.collect(),
            cut: cut.collect(),
            line: line(id, "tok", "facts"),
            old: old.map(|last| (last, line(last, "old_tok", "old_facts"))),
        })
    }
}

/// Returns the text of a param's value up to the next separator. The value must have no escapes.
fn word<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let text = head(text);
    let at = text.match_indices(name).map(|(at, _)| at);
    let mut at = at.filter(|at| text[..*at].ends_with(['{', '|']));
    let rest = at.find_map(|at| text[at + name.len()..].strip_prefix(':'))?;
    rest.split(['|', '}']).next()
}

impl Content {
    /// Records the state of a record, if an accepted frame is about one.
    pub(super) fn tells(&mut self, entry: &Entry) {
        let text = &entry.text;
        let record = word(text, RECORD).zip(word(text, STATE));
        if let Some((record, state)) = record.filter(|_| TELLING.contains(&intent(text))) {
            let told = (record.to_owned(), state.to_owned());
            self.told.insert(entry.position, told);
        }
    }

    /// Returns the newest state of each record in these frames.
    fn newest(&self, sources: &BTreeSet<u64>) -> BTreeMap<Key, (u64, String)> {
        let told = sources
            .iter()
            .filter_map(|at| Some((at, self.told.get(at)?)));
        let facts = told.map(|(at, (record, state))| {
            let key = (record.clone(), STATE.to_owned());
            (key, (*at, state.clone()))
        });
        facts.collect()
    }

    /// Checks that the line which a checkpoint adds has the newest states of the records.
    pub(super) fn judge_line(&self, read: &Read, sources: &BTreeSet<u64>) -> Result {
        let nothing = BTreeMap::new();
        let facts = read.line.as_ref().map_or(&nothing, |line| &line.facts);
        let newest = self.newest(sources);
        let is_state = |((_, name), _): &(&Key, &String)| name == STATE;
        for (key, value) in facts.iter().filter(is_state) {
            // Transactions have a status, too, and are not records.
            if !key.0.starts_with("item_") {
                continue;
            }
            match newest.get(key) {
                Some((_, newest)) if newest == value => {}
                other => {
                    let id = read.id;
                    return Err(format!(
                        "ckpt_{id} has {key:?} as {value}, and not {other:?}"
                    ));
                }
            }
        }
        for (key, (at, value)) in &newest {
            let older = self.lines.iter().rev().find_map(|line| line.facts.get(key));
            let is_there = facts.get(key).or(older) == Some(value);
            let has_room = read.line.as_ref().is_none_or(Line::has_room);
            if !is_there && has_room {
                let id = read.id;
                return Err(format!("ckpt_{id} forgets that {key:?} is {value} at {at}"));
            }
        }
        Ok(())
    }

    /// Checks the line that replaces the lines of merged checkpoints. Each of its facts must be the newest fact of
    /// its key in these lines, and no later line may have the key.
    pub(super) fn judge_merge(&self, read: &Read, through: u64, merged: Option<&Line>) -> Result {
        let (old, rest): (Vec<_>, Vec<_>) =
            self.lines.iter().partition(|line| line.last <= through);
        let mut wanted: BTreeMap<&Key, &String> = BTreeMap::new();
        for line in &old {
            wanted.extend(&line.facts);
        }
        let newer = rest.into_iter().chain(&read.line);
        let mut tokens = merged.map_or(0, |line| line.tokens);
        for line in newer {
            tokens += line.tokens;
            wanted.retain(|key, _| !line.facts.contains_key(*key));
        }
        let nothing = BTreeMap::new();
        let facts = merged.map_or(&nothing, |line| &line.facts);
        let id = read.id;
        if let Some((key, value)) = facts
            .iter()
            .find(|(key, value)| wanted.get(key) != Some(value))
        {
            let other = wanted.get(key);
            return Err(format!(
                "ckpt_{id} merges {key:?} as {value}, and not {other:?}"
            ));
        }
        let has_room = merged.is_none_or(Line::has_room) && tokens + LINE <= WARM;
        let is_told = |(_, name): &Key| name == STATE || name == RECORD;
        let mut lost = wanted.keys().filter(|key| is_told(key));
        match lost.find(|key| has_room && !facts.contains_key(*key)) {
            Some(key) => Err(format!("ckpt_{id} forgets {key:?} as it merges")),
            None => Ok(()),
        }
    }

    pub(super) fn apply(&mut self, read: Read) {
        if let Some((through, merged)) = read.old {
            self.lines.retain(|line| line.last > through);
            self.lines.splice(..0, merged);
        }
        self.lines.extend(read.line);
        self.cut = read.cut;
    }
}

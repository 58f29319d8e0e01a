//! Facts, taken from frames.

use std::borrow::Cow;
use std::collections::BTreeMap;

use accp_registry::{Intent, lexical};

use super::class::{Class, names_the_record};
use super::fact::{Fact, is_scalar, plain};
use super::hot::read_head;
use super::preview::UNBOUNDED;
use accp_frame::{DecodeError, LONG_VALUE, Map, Reader, Registry, Value};

/// The frames whose payload is about the matter and not about the session.
const TELLING: [Intent; 6] = [
    Intent::REQ,
    Intent::DONE,
    Intent::FAIL,
    Intent::WAIT,
    Intent::ESC,
    Intent::QRY,
];

/// A fact that may be remembered, and what decides whether it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) fact: Fact,
    /// Where it was said last; ascending with time.
    pub(crate) position: u64,
    /// Whether its frame leaves the context, and the fact with it.
    pub(crate) leaves: bool,
    pub(crate) class: Class,
    /// Whether the frame left it to the default of its schema.
    pub(crate) by_default: bool,
}

/// Takes the facts from frames, given in the order of their positions. What a later frame
/// says of a relationship of an entity stands for what an earlier one said.
pub(crate) struct Extract<'r> {
    registry: &'r Registry,
    /// By entity and relationship, in their wire text.
    found: BTreeMap<(String, String), Candidate>,
    position: u64,
    leaves: bool,
    sender: String,
}

/// Where a record stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// What it is about, unless it has an id of its own.
    entity: &'p str,
    /// The field that holds it; empty for one that a param holds.
    outer: &'p str,
    /// Names that lead to it.
    hints: [&'p str; 2],
}

impl<'r> Extract<'r> {
    pub(crate) fn new(registry: &'r Registry) -> Self {
        Self {
            registry,
            found: BTreeMap::new(),
            position: 0,
            leaves: false,
            sender: String::new(),
        }
    }

    /// Every fact, in no order that matters.
    pub(crate) fn finish(self) -> Vec<Candidate> {
        self.found.into_values().collect()
    }

    /// Takes the facts of a frame without its metadata. One that the registry cannot read
    /// has none.
    pub(crate) fn frame(&mut self, head: &str, position: u64, leaves: bool) {
        let Ok(message) = read_head(head, self.registry) else {
            return;
        };
        let (Ok(stated), true) = (keys(head), TELLING.contains(&message.intent)) else {
            return;
        };
        self.position = position;
        self.leaves = leaves;
        self.sender.clear();
        self.sender.push_str(message.agent.as_str());
        let schema = message.schema.as_deref();
        let schema = schema.and_then(|code| self.registry.schema(code));
        let is_stated = |name: &str| {
            let field = schema.and_then(|schema| schema.field(name));
            field.is_none_or(|(_, field)| {
                let is_its = |key: &&str| **key == *field.short || **key == *field.name;
                stated.iter().any(is_its)
            })
        };
        let mut otherwise = String::new();
        let about = format!("{}.{}", message.agent, message.operation);
        lexical::write_untyped(&mut otherwise, &about);
        let hints = [&*message.operation, ""];
        let id = id_of(&message.payload, hints);
        let Some(entity) = short(id.as_deref().unwrap_or(&otherwise)) else {
            return;
        };
        for (name, value) in message.payload.iter() {
            let place = Place {
                entity,
                outer: "",
                hints: [entity, name],
            };
            self.value(name, value, place, !is_stated(name));
        }
    }

    /// Takes the facts of what a field holds.
    fn value(&mut self, name: &str, value: &Value<'_>, place: Place<'_>, by_default: bool) {
        match value {
            Value::Map(record) => self.record(record, place),
            Value::Array(items) if items.iter().any(|item| !is_scalar(item)) => {
                self.records(name, items, place);
            }
            scalar => self.field(place.entity, name, scalar, by_default),
        }
    }

    /// Takes the facts of a record. It is about what its best id says, if it has one.
    fn record(&mut self, record: &Map<'_>, place: Place<'_>) {
        let id = id_of(record, place.hints);
        let outer = if id.is_some() { "" } else { place.outer };
        let Some(entity) = short(id.as_deref().unwrap_or(place.entity)) else {
            return;
        };
        for (name, value) in record.iter() {
            let place = Place {
                entity,
                outer: name,
                hints: [entity, name],
            };
            self.value(&qualified(outer, name), value, place, false);
        }
    }

    /// Takes the facts of the records in a list, which are numbered where they have no id.
    fn records(&mut self, name: &str, items: &[Value<'_>], place: Place<'_>) {
        for (at, item) in items.iter().enumerate() {
            if is_scalar(item) {
                continue;
            }
            let mut numbered = String::new();
            let mut place = place;
            if items.len() > 1 {
                let text = format!("{}.{name}.{}", plain(place.entity), at + 1);
                lexical::write_untyped(&mut numbered, &text);
                (place.entity, place.outer) = (&numbered, "");
            }
            self.value(name, item, place, false);
        }
    }

    fn field(&mut self, entity: &str, name: &str, value: &Value<'_>, by_default: bool) {
        let is_empty = matches!(value, Value::Array(items) if items.is_empty());
        let Some(text) = short_text(value).filter(|_| !is_empty && short(name).is_some()) else {
            return;
        };
        // Who says it is in the frame already; in chats it is the role.
        if text == self.sender && text != entity {
            return;
        }
        let key = (String::from(entity), String::from(name));
        let earlier = self.found.get(&key);
        if earlier.is_some_and(|earlier| earlier.position == self.position) {
            // One name for two things in one frame: the first stands.
            return;
        }
        let candidate = Candidate {
            fact: Fact::of_text(entity, name, &text),
            position: self.position,
            leaves: self.leaves,
            class: Class::of(name, value),
            // What was said before otherwise is not settled by being left unsaid.
            by_default: by_default && earlier.is_none_or(|earlier| earlier.by_default),
        };
        self.found.insert(key, candidate);
    }
}

/// The wire text of the best id in a record.
fn id_of(record: &Map<'_>, hints: [&str; 2]) -> Option<String> {
    let ids = record.iter().filter_map(|(name, value)| {
        let rank = names_the_record(name, &hints)?;
        let is_id = matches!(value, Value::String(_) | Value::Integer(_));
        Some((rank, short_text(value).filter(|_| is_id)?))
    });
    ids.min_by_key(|(rank, _)| *rank).map(|(_, id)| id)
}

/// The name of a field within another: `prices` and `economy` are `prices_economy`, but
/// `name` and `first_name` need no more.
fn qualified<'n>(outer: &str, name: &'n str) -> Cow<'n, str> {
    let lower = |text: &str| text.to_ascii_lowercase();
    if outer.is_empty() || lower(name).contains(&lower(outer)) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{outer}_{name}"))
    }
}

/// What is short enough for a part of a fact.
fn short(text: &str) -> Option<&str> {
    (text.len() <= LONG_VALUE).then_some(text)
}

/// The wire text of a scalar or of a list of scalars, unless it is too long for a fact or
/// says nothing.
fn short_text(value: &Value<'_>) -> Option<String> {
    let says = !matches!(value, Value::Null | Value::Map(_)) && value.as_str() != Some("");
    // The wire text is as long as the text or longer, and need not be written for nothing.
    let may_fit = value.as_str().is_none_or(|text| short(text).is_some());
    let text = (says && may_fit).then(|| value.to_string())?;
    (text.len() <= LONG_VALUE).then_some(text)
}

/// The keys of the params as they are written.
fn keys(head: &str) -> Result<Vec<&str>, DecodeError> {
    let mut r = Reader::new(head, UNBOUNDED)?;
    r.header()?;
    let mut keys = Vec::new();
    while let Some(key) = r.param()? {
        r.skip_value()?;
        keys.push(key);
    }
    Ok(keys)
}

//! Bound recall: whether a prompt still says what a value is.
//!
//! A value is looked for in what the conversation said before: in which records it stood (JSON
//! objects and rows), under which keys, and in which lines of text. The prompt *binds* it where
//! it stands
//!
//! 1. under its key: one that it had before or the name of the argument, as the key of a JSON
//!    object, as the words before it in its line (`user_id:x`, `user ID is x`), or before the
//!    list that it stands in (`flights: [x, y]`, `flights[2]: x,y`), or as the head of its column
//!    (`flights[2]{number,price}:` and rows that are indented);
//! 2. in a row or record with other values of a record that it stood in and with none of any
//!    other, if they tell the record: they
//!    are all there is of it, or every such record with them has this value, or every such
//!    record with this value has one of them, which not all such records have;
//! 3. in a line that was said, or beside the word that it stood beside, a word that is itself no
//!    value;
//! 4. where it was a key: beside its value, or beside another key of its record.
//!
//! So a list of all values, in whatever order, binds none of them. The rules know JSON, tables,
//! lists and `key: value` in any syntax; what they cannot know, such as abbreviated keys, a policy
//! says in [`accp_context::policy::Segment::records`].

mod case;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Message;
use super::find::{Finder, Needle, is_word, words};
use super::sheet::{Hit, Sheet, Unit};
use case::{Case, normal};

/// Keys that are about the transport of a message, not said in it.
const TRANSPORT: [&str; 3] = ["role", "tool_call_id", "channel"];

/// What the conversation said: all messages but system prompts, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Said {
    sheet: Sheet,
    /// By record: its message.
    messages: Vec<usize>,
    /// By record: whether it is a message itself, which says nothing about values.
    roots: BTreeSet<usize>,
    /// By message: role and name, for values that are all that was said.
    speakers: BTreeMap<usize, Vec<String>>,
    /// By value: the number that stands for it below.
    numbers: HashMap<String, u32>,
    /// By record: the values of it and of what it stands in, ascending.
    families: Vec<Vec<u32>>,
    /// Records with the same keys.
    shapes: BTreeMap<String, Vec<usize>>,
    shape_of: Vec<String>,
    /// By value that is looked for: where it stands.
    hits: Vec<Vec<Hit>>,
}

/// A value that a call needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'q> {
    pub(crate) needle: Needle,
    /// The name of the argument.
    pub(crate) name: &'q str,
    /// The message that needs it: what is said from there on does not count.
    pub(crate) turn: usize,
}

impl Said {
    /// Adds a message; messages come in order.
    pub(crate) fn push(&mut self, message: &Message) {
        let first = self.sheet.records.len();
        let mut json = serde_json::Value::clone(&message.json);
        if let Some(fields) = json.as_object_mut() {
            fields.retain(|key, _| !TRANSPORT.contains(&key.as_str()));
            let calls = fields
                .get_mut("tool_calls")
                .and_then(|calls| calls.as_array_mut());
            for call in calls
                .into_iter()
                .flatten()
                .filter_map(|call| call.as_object_mut())
            {
                call.retain(|key, _| !matches!(key.as_str(), "id" | "type"));
            }
        }
        self.sheet.add(&json, "", None);
        self.roots.insert(first);
        self.messages
            .resize(self.sheet.records.len(), message.index);
        let recorded = message.recorded();
        let speaker = [recorded.role(), recorded.name()].into_iter().flatten();
        let speaker = speaker.map(str::to_lowercase).collect();
        self.speakers.insert(message.index, speaker);
    }

    /// Looks for the values in all that was added.
    pub(crate) fn look(&mut self, finder: &Finder) {
        for hit in self.sheet.hits(finder) {
            let at = hit.needle as usize;
            if self.hits.len() <= at {
                self.hits.resize(at + 1, Vec::new());
            }
            self.hits[at].push(hit);
        }
        let Self { sheet, numbers, .. } = self;
        for unit in sheet.units.iter().filter(|unit| !unit.line) {
            let next = numbers.len() as u32;
            numbers.entry(unit.text.clone()).or_insert(next);
        }
        for record in 0..self.sheet.records.len() {
            let mut family: Vec<u32> = self
                .lineage(record)
                .flat_map(|at| self.values(at))
                .collect();
            family.sort_unstable();
            family.dedup();
            self.families.push(family);
            let shape = self.shape(record);
            self.shapes.entry(shape.clone()).or_default().push(record);
            self.shape_of.push(shape);
        }
    }

    /// The message in which a value is first said.
    pub(crate) fn first(&self, needle: Needle) -> Option<usize> {
        let hit = self.hits.get(needle as usize)?.first()?;
        Some(self.message_of(hit))
    }

    /// Whether this sheet of a prompt binds the value at one of these places.
    pub(crate) fn binds<'h>(
        &self,
        wanted: Wanted<'_>,
        sheet: &Sheet,
        hits: impl Iterator<Item = &'h Hit>,
        finder: &Finder,
    ) -> bool {
        let known = self
            .hits
            .get(wanted.needle as usize)
            .map_or(&[][..], Vec::as_slice);
        let known: Vec<Hit> = known
            .iter()
            .filter(|hit| self.message_of(hit) < wanted.turn)
            .copied()
            .collect();
        let keys: BTreeSet<String> = known
            .iter()
            .filter(|hit| hit.at.is_some() && !self.sheet.units[hit.unit].line)
            .map(|hit| normal(&self.sheet.units[hit.unit].key))
            .chain([normal(wanted.name)])
            .filter(|key| !key.is_empty())
            .collect();
        let case = Case {
            said: self,
            finder,
            value: finder.value(wanted.needle),
            turn: wanted.turn,
            known,
            keys,
        };
        hits.into_iter().any(|hit| case.bound(sheet, *hit))
    }

    fn message_of(&self, hit: &Hit) -> usize {
        self.messages[self.sheet.units[hit.unit].record]
    }

    /// A record and those that it stands in, without the message itself.
    fn lineage(&self, record: usize) -> impl Iterator<Item = usize> {
        let up = std::iter::successors(Some(record), |&at| self.sheet.records[at].parent);
        up.filter(|at| !self.roots.contains(at))
    }

    fn values(&self, record: usize) -> impl Iterator<Item = u32> {
        let units = self.sheet.records[record].units.iter();
        let units = units.map(|&unit| &self.sheet.units[unit]);
        units.filter_map(|unit| self.numbers.get(&unit.text).copied())
    }

    fn shape(&self, record: usize) -> String {
        let units = self.sheet.records[record].units.iter();
        let keys: BTreeSet<&str> = units.map(|&unit| &*self.sheet.units[unit].key).collect();
        keys.into_iter().collect::<Vec<_>>().join("\n")
    }
}

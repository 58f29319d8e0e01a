//! Bound recall: the check that a prompt still shows the meaning of a value.
//!
//! The check finds the value in the earlier messages of the conversation: its records (JSON
//! objects and rows), its keys, and its lines of text. The prompt *binds* the value in any of
//! these places:
//!
//! 1. Under its key. The key is an earlier key of the value or the name of the argument. It is
//!    the key of a JSON object, or the words before the value in its line (`user_id:x`,
//!    `user ID is x`), or the words before the list with the value (`flights: [x, y]`,
//!    `flights[2]: x,y`), or the head of its column (`flights[2]{number,price}:` and indented
//!    rows).
//! 2. In a row or record with other values of one earlier record of the value, and without known
//!    values of other records. The other values must identify the record: they are all its other
//!    values; or every record with the same keys and these values has this value; or every record
//!    with the same keys and this value has one of them, and some records with the same keys lack
//!    that one.
//! 3. In an earlier line, or beside the same neighbour word as before. The neighbour word is not
//!    itself a value.
//! 4. Beside its own value or another key of its record, if the value was a key before.
//!
//! So a list of all values, in any order, binds none of them. The rules know JSON, tables, lists
//! and `key: value` in any syntax. A policy declares other forms, such as abbreviated keys, in
//! [`accp_memory::policy::Segment::records`].

mod case;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Message;
use super::find::{Finder, Needle, is_word, words};
use super::sheet::{Hit, Sheet, Unit};
use case::{Case, normal};

/// Keys about the transport of a message, which are not part of its content.
const TRANSPORT: [&str; 3] = ["role", "tool_call_id", "channel"];

/// The messages of a conversation, without system prompts, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Said {
    sheet: Sheet,
    /// The message of each record.
    messages: Vec<usize>,
    /// The records that are whole messages, which do not relate values.
    roots: BTreeSet<usize>,
    /// The role and the name of each message's sender, for messages that are a single value.
    speakers: BTreeMap<usize, Vec<String>>,
    /// The number of each value, used in `families`.
    numbers: HashMap<String, u32>,
    /// The values of each record and of the records around it, ascending.
    families: Vec<Vec<u32>>,
    /// Records by their keys.
    shapes: BTreeMap<String, Vec<usize>>,
    shape_of: Vec<String>,
    /// The places of each value to look for.
    hits: Vec<Vec<Hit>>,
}

/// A value that a tool call needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'q> {
    pub(crate) needle: Needle,
    /// The name of the argument.
    pub(crate) name: &'q str,
    /// The message that needs the value. Only earlier messages count.
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

    /// Looks for the values in all messages that were added.
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

    /// Returns the first message that contains a value.
    pub(crate) fn first(&self, needle: Needle) -> Option<usize> {
        let hit = self.hits.get(needle as usize)?.first()?;
        Some(self.message_of(hit))
    }

    /// Returns whether this sheet of a prompt binds the value at one of these places.
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

    /// Returns a record and the records around it, without the message itself.
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

//! The entry of an instruction in a registry.

use std::fmt;

use accp_registry::Hash;

use super::instruction::Instruction;
use super::reading::Reading;
use crate::error::WriteError;
use crate::owned::PacketBuf;
use crate::packet::Packet;
use crate::vocabulary::Vocabulary;

/// The keys whose values come from the caller each time.
pub(super) const OF_THE_CALLER: [&str; 3] = ["return", "p", "aacp"];

/// The key of an entry: the id of the instruction, and the domain. The same instruction has another entry in another
/// domain. Requests for another receiver or priority use the same entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    /// The domain.
    pub dom: String,
    /// The id of the instruction.
    pub id: Hash,
}

/// An instruction with its task and its fields, without `return`, `p` and `aacp`.
///
/// ```
/// use accp_aacp::fallback::{Entry, Instruction};
/// use accp_aacp::{Packet, Vocabulary};
///
/// let instruction = Instruction::new("Ask for the review of the NDA")?;
/// let packet = Packet::parse("FLAG|LEGAL|return:LEG-Agent|p:1|aacp:1.1|req:review|type:NDA")?;
/// let entry = Entry::new(instruction, "LEGAL", &packet, Vocabulary::standard())?;
/// assert_eq!(entry.fields(), [("type".into(), "NDA".into()), ("req".into(), "review".into())]);
/// let packet = entry.packet("LEG-Agent", "2", Vocabulary::standard())?;
/// assert_eq!(packet.text(), "FLAG|LEGAL|return:LEG-Agent|p:2|aacp:1.1|type:NDA|req:review");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    instruction: Instruction,
    dom: String,
    task: String,
    fields: Vec<(String, String)>,
    /// The number of requests that this entry has answered.
    pub times_seen: u64,
}

impl Entry {
    /// Takes task and fields from a packet, in the order of the vocabulary. Empty fields, and the fields whose values
    /// come from the caller, are left out.
    ///
    /// # Errors
    /// Fields with which no packet of this domain can be written.
    pub fn new(
        instruction: Instruction,
        dom: &str,
        packet: &Packet<'_>,
        vocabulary: &Vocabulary,
    ) -> Result<Self, WriteError> {
        let fields = packet.fields().iter();
        let fields = fields.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Self::from_parts(
            instruction,
            dom,
            packet.task(),
            fields.collect(),
            vocabulary,
        )
    }

    /// Makes an entry of its parts, as [`Entry::new`] does.
    ///
    /// # Errors
    /// As [`Entry::new`].
    pub fn from_parts(
        instruction: Instruction,
        dom: &str,
        task: &str,
        mut fields: Vec<(String, String)>,
        vocabulary: &Vocabulary,
    ) -> Result<Self, WriteError> {
        fields.retain(|(key, value)| !value.is_empty() && !OF_THE_CALLER.contains(&&key[..]));
        let place = |key: &str| {
            let known = vocabulary.keys().iter().position(|known| known.name == key);
            known.unwrap_or(usize::MAX)
        };
        fields.sort_by_key(|(key, _)| place(key));
        let entry = Self {
            instruction,
            dom: dom.to_owned(),
            task: task.to_owned(),
            fields,
            times_seen: 0,
        };
        entry.packet("AGENT", "2", vocabulary)?;
        Ok(entry)
    }

    /// Returns the key.
    pub fn key(&self) -> EntryKey {
        EntryKey {
            dom: self.dom.clone(),
            id: self.instruction.id(),
        }
    }

    /// Returns the instruction.
    pub fn instruction(&self) -> &Instruction {
        &self.instruction
    }

    /// Returns the domain.
    pub fn dom(&self) -> &str {
        &self.dom
    }

    /// Returns the task.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// Returns the keys and values, without the fields whose values come from the caller.
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// Returns the keywords and values of the instruction, by which tier 2 finds the entry.
    pub fn keywords(&self) -> Vec<String> {
        Reading::of(self.instruction.text()).words()
    }

    /// Returns the packet of this entry for a receiver and a priority.
    ///
    /// # Errors
    /// A receiver or a priority that cannot be written.
    pub fn packet(
        &self,
        receiver: &str,
        priority: &str,
        vocabulary: &Vocabulary,
    ) -> Result<PacketBuf, WriteError> {
        packet(
            [&self.task, &self.dom],
            [receiver, priority],
            &self.fields,
            vocabulary,
        )
    }
}

/// Writes a packet: the values of the caller, then the fields.
pub(super) fn packet(
    [task, dom]: [&str; 2],
    [receiver, priority]: [&str; 2],
    fields: &[(String, String)],
    vocabulary: &Vocabulary,
) -> Result<PacketBuf, WriteError> {
    let [first, second, third] = OF_THE_CALLER;
    let head = [
        (first, receiver),
        (second, priority),
        (third, vocabulary.version()),
    ];
    let fields = fields.iter().map(|(key, value)| (&key[..], &value[..]));
    PacketBuf::new(task, dom, head.into_iter().chain(fields))
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.id, self.dom)
    }
}

//! The vocabulary: tasks, domains, priorities and keys that are known (draft sections 4 and 5).

mod load;
mod names;

use std::sync::OnceLock;

use accp_registry::Problems;

use self::names::Names;
use crate::finding::Code;

/// The words that a packet can have without a warning, with their meanings.
///
/// ```
/// use accp_aacp::{Kind, Vocabulary};
///
/// let standard = Vocabulary::standard();
/// assert_eq!(standard.tasks().len(), 12);
/// assert_eq!(standard.key("amt").map(|key| key.kind), Some(Kind::Number));
///
/// let own = standard.extended("own.json", r#"{ "domains": ["OPS"], "keys": ["acme_cost"] }"#)?;
/// assert!(own.domain("OPS").is_some() && own.key("acme_cost").is_some());
/// # Ok::<(), accp_registry::Problems>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vocabulary {
    pub(crate) version: String,
    pub(crate) tasks: Vec<Word>,
    pub(crate) domains: Vec<Word>,
    pub(crate) priorities: Vec<Word>,
    pub(crate) keys: Vec<Key>,
    /// Tables that find the tasks, the domains and the keys by their names.
    places: [Names; 3],
    pub(crate) companions: Vec<Companion>,
}

/// A task, a domain or a priority.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Word {
    /// The word as it stands in a packet.
    pub name: String,
    /// What the word means, in plain words; empty if the vocabulary does not say.
    pub meaning: String,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The key as it stands in a packet.
    pub name: String,
    /// The kind of the key's values.
    pub kind: Kind,
    /// What the key means, in plain words; empty if the vocabulary does not say.
    pub meaning: String,
    /// Whether the key is one of the core keys (draft section 4.2).
    pub is_core: bool,
}

/// The kind of a value. A reader accepts any text for every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Any text.
    Text,
    /// Items between commas.
    List,
    /// A decimal number.
    Number,
    /// A name, such as a resource, an agent or a state.
    Code,
}

/// A key that needs another key (draft section 7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Companion {
    pub(crate) key: String,
    pub(crate) needs: String,
    pub(crate) code: Code,
}

/// The text of the standard vocabulary.
const STANDARD: &str = include_str!("../vocabulary.json");

impl Vocabulary {
    /// Returns the vocabulary of version 1.1: `vocabulary.json` of this crate.
    pub fn standard() -> &'static Self {
        static SHARED: OnceLock<Vocabulary> = OnceLock::new();
        // A test checks that the file has no problems, so the default is never used.
        SHARED.get_or_init(|| Self::from_json("vocabulary.json", STANDARD).unwrap_or_default())
    }

    /// Reads a whole vocabulary, in the format of `vocabulary.json`. `file` is the name of the text in the problems.
    ///
    /// # Errors
    /// Every mistake, with line, column, JSON pointer and cure.
    pub fn from_json(file: &str, text: &str) -> Result<Self, Problems> {
        load::whole(file, text)
    }

    /// Returns this vocabulary with the `domains` and `keys` of a file. A private key carries the
    /// prefix of its organisation: `acme_cost`. An entry is a name, or an object with `name`,
    /// `meaning` and, for a key, `kind`.
    ///
    /// # Errors
    /// As [`Vocabulary::from_json`]; also a name that is known already.
    pub fn extended(&self, file: &str, text: &str) -> Result<Self, Problems> {
        load::extension(self, file, text)
    }

    /// Returns the version that packets of this vocabulary name.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the tasks, in the order of the draft.
    pub fn tasks(&self) -> &[Word] {
        &self.tasks
    }

    /// Returns the domains. Domains that a file added stand last.
    pub fn domains(&self) -> &[Word] {
        &self.domains
    }

    /// Returns the keys in the order in which encoders write them.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Returns the task of this name.
    pub fn task(&self, name: &str) -> Option<&Word> {
        let [tasks, ..] = &self.places;
        tasks.find(name, &self.tasks, |word| &word.name)
    }

    /// Returns the domain of this name.
    pub fn domain(&self, name: &str) -> Option<&Word> {
        let [_, domains, _] = &self.places;
        domains.find(name, &self.domains, |word| &word.name)
    }

    /// Returns the priority of this number.
    pub fn priority(&self, name: &str) -> Option<&Word> {
        self.priorities.iter().find(|word| word.name == name)
    }

    /// Returns the key of this name. Upper and lower case differ.
    pub fn key(&self, name: &str) -> Option<&Key> {
        let [.., keys] = &self.places;
        keys.find(name, &self.keys, |key| &key.name)
    }

    /// Builds the tables for looking up words.
    fn place_words(&mut self) {
        self.places = [
            Names::of(self.tasks.iter().map(|word| &*word.name)),
            Names::of(self.domains.iter().map(|word| &*word.name)),
            Names::of(self.keys.iter().map(|key| &*key.name)),
        ];
    }
}

impl Kind {
    /// All kinds, with their names in a vocabulary.
    pub const ALL: [(&str, Self); 4] = [
        ("text", Self::Text),
        ("list", Self::List),
        ("number", Self::Number),
        ("code", Self::Code),
    ];

    /// Returns the kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(other, _)| *other == name).map(|(_, kind)| *kind)
    }

    /// Returns the name of the kind.
    pub fn as_str(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }
}

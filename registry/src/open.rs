//! How a registry comes about: the standard profiles, a document, other registries.

use alloc::vec;
use alloc::vec::Vec;

use crate::assemble::{Source, assemble};
use crate::model::{Registry, Schema};
use crate::problem::Problems;

/// The standard profiles (draft sections 3.6 and 10): name of the file and its text.
static PROFILES: &[(&str, &str)] = &[
    ("CH.json", include_str!("../profiles/CH.json")),
    ("TC.json", include_str!("../profiles/TC.json")),
    ("TX.json", include_str!("../profiles/TX.json")),
    ("ST.json", include_str!("../profiles/ST.json")),
    ("TA.json", include_str!("../profiles/TA.json")),
    ("ER.json", include_str!("../profiles/ER.json")),
];

impl Registry {
    /// The standard profiles: CH, TC, TX, ST, TA (draft section 10) and ER (3.6).
    ///
    /// It reads the built-in JSON each time; with feature `std`, `Registry::shared` keeps one.
    pub fn standard() -> Self {
        let texts = PROFILES.iter().map(|&(file, text)| (Some(file), text));
        let sources: Result<Vec<_>, _> = texts
            .map(|(file, text)| Source::parse(file, text))
            .collect();
        // A test holds the built-in profiles to be without fault.
        sources
            .and_then(|sources| assemble(&sources))
            .unwrap_or_else(|_| Self::empty())
    }

    /// [`Registry::standard`], read once.
    #[cfg(feature = "std")]
    pub fn shared() -> &'static Self {
        static SHARED: std::sync::OnceLock<Registry> = std::sync::OnceLock::new();
        SHARED.get_or_init(Self::standard)
    }

    /// Reads a registry document (draft section 6.2).
    ///
    /// # Errors
    /// Every mistake in it, with line and column.
    pub fn from_json(text: &str) -> Result<Self, Problems> {
        assemble(&[Source::parse(None, text)?])
    }

    /// Adds each standard profile whose name and code this registry does not define itself.
    pub fn with_profiles(mut self) -> Self {
        for profile in Self::standard().schemas {
            let taken = |own: &Schema| own.name == profile.name || own.code == profile.code;
            if !self.schemas.iter().any(taken) {
                self.insert(profile);
            }
        }
        self
    }

    /// Adds a schema (`RegisterSchema`, draft section 7.1). It passes every check, whoever
    /// made it; `default_wire` is worked out here.
    ///
    /// # Errors
    /// When the schema is faulty, or its name or code is taken by another; nothing is
    /// changed then.
    pub fn register(&mut self, schema: Schema) -> Result<(), Problems> {
        self.merge(Self {
            version: self.version,
            tokenizer: None,
            schemas: vec![schema],
        })
    }

    /// Adds the schemas of another registry. One that is already there, and equal, is
    /// kept; the higher version counts.
    ///
    /// # Errors
    /// When a name or a code means two things; nothing is changed then.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what is merged is not used on"
    )]
    pub fn merge(&mut self, other: Self) -> Result<(), Problems> {
        let sources = [self.to_json(), other.to_json()].map(Source::from_value);
        *self = assemble(&sources)?;
        Ok(())
    }
}

//! How a registry comes about: the standard profiles, a document, other registries.

use alloc::vec;
use alloc::vec::Vec;

use crate::accp::ACCP;
use crate::assemble::{Source, assemble};
use crate::model::{Registry, Schema};
use crate::problem::Problems;
use crate::protocol::Protocol;

impl Registry {
    /// The standard profiles: CH, TC, TX, ST, TA (draft section 10) and ER (3.6).
    ///
    /// It reads the built-in JSON each time; with feature `std`, `Registry::shared` keeps one.
    pub fn standard() -> Self {
        Self::standard_of(&ACCP)
    }

    /// The registry that is built in for a protocol.
    pub fn standard_of(protocol: &'static Protocol) -> Self {
        let texts = protocol.profiles.iter();
        Self::built_in(protocol, texts.map(|&(file, text)| (Some(file), text)))
    }

    fn built_in<'t>(
        protocol: &'static Protocol,
        texts: impl Iterator<Item = (Option<&'t str>, &'t str)>,
    ) -> Self {
        let sources: Result<Vec<_>, _> = texts
            .map(|(file, text)| Source::parse(file, text))
            .collect();
        // Tests hold what is built in to be without fault.
        sources
            .and_then(|sources| assemble(protocol, &sources))
            .unwrap_or_else(|_| Self::empty_of(protocol))
    }

    /// The frames that a session speaks about itself: link, log, checkpoints. They name no
    /// schema on the wire, and what peers compare does not cover them.
    ///
    /// ```
    /// use accp_registry::Registry;
    ///
    /// let session = Registry::session();
    /// let (schema, frame) = session.frame(&["sync", "join"]).expect("a host says it");
    /// assert_eq!(frame.doc.as_deref(), Some("Lets a member in."));
    /// assert_eq!(schema.field("n").expect("a field").1.name, "member");
    /// ```
    #[cfg(feature = "tools")]
    pub fn session() -> Self {
        let texts = [
            ("context.json", include_str!("../session/context.json")),
            ("session.json", include_str!("../session/session.json")),
        ];
        let texts = texts.map(|(file, text)| (Some(file), text));
        Self::built_in(&ACCP, texts.into_iter())
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
        Self::from_json_of(&ACCP, text)
    }

    /// Reads a registry document of another protocol: the same format, with the parts of its
    /// head as keys of the `frames` entries.
    ///
    /// # Errors
    /// As [`Registry::from_json`].
    pub fn from_json_of(protocol: &'static Protocol, text: &str) -> Result<Self, Problems> {
        assemble(protocol, &[Source::parse(None, text)?])
    }

    /// Adds each standard profile whose name and code this registry does not define itself.
    pub fn with_profiles(mut self) -> Self {
        for profile in Self::standard_of(self.protocol).schemas {
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
            protocol: self.protocol,
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
        *self = assemble(self.protocol, &sources)?;
        Ok(())
    }
}

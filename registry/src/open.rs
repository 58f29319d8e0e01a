//! The sources of a registry: the standard profiles, a document, other registries.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::accp::ACCP;
use crate::assemble::{Source, assemble};
use crate::json::child;
use crate::model::{ERROR, ERRORS, Registry, Schema};
use crate::problem::{Problem, Problems};
use crate::protocol::Protocol;

impl Registry {
    /// Returns the standard profiles: CH, TC, TX, ST, TA (draft section 10) and ER (3.6).
    ///
    /// This function reads the built-in JSON at each call; with feature `std`, `Registry::shared`
    /// keeps one registry.
    pub fn standard() -> Self {
        Self::standard_of(&ACCP)
    }

    /// Returns the built-in registry of a protocol.
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
        // Tests check that the built-in texts have no mistakes, so the empty registry is never
        // used.
        sources
            .and_then(|sources| assemble(protocol, &sources))
            .unwrap_or_else(|_| Self::empty_of(protocol))
    }

    /// Returns the control frames of a session: link, log, checkpoints. These frames name no schema
    /// on the wire, and the hash that peers compare does not cover them.
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

    /// Returns [`Registry::standard`], which is read only once.
    #[cfg(feature = "std")]
    pub fn shared() -> &'static Self {
        static SHARED: std::sync::OnceLock<Registry> = std::sync::OnceLock::new();
        SHARED.get_or_init(Self::standard)
    }

    /// Reads a registry document (draft section 6.2).
    ///
    /// # Errors
    /// Returns every mistake in the document, with line and column.
    pub fn from_json(text: &str) -> Result<Self, Problems> {
        Self::from_json_of(&ACCP, text)
    }

    /// Reads a registry document of another protocol. The format is the same, except that the keys
    /// of the `frames` entries are the parts of that protocol's head.
    ///
    /// # Errors
    /// As [`Registry::from_json`].
    pub fn from_json_of(protocol: &'static Protocol, text: &str) -> Result<Self, Problems> {
        assemble(protocol, &[Source::parse(None, text)?])
    }

    /// Adds each standard profile whose name and code are free in this registry.
    pub fn with_profiles(mut self) -> Self {
        for profile in Self::standard_of(self.protocol).schemas.into_value() {
            let taken = |own: &Schema| own.name == profile.name || own.code == profile.code;
            if !self.schemas.iter().any(taken) {
                self.insert(profile);
            }
        }
        self
    }

    /// Returns one sentence for each standard profile that a schema here replaces, because the schema has its name or
    /// its code.
    ///
    /// ```
    /// use accp_registry::Registry;
    ///
    /// let registry = Registry::from_json(r#"{ "schemas": { "emergency_room": { "code": "ER", "fields": ["room"] } } }"#)?;
    /// assert_eq!(registry.replaced(), [
    ///     "schema ER (emergency_room) replaces the standard profile ER (error), but not in errors (fail:error)"
    /// ]);
    /// assert_eq!(Registry::standard().replaced(), [""; 0]);
    /// # Ok::<(), accp_registry::Problems>(())
    /// ```
    pub fn replaced(&self) -> Vec<String> {
        let profiles = Self::standard_of(self.protocol).schemas;
        let replaced = profiles.iter().filter_map(|profile| {
            let (name, code) = (&profile.name, &profile.code);
            let own = self.schema(code).or_else(|| self.schema_by_name(name))?;
            if own.means_the_same(profile) {
                return None;
            }
            let but = if code == ERRORS && own.frame(&ERROR).is_none() {
                ", but not in errors (fail:error)".to_owned()
            } else if own.code == *code {
                format!(": a frame with schema:{code} has its fields")
            } else {
                format!(": there is no schema {code}")
            };
            let (own, by) = (&own.name, &own.code);
            Some(format!(
                "schema {by} ({own}) replaces the standard profile {code} ({name}){but}"
            ))
        });
        replaced.collect()
    }

    /// Adds a schema (`RegisterSchema`, draft section 7.1). The schema must pass every check of a
    /// registry document. This function computes its `default_wire`.
    ///
    /// # Errors
    /// When the schema has a mistake, or when another schema has its name or code. Also when the registry already has
    /// this schema with other `to`, `rules`, `keep` or aliases: the hash does not cover these, so the sides of a
    /// session could not see the change. After an error, the registry is unchanged.
    pub fn register(&mut self, schema: Schema) -> Result<(), Problems> {
        self.register_schemas(vec![schema])
    }

    /// Adds the schemas of another registry, as [`Registry::register`] adds one. The version of this registry stays,
    /// and the tokenizer of the other registry does not count.
    ///
    /// # Errors
    /// As [`Registry::register`], for each of the schemas. After an error, the registry is unchanged.
    pub fn register_all(&mut self, schemas: Self) -> Result<(), Problems> {
        self.register_schemas(schemas.schemas.into_value())
    }

    fn register_schemas(&mut self, schemas: Vec<Schema>) -> Result<(), Problems> {
        let changed = |schema: &&Schema| {
            let other = self.schema_by_name(&schema.name);
            other.is_some_and(|other| other.means_the_same(schema) && !other.acts_the_same(schema))
        };
        let problems = schemas.iter().filter(changed).map(|schema| {
            let message = format!(
                "the schema `{}` is already registered, with other `to`, `rules`, `keep` or aliases",
                schema.name
            );
            let problem = Problem::new(child("/schemas", &schema.name), message);
            let cure = "start the host of the session with this registry, or give the schema another name and code";
            problem.cure(cure)
        });
        let problems: Vec<_> = problems.collect();
        if !problems.is_empty() {
            return Err(Problems::new(problems));
        }
        self.merge(Self {
            version: self.version,
            tokenizer: None,
            protocol: self.protocol,
            schemas: schemas.into(),
        })
    }

    /// Adds the schemas of another registry. Where both registries hold an equal schema, it is kept
    /// once. The higher version becomes the version of the result.
    ///
    /// # Errors
    /// When the registries have different schemas with the same name or the same code. The registry is then
    /// unchanged.
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

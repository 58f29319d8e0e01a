//! The schemas in force, and those of members.

use std::sync::Arc;

use accp_registry::{Hash, Problem, Problems, Schema};

use super::Host;
use crate::interface::event::Event;
use crate::log::mid::MemberId;
use crate::options::SchemaClashes;
use crate::side::fold::RestoreError;
use crate::side::{ALL_SCHEMAS, COMPARED_SCHEMAS};
use crate::wire::control::Control;
use crate::wire::inline;
use crate::wire::link::Hello;
use crate::wire::refusal::Refusal;
use accp_context::Time;
use accp_frame::{ErrorCode, Registry};

impl Host {
    /// Adds the schemas that an earlier run registered. If they clash with the registry of this run,
    /// the host goes on without them and reports this. Fails if the store has lost them: they were
    /// committed together with the entry that names them.
    pub(crate) fn restore_schemas(&mut self, kept: &[(Hash, String)]) -> Result<(), RestoreError> {
        let Some(hash) = self
            .side
            .state
            .schemas()
            .filter(|hash| *hash != self.side.schemas)
        else {
            return Ok(());
        };
        let Some((_, json)) = kept.iter().find(|(kept, _)| *kept == hash) else {
            let lost = format!(
                "the store lacks registry {hash}, which is in force there, and no registry with this hash was given \
                 (`--registry`)"
            );
            return Err(RestoreError::new(self.side.position, &lost));
        };
        let mut merged = (*self.side.options.registry).clone();
        match Registry::from_json(json).and_then(|before| merged.merge(before)) {
            Ok(()) => self.side.set_registry(merged),
            Err(problems) => {
                let event = Event::SchemasUnavailable(problems.to_string());
                self.side.emit(event);
            }
        }
        Ok(())
    }

    /// Announces the schemas in force, if they have changed.
    pub(crate) fn announce_schemas(&mut self, now: Time) {
        let hash = self.side.schemas;
        if self.side.state.schemas() != Some(hash) {
            let registry = Arc::clone(&self.side.options.registry);
            self.side.keep_registry(&registry);
            self.control(Control::Schemas { hash }, now);
        }
    }

    /// Registers a schema while the session runs (`RegisterSchema`, draft section 7.1). Members
    /// fetch it.
    ///
    /// # Errors
    /// All mistakes in the schema, including a clash with a registered schema, or that all schemas together are too
    /// large; then nothing has changed.
    pub(crate) fn register_schema(&mut self, schema: Schema, now: Time) -> Result<(), Problems> {
        let mut registry = (*self.side.options.registry).clone();
        registry.register(schema)?;
        self.take_registered(registry, now)
    }

    /// Registers all of these schemas at once, or none. So the store keeps one registry for all of them, and the log
    /// has one entry.
    ///
    /// # Errors
    /// As [`Host::register_schema`].
    pub(crate) fn register_all(&mut self, schemas: Registry, now: Time) -> Result<(), Problems> {
        let mut registry = (*self.side.options.registry).clone();
        registry.register_all(schemas)?;
        self.take_registered(registry, now)
    }

    /// Puts a registry in force that has more schemas, unless they take so many bytes that no member could fetch them.
    fn take_registered(&mut self, registry: Registry, now: Time) -> Result<(), Problems> {
        if registry.hash() != self.side.schemas
            && let Err(why) = inline::check_size(&registry)
        {
            let cure = "register fewer schemas, or shorten what their documents say";
            return Err(Problem::new("/schemas", why).cure(cure).into());
        }
        self.side.set_registry(registry);
        self.announce_schemas(now);
        Ok(())
    }

    /// Takes over the schemas in the hello of a member that knows only the draft.
    pub(crate) fn learn_inline(&mut self, hello: &Hello, now: Time) {
        if let Some(schemas) = hello.schemas.as_ref().filter(|_| self.rules.learn_schemas) {
            let theirs = inline::registry_of(schemas, &self.side.options.registry);
            self.take_schemas(theirs, now);
        }
    }

    /// Takes over the schemas of a member that the session lacks.
    pub(crate) fn learn(&mut self, from: MemberId, delta: &[u8], now: Time) {
        let theirs = inline::delta_of(delta).and_then(|delta| inline::whole(&delta));
        self.take_schemas(theirs.clone(), now);
        if let Ok(theirs) = theirs {
            self.settle_schemas(from, &theirs, now);
        }
    }

    /// Compares the schemas of a member with those of the session, and reports the differences that break a reader.
    pub(crate) fn compare_with(&mut self, from: MemberId, delta: &[u8], now: Time) {
        match inline::delta_of(delta).and_then(|delta| inline::whole(&delta)) {
            Ok(theirs) => self.settle_schemas(from, &theirs, now),
            Err(why) => self.side.emit(Event::SchemasUnavailable(why)),
        }
    }

    fn settle_schemas(&mut self, member: MemberId, theirs: &Registry, now: Time) {
        let clashes = self.side.compare_schemas(member, theirs);
        let breaks = !clashes.is_empty();
        self.relays.cursor(member).clashes = Some(clashes);
        // A strict host has not yet answered the hello of the member, because it waited for this comparison.
        if self.rules.clashes == SchemaClashes::Refused && !breaks {
            self.greet(member, None, now);
        }
    }

    /// Asks a member for its schemas once, if its hello names others than those in force. Returns whether the host serves
    /// the member: a strict host waits until it has compared the schemas, and then refuses those that break a reader.
    pub(crate) fn admits(&mut self, from: MemberId, hello: &Hello, now: Time) -> bool {
        let own = self.side.schemas.to_string();
        let cursor = self.relays.cursor(from);
        if hello.hash.len() > 64 || own.starts_with(&hello.hash) {
            cursor.clashes = None;
            return true;
        }
        if cursor.schemas.as_ref() != Some(&hello.hash) {
            (cursor.schemas, cursor.clashes) = (Some(hello.hash.clone()), None);
            let standard = Registry::shared();
            if self.rules.learn_schemas {
                self.side.transfers.want(ALL_SCHEMAS, from, None);
            } else if standard.hash().to_string().starts_with(&hello.hash) {
                self.settle_schemas(from, standard, now);
            } else {
                self.side.transfers.want(COMPARED_SCHEMAS, from, None);
            }
        }
        if self.rules.clashes == SchemaClashes::Served {
            return true;
        }
        let clashes = self.relays.cursor(from).clashes.as_ref();
        let breaks = clashes.map(|clashes| !clashes.is_empty());
        if breaks == Some(true) {
            let expected = "a registry by which all sides of the session read each other's frames; \
                `accp registry diff --breaking` says what breaks";
            let refusal = Refusal::new(ErrorCode::POLICY_DENIED, expected);
            self.send_refusal(from, None, refusal, now);
            // Otherwise requests would go to an agent that the host does not serve.
            self.leave(from, now);
        }
        breaks == Some(false)
    }

    fn take_schemas(&mut self, theirs: Result<Registry, String>, now: Time) {
        let own = &self.side.options.registry;
        let learnt = theirs.and_then(|theirs| inline::merged(own, theirs));
        match learnt {
            // Announcing the schemas would continue the log, and the caller must first decide
            // from which position.
            Ok(_) if self.lost.is_some() => {}
            Ok(registry) => {
                self.side.set_registry(registry);
                self.announce_schemas(now);
            }
            Err(why) => self.side.emit(Event::SchemasUnavailable(why)),
        }
    }
}

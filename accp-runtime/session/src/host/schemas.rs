//! The schemas in force, and those of members.

use std::sync::Arc;

use accp_registry::{Hash, Problems, Schema};

use super::Host;
use crate::interface::event::Event;
use crate::side::fold::RestoreError;
use crate::wire::control::Control;
use crate::wire::inline;
use crate::wire::link::Hello;
use accp_context::Time;
use accp_frame::Registry;

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
            let lost = format!("the store lacks registry {hash}, which is in force there");
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
    /// All mistakes in the schema, including a clash with a registered schema; then nothing has
    /// changed.
    pub(crate) fn register_schema(&mut self, schema: Schema, now: Time) -> Result<(), Problems> {
        let mut registry = (*self.side.options.registry).clone();
        registry.register(schema)?;
        self.side.set_registry(registry);
        self.announce_schemas(now);
        Ok(())
    }

    /// Takes over the schemas that a member of the draft alone has sent with its hello.
    pub(crate) fn learn_inline(&mut self, hello: &Hello, now: Time) {
        if let Some(schemas) = hello.schemas.as_ref().filter(|_| self.rules.learn_schemas) {
            let theirs = inline::registry_of(schemas, &self.side.options.registry);
            self.take_schemas(theirs, now);
        }
    }

    /// Takes over the schemas of a member that the session lacks.
    pub(crate) fn learn(&mut self, delta: &[u8], now: Time) {
        let theirs = inline::delta_of(delta).and_then(|delta| {
            let theirs = delta.apply(&Registry::empty(), self.side.options.schemas);
            theirs.map_err(|error| error.to_string())
        });
        self.take_schemas(theirs, now);
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

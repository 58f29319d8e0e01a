//! The schemas that a side knows.

use std::sync::Arc;

use accp_registry::{Change, Hash};

use super::Side;
use crate::delivery::cursor::SHOWN;
use crate::interface::event::Event;
use crate::log::mid::MemberId;
use crate::wire::inline;
use crate::wire::link::Piece;
use accp_frame::Registry;

impl Side {
    /// Replaces the schemas that this side knows.
    pub(crate) fn set_registry(&mut self, registry: Registry) {
        self.schemas = registry.hash();
        self.options.registry = Arc::new(registry);
    }

    /// Reports the changes between the registry of a peer and that of this side that break a reader. Returns the
    /// first [`SHOWN`] of them.
    pub(crate) fn compare_schemas(&mut self, peer: MemberId, theirs: &Registry) -> Vec<Change> {
        let changes = inline::clashes(theirs, &self.options.registry);
        let shown = changes.iter().take(SHOWN).cloned().collect();
        if !changes.is_empty() {
            self.emit(Event::SchemasDiffer(peer, changes));
        }
        shown
    }

    /// Keeps a registry in the store.
    pub(crate) fn keep_registry(&mut self, registry: &Registry) {
        let kept = (registry.hash(), registry.to_json().to_string());
        self.batch.get().registries.push(kept);
    }

    /// Returns a piece of the schemas that this side has and the registry of the key lacks. The key
    /// is `reg_` and the hash of that registry, or [`ALL_SCHEMAS`].
    pub(crate) fn schemas_piece(&self, key: &str, at: u64) -> Option<Piece> {
        let base = key.strip_prefix("reg_")?;
        let standard = Registry::shared();
        let base = if standard.hash().to_string() == base {
            standard.clone()
        } else {
            Registry::empty()
        };
        let delta = self.options.registry.delta_from(&base).to_json();
        let bytes = delta.as_bytes();
        Some(Piece::of(key, bytes, Hash::of(bytes), at))
    }
}

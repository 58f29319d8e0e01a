//! A store that keeps sides in memory.

mod side;

use std::collections::BTreeMap;

use accp_session::{Batch, Entry, Stored};

use crate::changes::{Changes, Conflict, SideRow};
use crate::error::{StoreError, StoreErrorKind};
use crate::side::SideId;
use crate::store::{Erasure, Freed, Kept, Retention, Store, Summary};
use side::Side;

/// Keeps sides until it is dropped: for tests, and for programs that need no state after a restart.
///
/// It keeps the contract of [`Store`] except for durability, and fails only with conflicts. It is
/// not [`Transactional`](crate::Transactional).
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    sides: BTreeMap<SideId, Side>,
}

impl MemoryStore {
    /// Makes a store without sides.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError> {
        // The changes of each side are applied only after all batches have been checked.
        let mut by_side: BTreeMap<&SideId, Changes<'_>> = BTreeMap::new();
        for &(id, batch) in group.iter().filter(|(_, batch)| batch.is_durable()) {
            let mut kept = self.sides.get(id);
            let changes = by_side.entry(id).or_insert_with(|| {
                let row = kept.map(|side| side.row().clone());
                Changes::new(row.unwrap_or_else(|| SideRow::new(id, batch.host)))
            });
            let applied = changes.apply(&mut kept, batch);
            applied.map_err(|conflict| refused(id, conflict))?;
        }
        for (id, changes) in by_side {
            let side = self.sides.entry(id.clone());
            let side = side.or_insert_with(|| Side::new(changes.row.clone()));
            side.save(changes);
        }
        Ok(())
    }

    fn load(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        Ok(self.sides.get(side).map(Side::to_stored))
    }

    fn entries(
        &mut self,
        side: &SideId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let side = self.sides.get(side);
        Ok(side.map_or_else(Vec::new, |side| side.entries(from, limit)))
    }

    fn entry(&mut self, side: &SideId, position: u64) -> Result<Option<Entry>, StoreError> {
        let side = self.sides.get(side);
        Ok(side.and_then(|side| side.entry(position)))
    }

    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError> {
        let side = self.sides.get(side);
        Ok(side.and_then(|side| side.value(key)))
    }

    fn cold_keys(&mut self, side: &SideId) -> Result<Vec<String>, StoreError> {
        let side = self.sides.get(side);
        Ok(side.map_or_else(Vec::new, Side::keys))
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        let sides = self.sides.iter();
        Ok(sides.map(|(_, side)| side.to_summary()).collect())
    }

    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError> {
        let first = SideId::new(session, "");
        let from = self.sides.range(first..);
        let sides = from.take_while(|(id, _)| id.session() == session);
        Ok(sides.map(|(_, side)| side.to_summary()).collect())
    }

    fn summary(&mut self, side: &SideId) -> Result<Option<Summary>, StoreError> {
        Ok(self.sides.get(side).map(Side::to_summary))
    }

    fn delete(&mut self, side: &SideId) -> Result<bool, StoreError> {
        Ok(self.sides.remove(side).is_some())
    }

    fn retain(&mut self, side: &SideId, retention: Retention) -> Result<Freed, StoreError> {
        let side = self.sides.get_mut(side);
        Ok(side.map_or_else(Freed::default, |side| side.retain(retention)))
    }

    fn erase(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError> {
        // The copies of changed sides replace the originals only after all erasures have been
        // checked.
        let mut changed: BTreeMap<&SideId, Side> = BTreeMap::new();
        let mut freed = Freed::default();
        for &(id, erasure) in group {
            let Some(kept) = self.sides.get(id) else {
                continue;
            };
            let side = changed.entry(id).or_insert_with(|| kept.clone());
            let one = side
                .erase(erasure)
                .map_err(|conflict| refused(id, conflict))?;
            freed.entries += one.entries;
            freed.bytes += one.bytes;
        }
        for (id, side) in changed {
            self.sides.insert(id.clone(), side);
        }
        Ok(freed)
    }

    fn verify(&mut self, _side: &SideId) -> Result<(), StoreError> {
        Ok(()) // every batch was checked when it was committed
    }
}

fn refused(side: &SideId, Conflict(text): Conflict) -> StoreError {
    StoreError::new(StoreErrorKind::Conflict, text).in_side(side)
}

//! A registry in memory.

use std::collections::BTreeMap;
use std::ops::Bound;

use accp_registry::Hash;

use super::claim::{Claim, ClaimDecision, ClaimRequest, decide};
use super::entry::{Entry, EntryKey};
use super::model::ModelError;
use super::registry::{Claimed, Registry, RegistryError};

/// A registry in memory, for tests and for a process that needs its packets only once.
#[derive(Debug, Clone, Default)]
pub struct MemoryRegistry {
    entries: BTreeMap<EntryKey, Entry>,
    claims: BTreeMap<EntryKey, Claim>,
}

impl Registry for MemoryRegistry {
    fn find(&mut self, key: &EntryKey) -> Result<Option<Entry>, RegistryError> {
        Ok(self.entries.get(key).cloned())
    }

    fn hit(&mut self, key: &EntryKey) -> Result<Option<Entry>, RegistryError> {
        let entry = self.entries.get_mut(key).map(|entry| {
            entry.times_seen += 1;
            entry.clone()
        });
        Ok(entry)
    }

    fn page(
        &mut self,
        dom: &str,
        after: Option<Hash>,
        limit: usize,
    ) -> Result<Vec<Entry>, RegistryError> {
        let key = |id| EntryKey {
            dom: dom.to_owned(),
            id,
        };
        let from = match after {
            Some(id) => Bound::Excluded(key(id)),
            None => Bound::Included(key(Hash::from([0; 32]))),
        };
        let entries = self.entries.range((from, Bound::Unbounded));
        let entries = entries.take_while(|(key, _)| key.dom == dom);
        Ok(entries
            .take(limit)
            .map(|(_, entry)| entry.clone())
            .collect())
    }

    fn claim(&mut self, key: &EntryKey, ask: &ClaimRequest) -> Result<Claimed, RegistryError> {
        if let Some(entry) = self.hit(key)? {
            return Ok(Claimed::Entry(entry));
        }
        let decision = decide(self.claims.get(key), ask);
        if let ClaimDecision::Call(claim) = &decision {
            self.claims.insert(key.clone(), claim.clone());
        }
        Ok(Claimed::Decided(decision))
    }

    fn settle(
        &mut self,
        key: &EntryKey,
        claim: &Claim,
        found: Result<&Entry, &ModelError>,
    ) -> Result<Option<Entry>, RegistryError> {
        if let Some(entry) = self.hit(key)? {
            return Ok(Some(entry));
        }
        match found {
            Ok(entry) => {
                self.claims.remove(key);
                self.entries.insert(key.clone(), entry.clone());
                self.hit(key)
            }
            Err(failure) => {
                let row = self
                    .claims
                    .get_mut(key)
                    .filter(|row| row.is_same_call(claim));
                if let Some(row) = row {
                    *row = row.clone().into_failed(failure.clone());
                }
                Ok(None)
            }
        }
    }
}

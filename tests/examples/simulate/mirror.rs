//! Two stores that take the same calls: a store under test, and a store in memory beside it. Every answer of the two
//! must be equal.

use std::collections::BTreeSet;
use std::fmt::Debug;

use accp_session::{Batch, Entry, Stored};
use accp_store::{
    Erasure, Freed, Kept, Match, MemoryStore, Retention, SideId, Store, StoreError, StoreErrorKind,
    Summary,
};

/// The most characters of an answer that an error shows.
const SHOWN: usize = 600;

/// A store, and a store in memory that must give the same answers.
#[derive(Debug)]
pub(super) struct Mirrored<S, M = MemoryStore> {
    store: S,
    mirror: M,
}

impl<S, M> Mirrored<S, M> {
    pub(super) fn new(store: S, mirror: M) -> Self {
        Self { store, mirror }
    }
}

/// Returns the answer of the store, if the mirror has the same answer. Errors are the same if they are of one kind and
/// name the same side.
fn same<A: PartialEq + Debug>(
    call: &str,
    here: Result<A, StoreError>,
    there: &Result<A, StoreError>,
) -> Result<A, StoreError> {
    let is_same = match (&here, there) {
        (Ok(here), Ok(there)) => here == there,
        (Err(here), Err(there)) => (here.kind(), here.side()) == (there.kind(), there.side()),
        _ => false,
    };
    if is_same {
        return here;
    }
    let [here, there] = [format!("{here:?}"), format!("{there:?}")];
    let at = here.bytes().zip(there.bytes()).position(|(a, b)| a != b);
    let from = at.unwrap_or_default().saturating_sub(SHOWN / 4);
    let [here, there] =
        [here, there].map(|answer| answer.chars().skip(from).take(SHOWN).collect::<String>());
    let text = format!("{call} gives {here}, and in memory {there}");
    Err(StoreError::new(StoreErrorKind::Corrupt, text))
}

impl<S: Store, M: Store> Store for Mirrored<S, M> {
    fn commit(&mut self, group: &[(&SideId, &Batch)]) -> Result<(), StoreError> {
        same(
            "commit",
            self.store.commit(group),
            &self.mirror.commit(group),
        )
    }

    fn load(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        same("load", self.store.load(side), &self.mirror.load(side))
    }

    fn open(&mut self, side: &SideId) -> Result<Option<Stored>, StoreError> {
        same("open", self.store.open(side), &self.mirror.open(side))
    }

    fn entries(
        &mut self,
        side: &SideId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let here = self.store.entries(side, from, limit);
        same("entries", here, &self.mirror.entries(side, from, limit))
    }

    fn entry(&mut self, side: &SideId, position: u64) -> Result<Option<Entry>, StoreError> {
        let here = self.store.entry(side, position);
        same("entry", here, &self.mirror.entry(side, position))
    }

    /// The order of two frames with nearly the same score may differ, so only the positions are compared, and only if
    /// the limit leaves none out.
    fn search(
        &mut self,
        side: &SideId,
        words: &str,
        limit: usize,
    ) -> Result<Vec<Match>, StoreError> {
        let here = self.store.search(side, words, limit)?;
        let there = self.mirror.search(side, words, limit)?;
        let places = |found: &[Match]| -> BTreeSet<u64> {
            found.iter().map(|found| found.position).collect()
        };
        let is_whole = here.len().max(there.len()) < limit;
        if is_whole {
            same("search", Ok(places(&here)), &Ok(places(&there)))?;
        }
        Ok(here)
    }

    fn cold(&mut self, side: &SideId, key: &str) -> Result<Option<Kept>, StoreError> {
        let here = self.store.cold(side, key);
        same("cold", here, &self.mirror.cold(side, key))
    }

    fn cold_keys(&mut self, side: &SideId) -> Result<Vec<String>, StoreError> {
        let here = self.store.cold_keys(side);
        same("cold_keys", here, &self.mirror.cold_keys(side))
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        same("list", self.store.list(), &self.mirror.list())
    }

    fn sides(&mut self, session: &str) -> Result<Vec<Summary>, StoreError> {
        let here = self.store.sides(session);
        same("sides", here, &self.mirror.sides(session))
    }

    fn summary(&mut self, side: &SideId) -> Result<Option<Summary>, StoreError> {
        let here = self.store.summary(side);
        same("summary", here, &self.mirror.summary(side))
    }

    fn delete(&mut self, side: &SideId) -> Result<bool, StoreError> {
        same("delete", self.store.delete(side), &self.mirror.delete(side))
    }

    fn retain(&mut self, side: &SideId, retention: Retention) -> Result<Freed, StoreError> {
        let here = self.store.retain(side, retention);
        same("retain", here, &self.mirror.retain(side, retention))
    }

    fn erase(&mut self, group: &[(&SideId, &Erasure)]) -> Result<Freed, StoreError> {
        same("erase", self.store.erase(group), &self.mirror.erase(group))
    }

    fn verify(&mut self, side: &SideId) -> Result<(), StoreError> {
        self.store.verify(side)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.store.probe()
    }
}

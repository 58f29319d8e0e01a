//! The facts that a side has reported.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::Mid;

use super::fact::{Fact, Fate};

type Result<T = ()> = std::result::Result<T, String>;

/// The facts that a side has reported, in all its lives.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The numbers of the frames that the side has reported as sent, each with the id of its frame.
    pub(crate) said: BTreeMap<u64, Mid>,
    pub(crate) handled: BTreeSet<u64>,
    pub(crate) fates: BTreeMap<Mid, Fate>,
}

impl Ledger {
    /// Records a fact that the side has reported.
    ///
    /// # Errors
    /// If the side has reported a fact twice that can happen only once.
    pub(crate) fn take(&mut self, fact: &Fact) -> Result {
        let is_news = match fact {
            Fact::Said(n, mid) => self.said.insert(*n, mid.clone()).is_none(),
            Fact::Handled(position) => self.handled.insert(*position),
            Fact::Ended(mid, fate) => self.fates.insert(mid.clone(), *fate).is_none(),
            Fact::Renamed(old, new) => {
                if let Some(mid) = self.said.values_mut().find(|mid| *mid == old) {
                    *mid = new.clone();
                }
                true
            }
            _ => true,
        };
        if is_news {
            Ok(())
        } else {
            Err(format!("a side has told twice: {fact}"))
        }
    }

    /// Returns how many frames have come to this end.
    pub(crate) fn count(&self, fate: Fate) -> u64 {
        self.fates.values().filter(|told| **told == fate).count() as u64
    }
}

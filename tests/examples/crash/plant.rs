//! Planted bugs, which the checks have to find.

use std::fmt;
use std::str::FromStr;

use accp_session::{Batch, OutboxChange};
use accp_store::{SqliteStore, Store};
use accp_testkit::Tapped;

/// A bug in the store of the process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    /// A commit returns before it is durable.
    Early,
    /// Handled marks are committed after the replies, not with them.
    Apart,
    /// Of the batches that are committed together, the later half is lost.
    Half,
}

impl Plant {
    pub(crate) const ALL: [Self; 3] = [Self::Early, Self::Apart, Self::Half];
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Early => "early",
            Self::Apart => "apart",
            Self::Half => "half",
        })
    }
}

impl FromStr for Plant {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|plant| plant.to_string() == text)
            .ok_or("expected early, apart or half")
    }
}

/// Wraps a store, with a bug or without.
pub(crate) fn planted(store: SqliteStore, plant: Option<Plant>) -> Tapped<SqliteStore> {
    // The changes that the planted bug keeps back until the next commit.
    let mut late = Batch::default();
    Tapped::new(store, move |store, group| {
        for (side, batch) in group {
            let mut copy = Batch::clone(batch);
            match plant {
                Some(Plant::Early) => std::mem::swap(&mut late, &mut copy),
                Some(Plant::Apart) => std::mem::swap(&mut late.handled, &mut copy.handled),
                Some(Plant::Half) if is_later(batch) => continue,
                Some(Plant::Half) => {}
                None => {}
            }
            store.commit(&[(side, &copy)])?;
        }
        Ok(())
    })
}

/// Returns whether the bug [`Plant::Half`] loses this batch: a batch without entries, marks, a new epoch or frames
/// to send.
fn is_later(batch: &Batch) -> bool {
    let puts = |change: &OutboxChange| matches!(change, OutboxChange::Put(_));
    batch.entries.is_empty()
        && batch.handled.is_empty()
        && batch.lapsed.is_empty()
        && batch.epoch.is_none()
        && !batch.outbox.iter().any(puts)
}

//! Planted bugs, which the checks have to find.

use std::fmt;
use std::str::FromStr;

use accp_session::Batch;
use accp_store::{SqliteStore, Store};
use accp_testkit::Tapped;

/// A bug in the store of the process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    /// A commit returns before it is durable.
    Early,
    /// Handled marks are committed after the replies, not with them.
    Apart,
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Early => "early",
            Self::Apart => "apart",
        })
    }
}

impl FromStr for Plant {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let both = [Self::Early, Self::Apart];
        both.into_iter()
            .find(|plant| plant.to_string() == text)
            .ok_or(())
    }
}

/// Wraps a store, with a bug or without.
pub(crate) fn planted(store: SqliteStore, plant: Option<Plant>) -> Tapped<SqliteStore> {
    // The changes for the next commit.
    let mut late = Batch::default();
    Tapped::new(store, move |store, group| {
        for (side, batch) in group {
            let mut copy = Batch::clone(batch);
            match plant {
                Some(Plant::Early) => std::mem::swap(&mut late, &mut copy),
                Some(Plant::Apart) => std::mem::swap(&mut late.handled, &mut copy.handled),
                None => {}
            }
            store.commit(&[(side, &copy)])?;
        }
        Ok(())
    })
}

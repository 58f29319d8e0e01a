//! Bugs, to see that they are found.

use std::fmt;
use std::str::FromStr;

use accp_session::Batch;
use accp_store::{SqliteStore, Store};
use accp_testkit::Tapped;

/// A bug in the store of the process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    /// A commit is said to be durable before it is.
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

/// A store with or without a bug.
pub(crate) fn planted(store: SqliteStore, plant: Option<Plant>) -> Tapped<SqliteStore> {
    // What is committed next time.
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

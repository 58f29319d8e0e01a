//! Stores for the sides of sessions.
//!
//! A session hands out [`Batch`]es. A [`Store`] keeps each batch as a whole or not at all, and after a crash
//! gives back the state that restores the session. A session has several sides: the side of its host and the
//! sides of its members. Each side has a log of its own, and [`SideId`] names a side. [`SqliteStore`] keeps sides
//! in one file, and `docs/format.md` describes the format of the file. `PostgresStore` (feature `postgres`) keeps
//! sides of many processes in a database, and `docs/postgres.md` describes its tables. [`MemoryStore`] keeps
//! sides until it is dropped. Authors of other stores run `conformance` (feature `testing`) on theirs.
//!
//! ```
//! use accp_runtime::session::{Mid, Time};
//! use accp_session::{Batch, Due, Entry};
//! use accp_store::{MemoryStore, SideId, Store, StoreErrorKind};
//!
//! let mut batch = Batch::new(true);
//! let text = "@hub>req:plan{}[mid:100000001001,seq:1,ts:1714000000]";
//! let at = Time::from_secs(1_714_000_000);
//! let entry = Entry::new(1, at, Mid::parse("100000001001"), text);
//! batch.entries.push(entry.with(|entry| {
//!     entry.sequence = 1;
//!     entry.due = Due::Yes;
//! }));
//!
//! let mut store = MemoryStore::new();
//! let side = SideId::new("launch", "hub");
//! store.commit(&[(&side, &batch)])?;
//! let stored = store.load(&side)?.expect("it was committed");
//! assert_eq!(stored.entries, batch.entries);
//!
//! // A batch that is committed twice does not overwrite the first.
//! let twice = store.commit(&[(&side, &batch)]).unwrap_err();
//! assert_eq!(twice.kind(), StoreErrorKind::Conflict);
//! # Ok::<(), accp_store::StoreError>(())
//! ```
//!
//! [`Batch`]: accp_session::Batch
#![cfg_attr(docsrs, feature(doc_cfg))]

mod changes;
mod committer;
mod conflict;
#[cfg(feature = "testing")]
pub mod conformance;
mod driver;
mod erasure_plan;
mod error;
pub mod files;
#[cfg(feature = "sqlite")]
mod hub_file;
mod log;
mod memory;
#[cfg(feature = "sqlite")]
mod open_file;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
mod search;
mod sharing;
mod side;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod table;

pub use committer::{Committer, NoRows, OpenSide, Pending};
pub use driver::{AskError, AsyncDriver, Driver, DriverError, Handled, Link, Outcome, Question};
pub use erasure_plan::{EraseError, ErasurePlan, ErasureRequest, PlannedEntry, SideErasurePlan};
pub use error::{StoreError, StoreErrorKind};
#[cfg(feature = "sqlite")]
pub use hub_file::HubFile;
pub use log::Log;
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresRows, PostgresStore};
pub use rows::{Rows, RowsError, Transactional, Write, WriteRows};
pub use search::Match;
pub use side::SideId;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use store::{Erasure, Freed, Kept, Lease, Retention, Store, Summary};
#[cfg(feature = "postgres")]
#[doc(no_inline)]
pub use tokio_postgres;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! Sides in tables: what the stores in a file and in a database share. The rows as plain structs, their
//! checksums, and the one course that applies a batch.

mod apply;
mod cell;
mod columns;
mod entry;
mod key;
mod side;

pub(crate) use apply::{Tables, apply, first_kept};
pub(crate) use cell::{Cell, Conflict, MidCell, checksum, integer, text};
pub(crate) use columns::{Columns, Damage, Names, ascend, same_count};
pub(crate) use entry::{LOG, log_cells, lost_text, read_log, to_seen};
pub(crate) use key::{Key, State, other_digest};
#[cfg(feature = "sqlite")]
pub(crate) use side::SIDE;
pub(crate) use side::{Side, read_inbox, read_outgoing, same_snapshot};

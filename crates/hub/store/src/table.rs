//! The code that the stores in a file and in a database share: the columns of their tables, and the checksums of
//! their rows.

mod cell;
mod columns;
mod entry;
mod key;
mod side;

pub(crate) use cell::{Cell, MidCell, checksum, integer, text};
pub(crate) use columns::{Columns, Damage, Names, ascend, same_count};
pub(crate) use entry::{LOG, log_cells, lost_text, read_log};
pub(crate) use key::{no_key, other_digest};
#[cfg(feature = "sqlite")]
pub(crate) use side::SIDE;
pub(crate) use side::{read_inbox, read_outgoing, same_snapshot};

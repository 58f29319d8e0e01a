//! A write and a read that change nothing, to see whether the file can be used.

use rusqlite::Connection;

use super::connect::begin;
use super::fault::Fault;
use super::schema;

/// Writes the header of the file as it is, reads it and the schema, and brings the header to its place.
///
/// The commit writes one page to the write-ahead log and syncs it, as every commit does. The checkpoint writes
/// what is in the log to its place, so that the log begins anew with the next commit, and does not grow by
/// probes. It also finds a file that cannot grow any more while the log, which is written over, still takes
/// commits.
pub(super) fn write(conn: &mut Connection) -> Result<(), Fault> {
    let transaction = begin(conn)?;
    schema::touch(&transaction)?;
    transaction.commit()?;
    let transaction = conn.transaction()?;
    schema::check(&transaction)?;
    drop(transaction);
    // A reader or another writer may stop the checkpoint half way, which is not a fault.
    conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?;
    Ok(())
}

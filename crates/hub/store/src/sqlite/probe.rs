//! A write and a read that change nothing, to see whether the file can be used.

use rusqlite::Connection;

use super::connect::begin;
use super::fault::Fault;
use super::schema;

/// Writes the header of the file without a change, and reads the header and the schema. Then a checkpoint copies
/// the header from the write-ahead log into the file.
///
/// The commit writes one page to the write-ahead log and syncs it, as every commit does. After the checkpoint,
/// the log begins anew with the next commit, so that probes do not make it grow. The checkpoint also finds a file
/// that cannot grow any more, while commits still succeed because they overwrite the log.
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

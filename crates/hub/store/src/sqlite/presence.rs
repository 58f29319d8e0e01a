//! Checks that the file of a store and its write-ahead log are still there.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::StoreError;
use crate::open_file::{OpenFile, WalLoss};

/// The lengths of two headers: at the beginning of a write-ahead log, and before each of its pages (SQLite, "WAL-mode
/// File Format").
const HEAD: u64 = 32;
const FRAME: u64 = 24;

/// Checks the file and its write-ahead log. If the log was removed, this tries to copy its pages into the file.
pub(super) fn check(conn: &Connection, file: &OpenFile) -> Result<(), StoreError> {
    file.check()?;
    // The index that all processes share has the number of pages in the write-ahead log. A
    // checkpoint with `NOOP` only reads that number.
    let needed = || {
        let looked = conn.query_row("PRAGMA wal_checkpoint(NOOP)", (), |row| row.get(1));
        let pages: u64 = looked
            .ok()
            .and_then(|pages: i64| u64::try_from(pages).ok())?;
        let page = conn.query_row("PRAGMA page_size", (), |row| row.get(0));
        let page = page.ok().and_then(|page: i64| u64::try_from(page).ok())?;
        Some(if pages == 0 {
            0
        } else {
            HEAD + pages * (page + FRAME)
        })
    };
    file.check_wal(needed).map_err(|(lost, error)| {
        // These calls may fail. The error names the cause in any case.
        let _ = match lost {
            WalLoss::Removed => conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(())),
            // A checkpoint at the close would copy an incomplete write-ahead log into the file,
            // so this switches it off.
            WalLoss::Cut => conn
                .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
                .map(drop),
        };
        error
    })
}

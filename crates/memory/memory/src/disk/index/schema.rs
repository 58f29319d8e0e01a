//! The tables of the index.
//!
//! `about` has the words of tools' names. They count for a search, but have no place in the text, so no word stands
//! near them.
//!
//! A *block* is a message of an archive, or an offloaded file. A *section* is a block, or a part of a long one.
//! `words` has the words and identifiers of sections, `spread` those of blocks with several sections, and `grams`
//! the trigrams of sections. The three keep no texts; `places` says where in a section a word stands.

use rusqlite::{Connection, TransactionBehavior};

use super::fault::Fault;

/// `accx`, so that other programs know the file.
const APPLICATION: i32 = 0x6163_6378;
/// The version. It has to change with the tables, and with the rules for words, identifiers and sections.
const VERSION: i32 = 2;

const TABLES: &str = r#"
CREATE TABLE file (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, changed INTEGER NOT NULL,
    grows INTEGER NOT NULL, done INTEGER NOT NULL, lines INTEGER NOT NULL, digest BLOB NOT NULL, fault TEXT
) STRICT;
CREATE TABLE block (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, message INTEGER, role TEXT NOT NULL, tools TEXT NOT NULL,
    time INTEGER, first INTEGER NOT NULL, last INTEGER NOT NULL
) STRICT;
CREATE TABLE section (
    id INTEGER PRIMARY KEY, block INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    start INTEGER NOT NULL, words INTEGER NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE INDEX section_block ON section (block);
CREATE VIRTUAL TABLE words USING fts5(plain, whole, about, content='', tokenize="ascii tokenchars '_-./@:,+#'");
CREATE VIRTUAL TABLE spread USING fts5(plain, whole, about, content='', tokenize="ascii tokenchars '_-./@:,+#'");
CREATE VIRTUAL TABLE grams USING fts5(text, content='', tokenize='trigram');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, col);
CREATE VIRTUAL TABLE places USING fts5vocab(words, instance);
"#;

const CLEAR: &str = "
DELETE FROM file; DELETE FROM block; DELETE FROM section;
INSERT INTO words(words) VALUES ('delete-all');
INSERT INTO spread(spread) VALUES ('delete-all');
INSERT INTO grams(grams) VALUES ('delete-all');
";

/// Makes the tables if the file is empty. Then checks the version and the state of the file.
pub(super) fn prepare(conn: &mut Connection) -> Result<(), Fault> {
    if is_empty(conn)? {
        // Another process may do the same meanwhile, so the file is looked at again inside the transaction.
        let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if is_empty(&transaction)? {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
    }
    let found = (
        pragma(conn, "application_id")?,
        pragma(conn, "user_version")?,
    );
    if found != (APPLICATION, VERSION) {
        return Err(Fault::Other);
    }
    let check: String = conn.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
    if check == "ok" {
        Ok(())
    } else {
        Err(Fault::Other)
    }
}

/// Removes all rows.
pub(super) fn clear(conn: &Connection) -> Result<(), Fault> {
    Ok(conn.execute_batch(CLEAR)?)
}

fn is_empty(conn: &Connection) -> Result<bool, Fault> {
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    Ok(tables == 0 && pragma(conn, "application_id")? == 0)
}

fn pragma(conn: &Connection, name: &str) -> Result<i32, Fault> {
    Ok(conn.pragma_query_value(None, name, |row| row.get(0))?)
}

//! The schema of formats 2 to 6. `docs/format.md` describes it.

use rusqlite::Connection;

use super::fault::Fault;

/// The application id in the header of every store: `ACCP`.
pub(super) const APPLICATION: i32 = 0x4143_4350;

/// The format that this version writes. Since format 6, `cut` of an entry also has the member that the frame is for.
pub(super) const VERSION: i32 = 6;

/// The oldest format that this version reads. It has no inboxes, no entry that has lapsed, and no entry that was
/// erased.
const OLDEST: i32 = 2;

/// The first format with inboxes.
const INBOXES: i32 = 5;

/// The statements for the tables of all formats.
const TABLES: &[&str] = &[
    "CREATE TABLE side (
  side INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  host INTEGER NOT NULL,
  last INTEGER NOT NULL,
  first INTEGER NOT NULL,
  covered INTEGER,
  entries INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  due INTEGER NOT NULL,
  at INTEGER,
  epoch INTEGER NOT NULL,
  outbox_sequence INTEGER NOT NULL,
  last_put INTEGER NOT NULL,
  identity BLOB,
  secret BLOB,
  proof BLOB,
  crc INTEGER NOT NULL,
  UNIQUE (session, agent)
) STRICT",
    "CREATE TABLE log (
  side INTEGER NOT NULL,
  position INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  sender INTEGER NOT NULL,
  mid ANY NOT NULL,
  sequence INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  cut INTEGER NOT NULL,
  due INTEGER NOT NULL,
  hash BLOB,
  crc INTEGER NOT NULL,
  PRIMARY KEY (side, position)
) STRICT, WITHOUT ROWID",
    "CREATE UNIQUE INDEX log_mid ON log (side, mid) WHERE sequence > 0",
    "CREATE INDEX log_due ON log (side, position) WHERE due",
    "CREATE TABLE frame (
  side INTEGER NOT NULL,
  position INTEGER NOT NULL,
  text TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (side, position)
) STRICT, WITHOUT ROWID",
    "CREATE TABLE cold (
  side INTEGER NOT NULL,
  key TEXT NOT NULL,
  digest BLOB NOT NULL,
  length INTEGER NOT NULL,
  state INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (side, key)
) STRICT, WITHOUT ROWID",
    "CREATE TABLE blob (
  side INTEGER NOT NULL,
  digest BLOB NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (side, digest)
) STRICT",
    "CREATE TABLE outbox (
  side INTEGER NOT NULL,
  place INTEGER NOT NULL,
  mid ANY NOT NULL,
  head TEXT NOT NULL,
  tail TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (side, place)
) STRICT, WITHOUT ROWID",
    "CREATE UNIQUE INDEX outbox_mid ON outbox (side, mid)",
    "CREATE TABLE registry (
  side INTEGER NOT NULL,
  digest BLOB NOT NULL,
  json TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (side, digest)
) STRICT",
    "CREATE TABLE snapshot (
  side INTEGER PRIMARY KEY,
  position INTEGER NOT NULL,
  text TEXT NOT NULL,
  crc INTEGER NOT NULL
) STRICT",
];

/// The statements for the tables that format 5 adds. The index finds the same rows in another way. A read
/// compares the results of both ways.
const TABLES_OF_INBOXES: &[&str] = &[
    "CREATE TABLE inbox (
  side INTEGER NOT NULL,
  member INTEGER NOT NULL,
  text TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (side, member)
) STRICT, WITHOUT ROWID",
    "CREATE INDEX inbox_member ON inbox (side, member)",
];

/// The tables that have rows of a side, without the table of the sides themselves. Format 5 added the last one.
const OF_A_SIDE: [&str; 8] = [
    "log", "frame", "cold", "blob", "outbox", "registry", "snapshot", "inbox",
];

/// Returns the tables of this file that have rows of a side, without the table of the sides themselves.
pub(super) fn of_a_side(conn: &Connection) -> Result<&'static [&'static str], Fault> {
    let count = OF_A_SIDE.len() - usize::from(!has_inboxes(conn)?);
    Ok(&OF_A_SIDE[..count])
}

/// Returns whether the file has the tables of inboxes.
pub(super) fn has_inboxes(conn: &Connection) -> Result<bool, Fault> {
    Ok(version(conn)? >= INBOXES)
}

/// Creates the tables in an empty file. The caller commits the tables, the application id and the
/// version in one transaction, so that a file has all of them or is still empty.
pub(super) fn create(conn: &Connection) -> Result<(), Fault> {
    for table in TABLES {
        conn.execute_batch(table)?;
    }
    conn.pragma_update(None, "application_id", APPLICATION)?;
    upgrade(conn)
}

/// Returns whether the file has an older format than this version writes.
pub(super) fn is_old(conn: &Connection) -> Result<bool, Fault> {
    Ok(version(conn)? < VERSION)
}

/// Changes a file of an older format, which [`check`] has accepted, to this format. The caller commits all of it
/// in one transaction.
pub(super) fn upgrade(conn: &Connection) -> Result<(), Fault> {
    if !has_inboxes(conn)? {
        for table in TABLES_OF_INBOXES {
            conn.execute_batch(table)?;
        }
    }
    conn.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}

/// Writes the version again, which is a write of the first page.
pub(super) fn touch(conn: &Connection) -> Result<(), Fault> {
    let version = version(conn)?;
    conn.pragma_update(None, "user_version", version)?;
    Ok(())
}

/// Returns whether the file is empty and has no application id or version of another program.
pub(super) fn is_empty(conn: &Connection) -> Result<bool, Fault> {
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    Ok(tables == 0 && (application(conn)?, version(conn)?) == (0, 0))
}

/// Checks that the file is a store of a format that this version reads, and has the tables of that format
/// and no others.
pub(super) fn check(conn: &Connection) -> Result<(), Fault> {
    if application(conn)? != APPLICATION {
        return Err(if is_empty(conn)? {
            Fault::Unfinished
        } else {
            Fault::Foreign
        });
    }
    let version = version(conn)?;
    if version < 1 {
        let text = format!("the header says format {version}, and formats go from 1");
        return Err(Fault::Corrupt(text));
    }
    if !(OLDEST..=VERSION).contains(&version) {
        return Err(Fault::Version {
            found: version,
            read: VERSION,
        });
    }
    let mut statement = conn.prepare(
        // The tables that SQLite makes for itself, for example in ANALYZE, are not part of the
        // format. Nor are the application's tables, with their indexes and triggers.
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND NOT (name GLOB 'sqlite_*'
            OR (name GLOB 'app_*' AND tbl_name GLOB 'app_*'))",
    )?;
    let mut found = statement
        .query_map((), |row| row.get(0))?
        .collect::<Result<Vec<String>, _>>()?;
    let mut expected = TABLES.to_vec();
    if version >= INBOXES {
        expected.extend(TABLES_OF_INBOXES);
    }
    found.sort_unstable();
    expected.sort_unstable();
    if found == expected {
        return Ok(());
    }
    let odd = found.iter().find(|sql| !expected.contains(&sql.as_str()));
    let lost = expected
        .iter()
        .find(|sql| !found.iter().any(|found| found == *sql));
    let first_line = |sql: &str| sql.lines().next().unwrap_or_default().to_owned();
    let text = match (odd, lost) {
        (Some(odd), _) => format!("`{}` is not part of format {version}", first_line(odd)),
        (None, Some(lost)) => format!("`{}` is missing", first_line(lost)),
        (None, None) => "a table stands twice in the schema".to_owned(),
    };
    Err(Fault::Corrupt(text))
}

fn application(conn: &Connection) -> Result<i32, Fault> {
    Ok(conn.query_row("PRAGMA application_id", (), |row| row.get(0))?)
}

fn version(conn: &Connection) -> Result<i32, Fault> {
    Ok(conn.query_row("PRAGMA user_version", (), |row| row.get(0))?)
}

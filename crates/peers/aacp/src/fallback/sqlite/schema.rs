//! The schema of registries, format 1.

use rusqlite::Connection;

use super::fault::Fault;

/// The application id in the header of every registry: `AACP`.
const APPLICATION: i32 = 0x4141_4350;

/// The format that this version reads and writes.
const VERSION: i32 = 1;

/// The statements that make an empty file a registry. `fields` is a JSON array of pairs; `crc` is the
/// checksum of the columns before it.
const TABLES: [&str; 2] = [
    "CREATE TABLE entry (
  dom TEXT NOT NULL,
  id BLOB NOT NULL,
  english TEXT NOT NULL,
  task TEXT NOT NULL,
  fields TEXT NOT NULL,
  times_seen INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (dom, id)
) STRICT, WITHOUT ROWID",
    "CREATE TABLE claim (
  dom TEXT NOT NULL,
  id BLOB NOT NULL,
  number INTEGER NOT NULL,
  holder INTEGER NOT NULL,
  until INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  kind TEXT,
  failure TEXT,
  since INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (dom, id)
) STRICT, WITHOUT ROWID",
];

/// Creates the tables in an empty file. The caller commits them with the application id and the
/// version in one transaction.
pub(super) fn create(conn: &Connection) -> Result<(), Fault> {
    for table in TABLES {
        conn.execute_batch(table)?;
    }
    conn.pragma_update(None, "application_id", APPLICATION)?;
    conn.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}

/// Returns whether the file is empty and has no application id or version of another program.
pub(super) fn is_empty(conn: &Connection) -> Result<bool, Fault> {
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    Ok(tables == 0 && header(conn)? == (0, 0))
}

/// Checks that the file is a registry of this format, and has its tables and no others.
pub(super) fn check(conn: &Connection) -> Result<(), Fault> {
    let (application, version) = header(conn)?;
    if application != APPLICATION {
        return Err(Fault::Foreign);
    }
    if version != VERSION {
        return Err(Fault::Version {
            found: version,
            read: VERSION,
        });
    }
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND NOT name GLOB 'sqlite_*'";
    let mut statement = conn.prepare(sql)?;
    let found = statement.query_map((), |row| row.get(0))?;
    let mut found = found.collect::<Result<Vec<String>, _>>()?;
    let mut expected = TABLES.map(str::to_owned).to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    if found == expected {
        return Ok(());
    }
    Err(Fault::Corrupt(
        "its tables are not those of a registry".to_owned(),
    ))
}

fn header(conn: &Connection) -> Result<(i32, i32), Fault> {
    let application = conn.query_row("PRAGMA application_id", (), |row| row.get(0))?;
    let version = conn.query_row("PRAGMA user_version", (), |row| row.get(0))?;
    Ok((application, version))
}

//! The tables, and the migrations from earlier versions of the tables to this version. `docs/postgres.md` describes
//! the tables.

use super::fault::Fault;
use super::link::{FlightStep, Link};
use super::row::{Kind, Table};

/// The statements of each migration. Each migration changes the version before it to its own version. The first one
/// makes version 1.
const MIGRATIONS: [&str; 5] = [FIRST, SECOND, THIRD, FOURTH, FIFTH];

/// Since version 2, a text may be empty. A program that knows version 1 alone would relay an empty text as a
/// frame.
const SECOND: &str = "COMMENT ON COLUMN accp_frame.text IS 'empty once it was erased'";

/// Since version 3, the planner of the database is told that one side may own all rows of a table (`n_distinct = 1`).
///
/// Without this, the planner knows nothing of a new table, and assumes that a side has few rows. Then it may look up a
/// row by its side alone, and read a whole log for each entry. The planner reads the setting only when a table is
/// analyzed, and that needs rows. So the migration inserts 100 rows, analyzes the tables, and deletes the rows again.
/// 100 rows are as many as a page may hold, because the planner rounds a table up to one page. The rows belong to a
/// side with the name U+0001, which no real side has.
const THIRD: &str = r"
ALTER TABLE accp_log ALTER session SET (n_distinct = 1), ALTER agent SET (n_distinct = 1);
ALTER TABLE accp_frame ALTER session SET (n_distinct = 1), ALTER agent SET (n_distinct = 1);
ALTER TABLE accp_cold ALTER session SET (n_distinct = 1), ALTER agent SET (n_distinct = 1);
ALTER TABLE accp_blob ALTER session SET (n_distinct = 1), ALTER agent SET (n_distinct = 1);
ALTER TABLE accp_outbox ALTER session SET (n_distinct = 1), ALTER agent SET (n_distinct = 1);
ALTER TABLE accp_registry ALTER session SET (n_distinct = 1), ALTER agent SET (n_distinct = 1);
INSERT INTO accp_log SELECT E'\x01', E'\x01', i, i, 0, 0, i, i, i, 0, 0, NULL, i FROM generate_series(1, 100) i;
INSERT INTO accp_frame SELECT E'\x01', E'\x01', i, i, i FROM generate_series(1, 100) i;
INSERT INTO accp_cold SELECT E'\x01', E'\x01', i, sha256(i::text::bytea), i, 0, i FROM generate_series(1, 100) i;
INSERT INTO accp_blob SELECT E'\x01', E'\x01', sha256(i::text::bytea), '' FROM generate_series(1, 100) i;
INSERT INTO accp_outbox SELECT E'\x01', E'\x01', i, i, i, i, i FROM generate_series(1, 100) i;
INSERT INTO accp_registry SELECT E'\x01', E'\x01', sha256(i::text::bytea), i, i FROM generate_series(1, 100) i;
ANALYZE accp_log, accp_frame, accp_cold, accp_blob, accp_outbox, accp_registry;
DELETE FROM accp_log WHERE session = E'\x01';
DELETE FROM accp_frame WHERE session = E'\x01';
DELETE FROM accp_cold WHERE session = E'\x01';
DELETE FROM accp_blob WHERE session = E'\x01';
DELETE FROM accp_outbox WHERE session = E'\x01';
DELETE FROM accp_registry WHERE session = E'\x01';
";

/// Since version 4, a host's side has inboxes. The settings of version 3 for the planner apply to this table, too.
const FOURTH: &str = r#"
CREATE TABLE accp_inbox (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  member smallint NOT NULL,
  text text COLLATE "C" NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (session, agent, member)
);
ALTER TABLE accp_inbox ALTER session SET (n_distinct = 1), ALTER agent SET (n_distinct = 1);
INSERT INTO accp_inbox SELECT E'\x01', E'\x01', i, i, i FROM generate_series(1, 100) i;
ANALYZE accp_inbox;
DELETE FROM accp_inbox WHERE session = E'\x01';
"#;

/// Since version 5, an entry has the member that its frame is for. A program that knows version 4 alone would hand the
/// frame to all.
const FIFTH: &str = "COMMENT ON COLUMN accp_log.cut IS 'twice the number of the member that the frame is for, and 1 for a preview'";

const FIRST: &str = r#"
CREATE TABLE accp_lease (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  fence bigint NOT NULL,
  holder text COLLATE "C",
  expires timestamptz,
  PRIMARY KEY (session, agent)
);
CREATE TABLE accp_side (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  host smallint NOT NULL,
  last bigint NOT NULL,
  first bigint NOT NULL,
  covered bigint,
  entries bigint NOT NULL,
  bytes bigint NOT NULL,
  due bigint NOT NULL,
  at bigint,
  epoch bigint NOT NULL,
  outbox_sequence bigint NOT NULL,
  last_put bigint NOT NULL,
  identity bytea,
  secret bytea,
  proof bytea,
  crc bigint NOT NULL,
  PRIMARY KEY (session, agent)
);
CREATE TABLE accp_log (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  at bigint NOT NULL,
  kind smallint NOT NULL,
  sender smallint NOT NULL,
  mid text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  tokens bigint NOT NULL,
  cut smallint NOT NULL,
  due smallint NOT NULL,
  hash bytea,
  crc bigint NOT NULL,
  PRIMARY KEY (session, agent, position)
);
CREATE UNIQUE INDEX accp_log_mid ON accp_log (session, agent, mid) WHERE sequence > 0;
CREATE INDEX accp_log_due ON accp_log (session, agent, position) WHERE due = 1;
CREATE TABLE accp_frame (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  text text COLLATE "C" NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (session, agent, position)
);
CREATE TABLE accp_cold (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  length bigint NOT NULL,
  state smallint NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (session, agent, key)
);
CREATE INDEX accp_cold_needed ON accp_cold (session, agent, digest) WHERE state < 2;
CREATE TABLE accp_blob (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (session, agent, digest)
);
CREATE TABLE accp_outbox (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  mid text COLLATE "C" NOT NULL,
  head text COLLATE "C" NOT NULL,
  tail text COLLATE "C" NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (session, agent, place)
);
CREATE UNIQUE INDEX accp_outbox_mid ON accp_outbox (session, agent, mid);
CREATE TABLE accp_registry (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  json text COLLATE "C" NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (session, agent, digest)
);
CREATE TABLE accp_snapshot (
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  text text COLLATE "C" NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (session, agent)
);
"#;

use Kind::{Bytes, Integer, Mid, Small, Text};

pub(super) static SIDE: Table = Table {
    name: "side",
    keys: 2,
    columns: &[
        Text, Text, Small, Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer,
        Integer, Integer, Bytes, Bytes, Bytes,
    ],
};
pub(super) static LOG: Table = Table {
    name: "log",
    keys: 3,
    columns: &[
        Text, Text, Integer, Integer, Small, Small, Mid, Integer, Integer, Small, Small, Bytes,
    ],
};
pub(super) static FRAME: Table = Table {
    name: "frame",
    keys: 3,
    columns: &[Text, Text, Integer, Text],
};
pub(super) static COLD: Table = Table {
    name: "cold",
    keys: 3,
    columns: &[Text, Text, Text, Bytes, Integer, Small],
};
pub(super) static OUTBOX: Table = Table {
    name: "outbox",
    keys: 3,
    columns: &[Text, Text, Integer, Mid, Text, Text],
};
pub(super) static INBOX: Table = Table {
    name: "inbox",
    keys: 3,
    columns: &[Text, Text, Small, Text],
};
pub(super) static REGISTRY: Table = Table {
    name: "registry",
    keys: 3,
    columns: &[Text, Text, Bytes, Text],
};
pub(super) static SNAPSHOT: Table = Table {
    name: "snapshot",
    keys: 2,
    columns: &[Text, Text, Integer, Text],
};

/// Statements that delete a side. The last one returns a row if there was one.
pub(super) const DELETE: [&str; 9] = [
    "DELETE FROM accp_log WHERE session = $1 AND agent = $2",
    "DELETE FROM accp_frame WHERE session = $1 AND agent = $2",
    "DELETE FROM accp_cold WHERE session = $1 AND agent = $2",
    "DELETE FROM accp_blob WHERE session = $1 AND agent = $2",
    "DELETE FROM accp_outbox WHERE session = $1 AND agent = $2",
    "DELETE FROM accp_inbox WHERE session = $1 AND agent = $2",
    "DELETE FROM accp_registry WHERE session = $1 AND agent = $2",
    "DELETE FROM accp_snapshot WHERE session = $1 AND agent = $2",
    "DELETE FROM accp_side WHERE session = $1 AND agent = $2 RETURNING agent",
];

/// Makes the tables, or changes them to this version. If the tables already have this version, nothing is written, so
/// that a user without the right to make tables can open the store.
pub(super) fn prepare(link: &mut Link) -> Result<(), Fault> {
    let last = MIGRATIONS.len() as i64;
    if encoding(link)? != "UTF8" {
        let text = "the database does not keep texts as UTF-8: make one with `ENCODING 'UTF8'`";
        return Err(Fault::Foreign(text.into()));
    }
    let found = version(link)?;
    if found == Some(last) {
        return Ok(());
    }
    // The number of the lock is `ACCP` in ASCII. The lock ends with the transaction.
    link.flight(&[
        FlightStep::Plain("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
        FlightStep::Plain("SELECT pg_advisory_xact_lock(1094927184)"),
    ])?;
    match migrate(link) {
        Ok(()) => link.flight(&[FlightStep::Plain("COMMIT")]).map(drop),
        Err(fault) => {
            if !fault.is_final() {
                link.flight(&[FlightStep::Plain("ROLLBACK")])?;
            }
            Err(fault)
        }
    }
}

/// Runs the migrations that the tables lack. The caller has the lock.
fn migrate(link: &mut Link) -> Result<(), Fault> {
    // Another process may have made the tables while this one waited for the lock.
    let found = version(link)?;
    let read = MIGRATIONS.len() as i64;
    let from = match found {
        None => 0,
        Some(found) if (0..=read).contains(&found) => found,
        Some(found) if found > read => return Err(Fault::Version { found, read }),
        Some(found) => {
            let text = format!("`accp_schema` says version {found}, and versions go from 1");
            return Err(Fault::Corrupt(text));
        }
    };
    let mut steps = Vec::new();
    if found.is_none() {
        let table = "CREATE TABLE accp_schema (version bigint NOT NULL);
            INSERT INTO accp_schema VALUES (0)";
        steps.push(FlightStep::Plain(table));
    }
    steps.extend(
        MIGRATIONS
            .iter()
            .skip(from as usize)
            .copied()
            .map(FlightStep::Plain),
    );
    let made = link.flight(&steps);
    if let Err(Fault::Postgres(error)) = &made
        && error.code() == Some(&tokio_postgres::error::SqlState::DUPLICATE_TABLE)
    {
        return Err(Fault::Foreign(format!(
            "{}, and is not a store's: name another database or schema",
            super::fault::words(error)
        )));
    }
    made?;
    let set = "UPDATE accp_schema SET version = $1";
    link.flight(&[FlightStep::Query(set, vec![Box::new(read)])])?;
    Ok(())
}

/// Returns the version of the tables; `None` when there are none.
fn version(link: &mut Link) -> Result<Option<i64>, Fault> {
    // `to_regclass` may still not see a table that was made while this process waited for the lock.
    // So this asks `pg_class`.
    let sql = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class
        WHERE relname = 'accp_schema' AND pg_table_is_visible(oid))";
    let found = link.flight(&[FlightStep::Query(sql, Vec::new())])?;
    let found = found.first().and_then(|rows| rows.first());
    if !found.map_or(Ok(false), |row| row.try_get(0))? {
        return Ok(None);
    }
    let rows = link.flight(&[FlightStep::Query(
        "SELECT version FROM accp_schema",
        Vec::new(),
    )])?;
    match rows.first().map(Vec::as_slice) {
        Some([row]) => Ok(Some(row.try_get(0)?)),
        _ => Err(Fault::Corrupt("`accp_schema` has not one row".into())),
    }
}

fn encoding(link: &mut Link) -> Result<String, Fault> {
    let sql = "SELECT current_setting('server_encoding')";
    let rows = link.flight(&[FlightStep::Query(sql, Vec::new())])?;
    let row = rows.first().and_then(|rows| rows.first());
    Ok(row.map_or(Ok(String::new()), |row| row.try_get(0))?)
}

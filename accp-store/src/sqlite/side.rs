//! The rows of table `session`: who there is, and the sums that a look at the log would cost.

use accp_runtime::session::Time;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{Columns, integer, text, write};
use crate::Summary;

/// A session as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    /// The number that stands for the name in the other tables.
    pub id: i64,
    pub name: String,
    /// The last position of the log.
    pub last: u64,
    /// The first position whose text is kept.
    pub first: u64,
    /// What the snapshot covers.
    pub covered: Option<u64>,
    pub entries: u64,
    pub bytes: u64,
    pub due: u64,
    pub at: Option<Time>,
    pub epoch: u32,
    pub outbox_sequence: u64,
    pub last_put: u64,
}

const COLUMNS: usize = 13;

impl Session {
    pub(super) fn find(conn: &Connection, name: &str) -> Result<Option<Self>, Fault> {
        let sql = "SELECT * FROM session WHERE name = ?1";
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query([name])?;
        rows.next()?.map(Self::read).transpose()
    }

    pub(super) fn all(conn: &Connection) -> Result<Vec<Self>, Fault> {
        let mut statement = conn.prepare_cached("SELECT * FROM session ORDER BY name")?;
        let mut rows = statement.query(())?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(Self::read(row)?);
        }
        Ok(all)
    }

    /// The session of this name, which may be new; a new one has no row until it is saved.
    pub(super) fn find_or_new(conn: &Connection, name: &str) -> Result<Self, Fault> {
        if let Some(session) = Self::find(conn, name)? {
            return Ok(session);
        }
        let sql = "SELECT session FROM session ORDER BY session DESC LIMIT 1";
        let highest: Option<i64> = conn.query_row(sql, (), |row| row.get(0)).optional()?;
        Ok(Self {
            id: highest.unwrap_or(0) + 1,
            name: name.into(),
            last: 0,
            first: 1,
            covered: None,
            entries: 0,
            bytes: 0,
            due: 0,
            at: None,
            epoch: 0,
            outbox_sequence: 0,
            last_put: 0,
        })
    }

    pub(super) fn save(&self, conn: &Connection) -> Result<(), Fault> {
        let sql =
            "INSERT INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            ON CONFLICT (session) DO UPDATE SET last = ?3, first = ?4, covered = ?5,
            entries = ?6, bytes = ?7, due = ?8, at = ?9, epoch = ?10,
            outbox_sequence = ?11, last_put = ?12, crc = ?13";
        let columns = [
            ValueRef::Integer(self.id),
            text(&self.name),
            integer(self.last)?,
            integer(self.first)?,
            self.covered.map_or(Ok(ValueRef::Null), integer)?,
            integer(self.entries)?,
            integer(self.bytes)?,
            integer(self.due)?,
            self.at
                .map_or(ValueRef::Null, |at| ValueRef::Integer(at.as_millis())),
            ValueRef::Integer(self.epoch.into()),
            integer(self.outbox_sequence)?,
            integer(self.last_put)?,
        ];
        write(conn, sql, &columns)
    }

    pub(super) fn into_summary(self) -> Summary {
        Summary {
            session: self.name,
            last: self.last,
            first: self.first,
            snapshot: self.covered,
            entries: self.entries,
            bytes: self.bytes,
            due: self.due,
            at: self.at,
        }
    }

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, Fault> {
        let mut columns = Columns::new(row, "session", 0, COLUMNS)?;
        Ok(Self {
            id: columns.integer()?,
            name: columns.text()?.into(),
            last: columns.number()?,
            first: columns.number()?,
            covered: match columns.optional_integer()? {
                None => None,
                Some(position) => {
                    Some(u64::try_from(position).map_err(|_| columns.wrong("a position"))?)
                }
            },
            entries: columns.number()?,
            bytes: columns.number()?,
            due: columns.number()?,
            at: columns.optional_integer()?.map(Time::from_millis),
            epoch: columns.number()?,
            outbox_sequence: columns.number()?,
            last_put: columns.number()?,
        })
    }
}

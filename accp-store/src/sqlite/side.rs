//! The rows of table `side`: the sides, and sums that otherwise would need a read of the log.

use accp_runtime::session::Time;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{Columns, all, integer, text, write};
use crate::{SideId, Summary};

/// A row of table `side`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    /// The number of the side in the other tables.
    pub number: i64,
    pub id: SideId,
    pub host: bool,
    /// The last position of the log.
    pub last: u64,
    /// The first position whose text is kept.
    pub first: u64,
    /// The last position that the snapshot covers.
    pub covered: Option<u64>,
    pub entries: u64,
    pub bytes: u64,
    pub due: u64,
    pub at: Option<Time>,
    pub epoch: u32,
    pub outbox_sequence: u64,
    pub last_put: u64,
}

const COLUMNS: usize = 18;

impl Side {
    pub(super) fn find(conn: &Connection, id: &SideId) -> Result<Option<Self>, Fault> {
        let sql = "SELECT * FROM side WHERE session = ?1 AND agent = ?2";
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query((id.session(), id.agent()))?;
        rows.next()?.map(Self::read).transpose()
    }

    pub(super) fn all(conn: &Connection) -> Result<Vec<Self>, Fault> {
        let sql = "SELECT * FROM side ORDER BY session, agent";
        all(conn, sql, (), Self::read)
    }

    pub(super) fn of_session(conn: &Connection, session: &str) -> Result<Vec<Self>, Fault> {
        let sql = "SELECT * FROM side WHERE session = ?1 ORDER BY agent";
        all(conn, sql, [session], Self::read)
    }

    /// Returns the side of this name, or a new one. A new side has no row until it is saved.
    pub(super) fn find_or_new(conn: &Connection, id: &SideId, host: bool) -> Result<Self, Fault> {
        if let Some(side) = Self::find(conn, id)? {
            return Ok(side);
        }
        let sql = "SELECT side FROM side ORDER BY side DESC LIMIT 1";
        let highest: Option<i64> = conn.query_row(sql, (), |row| row.get(0)).optional()?;
        Ok(Self {
            number: highest.unwrap_or(0) + 1,
            id: id.clone(),
            host,
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
            "INSERT INTO side VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
            ?15, ?16, ?17, ?18)
            ON CONFLICT (side) DO UPDATE SET last = ?5, first = ?6, covered = ?7,
            entries = ?8, bytes = ?9, due = ?10, at = ?11, epoch = ?12,
            outbox_sequence = ?13, last_put = ?14, crc = ?18";
        let columns = [
            ValueRef::Integer(self.number),
            text(self.id.session()),
            text(self.id.agent()),
            ValueRef::Integer(self.host.into()),
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
            ValueRef::Null, // identity, secret and proof are reserved
            ValueRef::Null,
            ValueRef::Null,
        ];
        write(conn, sql, &columns)
    }

    pub(super) fn into_summary(self) -> Summary {
        Summary {
            side: self.id,
            host: self.host,
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
        let mut columns = Columns::new(row, "side", 0, COLUMNS)?;
        let side = Self {
            number: columns.integer()?,
            id: SideId::new(columns.text()?, columns.text()?),
            host: columns.flag()?,
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
        };
        columns.reserved()?; // identity
        columns.reserved()?; // secret
        columns.reserved()?; // proof
        Ok(side)
    }
}

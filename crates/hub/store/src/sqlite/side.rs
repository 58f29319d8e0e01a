//! The rows of table `side`: the sides, and sums that otherwise would need a read of the log.

use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{all, columns, confirm, write};
use crate::changes::SideRow;
use crate::side::SideId;
use crate::table::{Cell, SIDE, ascend};

/// A row of table `side`.
pub(super) struct Side {
    /// The number of the side in the other tables.
    pub number: i64,
    pub row: SideRow,
}

impl Side {
    /// Finds a side by the index, which may be damaged: see [`all`](Self::all).
    pub(super) fn find(conn: &Connection, id: &SideId) -> Result<Option<Self>, Fault> {
        let sql = "SELECT * FROM side INDEXED BY sqlite_autoindex_side_1
            WHERE session = ?1 AND agent = ?2";
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query((id.session(), id.agent()))?;
        match rows.next()?.map(Self::read).transpose()? {
            Some(other) if other.row.id != *id => Err(misled(&other.row.id, id)),
            found => Ok(found),
        }
    }

    /// Reads all sides from the table, and checks that the index has each of them.
    pub(super) fn all(conn: &Connection) -> Result<Vec<Self>, Fault> {
        let mut sides = all(conn, "SELECT * FROM side NOT INDEXED", (), Self::read)?;
        let sql = "SELECT count(*) FROM side INDEXED BY sqlite_autoindex_side_1";
        confirm(conn, "side", sides.len(), sql, ())?;
        sides.sort_unstable_by(|a, b| a.row.id.cmp(&b.row.id));
        ascend("side", sides.iter().map(|side| &side.row.id))?;
        for side in &sides {
            if Self::find(conn, &side.row.id)?.is_none() {
                let text = format!("the index of table `side` lacks `{}`", side.row.id);
                return Err(Fault::Corrupt(text));
            }
        }
        Ok(sides)
    }

    /// Finds the sides of a session by the index, which may be damaged: see [`all`](Self::all).
    pub(super) fn of_session(conn: &Connection, session: &str) -> Result<Vec<Self>, Fault> {
        let sql = "SELECT * FROM side INDEXED BY sqlite_autoindex_side_1
            WHERE session = ?1 ORDER BY agent";
        let sides = all(conn, sql, [session], Self::read)?;
        match sides.iter().find(|side| side.row.id.session() != session) {
            Some(other) => Err(misled(&other.row.id, session)),
            None => Ok(sides),
        }
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
            row: SideRow::new(id, host),
        })
    }

    pub(super) fn save(&self, conn: &Connection) -> Result<(), Fault> {
        let sql =
            "INSERT INTO side VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
            ?15, ?16, ?17, ?18)
            ON CONFLICT (side) DO UPDATE SET last = ?5, first = ?6, covered = ?7,
            entries = ?8, bytes = ?9, due = ?10, at = ?11, epoch = ?12,
            outbox_sequence = ?13, last_put = ?14, identity = ?15, secret = ?16, proof = ?17,
            crc = ?18";
        self.row.cells(|cells| {
            let mut columns = [Cell::Integer(self.number); SIDE + 1];
            columns[1..].copy_from_slice(&cells);
            write(conn, sql, &columns)
        })
    }

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, Fault> {
        let mut columns = columns(row, "side", 0, SIDE + 2)?;
        let number = columns.integer()?;
        let id = SideId::new(columns.text()?, columns.text()?);
        let row = SideRow::read(id, &mut columns)?;
        Ok(Self { number, row })
    }
}

/// Makes the fault for an index that leads to the row of another side.
fn misled(found: &SideId, asked: impl std::fmt::Display) -> Fault {
    Fault::Corrupt(format!(
        "the index of table `side` leads from `{asked}` to `{found}`"
    ))
}

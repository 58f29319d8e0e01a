//! The rows of table `side`: the sides, and sums that otherwise would need a read of the log.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{all, cell, columns, confirm, write};
use crate::changes::SideRow;
use crate::side::SideId;
use crate::table::{Cell, SIDE, ascend, checksum, text};

/// A row of table `side`.
pub(super) struct Side {
    /// The number of the side in the other tables.
    pub number: i64,
    pub row: SideRow,
}

impl Side {
    /// Finds a side by the index. If the index is damaged, this may miss the side; [`all`](Self::all) reports such
    /// damage.
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

    /// Reads all sides. Fails if any row is damaged.
    pub(super) fn all(conn: &Connection) -> Result<Vec<Self>, Fault> {
        let survey = Self::survey(conn)?;
        match survey.damaged.first() {
            Some(row) => Err(row.fault()),
            None => Ok(survey.sides),
        }
    }

    /// Reads all rows from the table, and checks that the index has each side.
    pub(super) fn survey(conn: &Connection) -> Result<Survey, Fault> {
        let mut damaged = Vec::new();
        let rows = all(
            conn,
            "SELECT * FROM side NOT INDEXED",
            (),
            |row| match Self::read(row) {
                Ok(side) => Ok(Some(side)),
                Err(Fault::Corrupt(text)) => {
                    damaged.push(DamagedSide {
                        number: row.get(0)?,
                        name: name(row, 1)?,
                        text,
                    });
                    Ok(None)
                }
                Err(fault) => Err(fault),
            },
        )?;
        let sql = "SELECT count(*) FROM side INDEXED BY sqlite_autoindex_side_1";
        confirm(conn, "side", rows.len(), sql, ())?;
        let mut sides: Vec<Self> = rows.into_iter().flatten().collect();
        sides.sort_unstable_by(|a, b| a.row.id.cmp(&b.row.id));
        ascend("side", sides.iter().map(|side| &side.row.id))?;
        for side in &sides {
            if Self::find(conn, &side.row.id)?.is_none() {
                let text = format!("the index of table `side` lacks `{}`", side.row.id);
                return Err(Fault::Corrupt(text));
            }
        }
        check_names(conn, &mut damaged)?;
        Ok(Survey { sides, damaged })
    }

    /// Finds the sides of a session by the index. If the index is damaged, this may miss sides; [`all`](Self::all)
    /// reports it.
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

/// All rows of table `side`.
pub(super) struct Survey {
    /// The sides, in the order of their names.
    pub sides: Vec<Side>,
    pub damaged: Vec<DamagedSide>,
}

/// A row of table `side` that is not as it was written.
pub(super) struct DamagedSide {
    /// The number of the side.
    number: i64,
    /// The name of the side; `None` if the row and the index give no certain name.
    pub name: Option<SideId>,
    /// The damage and its place.
    text: String,
}

impl DamagedSide {
    pub(super) fn fault(&self) -> Fault {
        Fault::Corrupt(self.text.clone())
    }

    /// Returns whether this may be the row of a side that the index does not find.
    pub(super) fn may_be(&self, conn: &Connection, id: &SideId) -> Result<bool, Fault> {
        match &self.name {
            Some(name) if name != id => fits(conn, self.number, id.session(), Some(id.agent())),
            _ => Ok(true),
        }
    }

    /// Returns whether this may be the row of a side of a session, which the index does not find.
    pub(super) fn may_be_in(&self, conn: &Connection, session: &str) -> Result<bool, Fault> {
        match &self.name {
            Some(name) if name.session() != session => fits(conn, self.number, session, None),
            _ => Ok(true),
        }
    }
}

/// Compares the names of damaged rows with the names that the index has for the same numbers. If the two names differ,
/// the row gets the name in the index, but only if the checksum of the row fits that name. Otherwise the name is
/// unknown.
fn check_names(conn: &Connection, damaged: &mut [DamagedSide]) -> Result<(), Fault> {
    if damaged.is_empty() {
        return Ok(());
    }
    let sql = "SELECT side, session, agent FROM side INDEXED BY sqlite_autoindex_side_1";
    let indexed = all(conn, sql, (), |row| {
        Ok((row.get::<_, i64>(0)?, name(row, 1)?))
    })?;
    let mut indexed: BTreeMap<_, _> = indexed.into_iter().collect();
    for row in damaged {
        let found = indexed.remove(&row.number).flatten();
        if found == row.name {
            continue;
        }
        let is_known = match &found {
            Some(name) => fits(conn, row.number, name.session(), Some(name.agent()))?,
            None => false,
        };
        row.name = found.filter(|_| is_known);
    }
    Ok(())
}

/// Returns whether the checksum of a row fits its columns with another name in them: then only the name was damaged.
fn fits(conn: &Connection, number: i64, session: &str, agent: Option<&str>) -> Result<bool, Fault> {
    let mut statement = conn.prepare_cached("SELECT * FROM side WHERE side = ?1")?;
    let mut rows = statement.query([number])?;
    let Some(row) = rows.next()? else {
        return Ok(false);
    };
    let mut cells = [Cell::Null; SIDE + 1];
    for (index, found) in cells.iter_mut().enumerate() {
        *found = cell(row, index)?;
    }
    cells[1] = text(session);
    if let Some(agent) = agent {
        cells[2] = text(agent);
    }
    Ok(cell(row, SIDE + 1)? == Cell::Integer(checksum(&cells)))
}

/// Reads the name of a side from two columns of a row, if both are texts.
fn name(row: &rusqlite::Row<'_>, first: usize) -> Result<Option<SideId>, Fault> {
    let (session, agent) = (cell(row, first)?, cell(row, first + 1)?);
    let (Cell::Text(session), Cell::Text(agent)) = (session, agent) else {
        return Ok(None);
    };
    let (session, agent) = (std::str::from_utf8(session), std::str::from_utf8(agent));
    Ok(session
        .ok()
        .zip(agent.ok())
        .map(|(session, agent)| SideId::new(session, agent)))
}

/// Makes the fault for an index that leads to the row of another side.
fn misled(found: &SideId, asked: impl std::fmt::Display) -> Fault {
    Fault::Corrupt(format!(
        "the index of table `side` leads from `{asked}` to `{found}`"
    ))
}

//! The rows of table `side`: the sides, and sums that otherwise would need a read of the log.

use accp_runtime::session::Time;
use accp_session::{Entry, LogId, LogKey, Voucher};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::row::{Columns, all, ascend, confirm, integer, text, write};
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
    pub key: Option<LogKey>,
    pub voucher: Option<Voucher>,
}

const COLUMNS: usize = 18;

impl Side {
    /// Finds a side by the index, which may be damaged: see [`all`](Self::all).
    pub(super) fn find(conn: &Connection, id: &SideId) -> Result<Option<Self>, Fault> {
        let sql = "SELECT * FROM side INDEXED BY sqlite_autoindex_side_1
            WHERE session = ?1 AND agent = ?2";
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query((id.session(), id.agent()))?;
        match rows.next()?.map(Self::read).transpose()? {
            Some(other) if other.id != *id => Err(misled(&other.id, id)),
            found => Ok(found),
        }
    }

    /// Reads all sides from the table, and checks that the index has each of them.
    pub(super) fn all(conn: &Connection) -> Result<Vec<Self>, Fault> {
        let mut sides = all(conn, "SELECT * FROM side NOT INDEXED", (), Self::read)?;
        let sql = "SELECT count(*) FROM side INDEXED BY sqlite_autoindex_side_1";
        confirm(conn, "side", sides.len(), sql, ())?;
        sides.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        ascend("side", sides.iter().map(|side| &side.id))?;
        for side in &sides {
            if Self::find(conn, &side.id)?.is_none() {
                let text = format!("the index of table `side` lacks `{}`", side.id);
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
        match sides.iter().find(|side| side.id.session() != session) {
            Some(other) => Err(misled(&other.id, session)),
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
            key: None,
            voucher: None,
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
        let identity = self.identity();
        let identity = identity.as_ref().map(|identity| &identity.as_bytes()[..]);
        let voucher = self.voucher.map(|voucher| voucher.to_bytes());
        let secret = self.key.as_ref().map(|key| &key.as_bytes()[..]);
        let proof = voucher.as_ref().map(|voucher| &voucher[..]);
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
            identity.map_or(ValueRef::Null, ValueRef::Blob),
            secret.map_or(ValueRef::Null, ValueRef::Blob),
            proof.map_or(ValueRef::Null, ValueRef::Blob),
        ];
        write(conn, sql, &columns)
    }

    /// Returns the side with a log that is empty so far, to [`count`](Self::count) its entries.
    pub(super) fn without_log(&self) -> Self {
        Self {
            last: 0,
            entries: 0,
            bytes: 0,
            due: 0,
            at: None,
            ..self.clone()
        }
    }

    /// Counts the next entry of the log, but not the bytes of its text.
    pub(super) fn count(&mut self, entry: &Entry) -> Result<(), Fault> {
        ascend("log", [self.last, entry.position])?;
        self.last = entry.position;
        self.at = Some(entry.at);
        self.entries += 1;
        self.due += u64::from(entry.is_due());
        Ok(())
    }

    /// Checks that this row says of the log what was counted.
    pub(super) fn check(&self, counted: &Self) -> Result<(), Fault> {
        if self == counted {
            return Ok(());
        }
        Err(Fault::Corrupt(format!(
            "table `side` says {}, and table `log` has {}",
            self.sums(),
            counted.sums()
        )))
    }

    fn sums(&self) -> String {
        format!(
            "{} entries up to position {} of time {}, {} due, {} bytes",
            self.entries,
            self.last,
            self.at.unwrap_or(Time::from_millis(0)),
            self.due,
            self.bytes
        )
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
        let mut side = Self {
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
            key: None,
            voucher: None,
        };
        let identity = columns.optional_blob()?;
        if let Some(secret) = columns.optional_blob()? {
            let secret = secret.try_into().map_err(|_| columns.wrong("32 bytes"))?;
            side.key = Some(LogKey::new(secret));
        }
        if let Some(proof) = columns.optional_blob()? {
            let voucher = Voucher::from_bytes(proof).ok_or_else(|| columns.wrong("72 bytes"))?;
            side.voucher = Some(voucher);
        }
        let known = side.identity();
        if known.as_ref().map(|known| &known.as_bytes()[..]) != identity {
            return Err(Fault::Corrupt(format!(
                "table `side`: the identity of the log of `{}` is not that of its secret or proof",
                side.id
            )));
        }
        Ok(side)
    }

    /// Returns the identity of the log: on a host that of its secret, on a member that of the last
    /// word of its host.
    fn identity(&self) -> Option<LogId> {
        let of_host = self.key.as_ref().map(LogKey::identity);
        of_host.or_else(|| self.voucher.map(|voucher| voucher.log()))
    }
}

/// Makes the fault for an index that leads to the row of another side.
fn misled(found: &SideId, asked: impl std::fmt::Display) -> Fault {
    Fault::Corrupt(format!(
        "the index of table `side` leads from `{asked}` to `{found}`"
    ))
}

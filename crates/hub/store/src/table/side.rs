//! The columns of table `side`: the sides, and sums that otherwise would need a read of the log.

use accp_session::{Entry, LogId, LogKey, MemberId, Outgoing, Snapshot, Stored, Time, Voucher};

use super::cell::{Cell, integer, text};
use super::columns::{Columns, Damage, ascend};
use super::entry::lost_text;
use crate::changes::{Conflict, SideRow};
use crate::side::SideId;

/// The number of columns of a side, without its checksum.
pub(crate) const SIDE: usize = 16;

impl SideRow {
    /// Calls `with` with the columns of the side.
    pub(crate) fn cells<T, F: From<Conflict>>(
        &self,
        with: impl FnOnce([Cell<'_>; SIDE]) -> Result<T, F>,
    ) -> Result<T, F> {
        let identity = self.identity();
        let identity = identity.as_ref().map(|identity| &identity.as_bytes()[..]);
        let voucher = self.voucher.map(|voucher| voucher.to_bytes());
        let secret = self.key.as_ref().map(|key| &key.as_bytes()[..]);
        let proof = voucher.as_ref().map(|voucher| &voucher[..]);
        with([
            text(self.id.session()),
            text(self.id.agent()),
            Cell::Integer(self.host.into()),
            integer(self.last)?,
            integer(self.first)?,
            self.covered.map_or(Ok(Cell::Null), integer)?,
            integer(self.entries)?,
            integer(self.bytes)?,
            integer(self.due)?,
            self.at
                .map_or(Cell::Null, |at| Cell::Integer(at.as_millis())),
            Cell::Integer(self.epoch.into()),
            integer(self.outbox_sequence)?,
            integer(self.last_put)?,
            identity.map_or(Cell::Null, Cell::Bytes),
            secret.map_or(Cell::Null, Cell::Bytes),
            proof.map_or(Cell::Null, Cell::Bytes),
        ])
    }

    /// Reads a side from the columns after its name.
    pub(crate) fn read(id: SideId, columns: &mut Columns<'_>) -> Result<Self, Damage> {
        let mut side = Self {
            id,
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
            return Err(Damage(format!(
                "table `side`: the identity of the log of `{}` is not that of its secret or proof",
                side.id
            )));
        }
        Ok(side)
    }

    /// Returns a copy of this row with the sums of an empty log. [`count`](Self::count) then adds entries to the sums.
    pub(crate) fn without_log(&self) -> Self {
        Self {
            last: 0,
            entries: 0,
            bytes: 0,
            due: 0,
            at: None,
            ..self.clone()
        }
    }

    /// Returns a copy of this row whose sums are counted anew for the entries after the snapshot. For the entries up
    /// to the snapshot, the copy takes over the sums of this row.
    pub(crate) fn counted_after(&self, stored: &Stored) -> Result<Self, Damage> {
        let after = stored.entries.len() as u64;
        let mut counted = Self {
            last: self.last.min(self.covered.unwrap_or(0)),
            entries: self.entries.saturating_sub(after),
            due: stored.due.len() as u64,
            at: self.at.filter(|_| after == 0),
            ..self.clone()
        };
        for entry in &stored.entries {
            counted.count(entry)?;
        }
        Ok(counted)
    }

    /// Counts the next entry of the log, but not the bytes of its text.
    pub(crate) fn count(&mut self, entry: &Entry) -> Result<(), Damage> {
        ascend("log", [self.last, entry.position])?;
        self.add(entry);
        Ok(())
    }

    /// Checks that an entry without a text is not needed to restore the session.
    pub(crate) fn check_erased(&self, entry: &Entry) -> Result<(), Damage> {
        let is_needed = entry.is_due() || entry.position > self.covered.unwrap_or(0);
        if is_needed && entry.text.is_empty() {
            return Err(lost_text(entry.position));
        }
        Ok(())
    }

    /// Compares the sums in this row with the sums that were counted from the log.
    pub(crate) fn check(&self, counted: &Self) -> Result<(), Damage> {
        if self == counted {
            return Ok(());
        }
        Err(Damage(format!(
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

    /// Returns the identity of the log: a host derives it from its secret, a member from the last
    /// voucher of its host.
    fn identity(&self) -> Option<LogId> {
        let of_host = self.key.as_ref().map(LogKey::identity);
        of_host.or_else(|| self.voucher.map(|voucher| voucher.log()))
    }
}

/// Checks that the row of the side names the position of the snapshot that was found.
pub(crate) fn same_snapshot(
    side: &SideRow,
    found: Option<Snapshot>,
) -> Result<Option<Snapshot>, Damage> {
    let position = found.as_ref().map(|snapshot| snapshot.position);
    if position == side.covered {
        return Ok(found);
    }
    let words = |position: Option<u64>| match position {
        Some(position) => format!("one at position {position}"),
        None => "none".to_owned(),
    };
    Err(Damage(format!(
        "for the snapshot, table `side` says {}, and table `snapshot` has {}",
        words(side.covered),
        words(position)
    )))
}

/// Reads a member and the text of its inbox from the columns after `side`.
pub(crate) fn read_inbox(columns: &mut Columns<'_>) -> Result<(MemberId, String), Damage> {
    Ok((columns.member()?, columns.text()?.into()))
}

/// Reads a frame of the outbox from the columns after `side`.
pub(crate) fn read_outgoing(columns: &mut Columns<'_>) -> Result<Outgoing, Damage> {
    Ok(Outgoing {
        order: columns.number()?,
        mid: columns.mid()?,
        head: columns.text()?.into(),
        tail: columns.text()?.into(),
    })
}

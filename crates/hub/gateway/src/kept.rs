//! Branches as the ledger keeps them. A branch is written whole now and then, and in between only its changes are
//! written, as pieces.

use rusqlite::{OptionalExtension as _, params};

use crate::digest::{self, Digest};
use crate::ledger::{Ledger, Result};

/// After this many pieces, a branch is written whole again.
const PIECES: i64 = 64;

/// A branch of a session, as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Kept {
    pub(crate) number: i64,
    /// The number of the last request of the session that used this branch. Branches are ordered by this number.
    pub(crate) used: i64,
    /// The time of its last request, in Unix seconds.
    pub(crate) last: i64,
    /// The digests of the messages, with eight bytes for each message.
    pub(crate) digests: Vec<u8>,
    pub(crate) memory: String,
}

/// What the ledger has of a branch.
#[derive(Debug)]
pub(crate) struct Written {
    digests: Vec<u8>,
    memory: String,
    pieces: i64,
    /// The bytes of all pieces.
    bytes: usize,
}

/// A session as the ledger keeps it.
#[derive(Debug)]
pub(crate) struct KeptSession {
    /// Whether new messages of the session keep the text that they came with.
    pub(crate) is_plain: bool,
    /// The branches that were used last, the newest at the end.
    pub(crate) branches: Vec<(Kept, Written)>,
    /// The numbers and digests of the other branches.
    pub(crate) resting: Vec<(i64, Vec<u8>)>,
}

/// Returns the length of the common beginning, in bytes.
fn common(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.iter().zip(other);
    pairs.take_while(|(one, other)| one == other).count()
}

impl Ledger {
    /// Reads a session. At most `most` branches are read to be held open, and the others rest.
    pub(crate) fn session(&self, id: &str, most: usize) -> Result<KeptSession> {
        let plain = "SELECT plain FROM session WHERE id = ?1";
        let plain = self
            .connection()
            .query_row(plain, [id], |row| row.get(0))
            .optional()?;
        let numbers: Vec<i64> = {
            let connection = self.connection();
            let mut rows = connection.prepare_cached(
                "SELECT number FROM branch WHERE session = ?1 ORDER BY COALESCE((SELECT MAX(piece.used) FROM piece \
                 WHERE piece.session = branch.session AND piece.number = branch.number), used)",
            )?;
            let rows = rows.query_map([id], |row| row.get(0))?;
            rows.collect::<std::result::Result<_, _>>()?
        };
        let (rest, open) = numbers.split_at(numbers.len().saturating_sub(most));
        let mut branches = Vec::new();
        for number in open {
            branches.extend(self.branch(id, *number)?);
        }
        let mut resting = Vec::new();
        for number in rest {
            let digests = self.digests(id, *number)?;
            resting.extend(digests.map(|digests| (*number, digests)));
        }
        Ok(KeptSession {
            is_plain: plain.unwrap_or(false),
            branches,
            resting,
        })
    }

    /// Reads the digests of a branch, and not its text, which may be long.
    fn digests(&self, session: &str, number: i64) -> Result<Option<Vec<u8>>> {
        let connection = self.connection();
        let mut row = connection
            .prepare_cached("SELECT digests FROM branch WHERE session = ?1 AND number = ?2")?;
        let whole: Option<Vec<u8>> = row
            .query_row(params![session, number], |row| row.get(0))
            .optional()?;
        let Some(mut digests) = whole else {
            return Ok(None);
        };
        let mut rows = connection.prepare_cached(
            "SELECT digests_at, digests FROM piece WHERE session = ?1 AND number = ?2 ORDER BY step",
        )?;
        let mut rows = rows.query(params![session, number])?;
        while let Some(row) = rows.next()? {
            digests.truncate(row.get(0)?);
            digests.extend(row.get::<_, Vec<u8>>(1)?);
        }
        Ok(Some(digests))
    }

    /// Finds the branch of any session that has the longest beginning of a list, with at least `least` messages. The
    /// branches of `shadow` do not count, because their forms were never sent.
    pub(crate) fn branch_with(
        &self,
        list: &[Digest],
        least: usize,
    ) -> Result<Option<(String, i64)>> {
        let Some(first) = list.first() else {
            return Ok(None);
        };
        // The last byte of a digest also says whether its message keeps its text.
        let begun: Vec<(String, i64)> = {
            let connection = self.connection();
            let mut rows = connection.prepare_cached(
                "SELECT session, number FROM branch WHERE substr(digests, 1, 7) = ?1 AND NOT EXISTS (SELECT 1 FROM request \
                 WHERE request.session = branch.session AND request.policy = 'shadow') ORDER BY used DESC",
            )?;
            let rows = rows.query_map([&first[..7]], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<std::result::Result<_, _>>()?
        };
        let mut best: Option<(usize, String, i64)> = None;
        for (session, number) in begun {
            let digests = self.digests(&session, number)?.unwrap_or_default();
            let common = digest::common(digests.as_chunks::<8>().0, list);
            let is_more = best.as_ref().is_none_or(|(most, ..)| common > *most);
            if common >= least && is_more {
                best = Some((common, session, number));
            }
        }
        Ok(best.map(|(_, session, number)| (session, number)))
    }

    /// Reads a branch.
    pub(crate) fn branch(&self, session: &str, number: i64) -> Result<Option<(Kept, Written)>> {
        let connection = self.connection();
        let mut row = connection.prepare_cached(
            "SELECT used, last, digests, memory FROM branch WHERE session = ?1 AND number = ?2",
        )?;
        let whole = row.query_row(params![session, number], |row| {
            Ok(Kept {
                number,
                used: row.get(0)?,
                last: row.get(1)?,
                digests: row.get(2)?,
                memory: self.opened(session, row.get(3)?),
            })
        });
        let Some(mut kept) = whole.optional()? else {
            return Ok(None);
        };
        let mut rows = connection.prepare_cached(
            "SELECT used, last, digests_at, digests, memory_at, memory FROM piece WHERE session = ?1 AND number = ?2 ORDER BY step",
        )?;
        let mut rows = rows.query(params![session, number])?;
        let (mut pieces, mut bytes) = (0, 0);
        while let Some(row) = rows.next()? {
            kept.used = row.get(0)?;
            kept.last = row.get(1)?;
            kept.digests.truncate(row.get(2)?);
            kept.digests.extend(row.get::<_, Vec<u8>>(3)?);
            let text = self.opened(session, row.get(5)?);
            let at: usize = row.get(4)?;
            let begin = kept.memory.get(..at).unwrap_or_default();
            kept.memory = format!("{begin}{text}");
            pieces += 1;
            bytes += text.len();
        }
        let written = Written {
            digests: kept.digests.clone(),
            memory: kept.memory.clone(),
            pieces,
            bytes,
        };
        Ok(Some((kept, written)))
    }

    /// Keeps a branch. `before` is what the ledger has of the branch. Returns what the ledger has of it now.
    pub(crate) fn keep_branch(
        &self,
        session: &str,
        kept: Kept,
        before: Option<Written>,
    ) -> Result<Written> {
        let enough =
            |before: &Written| before.pieces >= PIECES || before.bytes > before.memory.len();
        let Some(before) = before.filter(|before| !enough(before)) else {
            return self.keep_whole(session, kept);
        };
        let mut memory_at = common(before.memory.as_bytes(), kept.memory.as_bytes());
        while !kept.memory.is_char_boundary(memory_at) {
            memory_at -= 1;
        }
        let digests_at = common(&before.digests, &kept.digests);
        let new = kept.memory.get(memory_at..).unwrap_or_default();
        let digests = kept.digests.get(digests_at..).unwrap_or_default();
        let sealed = self.sealed(session, new)?;
        let connection = self.connection();
        let mut row = connection
            .prepare_cached("INSERT INTO piece VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
        row.execute(params![
            session,
            kept.number,
            before.pieces,
            kept.used,
            kept.last,
            digests_at,
            digests,
            memory_at,
            sealed
        ])?;
        Ok(Written {
            pieces: before.pieces + 1,
            bytes: before.bytes + new.len(),
            digests: kept.digests,
            memory: kept.memory,
        })
    }

    fn keep_whole(&self, session: &str, kept: Kept) -> Result<Written> {
        let sealed = self.sealed(session, &kept.memory)?;
        let mut connection = self.connection();
        let writing = connection.transaction()?;
        let row = "INSERT OR REPLACE INTO branch (session, number, digests, last, memory, used) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        writing.prepare_cached(row)?.execute(params![
            session,
            kept.number,
            kept.digests,
            kept.last,
            sealed,
            kept.used
        ])?;
        let row = "DELETE FROM piece WHERE session = ?1 AND number = ?2";
        writing
            .prepare_cached(row)?
            .execute(params![session, kept.number])?;
        writing.commit()?;
        Ok(Written {
            digests: kept.digests,
            memory: kept.memory,
            pieces: 0,
            bytes: 0,
        })
    }

    /// Forgets a branch.
    pub(crate) fn drop_branch(&self, session: &str, number: i64) -> Result<()> {
        let mut connection = self.connection();
        let writing = connection.transaction()?;
        for row in [
            "DELETE FROM branch WHERE session = ?1 AND number = ?2",
            "DELETE FROM piece WHERE session = ?1 AND number = ?2",
        ] {
            writing.execute(row, params![session, number])?;
        }
        Ok(writing.commit()?)
    }

    /// Records that new messages of a session keep their text from now on.
    pub(crate) fn make_plain(&self, session: &str, now: i64) -> Result<()> {
        let row = "INSERT OR REPLACE INTO session VALUES (?1, 1, ?2)";
        self.connection().execute(row, params![session, now])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_comes_back_from_its_pieces() {
        let ledger = Ledger::in_memory().unwrap();
        let mut written = None;
        let mut kept = Kept {
            number: 3,
            ..Kept::default()
        };
        for step in 0..200_i64 {
            // The memory grows before its end, and now and then changes in its middle.
            let texts: Vec<String> = (0..step)
                .map(|n| format!("\u{20ac}{}", n + step / 50))
                .collect();
            kept.memory = format!("[{}]{step}", texts.join(","));
            kept.digests = (0..step)
                .flat_map(|n| (n + step / 70).to_le_bytes())
                .collect();
            (kept.used, kept.last) = (step, step * 7);
            let now = ledger.keep_branch("s", kept.clone(), written).unwrap();
            assert!(now.pieces <= PIECES);
            let (read, stands) = ledger.branch("s", 3).unwrap().unwrap();
            assert_eq!(read, kept);
            assert_eq!((stands.pieces, stands.bytes), (now.pieces, now.bytes));
            written = Some(now);
        }
        let session = ledger.session("s", 0).unwrap();
        assert!(!session.is_plain && session.branches.is_empty());
        assert_eq!(session.resting, [(3, kept.digests)]);
        ledger.drop_branch("s", 3).unwrap();
        assert!(ledger.branch("s", 3).unwrap().is_none());
    }
}

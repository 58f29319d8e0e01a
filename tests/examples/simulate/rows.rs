//! Damages a row of a file at the end of a run, and checks that the store notices the damage in any table.

use accp_session::Batch;
use accp_store::{SqliteStore, Store, Transactional, Write};

use super::World;
use super::disks::Disks;
use super::node::{Result, said};

/// Statements that damage a file: each changes or deletes one row. `?1` says which row.
const DAMAGE: [&str; 9] = [
    "UPDATE side SET last = last + 1 WHERE side = (SELECT side FROM side LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM side))",
    "UPDATE log SET tokens = tokens + 1 WHERE (side, position) = (SELECT side, position FROM log LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM log))",
    "UPDATE frame SET text = replace(text, ':', ';') WHERE (side, position) = (SELECT side, position FROM frame LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM frame))",
    "UPDATE cold SET state = (state + 1) % 3 WHERE (side, key) = (SELECT side, key FROM cold LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM cold))",
    "UPDATE blob SET bytes = CAST(bytes || x'00' AS BLOB) WHERE rowid = (SELECT rowid FROM blob LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM blob))",
    "UPDATE registry SET json = json || ' ' WHERE rowid = (SELECT rowid FROM registry LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM registry))",
    "UPDATE snapshot SET text = text || ' ' WHERE side = (SELECT side FROM snapshot LIMIT 1 OFFSET ?1 % (SELECT max(1, count(*)) FROM snapshot))",
    "DELETE FROM log WHERE (side, position) = (SELECT side, position FROM log LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM log))",
    "DELETE FROM frame WHERE (side, position) = (SELECT side, position FROM frame LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM frame))",
];

impl World {
    /// Changes or deletes a row, and checks that the store reports the damage.
    pub(super) fn judge_damage(&mut self) -> Result {
        let Disks::Sqlite(store, _, _) = &self.disks else {
            return Ok(());
        };
        let sql = DAMAGE[self.rng.below(DAMAGE.len() as u64) as usize];
        let which = self.rng.below(1000) as i64;
        let side = self.room.host.driver.side();
        let mut store = store.lock().map_err(said)?;
        let nothing = Batch::default();
        let mut changed = 0;
        let mut rows = |file: &<SqliteStore as Transactional>::Transaction| {
            changed = file.execute(sql, [which])?;
            Ok(())
        };
        let write = Write::new(side, &nothing).with(&mut rows);
        store.commit_with(&mut [write]).map_err(said)?;
        if changed == 0 {
            return Ok(());
        }
        self.counts.rows_damaged += 1;
        let is_seen = match store.list() {
            Err(_) => true,
            Ok(all) => all.iter().any(|one| store.verify(&one.side).is_err()),
        };
        if is_seen {
            return Ok(());
        }
        Err(format!(
            "the store does not see what is done to it: {sql} ({which})"
        ))
    }
}

//! What looks for damage.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::Hash;
use accp_runtime::session::Time;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::fault::Fault;
use super::side::Session;
use super::{cold, entry, read, schema};

/// What SQLite itself knows of the file: pages, indexes, constraints; and that the tables are
/// those of the format.
pub(super) fn file(conn: &Connection) -> Result<(), Fault> {
    schema::check(conn)?;
    let found: String = conn.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))?;
    if found == "ok" {
        return Ok(());
    }
    Err(Fault::Corrupt(found))
}

/// All that is kept of a session.
pub(super) fn session(conn: &Connection, name: &str) -> Result<(), Fault> {
    let Some(session) = Session::find(conn, name)? else {
        return Ok(());
    };
    log(conn, &session)?;
    read::snapshot(conn, &session)?;
    values(conn, session.id)?;
    read::outbox(conn, session.id)?;
    read::registries(conn, session.id)?;
    Ok(())
}

/// That every entry reads, has its text where it must, and that the sums are right.
fn log(conn: &Connection, session: &Session) -> Result<(), Fault> {
    let mut found = Session {
        last: 0,
        entries: 0,
        bytes: 0,
        due: 0,
        at: None,
        ..session.clone()
    };
    let mut texts = 0;
    let sql = entry::select("", "true");
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([session.id])?;
    while let Some(row) = rows.next()? {
        let entry = entry::read_log(row)?;
        if entry.position >= session.first {
            found.bytes += entry::read(row)?.text.len() as u64;
            texts += 1;
        }
        found.last = entry.position;
        found.at = Some(entry.at);
        found.entries += 1;
        found.due += u64::from(entry.due);
    }
    if found != *session {
        return Err(Fault::Corrupt(format!(
            "table `session` says {}, and table `log` has {}",
            sums(session),
            sums(&found)
        )));
    }
    let sql = "SELECT count(*) FROM frame WHERE session = ?1";
    let all: u64 = conn.query_row(sql, [session.id], |row| row.get(0))?;
    if all != texts {
        return Err(Fault::Corrupt(format!(
            "table `frame` has {all} texts, and table `log` knows {texts}"
        )));
    }
    Ok(())
}

/// That every key reads, and has its bytes where it must, with the digest that it says.
fn values(conn: &Connection, session: i64) -> Result<(), Fault> {
    let mut lengths: BTreeMap<Hash, u64> = BTreeMap::new();
    let mut statement = conn.prepare("SELECT digest, bytes FROM blob WHERE session = ?1")?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let (ValueRef::Blob(digest), ValueRef::Blob(bytes)) = (row.get_ref(0)?, row.get_ref(1)?)
        else {
            return Err(Fault::Corrupt(
                "table `blob` holds something else than bytes".into(),
            ));
        };
        let found = Hash::of(bytes);
        if found.as_bytes() != digest {
            return Err(cold::other_digest(digest, &found));
        }
        lengths.insert(found, bytes.len() as u64);
    }
    let sql = "SELECT * FROM cold WHERE session = ?1 ORDER BY key";
    let mut named = BTreeSet::new();
    for (name, key) in read::all(conn, sql, [session], cold::read)? {
        cold::check(&name, &key, lengths.get(&key.digest).copied())?;
        named.insert(key.digest);
    }
    match lengths.keys().find(|digest| !named.contains(digest)) {
        Some(digest) => {
            let text = format!("table `blob` keeps bytes under digest {digest}, which no key has");
            Err(Fault::Corrupt(text))
        }
        None => Ok(()),
    }
}

fn sums(session: &Session) -> String {
    format!(
        "{} entries up to position {} of time {}, {} due, {} bytes",
        session.entries,
        session.last,
        session.at.unwrap_or(Time::from_millis(0)),
        session.due,
        session.bytes
    )
}

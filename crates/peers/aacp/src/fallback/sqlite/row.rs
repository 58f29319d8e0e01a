//! Writes rows with a checksum, and reads rows without trusting the file.

use accp_registry::Hash;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::json;

use super::fault::Fault;
use crate::fallback::claim::Claim;
use crate::fallback::entry::{Entry, EntryKey};
use crate::fallback::instruction::Instruction;
use crate::fallback::model::{ModelError, ModelErrorKind};
use crate::vocabulary::Vocabulary;

/// How long a failure is kept for callers that waited for it, in milliseconds.
const KEPT: i64 = 10 * 60 * 1000;

/// The columns of an entry, in their order.
pub(super) const ENTRY: &str = "dom, id, english, task, fields, times_seen, crc";

/// Returns the checksum of texts, each with its length, and of numbers.
fn checksum(texts: &[&[u8]], numbers: &[i64]) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    for number in numbers {
        hasher.update(&number.to_le_bytes());
    }
    i64::from(hasher.finalize())
}

/// Reads the key in a row of [`ENTRY`].
pub(super) fn key(row: &Row<'_>) -> Result<EntryKey, Fault> {
    let (dom, id): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
    let id: Option<[u8; 32]> = id.try_into().ok();
    let id = id.map(Hash::from).ok_or_else(|| damage("an id", "entry"))?;
    Ok(EntryKey { dom, id })
}

/// Reads a row of [`ENTRY`].
pub(super) fn entry(row: &Row<'_>) -> Result<Entry, Fault> {
    let EntryKey { dom, id } = key(row)?;
    let (english, task, json): (String, String, String) = (row.get(2)?, row.get(3)?, row.get(4)?);
    let (times_seen, crc): (i64, i64) = (row.get(5)?, row.get(6)?);
    let place = || format!("the entry {id} in {dom}");
    let texts = [
        dom.as_bytes(),
        id.as_bytes(),
        english.as_bytes(),
        task.as_bytes(),
        json.as_bytes(),
    ];
    if checksum(&texts, &[times_seen]) != crc {
        return Err(damage(&place(), "entry"));
    }
    let wrong = || damage(&place(), "entry");
    let fields: Vec<(String, String)> = pairs(&json).ok_or_else(wrong)?;
    let instruction = Instruction::new(&english).map_err(|_| wrong())?;
    if instruction.id() != id {
        return Err(wrong());
    }
    let read = Entry::from_parts(instruction, &dom, &task, fields, Vocabulary::standard());
    let mut read = read.map_err(|_| wrong())?;
    read.times_seen = u64::try_from(times_seen).map_err(|_| wrong())?;
    Ok(read)
}

fn pairs(json: &str) -> Option<Vec<(String, String)>> {
    let json: serde_json::Value = serde_json::from_str(json).ok()?;
    let pairs = json
        .as_array()?
        .iter()
        .map(|pair| match &pair.as_array()?[..] {
            [key, value] => Some((key.as_str()?.to_owned(), value.as_str()?.to_owned())),
            _ => None,
        });
    pairs.collect()
}

fn damage(what: &str, table: &str) -> Fault {
    Fault::Corrupt(format!("table `{table}`: {what} is not what was written"))
}

/// Reads the entry of a key.
pub(super) fn find(conn: &Connection, key: &EntryKey) -> Result<Option<Entry>, Fault> {
    let sql = format!("SELECT {ENTRY} FROM entry WHERE dom = ?1 AND id = ?2");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params![key.dom, key.id.as_bytes()])?;
    rows.next()?.map(entry).transpose()
}

/// Writes an entry, and replaces an entry with the same key.
pub(super) fn write(conn: &Connection, entry: &Entry) -> Result<(), Fault> {
    let key = entry.key();
    let json = json!(entry.fields()).to_string();
    let times_seen = i64::try_from(entry.times_seen).unwrap_or(i64::MAX);
    let english = entry.instruction().text();
    let texts = [
        key.dom.as_bytes(),
        key.id.as_bytes(),
        english.as_bytes(),
        entry.task().as_bytes(),
    ];
    let texts = [&texts[..], &[json.as_bytes()]].concat();
    let crc = checksum(&texts, &[times_seen]);
    let sql = "INSERT OR REPLACE INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let values = params![
        key.dom,
        key.id.as_bytes(),
        english,
        entry.task(),
        json,
        times_seen,
        crc
    ];
    conn.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// Counts one more request that the entry of a key answers, and returns the entry.
pub(super) fn count(conn: &Connection, key: &EntryKey) -> Result<Option<Entry>, Fault> {
    let Some(mut entry) = find(conn, key)? else {
        return Ok(None);
    };
    entry.times_seen += 1;
    write(conn, &entry)?;
    Ok(Some(entry))
}

/// Removes the entry of a key. Returns whether there was one.
pub(super) fn remove(conn: &Connection, key: &EntryKey) -> Result<bool, Fault> {
    let sql = "DELETE FROM entry WHERE dom = ?1 AND id = ?2";
    let gone = conn
        .prepare_cached(sql)?
        .execute(params![key.dom, key.id.as_bytes()])?;
    Ok(gone > 0)
}

/// Reads the claim of a key.
pub(super) fn claim(conn: &Connection, key: &EntryKey) -> Result<Option<Claim>, Fault> {
    let sql = "SELECT number, holder, until, failed, kind, failure, since, crc FROM claim
        WHERE dom = ?1 AND id = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let found = statement.query_row(params![key.dom, key.id.as_bytes()], |row| {
        let numbers: [i64; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
        let texts: [Option<String>; 2] = [row.get(4)?, row.get(5)?];
        let last: [i64; 2] = [row.get(6)?, row.get(7)?];
        Ok((numbers, texts, last))
    });
    let Some((numbers, [kind, failure], [since, crc])) = found.optional()? else {
        return Ok(None);
    };
    let texts = [kind.as_deref(), failure.as_deref()];
    let texts = texts.map(|text| text.unwrap_or_default().as_bytes());
    let wrong = || damage(&format!("the claim {key}"), "claim");
    let all = [&numbers[..], &[since]].concat();
    if claim_checksum(key, texts, &all) != crc {
        return Err(wrong());
    }
    let number = |at: usize| {
        numbers
            .get(at)
            .and_then(|n| u64::try_from(*n).ok())
            .ok_or_else(wrong)
    };
    let kind = kind.as_deref().and_then(ModelErrorKind::named);
    Ok(Some(Claim {
        number: number(0)?,
        holder: number(1)?,
        until: number(2)?,
        failed: number(3)?,
        failure: kind
            .zip(failure)
            .map(|(kind, text)| ModelError::new(kind, text)),
    }))
}

fn claim_checksum(key: &EntryKey, [kind, failure]: [&[u8]; 2], numbers: &[i64]) -> i64 {
    checksum(
        &[key.dom.as_bytes(), key.id.as_bytes(), kind, failure],
        numbers,
    )
}

/// Writes the claim of a key, and removes failures that are too old for any waiting caller. `now` is in
/// milliseconds since 1970.
pub(super) fn write_claim(
    conn: &Connection,
    key: &EntryKey,
    claim: &Claim,
    now: u64,
) -> Result<(), Fault> {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let numbers = [claim.number, claim.holder, claim.until, claim.failed, now].map(number);
    let kind = claim.failure.as_ref().map(|failure| failure.kind.as_str());
    let failure = claim.failure.as_ref().map(ModelError::text);
    let texts = [kind, failure].map(|text| text.unwrap_or_default().as_bytes());
    let crc = claim_checksum(key, texts, &numbers);
    let [first, second, third, fourth, since] = numbers;
    let sql = "INSERT OR REPLACE INTO claim VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    conn.prepare_cached(sql)?.execute(params![
        key.dom,
        key.id.as_bytes(),
        first,
        second,
        third,
        fourth,
        kind,
        failure,
        since,
        crc
    ])?;
    let sql = "DELETE FROM claim WHERE until < ?1 AND since < ?1";
    conn.prepare_cached(sql)?
        .execute([since.saturating_sub(KEPT)])?;
    Ok(())
}

/// Removes the claim of a key.
pub(super) fn remove_claim(conn: &Connection, key: &EntryKey) -> Result<(), Fault> {
    let sql = "DELETE FROM claim WHERE dom = ?1 AND id = ?2";
    conn.prepare_cached(sql)?
        .execute(params![key.dom, key.id.as_bytes()])?;
    Ok(())
}

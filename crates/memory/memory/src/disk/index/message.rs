//! Search by the number of a message, as a summary names it.

use rusqlite::Connection;
use rusqlite::types::ToSql;

use super::fault::Fault;
use super::hit::{Chosen, FILTER, Filter};

/// Returns the number of the message that a topic names: as `message 12`, or as the heading `## 12` of an archive.
pub(super) fn named(topic: &str) -> Option<usize> {
    let (name, rest) = topic.trim().split_once(' ')?;
    let number = if name == "##" {
        rest.split(" · ").next()?
    } else if name.eq_ignore_ascii_case("message") {
        rest
    } else {
        return None;
    };
    number.trim().parse().ok()
}

/// Finds the sections of a message, in order. Archives of several sessions may have a message with this number: the
/// sections of `archive` come first.
pub(super) fn search(
    conn: &Connection,
    number: usize,
    archive: &str,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Chosen>, Fault> {
    let sql = format!(
        "SELECT s.id FROM section s JOIN block b ON b.id = s.block JOIN file f ON f.id = b.file
        WHERE b.message = :number AND f.grows AND {FILTER} ORDER BY f.path <> :archive, s.id"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    let filter = filter.values();
    let mut values: Vec<(&str, &dyn ToSql)> = filter
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    values.push((":number", &number));
    values.push((":archive", &archive));
    let rows = statement.query_map(&values[..], |row| {
        Ok(Chosen {
            section: row.get(0)?,
            score: 1.0,
            part: None,
        })
    })?;
    Ok(rows.take(limit).collect::<Result<_, _>>()?)
}

//! The index of the words in the log of one side: a table of SQLite's FTS5, in memory.
//!
//! The file holds no index. So a damaged index cannot hide a frame, and files of all versions are searched in the
//! same way. The index is made at the first search, and follows the log from then on.

use accp_context::search::{Query, terms};
use rusqlite::Connection;

use super::fault::Fault;
use super::side::Side;
use super::{cold, read};
use crate::search::{Bytes, Document, Match, PIECE};
use crate::side::SideId;

/// The index: the side whose words are in the table, and the part of its log that was added.
#[derive(Debug)]
pub(super) struct Index {
    side: SideId,
    number: i64,
    /// The first position whose entry has its text.
    first: u64,
    last: u64,
    /// SQLite's `data_version`, which changes when another connection writes to the file.
    version: i64,
    /// True if the bytes of some values were not here when their frames were added.
    pub(super) lacks: bool,
}

impl Index {
    /// Looks for words in the log of a side, best first. Keeps the index in `kept`.
    pub(super) fn search(
        kept: &mut Option<Self>,
        conn: &Connection,
        id: &SideId,
        query: &Query,
        limit: usize,
    ) -> Result<Vec<Match>, Fault> {
        let Some(side) = Side::find(conn, id)? else {
            return Ok(Vec::new());
        };
        let version = conn.query_row("PRAGMA main.data_version", (), |row| row.get(0))?;
        let mut index = match kept.take() {
            Some(index) if index.is_of(id, &side, version) => index,
            _ => Self::new(conn, id, &side, version)?,
        };
        index.follow(conn, &side)?;
        let found = find(conn, query, limit)?;
        *kept = Some(index);
        found
            .into_iter()
            .map(|position| {
                let entry = read::entry(conn, id, position)?;
                let lost = || Fault::Corrupt(format!("table `log` lacks position {position}"));
                let entry = entry.ok_or_else(lost)?;
                let document = Document::of(&entry, |key| value(conn, &side, key))?;
                let document = document.ok_or_else(lost)?;
                Ok(document.to_match(position, query))
            })
            .collect()
    }

    /// Makes an index without entries.
    fn new(conn: &Connection, id: &SideId, side: &Side, version: i64) -> Result<Self, Fault> {
        conn.execute_batch(
            "DROP TABLE IF EXISTS temp.accp_words;
            CREATE VIRTUAL TABLE temp.accp_words USING fts5(words, content='', tokenize='ascii')",
        )?;
        Ok(Self {
            side: id.clone(),
            number: side.number,
            first: side.row.first,
            last: 0,
            version,
            lacks: false,
        })
    }

    fn is_of(&self, id: &SideId, side: &Side, version: i64) -> bool {
        (&self.side, self.number, self.first, self.version)
            == (id, side.number, side.row.first, version)
            && self.last <= side.row.last
    }

    /// Adds the entries that are new.
    fn follow(&mut self, conn: &Connection, side: &Side) -> Result<(), Fault> {
        // This crate splits the texts into words, so that all stores find the same entries. The
        // tokenizer of FTS5 then splits only at spaces, because it takes all characters beyond
        // ASCII for letters.
        let sql = "INSERT INTO temp.accp_words (rowid, words) VALUES (?1, ?2)";
        let mut statement = conn.prepare_cached(sql)?;
        while self.last < side.row.last {
            let piece = read::entries(conn, &self.side, self.last + 1, PIECE)?;
            for entry in &piece {
                let value = |key: &str| value(conn, side, key);
                if let Some(document) = Document::of(entry, value)? {
                    let mut all = String::new();
                    for term in terms(&document.text) {
                        all.push_str(&term);
                        all.push(' ');
                    }
                    statement.execute((entry.position, all))?;
                    self.lacks |= !document.is_whole;
                }
            }
            self.last = piece.last().map_or(side.row.last, |entry| entry.position);
        }
        Ok(())
    }
}

fn value(conn: &Connection, side: &Side, key: &str) -> Result<Bytes, Fault> {
    Ok(cold::value(conn, side.number, key)?.into())
}

/// Returns the positions of the best entries.
fn find(conn: &Connection, query: &Query, limit: usize) -> Result<Vec<u64>, Fault> {
    let asked: Vec<String> = query
        .words()
        .iter()
        .map(|word| format!("\"{word}\""))
        .collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT rowid FROM temp.accp_words WHERE accp_words MATCH ?1
        ORDER BY bm25(accp_words), rowid DESC LIMIT ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map((asked.join(" OR "), limit), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

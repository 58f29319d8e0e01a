//! Search by words.

use std::collections::HashMap;

use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::fill;
use super::hit::{Chosen, FILTER, Filter};
use super::rank::{Asked, Weights, bonus, weight};

/// How many sections are looked at closely.
const CANDIDATES: usize = 100;
/// How many of the words that tell most are looked for in pairs, within how many words of each other.
const PAIRED: usize = 6;
const APART: usize = 8;
/// How many long messages are looked at, and how many sections of each.
const LONG: usize = 20;
const OF_LONG: usize = 10;
/// What the words of the whole message count against those of the section.
const AROUND: f64 = 0.25;

/// A section that has words of the query.
struct Candidate {
    section: i64,
    score: f64,
    /// The whole message, if it has several sections.
    block: i64,
}

/// Finds the sections that say most of what is asked.
pub(super) fn search(
    conn: &Connection,
    query: &str,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Chosen>, Fault> {
    let asked = Asked::of(query);
    let Some(wanted) = expression(&asked) else {
        return Ok(Vec::new());
    };
    let weights = weights(conn, &asked)?;
    let blocks = blocks(conn, &wanted, filter)?;
    let near = pairs(&asked, &weights);
    let candidates = candidates(conn, [&wanted, &near], filter, &blocks, limit)?;
    let mut statement = conn.prepare_cached("SELECT plain, whole FROM words WHERE rowid = ?1")?;
    let mut chosen = Vec::new();
    for candidate in candidates.into_values() {
        let more = statement.query_row([candidate.section], |row| {
            let (plain, whole) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
            Ok(bonus(&asked, &weights, plain, whole))
        })?;
        let around = blocks
            .get(&candidate.block)
            .copied()
            .unwrap_or(candidate.score);
        chosen.push(Chosen {
            section: candidate.section,
            score: candidate.score + AROUND * around + more,
            part: None,
        });
    }
    // Of two that are as good the later comes first.
    chosen.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.section.cmp(&a.section)));
    chosen.truncate(limit);
    Ok(chosen)
}

/// Writes what is looked for in the language of FTS5. Words and identifiers have neither quotes nor NUL.
fn expression(asked: &Asked) -> Option<String> {
    let words = asked.words.iter().map(|word| format!("plain : \"{word}\""));
    let whole = asked
        .whole
        .iter()
        .map(|whole| format!("whole : \"{whole}\""));
    let all: Vec<_> = words.chain(whole).collect();
    (!all.is_empty()).then(|| all.join(" OR "))
}

/// Writes the pairs of the words that tell most, in the language of FTS5; a text that nothing has for fewer words.
fn pairs(asked: &Asked, weights: &Weights) -> String {
    let mut words: Vec<_> = asked.words.iter().zip(&weights.words).collect();
    words.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    words.truncate(PAIRED);
    let pairs = words.iter().enumerate().flat_map(|(at, (a, _))| {
        let pair = move |(b, _): &(&String, &f64)| format!("plain : NEAR(\"{a}\" \"{b}\", {APART})");
        words[at + 1..].iter().map(pair)
    });
    let pairs: Vec<_> = pairs.collect();
    if pairs.is_empty() {
        // A term never has a comma at its end.
        return "\",\"".to_owned();
    }
    pairs.join(" OR ")
}

fn weights(conn: &Connection, asked: &Asked) -> Result<Weights, Fault> {
    let sections = fill::count(conn)?;
    let sql = "SELECT doc FROM vocabulary WHERE term = ?1 AND col = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let mut of = |terms: &[String], column: &str| {
        let weights = terms.iter().map(|term| {
            let with = statement.query_row([term.as_str(), column], |row| row.get::<_, i64>(0));
            Ok(weight(sections, with.optional()?.unwrap_or(0)))
        });
        weights.collect::<Result<Vec<f64>, Fault>>()
    };
    Ok(Weights {
        words: of(&asked.words, "plain")?,
        whole: of(&asked.whole, "whole")?,
    })
}

/// Returns the long messages that say most of what is asked, with their BM25.
fn blocks(conn: &Connection, wanted: &str, filter: &Filter) -> Result<HashMap<i64, f64>, Fault> {
    let sql = format!(
        "SELECT b.id, bm25(spread) FROM spread JOIN block b ON b.id = spread.rowid JOIN file f ON f.id = b.file
        WHERE spread MATCH :wanted AND {FILTER} ORDER BY 2, 1 DESC LIMIT {LONG}"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let filter = filter.values();
    let mut values: Vec<(&str, &dyn ToSql)> = filter
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    values.push((":wanted", &wanted));
    let rows = statement.query_map(&values[..], |row| Ok((row.get(0)?, -row.get::<_, f64>(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the best sections by BM25: of all, of those with pairs of words, and of the best long messages.
fn candidates(
    conn: &Connection,
    [wanted, near]: [&str; 2],
    filter: &Filter,
    blocks: &HashMap<i64, f64>,
    limit: usize,
) -> Result<HashMap<i64, Candidate>, Fault> {
    let sql = |more: &str| {
        format!(
            "SELECT s.id, bm25(words, 1.0, 1.0), b.id FROM words JOIN section s ON s.id = words.rowid
            JOIN block b ON b.id = s.block JOIN file f ON f.id = b.file
            WHERE words MATCH :wanted AND {FILTER} {more} ORDER BY 2, 1 DESC LIMIT :limit"
        )
    };
    let filter = filter.values();
    let filter: Vec<(&str, &dyn ToSql)> = filter
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let mut found = HashMap::new();
    let mut find = |sql: &str, values: &[(&str, &dyn ToSql)]| -> Result<(), Fault> {
        let mut statement = conn.prepare_cached(sql)?;
        let rows = statement.query_map(values, |row| {
            Ok(Candidate {
                section: row.get(0)?,
                score: -row.get::<_, f64>(1)?,
                block: row.get(2)?,
            })
        })?;
        for row in rows {
            let row = row?;
            found.insert(row.section, row);
        }
        Ok(())
    };
    let most = CANDIDATES.max(limit) as i64;
    let mut values = filter.clone();
    values.extend([(":wanted", &wanted as &dyn ToSql), (":limit", &most)]);
    find(&sql(""), &values)?;
    let nearby = sql(
        "AND words.rowid IN (SELECT rowid FROM words WHERE words MATCH :near ORDER BY rank LIMIT :limit)",
    );
    values.push((":near", &near as &dyn ToSql));
    find(&nearby, &values)?;
    let inside = sql(
        "AND words.rowid BETWEEN (SELECT min(id) FROM section WHERE block = :block)
            AND (SELECT max(id) FROM section WHERE block = :block)",
    );
    for block in blocks.keys() {
        let mut values = filter.clone();
        let most = OF_LONG as i64;
        values.extend([
            (":wanted", &wanted as &dyn ToSql),
            (":limit", &most),
            (":block", block),
        ]);
        find(&inside, &values)?;
    }
    Ok(found)
}

//! Search by words.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;
use rusqlite::types::ToSql;

use super::fault::Fault;
use super::hit::{Chosen, FILTER, Filter};
use crate::ranked::rank::{Asked, Places, Weights, score, total, weight};

/// How many places of words a search looks at. The rarest word comes first and always counts. Words that exceed the
/// limit are left out.
const PLACES: i64 = 200_000;
/// Finds the sections that fit a query best.
pub(super) fn search(
    conn: &Connection,
    query: &str,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Chosen>, Fault> {
    let asked = Asked::of(query);
    let (sections, words): (i64, i64) = conn.query_row(
        "SELECT count(*), coalesce(sum(words), 0) FROM section",
        (),
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let mean = (words as f64 / sections.max(1) as f64).max(1.0);
    let terms = terms(conn, &asked)?;
    let weights = Weights {
        words: terms
            .words
            .iter()
            .map(|with| weight(sections, with.sections))
            .collect(),
        whole: terms
            .whole
            .iter()
            .map(|with| weight(sections, with.sections))
            .collect(),
    };
    let places = places(conn, &asked, &terms)?;
    let around = around(conn, &asked)?;
    let allowed = allowed(conn, filter)?;
    let mut statement = conn.prepare_cached("SELECT words, block FROM section WHERE id = ?1")?;
    let mut chosen = Vec::new();
    for (section, mut places) in places {
        if allowed
            .as_ref()
            .is_some_and(|allowed| !allowed.contains(&section))
        {
            continue;
        }
        places.words.sort_unstable();
        let (length, block): (i64, i64) =
            statement.query_row([section], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let around = around.get(&block).copied().unwrap_or(0.0);
        let score = score(&asked, &weights, &places, length as f64 / mean);
        chosen.push(Chosen {
            section,
            score: total(score, around, section as f64 / sections.max(1) as f64),
            part: None,
        });
    }
    // Of two sections with the same score, the later one comes first.
    chosen.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.section.cmp(&a.section)));
    chosen.truncate(limit);
    Ok(chosen)
}

/// How many sections have a term, and how often the term occurs in all of them together.
#[derive(Debug, Clone, Copy, Default)]
struct With {
    sections: i64,
    places: i64,
}

struct Known {
    words: Vec<With>,
    whole: Vec<With>,
}

fn terms(conn: &Connection, asked: &Asked) -> Result<Known, Fault> {
    let sql = "SELECT coalesce(sum(doc), 0), coalesce(sum(cnt), 0) FROM vocabulary
        WHERE term = ?1 AND (col = 'whole') = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let mut of = |terms: &[String], is_whole: bool| {
        let all = terms.iter().map(|term| {
            let with = statement.query_row((term, is_whole), |row| {
                Ok(With {
                    sections: row.get(0)?,
                    places: row.get(1)?,
                })
            });
            Ok(with?)
        });
        all.collect::<Result<Vec<_>, Fault>>()
    };
    Ok(Known {
        words: of(&asked.words, false)?,
        whole: of(&asked.whole, true)?,
    })
}

/// Returns where words and identifiers stand, for each section that has any.
fn places(conn: &Connection, asked: &Asked, known: &Known) -> Result<HashMap<i64, Places>, Fault> {
    let words = asked.words.iter().zip(&known.words).enumerate();
    let words = words.map(|(number, (term, with))| (with.places, term, number, false));
    let whole = asked.whole.iter().zip(&known.whole).enumerate();
    let whole = whole.map(|(number, (term, with))| (with.places, term, number, true));
    let mut terms: Vec<_> = words.chain(whole).collect();
    terms.sort();
    let mut found: HashMap<i64, Places> = HashMap::new();
    let sql = "SELECT doc, col, offset FROM places WHERE term = ?1 AND (col = 'whole') = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let mut left = PLACES;
    for (count, term, number, is_whole) in terms {
        left -= count;
        if left < 0 && !found.is_empty() {
            break;
        }
        let mut rows = statement.query((term, is_whole))?;
        while let Some(row) = rows.next()? {
            let places = found.entry(row.get(0)?).or_default();
            match row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)? {
                "plain" => places.words.push((row.get(2)?, number)),
                "about" => places.about.push(number),
                _ => places.whole.push(number),
            }
        }
    }
    Ok(found)
}

/// Returns the BM25 score of each long message that has any of the words. Words have no quotes and no NUL, so a query
/// of FTS5 can quote them as they are.
fn around(conn: &Connection, asked: &Asked) -> Result<HashMap<i64, f64>, Fault> {
    let all = asked
        .words
        .iter()
        .map(|word| format!("{{plain about}} : \"{word}\""));
    let all: Vec<_> = all.collect();
    if all.is_empty() {
        return Ok(HashMap::new());
    }
    let sql =
        "SELECT rowid, bm25(spread) FROM spread WHERE spread MATCH ?1 ORDER BY rank LIMIT 100";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([all.join(" OR ")], |row| {
        Ok((row.get(0)?, -row.get::<_, f64>(1)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the sections that a filter lets through; `None` for all.
fn allowed(conn: &Connection, filter: &Filter) -> Result<Option<HashSet<i64>>, Fault> {
    if *filter == Filter::default() {
        return Ok(None);
    }
    let sql = format!(
        "SELECT s.id FROM section s JOIN block b ON b.id = s.block JOIN file f ON f.id = b.file WHERE {FILTER}"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let filter = filter.values();
    let values: Vec<(&str, &dyn ToSql)> = filter
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let rows = statement.query_map(&values[..], |row| row.get(0))?;
    Ok(Some(rows.collect::<Result<_, _>>()?))
}

//! Search by exact text.

use std::collections::HashSet;

use rusqlite::types::ToSql;
use rusqlite::{Connection, Row};

use super::fault::Fault;
use super::hit::{Chosen, FILTER, Filter};
use crate::grapheme::floor;
use crate::ranked::cut::WHOLE;
use crate::raw::push_escaped;

/// A trigram has this many characters. A shorter text is searched without the index of trigrams.
const TRIGRAM: usize = 3;

/// How well a section fits the text that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The section has the text in other upper or lower case.
    Folded,
    /// The section has exactly this text, inside a longer word or number.
    Inside,
    /// The section has exactly this text, and not only as a part of a longer word or number.
    Alone,
}

/// Finds the sections that have a text. First come those with exactly this text by itself, then those with this text
/// inside a longer word, then those with the text in other upper or lower case. Of equal sections, the later one
/// comes first.
///
/// A text with quotes or line feeds is also found in the spelling that it has inside JSON.
pub(super) fn search(
    conn: &Connection,
    text: &str,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Chosen>, Fault> {
    let mut found: Vec<(Fit, Chosen)> = Vec::new();
    let mut seen = HashSet::new();
    for spelling in spellings(text) {
        let all = one(conn, &spelling, filter)?.into_iter();
        found.extend(all.filter(|(_, chosen)| seen.insert(chosen.section)));
    }
    found.sort_by(|(a, x), (b, y)| b.cmp(a).then(y.section.cmp(&x.section)));
    let chosen = found.into_iter().map(|(_, chosen)| chosen);
    Ok(chosen.take(limit).collect())
}

/// Returns the spellings that a text may have in a file: plain, inside a JSON string, and inside a JSON string that
/// is all ASCII.
fn spellings(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut all = vec![text.to_owned()];
    let json = serde_json::Value::from(text).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let mut ascii = String::new();
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            push_escaped(&mut ascii, c);
        }
    }
    for spelling in [json, ascii] {
        if !all.contains(&spelling) {
            all.push(spelling);
        }
    }
    all
}

/// A section that is compared with the text that is searched.
struct Section {
    id: i64,
    block: i64,
    text: String,
}

impl Section {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            block: row.get(1)?,
            text: row.get(2)?,
        })
    }
}

fn one(conn: &Connection, text: &str, filter: &Filter) -> Result<Vec<(Fit, Chosen)>, Fault> {
    let probe = probe(text);
    // Trigrams skip NUL, so NUL is left out here, and a text with NUL is compared below.
    let letters = probe.replace('\0', "");
    let by_trigram = letters.chars().count() >= TRIGRAM;
    let (table, condition) = if by_trigram {
        (
            "grams JOIN section s ON s.id = grams.rowid",
            "grams MATCH :wanted AND",
        )
    } else {
        ("section s", ":wanted IS NOT NULL AND")
    };
    let sql = format!(
        "SELECT s.id, b.id, s.text FROM {table} JOIN block b ON b.id = s.block JOIN file f ON f.id = b.file
        WHERE {condition} {FILTER} ORDER BY s.id"
    );
    let wanted = format!("\"{}\"", letters.replace('"', "\"\""));
    let filter = filter.values();
    let mut values: Vec<(&str, &dyn ToSql)> = filter
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    values.push((":wanted", &wanted));
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(&values[..])?;
    let folded = text.to_lowercase();
    let mut found = Vec::new();
    // The last block whose sections were joined and searched as one text. The sections of a block are joined if one
    // of them has the probe but not the whole text.
    let mut beyond = 0;
    while let Some(row) = rows.next()? {
        let section = Section::of(row)?;
        if let Some(fit) = fit(&section.text, text, &folded) {
            found.push((fit, chosen(section.id, fit, None)));
        } else if probe.len() < text.len() && beyond != section.block {
            beyond = section.block;
            found.extend(across(conn, section.id, section.block, text, &folded)?);
        }
    }
    Ok(found)
}

/// Returns a part of the text that one section has completely, wherever the sections are cut: the beginning of its
/// longest line.
fn probe(text: &str) -> &str {
    let longest = text.split('\n').max_by_key(|line| line.len());
    let longest = longest.unwrap_or(text);
    let end = floor(longest, WHOLE);
    if text.len() <= WHOLE && !text.contains('\n') {
        text
    } else {
        &longest[..end]
    }
}

fn chosen(section: i64, fit: Fit, part: Option<(usize, usize, String)>) -> Chosen {
    let score = match fit {
        Fit::Alone => 3.0,
        Fit::Inside => 2.0,
        Fit::Folded => 1.0,
    };
    Chosen {
        section,
        score,
        part,
    }
}

/// Returns how well a section fits a text; `None` if the section does not have the text.
fn fit(section: &str, text: &str, folded: &str) -> Option<Fit> {
    let mut best = None;
    for (at, _) in section.match_indices(text) {
        let before = section[..at].chars().next_back();
        let after = section[at + text.len()..].chars().next();
        let is_alone =
            !joins(before, text.chars().next()) && !joins(text.chars().next_back(), after);
        if is_alone {
            return Some(Fit::Alone);
        }
        best = Some(Fit::Inside);
    }
    best.or_else(|| {
        section
            .to_lowercase()
            .contains(folded)
            .then_some(Fit::Folded)
    })
}

/// Returns whether two neighbouring characters belong to one word or number.
fn joins(a: Option<char>, b: Option<char>) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    is_inside(a) && is_inside(b)
}

/// Looks for a text in a whole message, and shows the lines that have it.
fn across(
    conn: &Connection,
    section: i64,
    block: i64,
    text: &str,
    folded: &str,
) -> Result<Option<(Fit, Chosen)>, Fault> {
    let sql = "SELECT start, text, first FROM section WHERE block = ?1 ORDER BY id";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([block])?;
    let (mut whole, mut first) = (String::new(), 0);
    while let Some(row) = rows.next()? {
        let (start, part, line): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let start = usize::try_from(start).unwrap_or(0);
        if start == 0 {
            first = usize::try_from(line).unwrap_or(0);
        }
        if start > whole.len() {
            // Sections that do not overlap get a line feed between them.
            whole.push('\n');
        }
        whole.push_str(
            part.get(whole.len().saturating_sub(start)..)
                .unwrap_or_default(),
        );
    }
    let Some(fit) = fit(&whole, text, folded).filter(|fit| *fit != Fit::Folded) else {
        return Ok(None);
    };
    let at = whole.find(text).unwrap_or(0);
    let start = whole[..at].rfind('\n').map_or(0, |feed| feed + 1);
    let behind = at + text.trim_end_matches('\n').len();
    let end = whole[behind..]
        .find('\n')
        .map_or(whole.len(), |feed| behind + feed);
    let line = first + whole[..start].matches('\n').count();
    let shown = whole[start..end].to_owned();
    let last = line + shown.matches('\n').count();
    Ok(Some((fit, chosen(section, fit, Some((line, last, shown))))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_by_itself_fits_best() {
        let of = |section| fit(section, "ORD-1234", "ord-1234");
        assert_eq!(of("is ORD-1234."), Some(Fit::Alone));
        assert_eq!(of("ORD-12345"), Some(Fit::Inside));
        assert_eq!(of("ORD-12345, ORD-1234"), Some(Fit::Alone));
        assert_eq!(of("ord-1234"), Some(Fit::Folded));
        assert_eq!(of("ORD-1235"), None);
    }

    #[test]
    fn a_text_is_found_as_json_has_it() {
        assert_eq!(spellings("a"), ["a"]);
        assert_eq!(spellings("é\n"), ["é\n", "é\\n", "\\u00e9\\n"]);
        assert!(spellings("").is_empty());
    }

    #[test]
    fn the_probe_is_in_one_line() {
        assert_eq!(probe("a\nlonger\nb"), "longer");
        assert_eq!(probe("\n"), "");
        assert_eq!(probe(&"ä".repeat(600)).len(), WHOLE);
    }
}

//! What a search finds, and the filter that limits a search.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension as _};
use serde_json::json;
use time::OffsetDateTime;

use super::fault::Fault;
use super::fill::MARK;

/// A section that a search found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Hit {
    /// The place among all hits, from 1.
    pub rank: usize,
    /// The file, by its path below the root.
    pub file: String,
    /// The first and the last line in the file, from 1.
    pub lines: (usize, usize),
    /// The index of the message in the conversation, from 0. `None` for an offloaded file that does not say which
    /// message it is.
    pub message: Option<usize>,
    /// Who speaks.
    pub role: String,
    /// The tools that the message calls or whose results it has, with commas between them.
    pub tool: Option<String>,
    /// How well the section fits: more is better. Scores of two queries cannot be compared.
    pub score: f64,
    /// The text of the section.
    pub text: String,
}

impl fmt::Display for Hit {
    /// Writes the place, and the text below it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.lines;
        let Self {
            rank,
            file,
            role,
            text,
            ..
        } = self;
        writeln!(f, "{rank}. {file}:{first}-{last} ({role})\n{text}")
    }
}

/// What a search looks at. The default looks at everything.
///
/// ```
/// use accp_memory::disk::index::Filter;
///
/// let filter = Filter { tool: Some("get_order".into()), ..Filter::default() };
/// # let _ = filter;
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// A file or a folder, by its path below the root; or the end of the path of a file.
    pub path: Option<String>,
    /// A tool that the message calls, or whose result it has.
    pub tool: Option<String>,
    /// Who speaks.
    pub role: Option<String>,
    /// The messages of the conversation, from 0.
    pub messages: Option<RangeInclusive<usize>>,
    /// The earliest time.
    pub from: Option<OffsetDateTime>,
    /// The latest time.
    pub to: Option<OffsetDateTime>,
    /// The files, by their paths below the root: those of one session, for example.
    pub files: Option<BTreeSet<String>>,
}

/// The condition that a filter sets for a block `b` of a file `f`.
pub(super) const FILTER: &str = "
    (:path IS NULL OR f.path = :path OR substr(f.path, 1, length(:path) + 1) = :path || '/'
        OR substr(f.path, -length(:path) - 1) = '/' || :path)
    AND (:tool IS NULL OR instr(b.tools, :tool) > 0)
    AND (:role IS NULL OR b.role = :role)
    AND (:first IS NULL OR b.message BETWEEN :first AND :last)
    AND (:from IS NULL OR b.time >= :from)
    AND (:to IS NULL OR b.time <= :to)
    AND (:files IS NULL OR f.path IN (SELECT value FROM json_each(:files)))";

impl Filter {
    /// Returns the values of [`FILTER`].
    pub(super) fn values(&self) -> [(&'static str, Box<dyn ToSql>); 8] {
        let seconds = |time: Option<OffsetDateTime>| time.map(OffsetDateTime::unix_timestamp);
        let bound = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
        let messages = self.messages.as_ref();
        let path = self
            .path
            .as_ref()
            .map(|path| path.trim_end_matches('/').to_owned());
        let tool = self.tool.as_ref().map(|tool| format!("{MARK}{tool}{MARK}"));
        let files = self.files.as_ref().map(|files| json!(files).to_string());
        [
            (":path", Box::new(path)),
            (":tool", Box::new(tool)),
            (":role", Box::new(self.role.clone())),
            (":first", Box::new(messages.map(|all| bound(*all.start())))),
            (":last", Box::new(messages.map(|all| bound(*all.end())))),
            (":from", Box::new(seconds(self.from))),
            (":to", Box::new(seconds(self.to))),
            (":files", Box::new(files)),
        ]
    }
}

/// A section that was chosen, and the part of it that is shown.
pub(super) struct Chosen {
    pub(super) section: i64,
    pub(super) score: f64,
    /// The lines and the text of the part; `None` if the whole section is shown.
    pub(super) part: Option<(usize, usize, String)>,
}

/// Makes a hit from each chosen section. The sections are in order, with the best first.
pub(super) fn hits(conn: &Connection, chosen: Vec<Chosen>) -> Result<Vec<Hit>, Fault> {
    let chosen = chosen.into_iter().enumerate();
    let hits = chosen.map(|(at, chosen)| hit(conn, at + 1, chosen));
    hits.filter_map(Result::transpose).collect()
}

fn hit(conn: &Connection, rank: usize, chosen: Chosen) -> Result<Option<Hit>, Fault> {
    let sql = "SELECT f.path, s.first, s.last, b.message, b.role, b.tools, s.text
        FROM section s JOIN block b ON b.id = s.block JOIN file f ON f.id = b.file WHERE s.id = ?1";
    let mut statement = conn.prepare_cached(sql)?;
    let hit = statement.query_row([chosen.section], |row| {
        let line = |at: usize| {
            row.get::<_, i64>(at)
                .map(|n| usize::try_from(n).unwrap_or(0))
        };
        let message: Option<i64> = row.get(3)?;
        let tools: String = row.get(5)?;
        let tools: Vec<_> = tools.split(MARK).filter(|tool| !tool.is_empty()).collect();
        let (first, last, text) = match chosen.part {
            Some(part) => part,
            None => (line(1)?, line(2)?, row.get(6)?),
        };
        Ok(Hit {
            rank,
            file: row.get(0)?,
            lines: (first, last),
            message: message.and_then(|number| usize::try_from(number).ok()),
            role: row.get(4)?,
            tool: (!tools.is_empty()).then(|| tools.join(", ")),
            score: chosen.score,
            text,
        })
    });
    Ok(hit.optional()?)
}

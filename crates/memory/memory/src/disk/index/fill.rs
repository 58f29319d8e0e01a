//! Brings the index up to date with the files.

use std::collections::BTreeMap;
use std::path::Path;

use accp_registry::Hash;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};

use super::fault::Fault;
use super::files::{self, Seen};
use super::schema;
use crate::archive::{Archive, ArchiveError, Archived, Section};
use crate::ranked::cut;
use crate::ranked::terms::Terms;

/// The mark between the names of tools, and before and behind them.
pub(super) const MARK: char = '\u{1f}';

/// The size that the index notes for a file that cannot be read. No file has this size, so each update tries to read
/// the file again.
const UNREAD: i64 = -2;

/// A file as the index knows it.
struct Known {
    id: i64,
    seen: Seen,
    grows: bool,
    /// How many bytes and lines are indexed.
    done: usize,
    lines: usize,
    digest: Vec<u8>,
    is_whole: bool,
}

impl Known {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let count = |at: usize| {
            row.get::<_, i64>(at)
                .map(|n| usize::try_from(n).unwrap_or(0))
        };
        Ok(Self {
            id: row.get(0)?,
            seen: Seen {
                path: row.get(1)?,
                bytes: row.get(2)?,
                changed: row.get(3)?,
            },
            grows: row.get(4)?,
            done: count(5)?,
            lines: count(6)?,
            digest: row.get(7)?,
            is_whole: row.get::<_, Option<String>>(8)?.is_none(),
        })
    }

    fn all(conn: &Connection) -> Result<BTreeMap<String, Self>, Fault> {
        let sql = "SELECT id, path, bytes, changed, grows, done, lines, digest, fault FROM file";
        let mut statement = conn.prepare_cached(sql)?;
        let all = statement.query_map((), Self::of)?;
        let all = all.map(|known| known.map(|known| (known.seen.path.clone(), known)));
        Ok(all.collect::<Result<_, _>>()?)
    }

    /// Returns whether the indexed part of the file is still its beginning.
    fn is_start_of(&self, bytes: &[u8]) -> bool {
        let start = bytes.get(..self.done);
        start.is_some_and(|start| Hash::of(start).as_bytes()[..] == self.digest[..])
    }
}

/// Adds new files and new ends of files. If a file was changed or removed, everything is read again.
pub(super) fn update(conn: &mut Connection, root: &Path) -> Result<(), Fault> {
    let seen = files::list(root)?;
    let known = Known::all(conn)?;
    let is_same = |seen: &Seen| {
        known
            .get(&seen.path)
            .is_some_and(|known| known.seen == *seen)
    };
    if known.len() == seen.len() && seen.iter().all(is_same) {
        return Ok(());
    }
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have added files while this one waited. An update by the old list would remove these files
    // again.
    let seen = files::list(root)?;
    if !add(&transaction, root, &seen)? {
        all(&transaction, root, &seen)?;
    }
    Ok(transaction.commit()?)
}

/// Reads everything again.
pub(super) fn rebuild(conn: &mut Connection, root: &Path) -> Result<(), Fault> {
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let seen = files::list(root)?;
    all(&transaction, root, &seen)?;
    Ok(transaction.commit()?)
}

fn all(conn: &Transaction<'_>, root: &Path, seen: &[Seen]) -> Result<(), Fault> {
    schema::clear(conn)?;
    for seen in seen {
        fresh(conn, root, seen)?;
    }
    Ok(())
}

/// Adds new files, and the new ends of files that grew. Returns `false` if everything has to be read again.
fn add(conn: &Transaction<'_>, root: &Path, all: &[Seen]) -> Result<bool, Fault> {
    // Another process may have added some of the files meanwhile, so the known files are read
    // again, inside the transaction.
    let mut known = Known::all(conn)?;
    for seen in all {
        let Some(known) = known.remove(&seen.path) else {
            fresh(conn, root, seen)?;
            continue;
        };
        if known.seen == *seen {
            continue;
        }
        let bytes = match files::read(root, &seen.path) {
            Ok(bytes) => bytes,
            // An earlier try could not read the file either, so nothing has changed.
            Err(_) if known.seen.bytes == UNREAD => continue,
            Err(_) => return Ok(false),
        };
        if !(known.grows && known.is_whole && known.is_start_of(&bytes)) {
            return Ok(false);
        }
        let mut file = File::begin(conn, known.id);
        (file.done, file.lines) = (known.done, known.lines);
        file.archive(&bytes)?;
        file.end(seen, true, &bytes)?;
    }
    Ok(known.is_empty())
}

/// Adds a file that is not in the index.
fn fresh(conn: &Transaction<'_>, root: &Path, seen: &Seen) -> Result<(), Fault> {
    let sql = "INSERT INTO file (path, bytes, changed, grows, done, lines, digest) VALUES (?1, 0, 0, 0, 0, 0, x'')";
    conn.prepare_cached(sql)?.execute([&seen.path])?;
    let mut file = File::begin(conn, conn.last_insert_rowid());
    let bytes = match files::read(root, &seen.path) {
        Ok(bytes) => bytes,
        Err(fault) => {
            file.faults.push(fault);
            let unread = Seen {
                bytes: UNREAD,
                ..seen.clone()
            };
            return file.end(&unread, false, &[]);
        }
    };
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4_096)]);
    let begins = |start: &str| {
        Archive::read(start)
            .next()
            .is_some_and(|first| !matches!(first, Err(ArchiveError::Stray { .. })))
    };
    let is_archive = files::is_archive(&seen.path);
    if is_archive || begins(&start) {
        file.archive(&bytes)?;
    } else {
        file.plain(&seen.path, &bytes)?;
    }
    file.end(seen, is_archive, &bytes)
}

/// A file that is being indexed.
struct File<'c> {
    conn: &'c Connection,
    id: i64,
    done: usize,
    lines: usize,
    faults: Vec<String>,
}

impl<'c> File<'c> {
    fn begin(conn: &'c Connection, id: i64) -> Self {
        Self {
            conn,
            id,
            done: 0,
            lines: 0,
            faults: Vec::new(),
        }
    }

    /// Adds the messages of an archive from `done` on.
    fn archive(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let (text, fault) = valid(bytes.get(self.done..).unwrap_or_default());
        if let Some(at) = fault {
            let at = self.done + at;
            self.faults.push(format!(
                "is not UTF-8 from byte {at} on; take it back from a copy"
            ));
        }
        let (before, above) = (self.done, self.lines);
        for section in Archive::read(text) {
            match section {
                Ok(section) => {
                    self.done = before + section.end;
                    // The closing fence takes the line after the text, so the next section begins
                    // below it.
                    self.lines = above + section.last + 1;
                    self.message(section, above)?;
                }
                Err(error) => self.faults.push(error.below(above).to_string()),
            }
        }
        Ok(())
    }

    fn message(&mut self, section: Section, above: usize) -> Result<(), Fault> {
        let Archived {
            number,
            role,
            tools,
            time,
            text,
        } = section.message;
        self.block(&Block {
            message: Some(number as i64),
            role,
            tools,
            time: time.map(time::OffsetDateTime::unix_timestamp),
            first: above + section.first,
            text: &text,
        })
    }

    /// Adds an offloaded file as one block.
    fn plain(&mut self, path: &str, bytes: &[u8]) -> Result<(), Fault> {
        if let (_, Some(at)) = valid(bytes) {
            self.faults.push(format!(
                "is not UTF-8 from byte {at} on; what can be read is indexed"
            ));
        }
        let (time, tools) = files::name(path).unzip();
        self.done = bytes.len();
        self.block(&Block {
            message: None,
            role: "tool".to_owned(),
            tools: tools.unwrap_or_default(),
            time,
            first: 1,
            text: &String::from_utf8_lossy(bytes),
        })
    }

    fn block(&mut self, block: &Block<'_>) -> Result<(), Fault> {
        let pieces = cut::pieces(block.text);
        let last = pieces.last().map_or(0, |piece| piece.lines.1);
        let names: String = block
            .tools
            .iter()
            .flat_map(|tool| [tool, "\u{1f}"])
            .collect();
        let sql = "INSERT INTO block (file, message, role, tools, time, first, last) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.conn.prepare_cached(sql)?.execute(params![
            self.id,
            block.message,
            block.role,
            format!("{MARK}{names}"),
            block.time,
            block.first as i64,
            (block.first + last) as i64,
        ])?;
        let id = self.conn.last_insert_rowid();
        let about = block.tools.join(" ");
        let mut all = Words::default();
        for piece in &pieces {
            let text = &block.text[piece.bytes.clone()];
            let mut words = Words::default();
            words.add(text);
            words.about(&about);
            let sql = "INSERT INTO section (block, first, last, start, words, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            self.conn.prepare_cached(sql)?.execute(params![
                id,
                (block.first + piece.lines.0) as i64,
                (block.first + piece.lines.1) as i64,
                piece.bytes.start as i64,
                words.count as i64,
                text,
            ])?;
            let section = self.conn.last_insert_rowid();
            words.write(self.conn, "words", section)?;
            all.plain.push_str(&words.plain);
            all.whole.push_str(&words.whole);
            all.about.push_str(&words.about);
            let sql = "INSERT INTO grams (rowid, text) VALUES (?1, ?2)";
            self.conn
                .prepare_cached(sql)?
                .execute(params![section, text])?;
        }
        if pieces.len() > 1 {
            all.write(self.conn, "spread", id)?;
        }
        Ok(())
    }

    /// Writes down how far the file is indexed.
    fn end(self, seen: &Seen, grows: bool, bytes: &[u8]) -> Result<(), Fault> {
        let digest = Hash::of(bytes.get(..self.done).unwrap_or_default());
        let fault = (!self.faults.is_empty()).then(|| self.faults.join("; "));
        let sql = "UPDATE file SET bytes = ?2, changed = ?3, grows = ?4, done = ?5, lines = ?6, digest = ?7, fault = ?8 WHERE id = ?1";
        self.conn.prepare_cached(sql)?.execute(params![
            self.id,
            seen.bytes,
            seen.changed,
            grows,
            self.done as i64,
            self.lines as i64,
            &digest.as_bytes()[..],
            fault,
        ])?;
        Ok(())
    }
}

/// A message or a file, and its place.
struct Block<'t> {
    message: Option<i64>,
    role: String,
    tools: Vec<String>,
    time: Option<i64>,
    first: usize,
    text: &'t str,
}

/// Words and identifiers, each with a space behind it.
#[derive(Default)]
struct Words {
    plain: String,
    whole: String,
    /// The words of the names of tools.
    about: String,
    /// The number of words.
    count: usize,
}

impl Words {
    fn add(&mut self, text: &str) {
        let terms = Terms::of(text).with_ends();
        self.count += terms.words.len();
        append(&mut self.plain, &terms.words);
        append(&mut self.whole, &terms.whole);
    }

    fn about(&mut self, names: &str) {
        let terms = Terms::of(names);
        append(&mut self.about, &terms.words);
        append(&mut self.whole, &terms.whole);
    }

    fn write(&self, conn: &Connection, table: &str, row: i64) -> Result<(), Fault> {
        let sql =
            format!("INSERT INTO {table} (rowid, plain, whole, about) VALUES (?1, ?2, ?3, ?4)");
        let values = params![row, self.plain, self.whole, self.about];
        conn.prepare_cached(&sql)?.execute(values)?;
        Ok(())
    }
}

fn append(out: &mut String, terms: &[String]) {
    for term in terms {
        out.push_str(term);
        out.push(' ');
    }
}

/// Returns the beginning of the bytes that is valid UTF-8, and the place of the first invalid byte, if there is one.
fn valid(bytes: &[u8]) -> (&str, Option<usize>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let end = error.valid_up_to();
            let text = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
            (text, Some(end))
        }
    }
}

/// Returns the files that are not indexed as a whole, and why.
pub(super) fn faults(conn: &Connection) -> Result<Vec<(String, String)>, Fault> {
    let sql = "SELECT path, fault FROM file WHERE fault IS NOT NULL ORDER BY path";
    let mut statement = conn.prepare_cached(sql)?;
    let all = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(all.collect::<Result<_, _>>()?)
}

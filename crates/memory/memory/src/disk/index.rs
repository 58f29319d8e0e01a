//! An index of archives and offloaded files. A search in the index finds messages and results that left the list.
//!
//! The files are the source of truth. The index is made from the files, is brought up to date with them, and is made
//! anew if its own file is torn.

mod exact;
mod excerpt;
mod fault;
mod files;
mod fill;
mod hit;
mod message;
mod schema;
mod words;

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use accp_store::files::{create_private, create_private_folder, private};
use rusqlite::{Connection, OpenFlags};

pub use fault::IndexError;
pub use hit::{Filter, Hit};

use fault::Fault;

/// A file that is not in the index, or not as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The path below the root.
    pub file: String,
    /// Why, and what helps.
    pub reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.reason)
    }
}

/// Finds words and exact texts in the files of `cache/conversations` and `cache/offloaded`.
///
/// The index is the file `cache/index.db`. It has each message as a whole, and in sections of 30 lines; neighbouring
/// sections share five lines. A query is plain text: no character has a special meaning. Several processes may use
/// one index; a process that writes waits for the others.
///
/// ```
/// use accp_memory::disk::index::{Filter, Index};
/// use accp_memory::{Archive, Archived};
///
/// # let root = tempfile::tempdir()?;
/// # let root = root.path();
/// let said = |number, text: &str| Archived {
///     number,
///     role: "tool".into(),
///     tools: vec!["get_order".into()],
///     time: None,
///     text: text.into(),
/// };
/// let all = [said(4, "order ORD-12345: 12 bags of rye"), said(9, "order ORD-12346: 12 bags of rye")];
/// std::fs::create_dir_all(root.join("cache/conversations"))?;
/// std::fs::write(root.join("cache/conversations/s_full.md"), Archive::text(&all))?;
///
/// let mut index = Index::open(root)?;
/// assert!(index.update()?.is_empty());
/// let hits = index.search("what is in ORD-12345?", &Filter::default(), 3)?;
/// assert_eq!((hits[0].message, hits[0].lines), (Some(4), (4, 4)));
/// assert_eq!(index.exact("2 bags", &Filter::default(), 3)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Index {
    conn: Connection,
    root: PathBuf,
}

impl Index {
    /// The time that a process waits for another one.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// Opens the index below a root. If the index is missing, torn or of another version, it is made anew from the
    /// files. Otherwise, call [`update`](Self::update) to bring it up to date.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, IndexError> {
        let root = root.as_ref().to_owned();
        let file = file(&root);
        let is_new = !file.exists();
        let opened = match connect(&file) {
            Ok(mut conn) if is_new => fill::update(&mut conn, &root).map(|()| conn),
            Err(fault) if fault.is_torn() => replaced(&root),
            opened => opened,
        };
        let conn = opened.map_err(|fault| fault.in_file(file.display().to_string()))?;
        Ok(Self { conn, root })
    }

    /// Makes the index below a root anew.
    pub fn rebuild(root: impl AsRef<Path>) -> Result<Self, IndexError> {
        let mut index = Self::open(root)?;
        index.healed(fill::rebuild)?;
        Ok(index)
    }

    /// Adds new files, and the new ends of archives. Makes the index anew if a file was changed or removed. Returns
    /// the files that the index does not have completely.
    pub fn update(&mut self) -> Result<Vec<Skipped>, IndexError> {
        let faults = self.healed(|conn, root| {
            fill::update(conn, root)?;
            fill::faults(conn)
        })?;
        let skipped = faults
            .into_iter()
            .map(|(file, reason)| Skipped { file, reason });
        Ok(skipped.collect())
    }

    /// Finds the sections that fit a query best, the best first. Identifiers such as `ORD-12345`, paths and numbers
    /// count as a whole, and words that stand near each other count more.
    pub fn search(
        &mut self,
        query: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Hit>, IndexError> {
        self.healed(|conn, _| hit::hits(conn, words::search(conn, query, filter, limit)?))
    }

    /// Finds the sections that have a text. First come those with exactly this text by itself, then those with this
    /// text inside a longer word, then those with the text in other upper or lower case. Of equal sections, the
    /// newest comes first.
    pub fn exact(
        &mut self,
        text: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Hit>, IndexError> {
        self.healed(|conn, _| hit::hits(conn, exact::search(conn, text, filter, limit)?))
    }

    /// Finds the sections of the message that a topic names, such as `message 12` or `## 12`, and those in `archive` first.
    /// Returns none if the topic does not name a message, or no archive has it.
    pub(crate) fn message(
        &mut self,
        topic: &str,
        archive: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Hit>, IndexError> {
        let Some(number) = message::named(topic) else {
            return Ok(Vec::new());
        };
        self.healed(|conn, _| {
            let chosen = message::search(conn, number, archive, filter, limit)?;
            hit::hits(conn, chosen)
        })
    }

    /// Does some work. If the index turns out to be torn, makes it anew and does the work again.
    fn healed<T>(
        &mut self,
        work: impl Fn(&mut Connection, &Path) -> Result<T, Fault>,
    ) -> Result<T, IndexError> {
        let result = match work(&mut self.conn, &self.root) {
            Err(fault) if fault.is_torn() => replaced(&self.root).and_then(|conn| {
                self.conn = conn;
                work(&mut self.conn, &self.root)
            }),
            result => result,
        };
        result.map_err(|fault| fault.in_file(file(&self.root).display().to_string()))
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

fn file(root: &Path) -> PathBuf {
    root.join("cache/index.db")
}

fn connect(file: &Path) -> Result<Connection, Fault> {
    if let Some(folder) = file.parent() {
        create_private_folder(folder).map_err(|source| in_folder(folder, source))?;
    }
    create_private(file).map_err(|source| in_folder(file, source))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut conn = Connection::open_with_flags(file, flags)?;
    conn.busy_timeout(Index::PATIENCE)?;
    conn.set_prepared_statement_cache_capacity(32);
    schema::prepare(&mut conn)?;
    Ok(conn)
}

/// Replaces a torn file. Only one process does so at a time; the next one finds a sound file.
fn replaced(root: &Path) -> Result<Connection, Fault> {
    let file = file(root);
    let name = root.join("cache/index.lock");
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    let lock = private(&mut options).open(&name);
    let lock = lock.map_err(|source| in_folder(&name, source))?;
    lock.lock().map_err(|source| in_folder(&name, source))?;
    match connect(&file) {
        Err(fault) if fault.is_torn() => remove(&file)?,
        Err(fault) => return Err(fault),
        Ok(mut conn) => match fill::rebuild(&mut conn, root) {
            // The tables were filled again, so the damage is gone.
            Ok(()) => return Ok(conn),
            Err(fault) if fault.is_torn() => remove(&file)?,
            Err(fault) => return Err(fault),
        },
    }
    let mut conn = connect(&file)?;
    fill::update(&mut conn, root)?;
    Ok(conn)
}

fn remove(file: &Path) -> Result<(), Fault> {
    for end in ["", "-journal", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        match fs::remove_file(&name) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(in_folder(Path::new(&name), source));
            }
            _ => {}
        }
    }
    Ok(())
}

fn in_folder(path: &Path, source: io::Error) -> Fault {
    Fault::Io {
        file: path.display().to_string(),
        source,
    }
}

//! A file of sessions, looked at and not changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use accp_recordings::{Unresolved, resolve};
use accp_registry::Registry;
use accp_runtime::session::{
    Entry, Options, Reference, Rules, Session, State, Stored, Time, Transmit,
};
use accp_runtime::{AgentId, Value};
use accp_store::{Driver, DriverError, SqliteStore, Store, StoreError, StoreErrorKind, Summary};
use serde_json::Value as Json;

use crate::outcome::Failure;
use crate::words;

/// A store that several hold in their hands.
pub(crate) type Shared = Arc<Mutex<dyn Store + Send>>;

/// The arguments that name one session of a file.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionArgs {
    /// The file, as `accp-store` keeps sessions in it
    pub(crate) file: PathBuf,
    /// The session; may be left out when the file holds one, or the host's side of one
    pub(crate) session: Option<String>,
}

impl SessionArgs {
    /// Opens the file and folds the session.
    pub(crate) fn open(&self) -> Result<Opened, Failure> {
        let mut store = open(&self.file)?;
        let summary = find(&mut store, &self.file, self.session.as_deref())?;
        let store: Shared = Arc::new(Mutex::new(store));
        let side = Side::open(&store, &summary.session)?;
        Ok(Opened {
            store,
            summary,
            side,
        })
    }
}

/// Opens a file to look at it.
pub(crate) fn open(path: &Path) -> Result<SqliteStore, Failure> {
    let found = path.metadata().map_err(Failure::at(path))?;
    if found.is_dir() {
        return Err(Failure::at(path)(std::io::ErrorKind::IsADirectory.into()));
    }
    Ok(SqliteStore::open_read_only(path)?)
}

/// The session of this name; without a name the only one, or the only one of a host.
pub(crate) fn find(
    store: &mut SqliteStore,
    path: &Path,
    name: Option<&str>,
) -> Result<Summary, Failure> {
    let mut all = store.list()?;
    let file = path.display();
    let names: Vec<_> = all.iter().map(|summary| summary.session.as_str()).collect();
    let known = match names.len() {
        0 => "it holds none".to_owned(),
        1..=20 => {
            let shown: Vec<_> = names.iter().map(|name| words::name(name)).collect();
            format!("it holds {}", shown.join(", "))
        }
        count => format!("it holds {count}; `accp session list {file}` shows them"),
    };
    let at = if let Some(name) = name {
        names.iter().position(|found| *found == name)
    } else {
        // `launch@dev` is the side of a member of `launch`.
        let is_member = |name: &str| {
            let host = name.rsplit_once('@').map(|(host, _)| host);
            host.is_some_and(|host| names.contains(&host))
        };
        let mut hosts = (0..names.len()).filter(|at| !is_member(names[*at]));
        hosts.next().filter(|_| hosts.next().is_none())
    };
    match (at, name) {
        (Some(at), _) => Ok(all.swap_remove(at)),
        (None, Some(name)) => Err(Failure::Misuse(format!(
            "{file} holds no session `{name}`: {known}"
        ))),
        (None, None) => Err(Failure::Misuse(format!("{file}: name a session: {known}"))),
    }
}

/// A session of a file, folded.
pub(crate) struct Opened {
    pub(crate) store: Shared,
    pub(crate) summary: Summary,
    pub(crate) side: Side,
}

/// The side of a session that a store keeps, on a link that leads nowhere.
pub(crate) struct Side {
    driver: Driver<Shared, Vec<Transmit>>,
}

impl Side {
    /// Folds what is stored under this name. Nothing is carried out, so nothing is changed.
    pub(crate) fn open(store: &Shared, name: &str) -> Result<Self, Failure> {
        let mut store = Arc::clone(store);
        let stored = store.load(name)?.unwrap_or_default();
        let link = Vec::new();
        if is_host(&stored) {
            let (rules, options) = (Rules::default(), options(name, "accp")?);
            let driver = Driver::open_host(store, link, options, rules, Time::default())?;
            return Ok(Self { driver });
        }
        let (session, agent) = name.rsplit_once('@').unwrap_or_default();
        let options = options(session, agent).map_err(|_| {
            Failure::Input(format!(
                "`{name}` is a member's side of a session, and its name does not say which: expected \
                 `session@agent`, as the driver of accp-store writes it"
            ))
        })?;
        let driver = Driver::open_member(store, link, options, Time::default())?;
        Ok(Self { driver })
    }

    pub(crate) fn is_host(&self) -> bool {
        self.driver.session().is_host()
    }

    /// What the log folds to.
    pub(crate) fn state(&self) -> &State {
        self.driver.session().state()
    }

    fn options(&self) -> &Options {
        self.driver.session().options()
    }

    /// The schemas in force.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.options().registry
    }

    /// Whose side it is: `host`, `member dev`.
    pub(crate) fn whose(&self) -> String {
        if self.is_host() {
            "host".to_owned()
        } else {
            format!("member {}", self.options().agent)
        }
    }

    /// What a reference leads to; `None` when the bytes are with another side.
    pub(crate) fn read(
        &mut self,
        reference: &Reference<'_>,
    ) -> Result<Option<Value<'static>>, DriverError> {
        self.driver.read(reference)
    }

    /// The value with what its references lead to in the place of the references.
    pub(crate) fn resolve(&mut self, value: &Value<'_>) -> Result<Value<'static>, Unresolved> {
        resolve(value, &mut |key| {
            let Some(reference) = Reference::parse(key) else {
                return Ok(None);
            };
            match self.read(&reference) {
                Ok(Some(found)) => Ok(Some(found)),
                Ok(None) => Err(format!("the bytes of ${reference} are not here")),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}

fn options(session: &str, agent: &str) -> Result<Options, Failure> {
    let agent = AgentId::new(agent.to_owned());
    let agent = agent.map_err(|error| Failure::Misuse(error.to_string()))?;
    let registry = Arc::new(Registry::shared().clone());
    Ok(Options::new(session, agent, registry))
}

/// Whether a host wrote this: its log begins with the first entry of all, and what it folds
/// holds what only a judge keeps. A member starts from a fold without that.
fn is_host(stored: &Stored) -> bool {
    match &stored.snapshot {
        Some(snapshot) => serde_json::from_str::<Json>(&snapshot.text)
            .is_ok_and(|fold| fold.get("judge").is_some_and(|judge| !judge.is_null())),
        None => stored
            .entries
            .first()
            .is_some_and(|entry| entry.position == 1),
    }
}

/// What a host's log folds to.
pub(crate) fn fold(name: &str, stored: &Stored) -> Result<State, Failure> {
    let (rules, now) = (Rules::default(), Time::default());
    let session = Session::restore_host(options(name, "accp")?, rules, stored, now);
    let session = session.map_err(|error| DriverError::Restore(name.to_owned(), error))?;
    Ok(session.state().clone())
}

/// Entries that are read at once.
const PIECE: usize = 1_000;

/// A way through a log, from a position to its end.
pub(crate) struct Log<'l> {
    store: Shared,
    session: &'l str,
    next: u64,
    piece: std::vec::IntoIter<Entry>,
}

impl<'l> Log<'l> {
    /// From a position on.
    pub(crate) fn new(store: &Shared, session: &'l str, from: u64) -> Self {
        Self {
            store: Arc::clone(store),
            session,
            next: from,
            piece: Vec::new().into_iter(),
        }
    }
}

impl Iterator for Log<'_> {
    type Item = Result<Entry, StoreError>;

    /// The next entry that has its text.
    fn next(&mut self) -> Option<Self::Item> {
        if self.piece.as_slice().is_empty() {
            match self.store.entries(self.session, self.next, PIECE) {
                Ok(piece) => self.piece = piece.into_iter(),
                Err(error) => {
                    self.next = u64::MAX;
                    return Some(Err(error));
                }
            }
        }
        let entry = self.piece.next()?;
        self.next = entry.position.saturating_add(1);
        Some(Ok(entry))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error.kind() {
            // The file is at fault.
            StoreErrorKind::Corrupt | StoreErrorKind::Version | StoreErrorKind::Foreign => {
                Self::Input(text)
            }
            _ => Self::Misuse(text),
        }
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Store(error) => error.into(),
            error => Self::Input(error.to_string()),
        }
    }
}

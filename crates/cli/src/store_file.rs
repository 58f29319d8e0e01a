//! Reads a file of sessions without changing it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use accp_frame::{AgentId, DecodeError, DynamicFrame, Value};
use accp_recordings::{Unresolved, resolve};
use accp_registry::{Hash, Registry};
use accp_session::{Options, Reference, Rules, Session, State, Stored, Time, Transmit};
use accp_store::{Driver, DriverError, SideId, SqliteStore, Store, StoreError, Summary};

use crate::registries::merged;
use crate::words;
use accp_console::outcome::Failure;

/// A store that several owners share.
pub(crate) type SharedStore = Arc<Mutex<dyn Store + Send>>;

/// The arguments that name one session of a file.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionArgs {
    /// The file, a store of `accp-store`
    pub(crate) file: PathBuf,
    /// The session; may be left out if the file holds only one session, or only one host's side
    pub(crate) session: Option<String>,
    #[command(flatten)]
    registry: StoreRegistryArgs,
}

/// The registry for a store that has lost its own.
#[derive(Debug, clap::Args)]
pub(crate) struct StoreRegistryArgs {
    /// The registry of the session, if the store lacks it; stores keep the registries of their sessions
    #[arg(long, value_name = "PATH")]
    registry: Vec<PathBuf>,
}

impl StoreRegistryArgs {
    /// Loads the registry, and the standard profiles that it does not replace.
    pub(crate) fn load(&self) -> Result<Option<Registry>, Failure> {
        let registry = (!self.registry.is_empty()).then(|| merged(&self.registry));
        Ok(registry.transpose()?.map(Registry::with_profiles))
    }
}

impl SessionArgs {
    /// Opens the file and folds the session.
    pub(crate) fn open(&self) -> Result<OpenedSession, Failure> {
        let mut store = open(&self.file)?;
        let summary = find(&mut store, &self.file, self.session.as_deref())?;
        let store: SharedStore = Arc::new(Mutex::new(store));
        let registry = self.registry.load()?;
        let side = StoredSide::open(&store, &summary.side, summary.host, registry.as_ref())?;
        Ok(OpenedSession {
            store,
            summary,
            side,
        })
    }
}

/// Opens a file read-only.
pub(crate) fn open(path: &Path) -> Result<SqliteStore, Failure> {
    let found = path.metadata().map_err(Failure::at(path))?;
    if found.is_dir() {
        return Err(Failure::at(path)(std::io::ErrorKind::IsADirectory.into()));
    }
    // Opening a pipe would block until another process writes to it.
    if !found.is_file() {
        let path = path.display();
        return Err(Failure::Misuse(format!(
            "{path} is not a regular file: name the file of a store"
        )));
    }
    // The system says why a file cannot be read, and SQLite does not.
    drop(File::open(path).map_err(Failure::at(path))?);
    Ok(SqliteStore::open_read_only(path)?)
}

/// The sides of a file.
pub(crate) struct Sides {
    /// The sides, with the host's side first in each session.
    pub(crate) sound: Vec<Summary>,
    /// The errors of the sides whose rows are damaged.
    pub(crate) damaged: Vec<StoreError>,
}

/// Lists all sides of a file.
pub(crate) fn list(store: &mut impl Store) -> Result<Sides, StoreError> {
    let (mut sound, mut damaged) = (Vec::new(), Vec::new());
    for side in store.survey()? {
        match side {
            Ok(summary) => sound.push(summary),
            Err(error) => damaged.push(error),
        }
    }
    sound.sort_by(|a, b| {
        let key = |summary: &Summary| (summary.side.session().to_owned(), !summary.host);
        key(a).cmp(&key(b))
    });
    Ok(Sides { sound, damaged })
}

/// Finds the session with this name. Without a name, finds the only session, or the session of the only host's side.
pub(crate) fn find(
    store: &mut SqliteStore,
    path: &Path,
    name: Option<&str>,
) -> Result<Summary, Failure> {
    let Sides {
        sound: mut all,
        damaged,
    } = list(store)?;
    let file = path.display();
    let names: Vec<_> = all.iter().map(Summary::name).collect();
    let mut known = match names.len() {
        0 => "it holds none".to_owned(),
        1..=20 => {
            let shown: Vec<_> = names.iter().map(|name| words::name(name)).collect();
            format!("it holds {}", shown.join(", "))
        }
        count => format!("it holds {count}; `accp session list {file}` shows them"),
    };
    if !damaged.is_empty() {
        let count = words::counted(damaged.len() as u64, "side");
        let more = format!("; besides, {count} damaged: `accp session verify {file}` says where");
        known.push_str(&more);
    }
    let at = if let Some(name) = name {
        // Only one side can have this full text, but several sessions may have this name.
        let whole = all.iter().position(|side| side.side.to_string() == name);
        let mut called = (0..all.len()).filter(|at| names[*at] == name);
        match (whole, called.next(), called.next()) {
            (None, Some(first), Some(second)) => {
                return Err(Failure::Misuse(format!(
                    "{file}: `{name}` is a name of two sides: say `{}` or `{}`",
                    all[first].side, all[second].side
                )));
            }
            (whole, called, _) => whole.or(called),
        }
    } else if !damaged.is_empty() {
        None
    } else if all.len() == 1 {
        Some(0)
    } else {
        let mut hosts = (0..all.len()).filter(|at| all[*at].host);
        hosts.next().filter(|_| hosts.next().is_none())
    };
    match (at, name) {
        (Some(at), _) => Ok(all.swap_remove(at)),
        (None, Some(name)) => {
            let is_it = |error: &StoreError| {
                let side = error.side();
                side.is_some_and(|side| side.session() == name || side.to_string() == name)
            };
            Err(damaged.into_iter().find(is_it).map_or_else(
                || Failure::Misuse(format!("{file} holds no session `{name}`: {known}")),
                Failure::from,
            ))
        }
        (None, None) => Err(Failure::Misuse(format!("{file}: name a session: {known}"))),
    }
}

/// A session that was opened from a file, with its folded state.
pub(crate) struct OpenedSession {
    pub(crate) store: SharedStore,
    pub(crate) summary: Summary,
    pub(crate) side: StoredSide,
}

/// A stored side of a session, without a link to its peers.
pub(crate) struct StoredSide {
    driver: Driver<SharedStore, Vec<Transmit>>,
    /// Registries that were in force earlier in the log.
    before: Vec<Arc<Registry>>,
}

impl StoredSide {
    /// Opens a stored side and folds its state. This commits and sends nothing, so the file does not change.
    /// `registry` is used if the store does not have the schemas of its session.
    pub(crate) fn open(
        store: &SharedStore,
        side: &SideId,
        host: bool,
        registry: Option<&Registry>,
    ) -> Result<Self, Failure> {
        let (store, link, now) = (Arc::clone(store), Vec::new(), Time::default());
        // The store has the schemas in force. They replace the schemas in these options.
        let options = options(side, registry.cloned().unwrap_or_default())?;
        let driver = if host {
            Driver::open_host(store, link, options, Rules::default(), now)?
        } else {
            Driver::open_member(store, link, options, now)?
        };
        Ok(Self {
            driver,
            before: vec![Arc::new(registry.unwrap_or(Registry::shared()).clone())],
        })
    }

    pub(crate) fn is_host(&self) -> bool {
        self.driver.session().is_host()
    }

    /// Returns the folded state of the log.
    pub(crate) fn state(&self) -> &State {
        self.driver.session().state()
    }

    fn options(&self) -> &Options {
        self.driver.session().options()
    }

    /// Returns the schemas in force. If the session has never named schemas, these are the standard profiles.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        let in_force = Some(&self.options().registry);
        let in_force = in_force.filter(|registry| registry.schemas().len() > 0);
        in_force.unwrap_or(&self.before[0])
    }

    /// Adds registries that were in force earlier, to read the frames of that time.
    pub(crate) fn add_registries(&mut self, kept: &[(Hash, String)]) {
        let kept = kept.iter();
        let kept = kept.filter_map(|(_, json)| Registry::from_json(json).ok());
        self.before.extend(kept.map(Arc::new));
    }

    /// Reads a frame with the schemas in force. If this fails, tries earlier schemas.
    ///
    /// # Errors
    /// Returns the error that the schemas in force give.
    pub(crate) fn message<'t>(&self, text: &'t str) -> Result<DynamicFrame<'t>, DecodeError> {
        let read = |registry| words::message(text, registry);
        let before = |error| {
            let mut others = self.before.iter();
            others.find_map(|registry| read(registry).ok()).ok_or(error)
        };
        read(self.registry()).or_else(before)
    }

    /// Names the side: `host`, `member dev`.
    pub(crate) fn owner(&self) -> String {
        if self.is_host() {
            "host".to_owned()
        } else {
            format!("member {}", self.options().agent)
        }
    }

    /// Reads the value of a reference; `None` if only another side has the bytes.
    pub(crate) fn read(
        &mut self,
        reference: &Reference<'_>,
    ) -> Result<Option<Value<'static>>, DriverError> {
        self.driver.read(reference)
    }

    /// Replaces the references in a value with their values. If a reference cannot be read, because another side has
    /// the bytes or because they have expired, the value stays as it is.
    ///
    /// # Errors
    /// When the store is damaged or fails.
    pub(crate) fn put_values(&mut self, value: &mut Value<'_>) -> Result<(), DriverError> {
        let mut failed = None;
        let found = resolve(value, &mut |key| {
            let Some(reference) = Reference::parse(key) else {
                return Ok(None);
            };
            match self.read(&reference) {
                Ok(Some(found)) => Ok(Some(found)),
                Ok(None) | Err(DriverError::Reference(..)) => Err(String::new()),
                Err(error) => {
                    failed = Some(error);
                    Err(String::new())
                }
            }
        });
        if let Ok(found) = found {
            *value = found;
        }
        failed.map_or(Ok(()), Err)
    }

    /// Returns the value with its references replaced by their values. The error names a reference that cannot be
    /// read.
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

pub(crate) fn options(side: &SideId, registry: Registry) -> Result<Options, Failure> {
    let agent = AgentId::new(side.agent().to_owned());
    let agent = agent.map_err(|error| Failure::Misuse(error.to_string()))?;
    Ok(Options::new(side.session(), agent, Arc::new(registry)))
}

/// Folds the log of a host, and returns the state.
pub(crate) fn fold(
    side: &SideId,
    stored: &Stored,
    registry: Option<&Registry>,
) -> Result<State, Failure> {
    let (rules, now) = (Rules::default(), Time::default());
    let options = options(side, registry.cloned().unwrap_or_default())?;
    let session = Session::restore_host(options, rules, stored, now);
    let session = session.map_err(|error| DriverError::Restore(side.clone(), error))?;
    Ok(session.state().clone())
}

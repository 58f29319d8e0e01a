//! The sessions of a hub: each comes into memory with its first use, and leaves it when nobody uses it.

mod erase;
mod leases;
mod store;
mod stored;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use accp_client::{Error, Hub};
use accp_frame::{AgentId, Registry};
use accp_session::{Cold, Options, Outbound, Posted, Rules, Scope};
use accp_store::{Committer, HubFile, SideId, StoreError, Summary};
use tokio::sync::OnceCell;

use crate::answer::Refused;
use crate::config::{Config, Numbering};
use crate::rates::Rate;
use leases::Leases;
use store::SharedStore;

/// What the hub expects when it refuses to begin a session named `.` or `..`. Older sessions of these names go on.
const LOST_NAMES: &str =
    "a session with another name than `.` and `..`, which an address would lose";

/// The sessions of a hub, on a store that they share.
pub struct Sessions {
    store: SharedStore,
    /// The file of the store, if this hub has it for itself.
    file: Option<Arc<HubFile>>,
    /// Set if other hubs share the store, too.
    leases: Option<Leases>,
    options: Options,
    rules: Rules,
    numbering: Numbering,
    creates: bool,
    most: usize,
    /// How many sessions each caller may begin.
    begins: Rate,
    open: Mutex<HashMap<String, Slot>>,
}

/// A session in memory, or one that is being opened.
struct Slot {
    hub: Arc<OnceCell<Hub>>,
    used: Instant,
    /// When the hub asked for its lease of the session.
    leased: Instant,
}

impl Sessions {
    /// Makes the sessions of a store with the standard profiles. `open` is called again when the store
    /// has failed. For a SQLite file, [`in_file`](Self::in_file) keeps other hubs out.
    ///
    /// # Errors
    /// The error of `open`.
    ///
    /// # Panics
    /// When [`Config::agent`] is not the name of an agent.
    pub fn new(
        config: &Config,
        open: impl Fn() -> Result<Committer, StoreError> + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        #[expect(clippy::expect_used, reason = "documented")]
        let agent = AgentId::new(config.agent.clone()).expect("Config::agent is a name");
        let options = Options::new(String::new(), agent, Arc::new(Registry::standard()));
        Ok(Self {
            store: SharedStore::new(open)?,
            file: None,
            leases: None,
            options,
            rules: Rules {
                members: config.limits.agents,
                ..Rules::default()
            },
            numbering: config.numbering,
            creates: config.create,
            most: config.limits.sessions,
            begins: Rate::new(f64::from(config.limits.sessions_per_minute) / 60.0, 60.0),
            open: Mutex::default(),
        })
    }

    /// Makes the sessions of a SQLite file, which is made if there is none. No other hub on this machine can have
    /// the file meanwhile ([`HubFile`]): the error of another hub names the address of this hub.
    ///
    /// # Errors
    /// [`Busy`](accp_store::StoreErrorKind::Busy) when another hub has the file, and the errors of opening it.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn in_file(config: &Config, file: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = Arc::new(HubFile::take(file, &format!("at {}", config.listen))?);
        let opened = Arc::clone(&file);
        let sessions = Self::new(config, move || Committer::new(opened.open()?))?;
        Ok(Self {
            file: Some(file),
            ..sessions
        })
    }

    /// Tells other hubs on this machine where the hub listens, with the port that the system has chosen.
    pub(crate) fn listen(&self, address: SocketAddr) {
        if let Some(file) = &self.file
            && let Err(error) = file.names_holder(&format!("at {address}"))
        {
            // The name is for people who start a second hub. The lock holds without it.
            tracing::warn!(%error, "the lock file does not say where the hub listens");
        }
    }

    /// Sets the options of the sessions, such as a registry. The names of the sessions and of the hub's agent stay.
    pub fn with_options(mut self, options: Options) -> Self {
        let agent = self.options.agent;
        self.options = Options { agent, ..options };
        self
    }

    /// Sets the rules of the sessions. [`Config::numbering`] still sets the numbering, and
    /// [`Limits::agents`](crate::Limits::agents) the bound on members.
    pub fn with_rules(mut self, rules: Rules) -> Self {
        let members = self.rules.members;
        self.rules = Rules { members, ..rules };
        self
    }

    /// Shares the store with other hubs, which reach this hub under this name.
    pub(crate) fn shared(&mut self, name: String, lease: Duration) {
        self.leases = Some(Leases::new(name, lease));
    }

    /// Returns a session. Opens it if necessary, or begins it if `by` names a peer that may do that. `is_plain` says
    /// that the peer knows only the draft. Refuses a session that another hub runs with [`Refused::there`].
    pub(crate) async fn get(
        &self,
        session: &str,
        is_plain: bool,
        by: Option<&str>,
    ) -> Result<Hub, Refused> {
        if self.is_open(session) == Some(false) {
            // The lease ended while the process was stopped, so another hub may run the session
            // now. In that case the renewal ends the session here.
            self.renew().await?;
        }
        let cell = self.slot(session)?;
        let hub = cell
            .get_or_try_init(|| self.begin(session, is_plain, by))
            .await;
        if hub.is_err() {
            self.drop_unused(session, &cell);
        }
        hub.cloned()
    }

    /// Returns a session that is in the store.
    pub(crate) async fn existing(&self, session: &str) -> Result<Hub, Refused> {
        if self.is_open(session).is_none() && !self.is_stored(session).await? {
            return Err(Refused::unknown_session());
        }
        self.get(session, false, None).await
    }

    /// Returns the registry of a session, or the one that it would begin with.
    pub(crate) async fn registry(&self, session: &str) -> Result<Arc<Registry>, Refused> {
        if !self.has_begun(session).await? {
            return Ok(Arc::clone(&self.options.registry));
        }
        let hub = self.get(session, false, None).await?;
        let registry = hub.registry().await;
        registry.map_err(|error| Refused::client(&error))
    }

    /// Returns whether a session has begun.
    pub(crate) async fn has_begun(&self, session: &str) -> Result<bool, Refused> {
        Ok(self.is_open(session).is_some() || self.is_stored(session).await?)
    }

    /// Returns whether a frame may begin this session: it has not begun, and the settings let frames begin sessions.
    pub(crate) async fn may_begin(&self, session: &str) -> Result<bool, Refused> {
        Ok(self.creates && !self.has_begun(session).await?)
    }

    /// Refuses a session that has not begun, and that this agent cannot begin because of a name.
    pub(crate) async fn check_names(&self, session: &str, agent: &str) -> Result<(), Refused> {
        // If the store fails, the request meets the error again, and reports it.
        if !self.may_begin(session).await.unwrap_or_default() {
            return Ok(());
        }
        check_name(session)?;
        // Without a frame, only the agent is judged.
        let empty = |_: &Registry| Cow::Borrowed(b"".as_slice());
        self.refusal_of_first(session, agent, empty).map(drop)
    }

    /// Judges the frame with which an agent would begin a session, and begins nothing. `frame` makes the frame, and gets
    /// the registry of the hub. Returns the refusal if the session would refuse the frame.
    pub(crate) fn refusal_of_first<'f>(
        &self,
        session: &str,
        agent: &str,
        frame: impl FnOnce(&Registry) -> Cow<'f, [u8]>,
    ) -> Result<Option<Posted>, Refused> {
        let (options, rules) = self.settings(session, false);
        let frame = frame(&options.registry);
        let refusal = Hub::refusal_of_first(options, rules, agent, &frame);
        refusal.map_err(|error| Refused::client(&error))
    }

    /// Judges the hello with which an agent would begin a session, and begins nothing.
    pub(crate) fn check_first_hello(
        &self,
        session: &str,
        is_plain: bool,
        hello: &str,
    ) -> Result<(), Refused> {
        let (options, rules) = self.settings(session, is_plain);
        let checked = Hub::check_first_hello(options, rules, hello);
        checked.map_err(|error| Refused::client(&error))
    }

    /// Judges the frame with which an agent in this process would begin a session, and begins nothing.
    pub(crate) fn check_first_frame(
        &self,
        session: &str,
        agent: &str,
        first: &Outbound<'_>,
    ) -> Result<(), Error> {
        let (options, rules) = self.settings(session, false);
        Hub::check_first_frame(options, rules, agent, first)
    }

    /// Returns the address of the hub that runs a session of the store, if that is another hub.
    pub(crate) async fn elsewhere(&self, session: &str) -> Result<Option<String>, Refused> {
        if self.leases.is_none() || self.is_open(session) == Some(true) {
            return Ok(None);
        }
        match self.existing(session).await {
            Err(Refused {
                there: Some(there), ..
            }) => Ok(Some(there)),
            // Other errors are not reported here. The request meets them again and reports them.
            _ => Ok(None),
        }
    }

    /// Forgets which hub runs a session, because that hub has not answered. The next use asks the store again.
    pub(crate) fn forget(&self, session: &str) {
        if let Some(leases) = &self.leases {
            leases.forget(session);
        }
    }

    /// Returns the sessions of the store, and the names of those whose rows are damaged.
    pub(crate) async fn list(&self) -> Result<(Vec<Summary>, Vec<String>), Refused> {
        let sides = self.store.ask(|store| store.survey()).await;
        let sides = sides.map_err(|error| Refused::store(&error))?;
        let (mut sound, mut damaged) = (Vec::new(), Vec::new());
        for side in sides {
            match side {
                Ok(summary) if summary.host => sound.push(summary),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!("a side in the store is damaged: {error}");
                    // The row cannot say whether the side is a host's.
                    let side = error.side();
                    let side = side.filter(|side| side.agent() == self.options.agent.as_str());
                    damaged.extend(side.map(|side| side.session().to_owned()));
                }
            }
        }
        Ok((sound, damaged))
    }

    /// Checks that the store can keep data.
    pub(crate) async fn probe(&self) -> Result<(), StoreError> {
        self.store.ask(|store| store.probe()).await
    }

    /// Returns how many sessions are in memory.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Removes sessions from memory that nobody has used for this time.
    pub(crate) async fn rest(&self, idle: Duration) {
        let released = {
            let (mut open, mut gone) = (self.lock(), Vec::new());
            open.retain(|session, slot| {
                let is_used = Arc::strong_count(&slot.hub) > 1
                    || slot.hub.get().is_some_and(|hub| hub.handles() > 1);
                let stays = is_used || slot.used.elapsed() < idle;
                if !stays {
                    gone.push(self.side(session));
                }
                stays
            });
            // The release is queued here, so a session that is opened later takes its lease after the release.
            let leases = self.leases.as_ref();
            leases.map(|leases| leases.release(&self.store, gone))
        };
        if let Some(released) = released {
            released.await;
        }
    }

    /// Returns how often leases are to be renewed, if the hub has any.
    pub(crate) fn renews(&self) -> Option<Duration> {
        self.leases.as_ref().map(|leases| leases.time / 3)
    }

    /// Renews the leases of the sessions in memory. A session that another hub may run by now ends here.
    pub(crate) async fn renew(&self) -> Result<(), Refused> {
        let Some(leases) = &self.leases else {
            return Ok(());
        };
        let asked = Instant::now();
        let sessions = self.open_sessions();
        let sides = sessions.iter().map(|session| self.side(session)).collect();
        let lost = leases.renew(&self.store, sides).await;
        let lost = lost.map_err(|error| Refused::store(&error))?;
        let lost: HashSet<&str> = lost.iter().map(SideId::session).collect();
        let mut open = self.lock();
        for session in &sessions {
            if !lost.contains(session.as_str()) {
                if let Some(slot) = open.get_mut(session) {
                    slot.leased = slot.leased.max(asked);
                }
            } else if open.get(session).is_some_and(|slot| slot.leased < asked)
                && let Some(slot) = open.remove(session)
                && let Some(hub) = slot.hub.get()
            {
                tracing::warn!(session, "another hub has taken a session");
                hub.end("another hub runs the session now");
            }
        }
        Ok(())
    }

    /// Gives up the leases of all sessions, because this hub ends.
    pub(crate) async fn release(&self) {
        if let Some(leases) = &self.leases {
            let open: Vec<_> = self.lock().drain().collect();
            let sides = open.iter().map(|(session, _)| self.side(session)).collect();
            leases.release(&self.store, sides).await;
        }
    }

    fn slot(&self, session: &str) -> Result<Arc<OnceCell<Hub>>, Refused> {
        let mut open = self.lock();
        let now = Instant::now();
        if let Some(slot) = open.get_mut(session) {
            slot.used = now;
            if slot.hub.get().is_some_and(Hub::has_ended) {
                (slot.hub, slot.leased) = (Arc::default(), now);
            }
            return Ok(Arc::clone(&slot.hub));
        }
        if open.len() >= self.most {
            return Err(Refused::busy("fewer sessions at a time"));
        }
        let hub = Arc::default();
        let slot = Slot {
            hub: Arc::clone(&hub),
            used: now,
            leased: now,
        };
        open.insert(session.to_owned(), slot);
        Ok(hub)
    }

    /// Removes a session that could not be opened.
    fn drop_unused(&self, session: &str, cell: &Arc<OnceCell<Hub>>) {
        let mut open = self.lock();
        let is_same = |slot: &Slot| Arc::ptr_eq(&slot.hub, cell) && slot.hub.get().is_none();
        if open.get(session).is_some_and(is_same) {
            open.remove(session);
        }
    }

    async fn begin(&self, session: &str, is_plain: bool, by: Option<&str>) -> Result<Hub, Refused> {
        if !self.is_stored(session).await? {
            let by = by.filter(|_| self.creates);
            let by = by.ok_or_else(Refused::unknown_session)?;
            check_name(session)?;
            let taken = self.begins.try_take(by, 1.0);
            taken.map_err(Refused::too_many_sessions)?;
        }
        if let Some(leases) = &self.leases {
            let taken = leases.take(&self.store, &self.side(session)).await;
            if let Some(there) = taken.map_err(|error| Refused::store(&error))? {
                return Err(Refused::elsewhere(there));
            }
        }
        let (options, rules) = self.settings(session, is_plain);
        let committer = self.store.committer();
        let opened = Hub::open_on(&committer, options.clone(), rules.clone()).await;
        let opened = match opened {
            // The store may have failed for good, so it is opened anew.
            Err(Error::Ended(why)) => {
                tracing::warn!(session, why, "a session cannot be opened");
                let committer = self.store.after(&committer).await;
                let committer = committer.map_err(|error| Refused::store(&error))?;
                Hub::open_on(&committer, options, rules).await
            }
            opened => opened,
        };
        opened.map_err(|error| Refused::store(&error))
    }

    /// Returns the options and the rules with which a session begins.
    fn settings(&self, session: &str, is_plain: bool) -> (Options, Rules) {
        let scope = match (self.numbering, is_plain) {
            (Numbering::Shared, _) | (Numbering::Auto, true) => Scope::Shared,
            (Numbering::Sender, _) | (Numbering::Auto, false) => Scope::Sender,
        };
        let options = Options {
            session: session.to_owned(),
            ..self.options.clone()
        };
        let rules = Rules {
            scope,
            ..self.rules.clone()
        };
        (options, rules)
    }

    /// Returns what the store knows about the value under a key. The key has no tier.
    pub(crate) async fn announced(
        &self,
        session: &str,
        key: &str,
    ) -> Result<Option<Cold>, Refused> {
        let (side, key) = (self.side(session), key.to_owned());
        let kept = self.store.ask(move |store| store.cold(&side, &key)).await;
        let kept = kept.map_err(|error| Refused::store(&error))?;
        Ok(kept.map(|kept| kept.value))
    }

    /// Returns `None` if the session is not in memory, else whether its lease is certain to be valid.
    pub(crate) fn is_open(&self, session: &str) -> Option<bool> {
        let open = self.lock();
        let slot = open.get(session)?;
        slot.hub.get()?;
        let leases = self.leases.as_ref();
        Some(leases.is_none_or(|leases| slot.leased.elapsed() < leases.time))
    }

    fn open_sessions(&self) -> Vec<String> {
        let open = self.lock();
        let open = open.iter().filter(|(_, slot)| slot.hub.get().is_some());
        open.map(|(session, _)| session.clone()).collect()
    }

    /// Returns the host's side of a session.
    fn side(&self, session: &str) -> SideId {
        SideId::new(session, self.options.agent.as_str())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Slot>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses to begin a session with a name to which no address leads: clients of HTTP resolve these parts of a path.
fn check_name(session: &str) -> Result<(), Refused> {
    if matches!(session, "." | "..") {
        return Err(Refused::invalid(LOST_NAMES));
    }
    Ok(())
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("open", &self.len())
            .finish_non_exhaustive()
    }
}

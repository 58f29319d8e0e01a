//! The sessions of a hub: each comes into memory with its first use, and leaves it when nobody uses it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use accp_client::{Error, Hub};
use accp_runtime::session::{Options, Rules, Scope};
use accp_runtime::{AgentId, Registry};
use accp_session::Cold;
use accp_store::{Committer, EraseError, Plan, SideId, Store, StoreError, Summary, Wanted};
use tokio::sync::OnceCell;

use crate::answer::Refused;
use crate::config::{Config, Numbering};

type OpenStore = dyn Fn() -> Result<Committer, StoreError> + Send + Sync;

/// The sessions of a hub, on a store that they share.
pub struct Sessions {
    open_store: Box<OpenStore>,
    committer: Mutex<Committer>,
    options: Options,
    rules: Rules,
    numbering: Numbering,
    creates: bool,
    most: usize,
    open: Mutex<HashMap<String, Slot>>,
}

/// A session in memory, or on its way there.
struct Slot {
    hub: Arc<OnceCell<Hub>>,
    used: Instant,
}

impl Sessions {
    /// Makes the sessions of a store with the standard profiles. `open` is called again when the store
    /// has failed.
    ///
    /// # Errors
    /// The error of `open`.
    ///
    /// # Panics
    /// When [`Config::agent`] is no name of an agent.
    pub fn new(
        config: &Config,
        open: impl Fn() -> Result<Committer, StoreError> + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        #[expect(clippy::expect_used, reason = "documented")]
        let agent = AgentId::new(config.agent.clone()).expect("Config::agent is a name");
        let options = Options::new(String::new(), agent, Arc::new(Registry::standard()));
        Ok(Self {
            committer: Mutex::new(open()?),
            open_store: Box::new(open),
            options,
            rules: Rules::default(),
            numbering: config.numbering,
            creates: config.create,
            most: config.limits.sessions,
            open: Mutex::default(),
        })
    }

    /// Sets the options of the sessions: a registry of your own, a token counter. Their session and
    /// agent stay.
    pub fn with_options(mut self, options: Options) -> Self {
        let agent = self.options.agent;
        self.options = Options { agent, ..options };
        self
    }

    /// Sets the rules of the sessions. The numbering is that of [`Config::numbering`].
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Returns a session, which is opened or begun if it has to be. `is_plain` says that who begins it
    /// knows the draft alone.
    pub(crate) async fn get(&self, session: &str, is_plain: bool) -> Result<Hub, Refused> {
        check_name(session)?;
        let cell = self.slot(session)?;
        let hub = cell.get_or_try_init(|| self.begin(session, is_plain)).await;
        if hub.is_err() {
            self.drop_unused(session, &cell);
        }
        hub.cloned()
    }

    /// Returns a session that is in the store.
    pub(crate) async fn existing(&self, session: &str) -> Result<Hub, Refused> {
        check_name(session)?;
        if !self.is_open(session) && !self.is_stored(session).await? {
            return Err(Refused::unknown_session());
        }
        self.get(session, false).await
    }

    /// Returns the sessions of the store.
    pub(crate) async fn list(&self) -> Result<Vec<Summary>, Refused> {
        let sides = self.ask(|store| store.list()).await?;
        Ok(sides.into_iter().filter(|side| side.host).collect())
    }

    /// Asks the store something, to see whether it is there.
    pub(crate) async fn check(&self) -> Result<(), Refused> {
        self.ask(|store| store.sides("")).await.map(drop)
    }

    /// Returns how many sessions are in memory.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Takes sessions out of memory that nobody has used for this time.
    pub(crate) fn rest(&self, idle: Duration) {
        self.lock().retain(|_, slot| {
            let is_used = Arc::strong_count(&slot.hub) > 1
                || slot.hub.get().is_some_and(|hub| hub.handles() > 1);
            is_used || slot.used.elapsed() < idle
        });
    }

    fn slot(&self, session: &str) -> Result<Arc<OnceCell<Hub>>, Refused> {
        let mut open = self.lock();
        if let Some(slot) = open.get_mut(session) {
            slot.used = Instant::now();
            if slot.hub.get().is_some_and(Hub::has_ended) {
                slot.hub = Arc::default();
            }
            return Ok(Arc::clone(&slot.hub));
        }
        if open.len() >= self.most {
            return Err(Refused::busy("fewer sessions at a time"));
        }
        let hub = Arc::default();
        let slot = Slot {
            hub: Arc::clone(&hub),
            used: Instant::now(),
        };
        open.insert(session.to_owned(), slot);
        Ok(hub)
    }

    /// Forgets a session that could not be opened.
    fn drop_unused(&self, session: &str, cell: &Arc<OnceCell<Hub>>) {
        let mut open = self.lock();
        let is_same = |slot: &Slot| Arc::ptr_eq(&slot.hub, cell) && slot.hub.get().is_none();
        if open.get(session).is_some_and(is_same) {
            open.remove(session);
        }
    }

    async fn begin(&self, session: &str, is_plain: bool) -> Result<Hub, Refused> {
        if !self.creates && !self.is_stored(session).await? {
            return Err(Refused::unknown_session());
        }
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
        let committer = self.committer();
        let opened = Hub::open_on(&committer, options.clone(), rules.clone()).await;
        let opened = match opened {
            // The store may have failed for good: it is opened anew.
            Err(Error::Ended(why)) => {
                tracing::warn!(session, why, "the store is opened again");
                let committer = self.reopen(&committer)?;
                Hub::open_on(&committer, options, rules).await
            }
            opened => opened,
        };
        opened.map_err(|error| Refused::store(&error))
    }

    /// Erases data of a session, and ends the session, whose memory still has it: it begins anew from
    /// the store with its next use.
    pub(crate) async fn erase(
        &self,
        session: &str,
        wanted: Wanted,
        dry_run: bool,
    ) -> Result<Plan, Refused> {
        check_name(session)?;
        let (options, rules) = (self.options.clone(), self.rules.clone());
        let name = session.to_owned();
        let make = move |store: &mut dyn Store| match Plan::make(
            store, &name, &wanted, &options, &rules,
        ) {
            Err(EraseError::Store(error)) => Err(error),
            made => Ok(made),
        };
        // Nobody is disturbed by what cannot be done.
        let plan = self.ask(make.clone()).await??;
        if dry_run {
            return Ok(plan);
        }
        let erased = self.committer().interrupt(session, move |store| {
            let planned = make(store)?;
            if let Ok(plan) = &planned {
                plan.carry_out(store)?;
            }
            Ok(planned)
        });
        let erased = erased.await;
        let slot = self.lock().remove(session);
        if let Some(slot) = slot {
            // Somebody may be opening the session as it was before.
            let opened = slot.hub.get_or_try_init(|| async { Err(()) }).await;
            if let Ok(hub) = opened {
                hub.end("data of the session was erased: connect again");
            }
        }
        erased
            .map_err(|error| Refused::store(&error))?
            .map_err(Refused::from)
    }

    /// Returns what the store knows of the value under a key, without its tier.
    pub(crate) async fn announced(
        &self,
        session: &str,
        key: &str,
    ) -> Result<Option<Cold>, Refused> {
        let side = SideId::new(session, self.options.agent.as_str());
        let key = key.to_owned();
        let kept = self.ask(move |store| store.cold(&side, &key)).await?;
        Ok(kept.map(|kept| kept.value))
    }

    fn is_open(&self, session: &str) -> bool {
        let open = self.lock();
        open.get(session)
            .is_some_and(|slot| slot.hub.get().is_some())
    }

    async fn is_stored(&self, session: &str) -> Result<bool, Refused> {
        let side = SideId::new(session, self.options.agent.as_str());
        let summary = self.ask(move |store| store.summary(&side)).await?;
        Ok(summary.is_some())
    }

    async fn ask<T: Send + 'static>(
        &self,
        ask: impl Fn(&mut dyn accp_store::Store) -> Result<T, StoreError>
        + Send
        + Sync
        + Clone
        + 'static,
    ) -> Result<T, Refused> {
        let committer = self.committer();
        if let Ok(answer) = committer.ask(ask.clone()).await {
            return Ok(answer);
        }
        let committer = self.reopen(&committer)?;
        let answer = committer.ask(ask).await;
        answer.map_err(|error| Refused::store(&error))
    }

    fn committer(&self) -> Committer {
        self.committer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Opens the store again, unless somebody has done so since `failed` was in use.
    fn reopen(&self, failed: &Committer) -> Result<Committer, Refused> {
        let mut committer = self
            .committer
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if committer.is(failed) {
            *committer = (self.open_store)().map_err(|error| Refused::store(&error))?;
        }
        Ok(committer.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Slot>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names that a session may have that begins over a network: they stand in a URL and in a reference.
fn check_name(session: &str) -> Result<(), Refused> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !session.is_empty() && session.len() <= 128 && session.chars().all(is_fine) {
        Ok(())
    } else {
        Err(Refused::invalid(
            "a session of 1 to 128 letters, digits, `_`, `-` and `.`",
        ))
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("open", &self.len())
            .finish_non_exhaustive()
    }
}

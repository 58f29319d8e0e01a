//! The agents for which clients come, each with its tasks as far as they were read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use accp_client::{Agent, Agents, Error, Principal};
use accp_frame::Registry;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use crate::board::Board;
use crate::log::Log;

/// The tasks of an agent, which several requests share.
pub(crate) struct Tasks {
    pub(crate) log: Log,
    pub(crate) board: tokio::sync::Mutex<Board>,
}

/// What is open for an agent.
#[derive(Default)]
struct Opened {
    tasks: Option<Arc<Tasks>>,
    /// The agent, once somebody has said something for it.
    agent: Option<Agent>,
}

struct Place {
    opened: tokio::sync::Mutex<Opened>,
    /// Held by who sends a message.
    turn: tokio::sync::Mutex<()>,
    /// When somebody came last.
    used: Mutex<Instant>,
    /// The requests that are here. It changes while the map of places is locked.
    visits: AtomicUsize,
    /// What ends the place, once something is open.
    end: OnceLock<AbortHandle>,
}

type Open = Mutex<HashMap<(String, String), Arc<Place>>>;

/// The places of all agents for which clients have come.
pub(crate) struct Places<A> {
    agents: A,
    idle: Duration,
    open: Arc<Open>,
}

/// A request at the place of its agent.
pub(crate) struct Visit<'p, A> {
    places: &'p Places<A>,
    pub(crate) who: &'p Principal,
    place: Arc<Place>,
}

impl<A: Agents> Places<A> {
    pub(crate) fn new(agents: A, idle: Duration) -> Self {
        Self {
            agents,
            idle,
            open: Arc::default(),
        }
    }

    /// Comes to the place of an agent. Nothing opens by that.
    pub(crate) fn visit<'p>(&'p self, who: &'p Principal) -> Visit<'p, A> {
        let now = Instant::now();
        let mut open = lock(&self.open);
        let place = open.entry(key(who)).or_insert_with(|| {
            Arc::new(Place {
                opened: <_>::default(),
                turn: <_>::default(),
                used: Mutex::new(now),
                visits: AtomicUsize::new(0),
                end: OnceLock::new(),
            })
        });
        *lock(&place.used) = now;
        place.visits.fetch_add(1, Ordering::Relaxed);
        Visit {
            places: self,
            who,
            place: Arc::clone(place),
        }
    }
}

impl<A: Agents> Visit<'_, A> {
    /// Returns the tasks of the agent, without opening it if the session is here. `None`: the agent is not in
    /// the session, or the session has not begun.
    pub(crate) async fn tasks(&self) -> Result<Option<Arc<Tasks>>, Error> {
        let mut opened = self.place.opened.lock().await;
        if let Some(tasks) = &opened.tasks {
            if tasks.log.position().await.is_ok() {
                return Ok(Some(Arc::clone(tasks)));
            }
            // The session was opened anew, and has other tasks if data of it was erased.
            *opened = Opened::default();
        }
        let Some(log) = self.log(&mut opened).await? else {
            return Ok(None);
        };
        let board = <_>::default();
        let tasks = Arc::new(Tasks { log, board });
        opened.tasks = Some(Arc::clone(&tasks));
        self.stays();
        Ok(Some(tasks))
    }

    async fn log(&self, opened: &mut Opened) -> Result<Option<Log>, Error> {
        let agents = &self.places.agents;
        if opened.agent.is_none() && !agents.has_begun(self.who).await? {
            return Ok(None);
        }
        let Some(hub) = agents.hub(self.who).await? else {
            return Ok(Some(Log::Agent(self.open(opened).await?)));
        };
        let name = self.who.agent().to_owned();
        let member = hub.look(move |session| session.state().member_of(&name));
        Ok(member.await?.map(|_| Log::Hub(hub)))
    }

    /// Waits until nobody else sends a message for the agent. One that comes twice at once is found by the second.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.place.turn.lock().await
    }

    /// Returns the agent, and opens it if it is not open.
    pub(crate) async fn agent(&self) -> Result<Agent, Error> {
        let mut opened = self.place.opened.lock().await;
        self.open(&mut opened).await
    }

    async fn open(&self, opened: &mut Opened) -> Result<Agent, Error> {
        if let Some(agent) = &opened.agent
            && agent.look(|_| ()).await.is_ok()
        {
            return Ok(agent.clone());
        }
        // The log tells what became of the tasks, so the frames themselves need no handler.
        let agent = self.places.agents.agent(self.who).await?;
        opened.agent = Some(agent.clone());
        self.stays();
        Ok(agent)
    }

    /// Returns the registry of the session, without opening an agent if that can be.
    pub(crate) async fn registry(&self) -> Result<Arc<Registry>, Error> {
        let tasks = self.place.opened.lock().await.tasks.clone();
        if let Some(tasks) = tasks
            && let Ok(registry) = tasks.log.registry().await
        {
            return Ok(registry);
        }
        self.places.agents.registry(self.who).await
    }

    /// Keeps the place for later requests, until nobody uses it or the right is over of who has opened it.
    fn stays(&self) {
        self.place.end.get_or_init(|| {
            let ends = ends(
                Arc::downgrade(&self.places.open),
                key(self.who),
                Arc::downgrade(&self.place),
                self.who.beyond_its_request(),
                self.places.idle,
            );
            tokio::spawn(ends).abort_handle()
        });
    }
}

/// Ends a place in time.
async fn ends(
    open: Weak<Open>,
    key: (String, String),
    place: Weak<Place>,
    who: Principal,
    idle: Duration,
) {
    tokio::select! {
        _ = who.over() => {}
        () = rests(&place, idle) => {}
    }
    if let (Some(open), Some(place)) = (open.upgrade(), place.upgrade()) {
        remove(&open, &key, &place);
    }
}

/// Waits until nobody has used a place for this time.
async fn rests(place: &Weak<Place>, idle: Duration) {
    while let Some(used) = place.upgrade().map(|place| *lock(&place.used)) {
        match used.checked_add(idle) {
            Some(until) if until <= Instant::now() => return,
            Some(until) => sleep_until(until).await,
            None => std::future::pending().await,
        }
    }
}

fn remove(open: &Open, key: &(String, String), place: &Arc<Place>) {
    let mut open = lock(open);
    if open.get(key).is_some_and(|other| Arc::ptr_eq(other, place)) {
        open.remove(key);
    }
}

fn key(who: &Principal) -> (String, String) {
    (who.session().to_owned(), who.agent().to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<A> Drop for Visit<'_, A> {
    /// A place where nothing was opened leaves nothing behind.
    fn drop(&mut self) {
        let mut open = lock(&self.places.open);
        let visits = self.place.visits.fetch_sub(1, Ordering::Relaxed);
        if visits == 1 && self.place.end.get().is_none() {
            open.remove(&key(self.who));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(end) = self.end.get() {
            end.abort();
        }
    }
}

//! The places of a server, one for each agent for which a client has come.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use accp_client::{Agents, Principal};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{
    SessionId, SessionManager as _, StreamableHttpServerConfig, StreamableHttpService,
};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use crate::seat::Seat;
use crate::server::Server;

/// Sessions of MCP that an agent has at a time. One more ends the oldest.
const SESSIONS: usize = 16;

/// The MCP endpoint of one agent. An MCP session of one agent is unknown to all others.
pub(crate) type Endpoint = StreamableHttpService<Server, LocalSessionManager>;

/// Where the requests for one agent are served.
pub(crate) struct Place {
    seat: Arc<Seat>,
    endpoint: Endpoint,
    manager: Arc<LocalSessionManager>,
    used: Mutex<Used>,
}

/// Who uses a place.
struct Used {
    /// The sessions of MCP, the oldest first, and the right by which each was used last.
    sessions: VecDeque<(SessionId, Arc<str>)>,
    /// The rights by which clients were here, each with the task that waits for its end.
    rights: BTreeMap<Arc<str>, AbortHandle>,
    /// When somebody was here last.
    since: Instant,
}

impl Place {
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns whether there is this session of MCP.
    pub(crate) async fn has(&self, session: &SessionId) -> bool {
        self.manager.sessions.read().await.contains_key(session)
    }

    /// Notes by which right a session of MCP is used, and ends the oldest if they are too many.
    async fn uses(&self, session: SessionId, right: &Arc<str>) {
        let oldest = {
            let there = self.manager.sessions.read().await;
            let mut used = self.used();
            used.sessions.retain(|(known, _)| there.contains_key(known));
            let known = used.sessions.iter_mut();
            match known.into_iter().find(|(known, _)| *known == session) {
                Some((_, last)) => *last = Arc::clone(right),
                None if there.contains_key(&session) => {
                    used.sessions.push_back((session, Arc::clone(right)));
                }
                None => {}
            }
            let has_room = used.sessions.len() <= SESSIONS;
            (!has_room).then(|| used.sessions.pop_front()).flatten()
        };
        if let Some((oldest, _)) = oldest {
            self.end_session(&oldest).await;
        }
    }

    /// Ends a session of MCP. Its calls have some seconds to end by themselves.
    async fn end_session(&self, session: &SessionId) {
        if let Err(error) = self.manager.close_session(session).await {
            tracing::debug!(%error, "a session of MCP has ended by itself");
        }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether somebody is here: a request, or a client with a session of MCP.
    fn is_in_use(place: &Arc<Self>) -> bool {
        // The place itself and its endpoint hold the seat, too.
        Arc::strong_count(place) > 1 || Arc::strong_count(&place.seat) > 2
    }

    /// Returns when the place ends if nobody comes.
    fn ends(place: &Arc<Self>, idle: Duration) -> Instant {
        let since = if Self::is_in_use(place) {
            Instant::now()
        } else {
            place.used().since
        };
        since
            + if place.seat.is_open() {
                idle
            } else {
                idle.min(UNOPENED)
            }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let used = self.used.get_mut().unwrap_or_else(PoisonError::into_inner);
        used.rights.values().for_each(AbortHandle::abort);
    }
}

#[derive(Default)]
struct Places {
    all: BTreeMap<(String, String), Arc<Place>>,
    /// True while a task ends the places that nobody uses.
    are_tidied: bool,
}

/// The time for which a place stays where nothing was opened: a request may still be there.
const UNOPENED: Duration = Duration::from_secs(10);

/// The places of all agents that clients use.
pub(crate) struct Desks<A> {
    agents: Arc<A>,
    config: StreamableHttpServerConfig,
    idle: Duration,
    places: Mutex<Places>,
    /// Told when somebody comes to a new place.
    comes: Arc<Notify>,
}

impl<A: Agents> Desks<A> {
    pub(crate) fn new(agents: A, config: StreamableHttpServerConfig, idle: Duration) -> Self {
        Self {
            agents: Arc::new(agents),
            config,
            idle,
            places: Mutex::default(),
            comes: Arc::default(),
        }
    }

    /// Returns the place of an agent, which stays for as long as somebody who has come to it has the right. It
    /// opens nothing: the server does when a client begins.
    pub(crate) fn place(self: &Arc<Self>, who: &Principal) -> Arc<Place> {
        let mut places = self.lock();
        let place = places.all.entry(key(who));
        let place = place.or_insert_with(|| {
            self.comes.notify_one();
            Arc::new(self.make(who))
        });
        let place = Arc::clone(place);
        let mut used = place.used();
        used.since = Instant::now();
        let right: Arc<str> = Arc::from(who.counted_as());
        let waits = || self.ends_with(who.beyond_its_request(), Arc::clone(&right));
        let rights = &mut used.rights;
        rights.entry(Arc::clone(&right)).or_insert_with(waits);
        drop(used);
        if !places.are_tidied {
            places.are_tidied = true;
            tokio::spawn(tidy(Arc::downgrade(self)));
        }
        place
    }

    /// Gives a place back after a request, which has used this session of MCP. A place where nothing was opened
    /// leaves nothing behind.
    pub(crate) async fn leave(
        &self,
        who: &Principal,
        place: Arc<Place>,
        session: Option<SessionId>,
    ) {
        if let Some(session) = session {
            place.uses(session, &Arc::from(who.counted_as())).await;
        }
        let mut places = self.lock();
        place.used().since = Instant::now();
        drop(place);
        let key = key(who);
        let is_unused = |place: &Arc<Place>| !Place::is_in_use(place) && !place.seat.is_open();
        if places.all.get(&key).is_some_and(is_unused) {
            places.all.remove(&key);
        }
    }

    /// Waits until a right is over, and ends what is used by it alone.
    fn ends_with(self: &Arc<Self>, who: Principal, right: Arc<str>) -> AbortHandle {
        let desks = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            who.over().await;
            let place = desks
                .upgrade()
                .and_then(|desks| desks.without(&who, &right));
            if let Some((place, sessions)) = place {
                for session in sessions {
                    place.end_session(&session).await;
                }
            }
        });
        task.abort_handle()
    }

    /// Takes a right from a place, and the place away if nobody has another. Returns the sessions of MCP that
    /// were used by the right.
    fn without(&self, who: &Principal, right: &Arc<str>) -> Option<(Arc<Place>, Vec<SessionId>)> {
        let mut places = self.lock();
        let place = Arc::clone(places.all.get(&key(who))?);
        let mut used = place.used();
        used.rights.remove(right);
        if used.rights.is_empty() {
            places.all.remove(&key(who));
        }
        let of_it = |(_, last): &(SessionId, Arc<str>)| last == right;
        let (over, others) = used.sessions.drain(..).partition(of_it);
        used.sessions = others;
        drop(used);
        let over: VecDeque<_> = over;
        let over = over.into_iter().map(|(session, _)| session);
        Some((place, over.collect()))
    }

    fn make(&self, who: &Principal) -> Place {
        let seat = Seat::new(Arc::clone(&self.agents), who.beyond_its_request());
        let seat = Arc::new(seat);
        let manager = Arc::<LocalSessionManager>::default();
        let served = Arc::clone(&seat);
        let endpoint = StreamableHttpService::new(
            move || Ok(Server::new(Arc::clone(&served))),
            Arc::clone(&manager),
            self.config.clone(),
        );
        Place {
            seat,
            endpoint,
            manager,
            used: Mutex::new(Used {
                sessions: VecDeque::new(),
                rights: BTreeMap::new(),
                since: Instant::now(),
            }),
        }
    }

    /// Ends the places that nobody has used for long. Returns when the next of them may end.
    fn end_idle(&self) -> Option<Instant> {
        let mut places = self.lock();
        let now = Instant::now();
        places
            .all
            .retain(|_, place| Place::ends(place, self.idle) > now);
        let next = places
            .all
            .values()
            .map(|place| Place::ends(place, self.idle));
        let next = next.min();
        places.are_tidied = next.is_some();
        next
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the places that nobody uses for long, until there is none.
async fn tidy<A: Agents>(desks: Weak<Desks<A>>) {
    while let Some(here) = desks.upgrade() {
        let Some(next) = here.end_idle() else {
            return;
        };
        let comes = Arc::clone(&here.comes);
        // The server may end meanwhile.
        drop(here);
        tokio::select! {
            () = sleep_until(next) => {}
            () = comes.notified() => {}
        }
    }
}

fn key(who: &Principal) -> (String, String) {
    (who.session().to_owned(), who.agent().to_owned())
}

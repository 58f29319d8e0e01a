//! The places of a server, one for each agent for which a client has come.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use accp_client::{Agents, Principal};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{
    SessionId, SessionManager as _, StreamableHttpServerConfig, StreamableHttpService,
};
use tokio::time::Instant;

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
    /// The sessions of MCP, the oldest first, and when somebody was here last.
    used: Mutex<(VecDeque<SessionId>, Instant)>,
}

impl Place {
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Notes that a session of MCP has begun, and ends the oldest if they are too many.
    pub(crate) async fn begins(&self, session: &str) {
        let oldest = {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.0.push_back(session.into());
            (used.0.len() > SESSIONS)
                .then(|| used.0.pop_front())
                .flatten()
        };
        if let Some(oldest) = oldest
            && let Err(error) = self.manager.close_session(&oldest).await
        {
            tracing::debug!(%error, "a session of MCP has ended by itself");
        }
    }

    fn touch(&self) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.1 = Instant::now();
    }

    /// Returns whether somebody is here: a request, or a client with a session of MCP.
    fn is_in_use(place: &Arc<Self>) -> bool {
        // The place itself and its endpoint hold the seat, too.
        Arc::strong_count(place) > 1 || Arc::strong_count(&place.seat) > 2
    }

    fn rests_since(&self) -> Instant {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// The places of all agents that clients use.
pub(crate) struct Desks<A> {
    agents: Arc<A>,
    config: StreamableHttpServerConfig,
    idle: Duration,
    places: Mutex<BTreeMap<(String, String), Arc<Place>>>,
}

impl<A: Agents> Desks<A> {
    pub(crate) fn new(agents: A, config: StreamableHttpServerConfig, idle: Duration) -> Self {
        Self {
            agents: Arc::new(agents),
            config,
            idle,
            places: Mutex::default(),
        }
    }

    /// Returns the place of an agent. It opens nothing: the server does when a client begins.
    pub(crate) fn place(&self, who: &Principal) -> Arc<Place> {
        let mut places = self.lock();
        let key = key(who);
        places.retain(|other, place| {
            *other == key || Place::is_in_use(place) || place.rests_since().elapsed() < self.idle
        });
        let place = places
            .entry(key)
            .or_insert_with(|| Arc::new(self.make(who)));
        place.touch();
        Arc::clone(place)
    }

    /// Gives a place back after a request. One where nothing was opened leaves nothing behind.
    pub(crate) fn leave(&self, who: &Principal, place: Arc<Place>) {
        let mut places = self.lock();
        drop(place);
        let key = key(who);
        let is_unused = |place: &Arc<Place>| !Place::is_in_use(place) && !place.seat.is_open();
        if places.get(&key).is_some_and(is_unused) {
            places.remove(&key);
        }
    }

    fn make(&self, who: &Principal) -> Place {
        let (agents, who) = (Arc::clone(&self.agents), who.beyond_its_request());
        let seat = Arc::new(Seat::new(who.session().to_owned(), move || {
            let (agents, who) = (Arc::clone(&agents), who.clone());
            Box::pin(async move { agents.agent(&who).await })
        }));
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
            used: Mutex::new((VecDeque::new(), Instant::now())),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), Arc<Place>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(who: &Principal) -> (String, String) {
    (who.session().to_owned(), who.agent().to_owned())
}

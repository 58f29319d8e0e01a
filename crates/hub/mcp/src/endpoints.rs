//! The MCP endpoints of a server, one for each agent that a client uses.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use accp_client::{Agents, Principal};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{
    SessionId, SessionManager as _, StreamableHttpServerConfig, StreamableHttpService,
};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use crate::connection::Connection;
use crate::request::McpSession;
use crate::server::Server;
use crate::tools::MAX_WAIT;

/// How many MCP sessions an agent has at a time. A further session ends the one that was used longest ago.
const SESSIONS: usize = 16;
/// The shortest time after which an MCP session ends if nothing comes from its client and nothing goes there. A call
/// that waits as long as a call may wait is silent for that time, so this time is longer.
const SILENT: Duration = Duration::from_secs(MAX_WAIT + 60);

/// The MCP service of one agent. An MCP session of one agent is unknown to all others.
pub(crate) type McpService = StreamableHttpService<Server, LocalSessionManager>;

/// The MCP endpoint of one agent.
pub(crate) struct AgentEndpoint {
    connection: Arc<Connection>,
    service: McpService,
    manager: Arc<LocalSessionManager>,
    used: Mutex<Usage>,
    /// The MCP sessions that have calls: true once a client ends the session.
    calls: Mutex<BTreeMap<SessionId, watch::Sender<bool>>>,
}

/// Who uses an endpoint.
struct Usage {
    /// The sessions of MCP, each with the right under which it was used last. The session that was used longest ago
    /// comes first.
    sessions: VecDeque<(SessionId, Arc<str>)>,
    rights: BTreeMap<Arc<str>, Right>,
    /// When the endpoint was used last.
    since: Instant,
}

/// The right of a client.
struct Right {
    /// Waits until the right is over. Then ends the MCP sessions that were last used under this right.
    task: AbortHandle,
    is_over: Arc<AtomicBool>,
}

impl AgentEndpoint {
    pub(crate) fn service(&self) -> &McpService {
        &self.service
    }

    /// Returns whether this MCP session exists.
    pub(crate) async fn has(&self, session: &SessionId) -> bool {
        self.manager.sessions.read().await.contains_key(session)
    }

    /// Returns the state of an MCP session, for one of the session's calls.
    pub(crate) async fn session(&self, session: &SessionId) -> McpSession {
        let there = self.manager.sessions.read().await;
        let mut calls = self.calls();
        calls.retain(|known, _| there.contains_key(known));
        let new = || watch::Sender::new(false);
        McpSession(if there.contains_key(session) {
            let ended = calls.entry(session.clone()).or_insert_with(new);
            ended.subscribe()
        } else {
            new().subscribe()
        })
    }

    /// Gives up the calls of an MCP session, which its client ends. An answer that comes later waits in the inbox of
    /// the agent: the calls could not hand it to their client any more.
    pub(crate) fn give_up(&self, session: &SessionId) {
        if let Some(ended) = self.calls().remove(session) {
            ended.send_replace(true);
        }
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<SessionId, watch::Sender<bool>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the right under which an MCP session is used. If there are too many sessions, ends the one that was used
    /// longest ago: many clients leave their session without an end, and another client may use an older one.
    async fn note_use(&self, session: SessionId, right: &Arc<str>) {
        let unused = {
            let there = self.manager.sessions.read().await;
            let mut used = self.used();
            used.sessions
                .retain(|(known, _)| *known != session && there.contains_key(known));
            if there.contains_key(&session) {
                used.sessions.push_back((session, Arc::clone(right)));
            }
            let has_room = used.sessions.len() <= SESSIONS;
            (!has_room).then(|| used.sessions.pop_front()).flatten()
        };
        if let Some((unused, _)) = unused {
            self.end_session(&unused).await;
        }
    }

    /// Ends an MCP session. Its calls have some seconds to end by themselves.
    async fn end_session(&self, session: &SessionId) {
        if let Err(error) = self.manager.close_session(session).await {
            tracing::debug!(%error, "an MCP session has ended by itself");
        }
    }

    fn used(&self) -> MutexGuard<'_, Usage> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a request or an MCP session uses the endpoint.
    fn is_in_use(endpoint: &Arc<Self>) -> bool {
        // The list of endpoints holds each endpoint once. The endpoint and its service hold the
        // connection. Any further reference belongs to a request or an MCP session.
        Arc::strong_count(endpoint) > 1 || Arc::strong_count(&endpoint.connection) > 2
    }

    /// Returns when the endpoint ends if no request comes.
    fn expires(endpoint: &Arc<Self>, idle: Duration) -> Instant {
        let idle = if endpoint.connection.is_open() {
            idle
        } else {
            idle.min(UNOPENED)
        };
        let unused = endpoint.used().since + idle;
        if Self::is_in_use(endpoint) {
            // An MCP session ends by itself, and nothing tells the endpoint when it does.
            unused.max(Instant::now() + idle.min(UNOPENED))
        } else {
            unused
        }
    }
}

impl Drop for AgentEndpoint {
    fn drop(&mut self) {
        let used = self.used.get_mut().unwrap_or_else(PoisonError::into_inner);
        used.rights.values().for_each(|right| right.task.abort());
    }
}

#[derive(Default)]
struct Entries {
    all: BTreeMap<(String, String), Arc<AgentEndpoint>>,
    /// True while a task removes unused endpoints.
    is_swept: bool,
}

/// How long an endpoint is kept if its agent was not opened. A request may still use the endpoint.
const UNOPENED: Duration = Duration::from_secs(10);

/// The endpoints of all agents that clients use.
pub(crate) struct Endpoints<A> {
    agents: Arc<A>,
    config: StreamableHttpServerConfig,
    idle: Duration,
    entries: Mutex<Entries>,
    /// Notified of each new endpoint.
    added: Arc<Notify>,
}

impl<A: Agents> Endpoints<A> {
    pub(crate) fn new(agents: A, config: StreamableHttpServerConfig, idle: Duration) -> Self {
        Self {
            agents: Arc::new(agents),
            config,
            idle,
            entries: Mutex::default(),
            added: Arc::default(),
        }
    }

    /// Returns the endpoint of an agent. The endpoint stays as long as one of its clients has the right. This does
    /// not open the agent: the server opens the agent when a client begins. The flag becomes true when the right of
    /// the client is over, before the endpoint ends the sessions that were used under this right.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        who: &Principal,
    ) -> (Arc<AgentEndpoint>, Arc<AtomicBool>) {
        let mut entries = self.lock();
        let endpoint = entries.all.entry(key(who));
        let endpoint = endpoint.or_insert_with(|| {
            self.added.notify_one();
            Arc::new(self.make(who))
        });
        let endpoint = Arc::clone(endpoint);
        let mut used = endpoint.used();
        used.since = Instant::now();
        let right: Arc<str> = Arc::from(who.counted_as());
        let waits = || self.end_with_right(who.beyond_its_request(), Arc::clone(&right));
        let rights = &mut used.rights;
        let right = rights.entry(Arc::clone(&right)).or_insert_with(waits);
        let is_over = Arc::clone(&right.is_over);
        drop(used);
        if !entries.is_swept {
            entries.is_swept = true;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
        (endpoint, is_over)
    }

    /// Releases an endpoint after a request that has used this MCP session. Removes an endpoint whose agent was not
    /// opened.
    pub(crate) async fn release(
        &self,
        who: &Principal,
        endpoint: Arc<AgentEndpoint>,
        session: Option<SessionId>,
    ) {
        if let Some(session) = session {
            endpoint
                .note_use(session, &Arc::from(who.counted_as()))
                .await;
        }
        let mut entries = self.lock();
        endpoint.used().since = Instant::now();
        drop(endpoint);
        let key = key(who);
        let is_unused = |endpoint: &Arc<AgentEndpoint>| {
            !AgentEndpoint::is_in_use(endpoint) && !endpoint.connection.is_open()
        };
        if entries.all.get(&key).is_some_and(is_unused) {
            entries.all.remove(&key);
        }
    }

    /// Waits until a right is over. Then ends the MCP sessions that were last used under this right.
    fn end_with_right(self: &Arc<Self>, who: Principal, right: Arc<str>) -> Right {
        let endpoints = Arc::downgrade(self);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let task = tokio::spawn(async move {
            who.over().await;
            over.store(true, Ordering::Release);
            let endpoint = endpoints
                .upgrade()
                .and_then(|endpoints| endpoints.remove_right(&who, &right));
            if let Some((endpoint, sessions)) = endpoint {
                for session in sessions {
                    endpoint.end_session(&session).await;
                }
            }
        });
        Right {
            task: task.abort_handle(),
            is_over,
        }
    }

    /// Removes a right from an endpoint, and removes the endpoint with its last right. Returns the MCP sessions
    /// that were last used under this right.
    fn remove_right(
        &self,
        who: &Principal,
        right: &Arc<str>,
    ) -> Option<(Arc<AgentEndpoint>, Vec<SessionId>)> {
        let mut entries = self.lock();
        let endpoint = Arc::clone(entries.all.get(&key(who))?);
        let mut used = endpoint.used();
        used.rights.remove(right);
        if used.rights.is_empty() {
            entries.all.remove(&key(who));
        }
        let of_it = |(_, last): &(SessionId, Arc<str>)| last == right;
        let (over, others) = used.sessions.drain(..).partition(of_it);
        used.sessions = others;
        drop(used);
        let over: VecDeque<_> = over;
        let over = over.into_iter().map(|(session, _)| session);
        Some((endpoint, over.collect()))
    }

    fn make(&self, who: &Principal) -> AgentEndpoint {
        let connection = Connection::new(Arc::clone(&self.agents), who.beyond_its_request());
        let connection = Arc::new(connection);
        let mut manager = LocalSessionManager::default();
        // A model may think for long between two calls, and many clients begin no second session after the first has
        // ended.
        manager.session_config.keep_alive = Some(self.idle.max(SILENT));
        let manager = Arc::new(manager);
        let served = Arc::clone(&connection);
        let service = StreamableHttpService::new(
            move || Ok(Server::new(Arc::clone(&served))),
            Arc::clone(&manager),
            self.config.clone(),
        );
        AgentEndpoint {
            connection,
            service,
            manager,
            used: Mutex::new(Usage {
                sessions: VecDeque::new(),
                rights: BTreeMap::new(),
                since: Instant::now(),
            }),
            calls: Mutex::default(),
        }
    }

    /// Removes endpoints that are idle. Returns when the next of them may end.
    fn end_idle(&self) -> Option<Instant> {
        let mut entries = self.lock();
        let now = Instant::now();
        entries
            .all
            .retain(|_, endpoint| AgentEndpoint::expires(endpoint, self.idle) > now);
        let next = entries
            .all
            .values()
            .map(|endpoint| AgentEndpoint::expires(endpoint, self.idle));
        let next = next.min();
        entries.is_swept = next.is_some();
        next
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes idle endpoints until there is no endpoint left.
async fn sweep<A: Agents>(endpoints: Weak<Endpoints<A>>) {
    while let Some(here) = endpoints.upgrade() {
        let Some(next) = here.end_idle() else {
            return;
        };
        let added = Arc::clone(&here.added);
        // The task holds no reference while it waits, so that the server can end.
        drop(here);
        tokio::select! {
            () = sleep_until(next) => {}
            () = added.notified() => {}
        }
    }
}

fn key(who: &Principal) -> (String, String) {
    (who.session().to_owned(), who.agent().to_owned())
}

//! The desks of a server, by session and agent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use accp_client::{Agents, Error};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::desk::Desk;
use crate::server::Server;

/// The MCP endpoint of one agent. An MCP session of one agent is unknown to all others.
pub(crate) type Endpoint = StreamableHttpService<Server, LocalSessionManager>;

struct Place {
    desk: Arc<Desk>,
    endpoint: Endpoint,
    used: Instant,
}

/// The agents that are open.
pub(crate) struct Desks<A> {
    agents: A,
    config: StreamableHttpServerConfig,
    idle: Duration,
    places: Mutex<BTreeMap<(String, String), Place>>,
}

impl<A: Agents> Desks<A> {
    pub(crate) fn new(agents: A, config: StreamableHttpServerConfig, idle: Duration) -> Self {
        Self {
            agents,
            config,
            idle,
            places: Mutex::default(),
        }
    }

    /// Returns the endpoint of an agent, and opens the agent if it is not open.
    pub(crate) async fn endpoint(&self, session: &str, agent: &str) -> Result<Endpoint, Error> {
        let now = Instant::now();
        let key = (session.to_owned(), agent.to_owned());
        let mut places = self.places.lock().await;
        // A desk that somebody works at has more handles than the one here and that of its endpoint.
        places.retain(|other, place| {
            *other == key
                || now.duration_since(place.used) < self.idle
                || Arc::strong_count(&place.desk) > 2
        });
        if let Some(place) = places.get_mut(&key) {
            if place.desk.agent.look(|_| ()).await.is_ok() {
                place.used = now;
                return Ok(place.endpoint.clone());
            }
            places.remove(&key);
        }
        let desk = Desk::new(self.agents.agent(session, agent).await?).await?;
        let served = Arc::clone(&desk);
        let endpoint = StreamableHttpService::new(
            move || Ok(Server::new(Arc::clone(&served))),
            Arc::new(LocalSessionManager::default()),
            self.config.clone(),
        );
        let place = Place {
            desk,
            endpoint: endpoint.clone(),
            used: now,
        };
        places.insert(key, place);
        Ok(endpoint)
    }
}

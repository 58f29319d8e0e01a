//! The agents for which clients speak now, each with its tasks as far as they were read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use accp_client::{Agent, Agents, Error, Principal};
use accp_runtime::Registry;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::board::Board;

/// The tasks of an agent, which several requests share.
pub(crate) type Shared = Arc<Mutex<Board>>;

struct Place {
    agent: Agent,
    board: Shared,
    used: Instant,
}

/// The agents that are open.
pub(crate) struct Places<A> {
    agents: A,
    idle: Duration,
    open: Mutex<HashMap<(String, String), Place>>,
}

impl<A: Agents> Places<A> {
    pub(crate) fn new(agents: A, idle: Duration) -> Self {
        Self {
            agents,
            idle,
            open: Mutex::default(),
        }
    }

    /// Returns the registry of a session, without opening an agent if that can be.
    pub(crate) async fn registry(&self, who: &Principal) -> Result<Arc<Registry>, Error> {
        let key = (who.session().to_owned(), who.agent().to_owned());
        let open = self
            .open
            .lock()
            .await
            .get(&key)
            .map(|place| place.agent.clone());
        if let Some(agent) = open
            && let Ok(registry) = agent.registry().await
        {
            return Ok(registry);
        }
        self.agents.registry(who).await
    }

    /// Returns whether a session has begun.
    pub(crate) async fn has_begun(&self, who: &Principal) -> Result<bool, Error> {
        self.agents.has_begun(who).await
    }

    /// Returns an agent with its tasks, and opens the agent if it is not open.
    pub(crate) async fn get(&self, who: &Principal) -> Result<(Agent, Shared), Error> {
        let now = Instant::now();
        let key = (who.session().to_owned(), who.agent().to_owned());
        let mut open = self.open.lock().await;
        open.retain(|other, place| *other == key || now.duration_since(place.used) < self.idle);
        if let Some(place) = open.get_mut(&key) {
            if place.agent.look(|_| ()).await.is_ok() {
                place.used = now;
                return Ok((place.agent.clone(), Arc::clone(&place.board)));
            }
            open.remove(&key);
        }
        let agent = self.agents.agent(who).await?;
        // The log tells what became of the tasks, so the frames themselves need no handler.
        let board = Shared::default();
        let place = Place {
            agent: agent.clone(),
            board: Arc::clone(&board),
            used: now,
        };
        open.insert(key, place);
        Ok((agent, board))
    }
}

//! The connection of MCP clients to one agent. The agent is opened when the connection is first used.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use accp_client::{Agent, Agents, Error, Principal};
use accp_frame::Registry;
use tokio::sync::{Mutex, watch};

use crate::inbox::Inbox;

type OpenFuture<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;
type Opener<T> = Box<dyn Fn() -> OpenFuture<T> + Send + Sync>;

/// Opens the agent with the first use, and again after it has ended. All servers for the agent share it.
pub(crate) struct Connection {
    who: Principal,
    open: Opener<Agent>,
    registry: Opener<Arc<Registry>>,
    inbox: watch::Sender<Option<Arc<Inbox>>>,
    /// Locked while the agent is being opened.
    opening: Mutex<()>,
}

impl Connection {
    /// Makes the connection to an agent, which is not opened yet.
    pub(crate) fn new<A: Agents>(agents: Arc<A>, who: Principal) -> Self {
        let (others, another) = (Arc::clone(&agents), who.clone());
        Self {
            who: who.clone(),
            open: Box::new(move || {
                let (agents, who) = (Arc::clone(&agents), who.clone());
                Box::pin(async move { agents.agent(&who).await })
            }),
            registry: Box::new(move || {
                let (agents, who) = (Arc::clone(&others), another.clone());
                Box::pin(async move { agents.registry(&who).await })
            }),
            inbox: watch::Sender::new(None),
            opening: Mutex::default(),
        }
    }

    /// Makes the connection to an agent that is open.
    pub(crate) async fn of(agent: Agent) -> Result<Self, Error> {
        let session = agent.look(|session| session.id().to_owned()).await?;
        let who = Principal::new(session, agent.name());
        let agents = move |_| {
            let agent = agent.clone();
            async move { Ok(agent) }
        };
        let connection = Self::new(Arc::new(agents), who);
        connection.inbox().await?;
        Ok(connection)
    }

    /// Returns the name of the session.
    pub(crate) fn session(&self) -> &str {
        self.who.session()
    }

    /// Returns the name of the agent.
    pub(crate) fn agent(&self) -> &str {
        self.who.agent()
    }

    /// Returns the registry of the session, without opening an agent if possible.
    pub(crate) async fn registry(&self) -> Result<Arc<Registry>, Error> {
        let inbox = self.inbox.borrow().clone();
        if let Some(inbox) = inbox
            && let Ok(registry) = inbox.agent.registry().await
        {
            return Ok(registry);
        }
        (self.registry)().await
    }

    /// Returns the inbox of the agent, and opens the agent if it is not open.
    pub(crate) async fn inbox(&self) -> Result<Arc<Inbox>, Error> {
        let _opening = self.opening.lock().await;
        let open = self.inbox.borrow().clone();
        if let Some(inbox) = open
            && inbox.agent.look(|_| ()).await.is_ok()
        {
            return Ok(inbox);
        }
        let inbox = Inbox::new((self.open)().await?).await?;
        self.inbox.send_replace(Some(Arc::clone(&inbox)));
        Ok(inbox)
    }

    /// Returns the inboxes of the agent: a new one each time the agent is opened.
    pub(crate) fn inboxes(&self) -> watch::Receiver<Option<Arc<Inbox>>> {
        self.inbox.subscribe()
    }

    /// Returns whether the agent was opened.
    pub(crate) fn is_open(&self) -> bool {
        self.inbox.borrow().is_some()
    }
}

//! The seat of an agent: its desk, once a client uses it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use accp_client::{Agent, Agents, Error, Principal};
use accp_frame::Registry;
use tokio::sync::{Mutex, watch};

use crate::desk::Desk;

type Asked<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;
type Asks<T> = Box<dyn Fn() -> Asked<T> + Send + Sync>;

/// Opens the agent with the first use, and again when it has ended. Servers of one agent share it.
pub(crate) struct Seat {
    who: Principal,
    open: Asks<Agent>,
    look: Asks<Arc<Registry>>,
    desk: watch::Sender<Option<Arc<Desk>>>,
    /// Who opens the agent holds this.
    opening: Mutex<()>,
}

impl Seat {
    /// Makes the seat of an agent, which is not opened yet. `who` is kept.
    pub(crate) fn new<A: Agents>(agents: Arc<A>, who: Principal) -> Self {
        let (others, another) = (Arc::clone(&agents), who.clone());
        Self {
            who: who.clone(),
            open: Box::new(move || {
                let (agents, who) = (Arc::clone(&agents), who.clone());
                Box::pin(async move { agents.agent(&who).await })
            }),
            look: Box::new(move || {
                let (agents, who) = (Arc::clone(&others), another.clone());
                Box::pin(async move { agents.registry(&who).await })
            }),
            desk: watch::Sender::new(None),
            opening: Mutex::default(),
        }
    }

    /// Makes the seat of an agent that is open.
    pub(crate) async fn of(agent: Agent) -> Result<Self, Error> {
        let session = agent.look(|session| session.id().to_owned()).await?;
        let who = Principal::new(session, agent.name());
        let agents = move |_| {
            let agent = agent.clone();
            async move { Ok(agent) }
        };
        let seat = Self::new(Arc::new(agents), who);
        seat.desk().await?;
        Ok(seat)
    }

    /// Returns the name of the session.
    pub(crate) fn session(&self) -> &str {
        self.who.session()
    }

    /// Returns the name of the agent.
    pub(crate) fn agent(&self) -> &str {
        self.who.agent()
    }

    /// Returns the registry of the session. This opens no agent, if there is a way without.
    pub(crate) async fn registry(&self) -> Result<Arc<Registry>, Error> {
        let desk = self.desk.borrow().clone();
        if let Some(desk) = desk
            && let Ok(registry) = desk.agent.registry().await
        {
            return Ok(registry);
        }
        (self.look)().await
    }

    /// Returns the desk of the agent, which is opened if it is not open.
    pub(crate) async fn desk(&self) -> Result<Arc<Desk>, Error> {
        let _opening = self.opening.lock().await;
        let held = self.desk.borrow().clone();
        if let Some(desk) = held
            && desk.agent.look(|_| ()).await.is_ok()
        {
            return Ok(desk);
        }
        let desk = Desk::new((self.open)().await?).await?;
        self.desk.send_replace(Some(Arc::clone(&desk)));
        Ok(desk)
    }

    /// Returns the desks that the agent gets one after the other, each when somebody has opened the agent.
    pub(crate) fn desks(&self) -> watch::Receiver<Option<Arc<Desk>>> {
        self.desk.subscribe()
    }

    /// Returns whether the agent was opened.
    pub(crate) fn is_open(&self) -> bool {
        self.desk.borrow().is_some()
    }
}

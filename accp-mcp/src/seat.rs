//! The seat of an agent: its desk, once a client uses it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use accp_client::{Agent, Error};
use tokio::sync::Mutex;

use crate::desk::Desk;

type Opening = Pin<Box<dyn Future<Output = Result<Agent, Error>> + Send>>;

/// Opens the agent with the first use, and again when it has ended. Servers of one agent share it.
pub(crate) struct Seat {
    session: String,
    open: Box<dyn Fn() -> Opening + Send + Sync>,
    desk: Mutex<Option<Arc<Desk>>>,
    is_open: AtomicBool,
}

impl Seat {
    pub(crate) fn new(
        session: impl Into<String>,
        open: impl Fn() -> Opening + Send + Sync + 'static,
    ) -> Self {
        Self {
            session: session.into(),
            open: Box::new(open),
            desk: Mutex::default(),
            is_open: AtomicBool::new(false),
        }
    }

    /// Makes the seat of an agent that is open.
    pub(crate) async fn of(agent: Agent) -> Result<Self, Error> {
        let session = agent.look(|session| session.id().to_owned()).await?;
        let seat = Self::new(session, move || {
            let agent = agent.clone();
            Box::pin(async move { Ok(agent) })
        });
        seat.desk().await?;
        Ok(seat)
    }

    /// Returns the name of the session.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Returns the desk of the agent.
    pub(crate) async fn desk(&self) -> Result<Arc<Desk>, Error> {
        let mut held = self.desk.lock().await;
        if let Some(desk) = &*held
            && desk.agent.look(|_| ()).await.is_ok()
        {
            return Ok(Arc::clone(desk));
        }
        let desk = Desk::new((self.open)().await?).await?;
        *held = Some(Arc::clone(&desk));
        self.is_open.store(true, Ordering::Release);
        Ok(desk)
    }

    /// Returns whether the agent was opened.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }
}

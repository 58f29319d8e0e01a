//! The agents that clients use, each with its tasks as far as the log was read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use accp_client::{Agent, Agents, Error, Principal};
use accp_frame::Registry;
use accp_session::Outbound;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use crate::config::Config;
use crate::index::TaskIndex;
use crate::log::Log;
use crate::repeat::SentMessages;

/// The tasks of an agent, which several requests share.
pub(crate) struct Tasks {
    pub(crate) log: Log,
    pub(crate) index: tokio::sync::Mutex<TaskIndex>,
}

/// What requests have opened for one agent: the index of its tasks, and the agent itself.
#[derive(Default)]
struct Opened {
    tasks: Option<Arc<Tasks>>,
    /// The agent, once a client has sent a message for it.
    agent: Option<Agent>,
}

/// The entry of one agent in the pool.
struct Slot {
    opened: tokio::sync::Mutex<Opened>,
    /// Locked while a request sends a message.
    turn: tokio::sync::Mutex<SentMessages>,
    /// When the last request came.
    used: Mutex<Instant>,
    /// The number of requests that hold the slot now. It changes only while the map of slots is locked.
    requests: AtomicUsize,
    /// The Tokio task that removes the slot later. It starts when the log or the agent is opened.
    end: OnceLock<AbortHandle>,
}

type Open = Mutex<HashMap<(String, String), Arc<Slot>>>;

/// The slots of all agents that clients use.
pub(crate) struct AgentPool<A> {
    agents: A,
    idle: Duration,
    /// The most bytes of the frames in one answer.
    answer: usize,
    open: Arc<Open>,
}

/// Holds the slot of an agent for one request.
pub(crate) struct SlotGuard<'p, A> {
    pool: &'p AgentPool<A>,
    pub(crate) who: &'p Principal,
    slot: Arc<Slot>,
}

impl<A: Agents> AgentPool<A> {
    pub(crate) fn new(agents: A, config: &Config) -> Self {
        Self {
            agents,
            idle: config.idle,
            answer: config.answer,
            open: Arc::default(),
        }
    }

    /// Returns the slot of an agent. This opens nothing.
    pub(crate) fn slot<'p>(&'p self, who: &'p Principal) -> SlotGuard<'p, A> {
        let now = Instant::now();
        let mut open = lock(&self.open);
        let slot = open.entry(key(who)).or_insert_with(|| {
            Arc::new(Slot {
                opened: <_>::default(),
                turn: <_>::default(),
                used: Mutex::new(now),
                requests: AtomicUsize::new(0),
                end: OnceLock::new(),
            })
        });
        *lock(&slot.used) = now;
        slot.requests.fetch_add(1, Ordering::Relaxed);
        SlotGuard {
            pool: self,
            who,
            slot: Arc::clone(slot),
        }
    }
}

impl<A: Agents> SlotGuard<'_, A> {
    /// Returns the tasks of the agent. If the session runs in this process, this does not open the agent. `None`: the
    /// agent is not in the session, or the session has not begun.
    pub(crate) async fn tasks(&self) -> Result<Option<Arc<Tasks>>, Error> {
        let mut opened = self.slot.opened.lock().await;
        if let Some(tasks) = &opened.tasks {
            if tasks.log.position().await.is_ok() {
                return Ok(Some(Arc::clone(tasks)));
            }
            // The hub or agent behind this log has ended, for example because data of the session
            // was erased. So the index of the tasks is built again.
            *opened = Opened::default();
        }
        let Some(log) = self.log(&mut opened).await? else {
            return Ok(None);
        };
        let index = <_>::default();
        let tasks = Arc::new(Tasks { log, index });
        opened.tasks = Some(Arc::clone(&tasks));
        self.keep();
        Ok(Some(tasks))
    }

    async fn log(&self, opened: &mut Opened) -> Result<Option<Log>, Error> {
        let agents = &self.pool.agents;
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

    /// Returns the most bytes of the frames in one answer.
    pub(crate) fn most(&self) -> usize {
        self.pool.answer
    }

    /// Waits until no other request sends a message for the agent. So if a client sends a message twice at once,
    /// the second copy is recognised as a repetition.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, SentMessages> {
        self.slot.turn.lock().await
    }

    /// Judges the first frame of a message, unless the agent is open. So a message that the session refuses lets no
    /// agent in, and begins no session.
    pub(crate) async fn check_frame(&self, first: &Outbound<'static>) -> Result<(), Error> {
        if self.slot.opened.lock().await.agent.is_some() {
            return Ok(());
        }
        self.pool.agents.check_frame(self.who, first).await
    }

    /// Returns the agent, and opens it if it is not open.
    pub(crate) async fn agent(&self) -> Result<Agent, Error> {
        let mut opened = self.slot.opened.lock().await;
        self.open(&mut opened).await
    }

    async fn open(&self, opened: &mut Opened) -> Result<Agent, Error> {
        if let Some(agent) = &opened.agent
            && agent.look(|_| ()).await.is_ok()
        {
            return Ok(agent.clone());
        }
        // The agent needs no handler for frames, because the tasks are read from the log.
        let agent = self.pool.agents.agent(self.who).await?;
        opened.agent = Some(agent.clone());
        self.keep();
        Ok(agent)
    }

    /// Returns the registry of the session, without opening an agent if possible.
    pub(crate) async fn registry(&self) -> Result<Arc<Registry>, Error> {
        let tasks = self.slot.opened.lock().await.tasks.clone();
        if let Some(tasks) = tasks
            && let Ok(registry) = tasks.log.registry().await
        {
            return Ok(registry);
        }
        self.pool.agents.registry(self.who).await
    }

    /// Keeps the slot for later requests. The slot is removed when no request has used it for long, or when the
    /// right of the principal who opened it ends.
    fn keep(&self) {
        self.slot.end.get_or_init(|| {
            let expiry = expire(
                Arc::downgrade(&self.pool.open),
                key(self.who),
                Arc::downgrade(&self.slot),
                self.who.beyond_its_request(),
                self.pool.idle,
            );
            tokio::spawn(expiry).abort_handle()
        });
    }
}

/// Removes a slot when it is idle or the right of its principal ends.
async fn expire(
    open: Weak<Open>,
    key: (String, String),
    slot: Weak<Slot>,
    who: Principal,
    idle: Duration,
) {
    tokio::select! {
        _ = who.over() => {}
        () = until_idle(&slot, idle) => {}
    }
    if let (Some(open), Some(slot)) = (open.upgrade(), slot.upgrade()) {
        let mut open = lock(&open);
        if open
            .get(&key)
            .is_some_and(|other| Arc::ptr_eq(other, &slot))
        {
            open.remove(&key);
        }
    }
}

/// Waits until no request has used a slot for this time.
async fn until_idle(slot: &Weak<Slot>, idle: Duration) {
    while let Some(used) = slot.upgrade().map(|slot| *lock(&slot.used)) {
        match used.checked_add(idle) {
            Some(until) if until <= Instant::now() => return,
            Some(until) => sleep_until(until).await,
            None => std::future::pending().await,
        }
    }
}

fn key(who: &Principal) -> (String, String) {
    (who.session().to_owned(), who.agent().to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<A> Drop for SlotGuard<'_, A> {
    /// Removes the slot after its last request, if no request has opened anything.
    fn drop(&mut self) {
        let mut open = lock(&self.pool.open);
        let before = self.slot.requests.fetch_sub(1, Ordering::Relaxed);
        if before == 1 && self.slot.end.get().is_none() {
            open.remove(&key(self.who));
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(end) = self.end.get() {
            end.abort();
        }
    }
}

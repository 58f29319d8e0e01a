//! One side of the session of a run, with its store, its clock and its handlers.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use accp_runtime::session::{
    Batch, Inbound, Input, MemberId, Mid, Options, Output, Read, Rules, Session, Time,
};
use accp_runtime::{AgentId, Registry, TokenCounter};
use accp_store::{MemoryStore, SideId, Store};

use super::plan::Plan;

pub(crate) static REGISTRY: LazyLock<Arc<Registry>> =
    LazyLock::new(|| Arc::new(Registry::standard()));
const SESSION: &str = "s";
/// Each node has a store of its own, with this side in it.
pub(crate) static SIDE: LazyLock<SideId> = LazyLock::new(|| SideId::new(SESSION, "own"));
const AGENTS: [&str; 6] = ["hub", "a1", "a2", "a3", "a4", "a5"];

/// What went wrong, for the one who reads it.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// The next batch of a session, if there is one; what it wants to read is read before.
pub(crate) fn next_batch(
    session: &mut Session,
    store: &mut MemoryStore,
    now: Time,
) -> Result<Option<Box<Batch>>> {
    while let Some(output) = session.poll() {
        let read = match output {
            Output::Batch(batch) => return Ok(Some(batch)),
            Output::Read(read) => read,
            other => return Err(format!("nobody does {other:?}")),
        };
        match read {
            Read::Entries { from, limit } => {
                let entries = &store.entries(&SIDE, from, limit).map_err(said)?;
                let input = Input::Entries { from, entries };
                session.handle(input, now).map_err(said)?;
            }
            Read::Cold { key } => {
                let kept = store.cold(&SIDE, &key).map_err(said)?;
                let value = kept.map(|kept| kept.value);
                let input = Input::Cold { key: &key, value };
                session.handle(input, now).map_err(said)?;
            }
            other => return Err(format!("no answer to {other:?}")),
        }
    }
    Ok(None)
}

/// An error in its own words.
pub(crate) fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A side that may be down, and what it runs on.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: MemberId,
    pub(crate) agent: &'static str,
    pub(crate) store: MemoryStore,
    pub(crate) side: Option<Session>,
    /// Milliseconds that its clock is ahead.
    skew: i64,
    /// What its handlers have been given and not done.
    pub(crate) inbox: VecDeque<Inbound>,
    /// The number in its next frame.
    pub(crate) next: u64,
    /// Frames that it knows of, each with its chain, to be referred to.
    pub(crate) known: Vec<(Mid, Mid)>,
    /// Until when it is cut off, if whoever drives it has noticed.
    pub(crate) cut_off: Option<Time>,
}

impl Node {
    /// The host at 0, the members after it.
    pub(crate) fn new(index: usize, plan: &Plan) -> Self {
        let skew = index.checked_sub(1).map_or(0, |member| plan.skew[member]);
        Self {
            id: MemberId::new(100 + index as u16).unwrap_or(MemberId::HOST),
            agent: AGENTS[index],
            store: MemoryStore::new(),
            side: None,
            skew,
            inbox: VecDeque::new(),
            next: 1,
            known: Vec::new(),
            cut_off: None,
        }
    }

    /// What its clock says.
    pub(crate) fn clock(&self, now: Time) -> Time {
        Time::from_millis(now.as_millis() + self.skew)
    }

    fn options(&self, plan: &Plan) -> Result<Options> {
        let agent = AgentId::new(self.agent).map_err(said)?;
        let mut options = Options::new(SESSION, agent, Arc::clone(&REGISTRY));
        if plan.counted {
            options.counter = Some(Arc::new(Quarters));
        }
        (options.outbox, options.backlog) = if plan.narrow { (12, 6) } else { (40, 200) };
        options.handles = !(plan.relays_only && self.id == MemberId::HOST);
        Ok(options)
    }

    /// Starts anew from what the store holds.
    pub(crate) fn start(&mut self, plan: &Plan, now: Time) -> Result {
        let now = self.clock(now);
        self.inbox.clear();
        let options = self.options(plan)?;
        let stored = self.store.load(&SIDE).map_err(said)?;
        let bad = |error| format!("@{} cannot be restored: {error}", self.agent);
        let session = if self.id == MemberId::HOST {
            let rules = Rules {
                scope: plan.scope,
                ..Rules::default()
            };
            match stored {
                None => Session::host(options, rules, now),
                Some(stored) => Session::restore_host(options, rules, &stored, now).map_err(bad)?,
            }
        } else {
            match stored {
                None => Session::member(options, now),
                Some(stored) => Session::restore_member(options, &stored, now).map_err(bad)?,
            }
        };
        self.side = Some(session);
        Ok(())
    }

    pub(crate) fn host(&mut self) -> Option<&mut Session> {
        self.side.as_mut().filter(|session| session.is_host())
    }

    /// Tells a side something, if it is up.
    pub(crate) fn tell(&mut self, input: Input<'_>, now: Time) -> Result {
        match &mut self.side {
            Some(session) => session.handle(input, now).map(drop).map_err(said),
            None => Ok(()),
        }
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        self.inbox.is_empty() && self.side.as_ref().is_none_or(Session::is_quiet)
    }
}

/// Four characters a token: what matters here is that everybody counts alike.
#[derive(Debug)]
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

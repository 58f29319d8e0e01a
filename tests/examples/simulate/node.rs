//! One side of the session of a run, with its store, its clock and its handlers.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use accp_runtime::session::{
    Batch, Event, Host, Inbound, Member, MemberId, Mid, Options, Outbound, Read, Role, Rules,
    SendError, Session, State, Time,
};
use accp_runtime::{AgentId, Registry, TokenCounter};
use accp_store::{MemoryStore, Store};

use super::plan::Plan;

pub(crate) static REGISTRY: LazyLock<Arc<Registry>> =
    LazyLock::new(|| Arc::new(Registry::standard()));
pub(crate) const SESSION: &str = "s";
const AGENTS: [&str; 6] = ["hub", "a1", "a2", "a3", "a4", "a5"];

/// What went wrong, for the one who reads it.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// A session of either kind.
#[derive(Debug)]
pub(crate) enum Side {
    Host(Box<Session<Host>>),
    Member(Box<Session<Member>>),
}

macro_rules! either {
    ($side:expr, $session:ident => $result:expr) => {
        match $side {
            Side::Host($session) => $result,
            Side::Member($session) => $result,
        }
    };
}

impl Side {
    pub(crate) fn state(&self) -> &State {
        either!(self, session => session.state())
    }

    pub(crate) fn options(&self) -> &Options {
        either!(self, session => session.options())
    }

    pub(crate) fn is_quiet(&self) -> bool {
        either!(self, session => session.is_quiet())
    }

    pub(crate) fn send(
        &mut self,
        outbound: &Outbound<'_>,
        now: Time,
    ) -> std::result::Result<Mid, SendError> {
        either!(self, session => session.send(outbound, now))
    }

    pub(crate) fn handled(
        &mut self,
        position: u64,
        replies: &[Outbound<'_>],
        now: Time,
    ) -> std::result::Result<(), SendError> {
        either!(self, session => session.handled(position, replies, now))
    }

    pub(crate) fn poll_batch(&mut self, now: Time) -> Option<Batch> {
        either!(self, session => session.poll_batch(now))
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| either!(self, session => session.poll_event())).collect()
    }

    /// Lets time pass, when that is asked for.
    pub(crate) fn tick(&mut self, now: Time) {
        either!(self, session => {
            if session.next_timeout().is_some_and(|due| due <= now) {
                session.handle_timeout(now);
            }
        });
    }

    /// Answers every read.
    pub(crate) fn read(&mut self, store: &mut MemoryStore, now: Time) -> Result {
        either!(self, session => read(session, store, now))
    }
}

fn read<R: Role>(session: &mut Session<R>, store: &mut MemoryStore, now: Time) -> Result {
    while let Some(read) = session.poll_read() {
        match read {
            Read::Entries { from, limit } => {
                let entries = store.entries(SESSION, from, limit).map_err(said)?;
                session.supply_entries(from, &entries);
            }
            Read::Cold { key } => {
                let cold = store.cold(SESSION, &key).map_err(said)?;
                session.supply_cold(&key, cold.map(|kept| kept.value), now);
            }
            other => return Err(format!("no answer to {other:?}")),
        }
    }
    Ok(())
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
    pub(crate) side: Option<Side>,
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
        let stored = self.store.load(SESSION).map_err(said)?;
        let bad = |error| format!("@{} cannot be restored: {error}", self.agent);
        let side = if self.id == MemberId::HOST {
            let rules = Rules {
                scope: plan.scope,
                ..Rules::default()
            };
            let session = match stored {
                None => Session::host(options, rules, now),
                Some(stored) => Session::restore_host(options, rules, &stored, now).map_err(bad)?,
            };
            Side::Host(Box::new(session))
        } else {
            let session = match stored {
                None => Session::member(options),
                Some(stored) => Session::restore_member(options, &stored).map_err(bad)?,
            };
            Side::Member(Box::new(session))
        };
        self.side = Some(side);
        Ok(())
    }

    pub(crate) fn host(&mut self) -> Option<&mut Session<Host>> {
        match &mut self.side {
            Some(Side::Host(session)) => Some(session),
            _ => None,
        }
    }

    pub(crate) fn member(&mut self) -> Option<&mut Session<Member>> {
        match &mut self.side {
            Some(Side::Member(session)) => Some(session),
            _ => None,
        }
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        self.inbox.is_empty() && self.side.as_ref().is_none_or(Side::is_quiet)
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

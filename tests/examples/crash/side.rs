//! One side of the session, which is either the process that is killed or a peer in this program. The side sends
//! messages and handles frames.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use accp_runtime::session::{
    Inbound, Input, MemberId, Mid, Options, Outbound, ReadError, Reference, Rules, Scope,
    SendError, Session, Time, Transmit,
};
use accp_runtime::{AgentId, DynamicFrame, Registry};
use accp_store::{DriverError, Link, Retention, Store};
use accp_testkit::Quarters;

use super::fact::Fact;
use super::frames::{chain, is_request, long_text};
use super::words::{Chore, Word};

type Result<T = ()> = std::result::Result<T, String>;

static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::standard()));
pub(crate) const SESSION: &str = "s";
pub(crate) const AGENTS: [&str; 3] = ["hub", "dev", "ops"];
/// The turns that a slow handler runs, so that a cancellation can reach it.
const SLOW: u32 = 6;

/// A host or a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Host,
    Member,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Member => "member",
        })
    }
}

impl FromStr for Kind {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let both = [Self::Host, Self::Member];
        both.into_iter()
            .find(|kind| kind.to_string() == text)
            .ok_or("expected a host or a member")
    }
}

pub(crate) fn options(agent: &str) -> Result<Options> {
    let agent = AgentId::new(agent.to_string()).map_err(fault)?;
    Ok(Options::new(SESSION, agent, Arc::clone(&REGISTRY)).counting(Arc::new(Quarters)))
}

pub(crate) fn rules(scope: Scope) -> Rules {
    Rules {
        scope,
        // All sides have one clock, so that frames expire on time.
        skew: Duration::ZERO,
        ..Rules::default()
    }
}

/// One side of the session.
pub(crate) struct Side<S, L = Vec<Transmit>> {
    pub(crate) inner: accp_testkit::Side<S, L>,
    /// Facts that [`Side::carry_out`] makes durable and then reports.
    open: Vec<Fact>,
    /// Frames whose handlers take some turns.
    running: Vec<Running>,
    /// Requests of this run that the side may cancel.
    asked: Vec<Mid>,
    /// The last position that was delivered in this run.
    delivered: u64,
}

struct Running {
    inbound: Inbound,
    /// Whether the cancel token had fired before the handler began.
    came_late: bool,
    turns: u32,
}

/// The state of the long text that a frame refers to.
enum LongValue {
    /// The frame refers to no text.
    None,
    /// The bytes are on their way.
    OnItsWay,
    /// The text was read, or has expired.
    Here(Fact),
}

impl<S: Store + Clone, L: Link> Side<S, L> {
    pub(crate) fn host(store: S, link: L, scope: Scope, now: Time) -> Result<Self> {
        let mut side = open(0, store, link, Some(rules(scope)), now)?;
        for agent in &AGENTS[1..] {
            let agent = AgentId::new(*agent).map_err(fault)?;
            side.driver.join(&agent, now).map_err(fault)?;
        }
        Ok(Self::new(side))
    }

    pub(crate) fn member(at: usize, store: S, link: L, now: Time) -> Result<Self> {
        open(at, store, link, None, now).map(Self::new)
    }

    fn new(side: accp_testkit::Side<S, L>) -> Self {
        Self {
            inner: side,
            open: Vec::new(),
            running: Vec::new(),
            asked: Vec::new(),
            delivered: 0,
        }
    }

    /// Returns whether the session is quiet and all handlers have ended.
    pub(crate) fn is_quiet(&self) -> bool {
        self.inner.is_quiet() && self.running.is_empty()
    }

    pub(crate) fn hear(&mut self, from: MemberId, frame: &str, now: Time) -> Result {
        let heard = self.inner.driver.receive(from, frame.as_bytes(), now);
        heard.map_err(fault)
    }

    /// Says number `n`, if the side can send now.
    pub(crate) fn say(&mut self, n: u64, word: Word, now: Time) -> Result {
        let last = self.asked.last();
        let Some(message) = word.message(n, self.inner.session(), last) else {
            return Ok(());
        };
        let Ok(mid) = self.session()?.send(&Outbound::message(&message), now) else {
            return Ok(());
        };
        if word == Word::Cancel {
            self.asked.pop();
        } else if word.may_be_cancelled() {
            self.asked.push(mid.clone());
        }
        self.open.push(Fact::Said(n, mid));
        Ok(())
    }

    /// Carries out a chore.
    pub(crate) fn work(&mut self, chore: &Chore, now: Time) -> Result {
        let input = match chore {
            Chore::Phase => Input::Phase,
            Chore::Grant(session) => Input::Grant { session, key: "*" },
            Chore::Expire(key) => {
                let input = Input::Expire(&[key]);
                return self.session()?.handle(input, now).map(drop).map_err(fault);
            }
            Chore::Retain(before) => return self.retain(*before),
        };
        self.session()?.handle(input, now).map(drop).map_err(fault)
    }

    /// Deletes the texts before a position, but none that some member still lacks.
    fn retain(&mut self, before: u64) -> Result {
        let held = self.inner.session().replicated();
        let log_before = before.min(held + 1);
        let side = self.inner.driver.side().clone();
        let freed = self.inner.store.retain(&side, Retention { log_before });
        let freed = freed.map_err(fault)?;
        self.open.push(Fact::Freed(freed.entries, freed.bytes));
        Ok(())
    }

    /// Does all the work that waits. After each commit `tell` gets the facts that are now durable.
    pub(crate) fn turn(&mut self, now: Time, tell: &mut impl FnMut(Fact) -> Result) -> Result {
        self.carry_out(now, tell)?;
        for inbound in std::mem::take(&mut self.inner.inbox) {
            let position = inbound.position();
            if is_request(inbound.text()) && position.is_multiple_of(2) {
                self.running.push(Running {
                    came_late: inbound.cancel_token().is_cancelled(),
                    inbound,
                    turns: SLOW,
                });
            } else if !self.handle(&inbound, true, now)? {
                self.inner.inbox.push(inbound); // the side handles it in a later turn
            }
            // Commits only after some frames, so that some marks are committed alone and some
            // together.
            if position % 3 == 0 {
                self.carry_out(now, tell)?;
            }
        }
        self.run_on(now)?;
        self.carry_out(now, tell)
    }

    /// Lets the slow handlers go on.
    fn run_on(&mut self, now: Time) -> Result {
        for mut running in std::mem::take(&mut self.running) {
            running.turns = running.turns.saturating_sub(1);
            let is_over = running.turns == 0;
            if !is_over || !self.handle(&running.inbound, running.came_late, now)? {
                self.running.push(running);
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, now: Time, tell: &mut impl FnMut(Fact) -> Result) -> Result {
        let before = self.inner.inbox.len();
        self.inner.carry_out(now).map_err(fault)?;
        for inbound in &self.inner.inbox[before..] {
            let position = inbound.position();
            if position <= self.delivered {
                let last = self.delivered;
                return Err(format!("{position} was delivered after {last}"));
            }
            self.delivered = position;
        }
        for event in std::mem::take(&mut self.inner.events) {
            self.open.extend(Fact::of(event)?);
        }
        std::mem::take(&mut self.open)
            .into_iter()
            .try_for_each(tell)
    }

    /// Handles a frame. Every request gets one answer, unless it was cancelled. Returns false if the
    /// frame has to wait.
    fn handle(&mut self, inbound: &Inbound, came_late: bool, now: Time) -> Result<bool> {
        let is_stopped = inbound.cancel_token().is_cancelled();
        let state = self.inner.session().state();
        let is_cancelled = chain(inbound.text()).is_some_and(|chain| state.is_cancelled(&chain));
        let position = inbound.position();
        if is_stopped != is_cancelled {
            let fired = if is_stopped { "has fired" } else { "is silent" };
            return Err(format!("the token of {position} {fired}"));
        }
        let read = match self.read(inbound)? {
            LongValue::OnItsWay => return Ok(false),
            LongValue::None => None,
            LongValue::Here(fact) => Some(fact),
        };
        let agent = self.inner.options.agent.to_string();
        let reply = DynamicFrame::new(agent, "done", "plan").map_err(fault)?;
        let reply = reply.with("re", position as i64);
        let is_answered = is_request(inbound.text()) && !is_stopped;
        let replies = is_answered.then(|| Outbound::message(&reply).answering(inbound));
        let replies = replies.transpose().map_err(fault)?;
        match self.session()?.handled(position, replies.as_slice(), now) {
            Ok(()) => {}
            Err(SendError::Full(_) | SendError::NotJoined) => return Ok(false),
            Err(error) => return Err(format!("{position} cannot be handled: {error}")),
        }
        self.open.push(Fact::Handled(position));
        if is_stopped && !came_late {
            self.open.push(Fact::Stopped(position));
        }
        self.open.extend(read);
        Ok(true)
    }

    /// Reads the long text that a frame refers to, and compares it with the text that its sender
    /// put.
    fn read(&mut self, inbound: &Inbound) -> Result<LongValue> {
        let Some(long) = long_text(inbound.text()) else {
            return Ok(LongValue::None);
        };
        let key = format!("cold.{}", long.key);
        let reference = Reference::parse(&key).ok_or("a reference")?;
        match self.inner.driver.read(&reference) {
            Ok(None) => Ok(LongValue::OnItsWay),
            Ok(Some(value)) if value.as_str() == Some(&long.text) => {
                Ok(LongValue::Here(Fact::Read(long.key)))
            }
            Ok(Some(_)) => Err(format!("a handler reads other bytes under {key}")),
            Err(DriverError::Reference(_, ReadError::Expired)) => {
                Ok(LongValue::Here(Fact::Gone(long.key)))
            }
            // The other side was dead for too long. The handler asks again the next time that it reads the value.
            Err(DriverError::Reference(_, ReadError::Unavailable)) => Ok(LongValue::OnItsWay),
            Err(error) => Err(format!("a handler cannot read {key}: {error}")),
        }
    }

    fn session(&mut self) -> Result<&mut Session> {
        self.inner.driver.session_mut().map_err(fault)
    }
}

fn open<S: Store + Clone, L: Link>(
    at: usize,
    store: S,
    link: L,
    rules: Option<Rules>,
    now: Time,
) -> Result<accp_testkit::Side<S, L>> {
    let open = accp_testkit::Side::open(ids()[at], store, link, options(AGENTS[at])?, rules, now);
    open.map_err(fault)
}

/// Returns the ids of the host and of the members, in the order in which the members join.
pub(crate) fn ids() -> [MemberId; 3] {
    [100, 101, 102].map(|number| MemberId::new(number).unwrap_or(MemberId::HOST))
}

pub(crate) fn fault(error: impl fmt::Display) -> String {
    error.to_string()
}

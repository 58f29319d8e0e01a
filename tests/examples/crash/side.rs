//! One side of the session, in the killed process or beside it: its messages, and its handling of
//! frames.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use accp_runtime::session::{
    Event, Inbound, MemberId, Mid, Options, Outbound, Rules, Scope, Time, Transmit,
};
use accp_runtime::{AgentId, Message, Registry};
use accp_session::{Entry, EntryKind};
use accp_store::{DriverError, Link, Store};

static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::standard()));
pub(crate) const SESSION: &str = "s";
pub(crate) const AGENTS: [&str; 3] = ["hub", "dev", "ops"];

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
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let both = [Self::Host, Self::Member];
        both.into_iter()
            .find(|kind| kind.to_string() == text)
            .ok_or(())
    }
}

pub(crate) fn options(agent: &str) -> Result<Options, String> {
    let agent = AgentId::new(agent.to_string()).map_err(|error| error.to_string())?;
    Ok(Options::new(SESSION, agent, Arc::clone(&REGISTRY)))
}

pub(crate) fn rules(scope: Scope) -> Rules {
    Rules {
        scope,
        ..Rules::default()
    }
}

/// One side of the session.
pub(crate) struct Side<S, L = Vec<Transmit>> {
    pub(crate) side: accp_testkit::Side<S, L>,
    /// The work that becomes durable when it is carried out.
    open: Done,
}

/// Facts that are durable on a side.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// The numbers that the side has said.
    pub(crate) said: Vec<u64>,
    /// The positions that the side has handled.
    pub(crate) handled: Vec<u64>,
    /// The side's frames that were acknowledged.
    pub(crate) acknowledged: Vec<Mid>,
}

impl<S: Store + Clone, L: Link> Side<S, L> {
    pub(crate) fn host(store: S, link: L, scope: Scope, now: Time) -> Result<Self, String> {
        let mut side = open(0, store, link, Some(rules(scope)), now)?;
        for agent in &AGENTS[1..] {
            let agent = AgentId::new(*agent).map_err(|error| error.to_string())?;
            let joined = side.driver.join(&agent, now);
            joined.map_err(|error| error.to_string())?;
        }
        Ok(Self::new(side))
    }

    pub(crate) fn member(at: usize, store: S, link: L, now: Time) -> Result<Self, String> {
        open(at, store, link, None, now).map(Self::new)
    }

    fn new(side: accp_testkit::Side<S, L>) -> Self {
        Self {
            side,
            open: Done::default(),
        }
    }

    pub(crate) fn hear(
        &mut self,
        from: MemberId,
        frame: &str,
        now: Time,
    ) -> Result<(), DriverError> {
        self.side.driver.receive(from, frame.as_bytes(), now)
    }

    /// Says number `n`, if the side can send now.
    pub(crate) fn say(&mut self, n: u64, length: usize, now: Time) -> Result<(), DriverError> {
        let agent = &self.side.options.agent;
        let Ok(message) = Message::new(agent.as_str(), "req", "plan") else {
            return Ok(());
        };
        let message = message.with("n", n as i64).with("text", "x".repeat(length));
        let session = self.side.driver.session_mut()?;
        if session.send(&Outbound::message(&message), now).is_ok() {
            self.open.said.push(n);
        }
        Ok(())
    }

    /// Does all the work that waits. After each commit `tell` gets the facts that are now durable.
    pub(crate) fn turn(
        &mut self,
        now: Time,
        tell: &mut impl FnMut(Done),
    ) -> Result<(), DriverError> {
        self.carry_out(now, tell)?;
        for inbound in std::mem::take(&mut self.side.inbox) {
            let position = inbound.position();
            if self.handle(&inbound, now)? {
                self.open.handled.push(position);
            } else {
                self.side.inbox.push(inbound); // its outbox is full: later
            }
            // Some marks are committed alone, and some together.
            if position % 3 == 0 {
                self.carry_out(now, tell)?;
            }
        }
        self.carry_out(now, tell)
    }

    fn carry_out(&mut self, now: Time, tell: &mut impl FnMut(Done)) -> Result<(), DriverError> {
        self.side.carry_out(now)?;
        let events = std::mem::take(&mut self.side.events).into_iter();
        let acknowledged = events.filter_map(|event| match event {
            Event::Acknowledged(mid) => Some(mid),
            _ => None,
        });
        let mut done = std::mem::take(&mut self.open);
        done.acknowledged.extend(acknowledged);
        tell(done);
        Ok(())
    }

    /// Handles a frame. Every request gets one answer.
    fn handle(&mut self, inbound: &Inbound, now: Time) -> Result<bool, DriverError> {
        let agent = &self.side.options.agent;
        let position = inbound.position();
        let reply = Message::new(agent.as_str(), "done", "plan");
        let reply = reply.map(|reply| reply.with("re", position as i64)).ok();
        let replies = reply.iter().filter(|_| is_request(inbound.text()));
        let replies = replies.map(|reply| Outbound::message(reply).answering(inbound));
        let replies: Vec<_> = replies.filter_map(Result::ok).collect();
        let session = self.side.driver.session_mut()?;
        Ok(session.handled(position, &replies, now).is_ok())
    }
}

fn open<S: Store + Clone, L: Link>(
    at: usize,
    store: S,
    link: L,
    rules: Option<Rules>,
    now: Time,
) -> Result<accp_testkit::Side<S, L>, String> {
    let open = accp_testkit::Side::open(ids()[at], store, link, options(AGENTS[at])?, rules, now);
    open.map_err(|error| error.to_string())
}

/// Returns the host, and the members in the order in which they join.
pub(crate) fn ids() -> [MemberId; 3] {
    [100, 101, 102].map(|number| MemberId::new(number).unwrap_or(MemberId::HOST))
}

/// Returns the number that a frame of the log says.
pub(crate) fn said(entry: &Entry) -> Option<u64> {
    number(&entry.text, "n").filter(|_| entry.kind == EntryKind::Frame)
}

pub(crate) fn is_request(frame: &str) -> bool {
    frame.contains(">req:plan{")
}

/// Returns a number from a frame: `n`, or `re` in an answer.
pub(crate) fn number(frame: &str, key: &str) -> Option<u64> {
    let (payload, _) = frame.split_once('}')?;
    let at = [format!("{{{key}:"), format!("|{key}:")];
    let at = at
        .iter()
        .find_map(|key| Some(payload.find(key)? + key.len()))?;
    payload[at..].split('|').next()?.parse().ok()
}

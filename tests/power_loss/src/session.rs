//! Plays a session in memory. The workload uses the batches that the sides of this session commit.

use std::sync::{Arc, Mutex, PoisonError};

use accp_runtime::session::{
    Input, LogKey, MemberId, Options, Outbound, Rules, Session, State, Time,
};
use accp_runtime::{AgentId, DynamicFrame, Registry};
use accp_session::{Batch, Stored};
use accp_store::{MemoryStore, Retention, SideId, Store, StoreError};
use accp_testkit::{Quarters, Room, Tapped};

use crate::random::Random;

pub(crate) const SESSION: &str = "talk";
const HOST: &str = "hub";
const MEMBERS: [&str; 2] = ["dev", "ops"];

/// A store that keeps a copy of each batch that was committed.
type Taped = Arc<Mutex<Tapped<MemoryStore>>>;
type Tape = Arc<Mutex<Vec<(SideId, Batch)>>>;

/// A session with a host and two members. Its host takes checkpoints and snapshots.
pub(crate) struct Played {
    room: Room<Taped>,
    tape: Tape,
    /// The number of the next message.
    next: i64,
    /// The most messages that an agent sends in a round.
    talk: usize,
}

impl Played {
    pub(crate) fn new(talk: usize) -> Self {
        let tape = Tape::default();
        let taped = Arc::clone(&tape);
        let store = Tapped::new(MemoryStore::new(), move |store, group| {
            store.commit(group)?;
            let durable = group.iter().filter(|(_, batch)| batch.is_durable());
            let copies = durable.map(|(side, batch)| ((*side).clone(), Batch::clone(batch)));
            let mut tape = taped.lock().unwrap_or_else(PoisonError::into_inner);
            tape.extend(copies);
            Ok(())
        });
        let store: Taped = Arc::new(Mutex::new(store));
        let now = Time::from_secs(1_714_000_000);
        let room = Room::open(Arc::clone(&store), options(HOST), rules(), now);
        let mut room = room.expect("memory does not fail");
        for agent in MEMBERS {
            room.enter(Arc::clone(&store), options(agent))
                .expect("there is room");
        }
        room.rest().expect("memory does not fail");
        Self {
            room,
            tape,
            next: 1,
            talk,
        }
    }

    /// Lets the agents talk, and returns what their sides have committed since the last call.
    pub(crate) fn round(&mut self, random: &mut Random) -> Vec<(SideId, Batch)> {
        for who in 0..=MEMBERS.len() {
            for _ in 0..random.below(self.talk + 1) {
                self.say(who, random);
            }
        }
        if random.once_in(5) {
            let now = self.room.now;
            let host = self.room.host.driver.session_mut().expect("it is open");
            host.handle(Input::Phase, now).expect("a host may");
        }
        self.room.rest().expect("memory does not fail");
        self.handle();
        self.room.rest().expect("memory does not fail");
        std::mem::take(&mut *self.tape.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a side, and what its store may delete.
    pub(crate) fn retention(&self, random: &mut Random) -> (SideId, Retention) {
        let sides: Vec<_> = self.room.sides().collect();
        let side = &sides[random.below(sides.len())];
        let log_before = side.session().replicated() + 1;
        (side.driver.side().clone(), Retention { log_before })
    }

    fn say(&mut self, who: usize, random: &mut Random) {
        let now = self.room.now;
        let side = self.room.sides().nth(who).expect("one of the sides");
        let (id, agent) = (side.id, side.options.agent.to_string());
        let long = if random.once_in(6) { 700 } else { 4 };
        let message = DynamicFrame::new(agent, "req", "plan").expect("a frame");
        let message = message.with("n", self.next);
        let message = message.with("text", "x".repeat(1 + random.below(long)));
        self.next += 1;
        let side = self.room.side(id).expect("one of the sides");
        // A member whose outbox is full refuses the message. The workload goes on without it.
        drop(side.driver.send(&Outbound::message(&message), now));
    }

    /// Lets the handlers of all sides answer some of the requests.
    fn handle(&mut self) {
        let now = self.room.now;
        let ids: Vec<MemberId> = self.room.sides().map(|side| side.id).collect();
        for id in ids {
            let side = self.room.side(id).expect("one of the sides");
            let agent = side.options.agent.to_string();
            for inbound in std::mem::take(&mut side.inbox) {
                let answer = DynamicFrame::new(agent.clone(), "done", "plan").expect("a frame");
                let reply = Outbound::message(&answer).answering(&inbound);
                let replies = [reply.expect("a frame that was accepted")];
                let is_asked = inbound.position().is_multiple_of(5);
                let replies = &replies[..usize::from(is_asked)];
                let session = side.driver.session_mut().expect("it is open");
                let handled = session.handled(inbound.position(), replies, now);
                handled.expect("there is room for replies");
            }
        }
    }
}

/// Checks that the sides of the session can be restored, that the state of the host is the fold of its log, if the
/// store still has the log from the beginning, and that each member has the state that the host had at its position.
pub(crate) fn check(store: &mut impl Store) -> Result<(), String> {
    let words = |error: StoreError| error.to_string();
    let log = store.load(&SideId::new(SESSION, HOST)).map_err(words)?;
    for agent in [HOST].into_iter().chain(MEMBERS) {
        let side = SideId::new(SESSION, agent);
        let Some(stored) = store.load(&side).map_err(words)? else {
            continue;
        };
        let state = restore(agent, &stored)?;
        if let Some(log) = log.as_ref().filter(|_| agent != HOST) {
            check_member(&side, &state, log)?;
        }
        let first = store.summary(&side).map_err(words)?.map(|side| side.first);
        if agent != HOST || first != Some(1) {
            continue;
        }
        let mut from_the_beginning = stored;
        from_the_beginning.entries = store.entries(&side, 1, usize::MAX).map_err(words)?;
        from_the_beginning.snapshot = None;
        if restore(agent, &from_the_beginning)? != state {
            return Err(format!("`{side}` restores to another state than its log"));
        }
    }
    Ok(())
}

/// Checks that a member has no more of the log than the host, and that its state is the one that the host had at the
/// position of the member. If the snapshot of the host is later, the host does not know that state any more.
fn check_member(side: &SideId, state: &State, log: &Stored) -> Result<(), String> {
    let position = state.position();
    if position > log.last {
        return Err(format!(
            "`{side}` is at {position}, behind the log of its host"
        ));
    }
    let snapshot = log
        .snapshot
        .as_ref()
        .map_or(0, |snapshot| snapshot.position);
    if position == 0 || snapshot > position {
        return Ok(());
    }
    let mut earlier = log.clone();
    earlier.entries.retain(|entry| entry.position <= position);
    earlier.last = position;
    earlier.due.clear();
    let earlier = restore(HOST, &earlier)?;
    // A host that starts may write entries of its own.
    if earlier.position() == position && earlier != *state {
        return Err(format!(
            "`{side}` has another state at {position} than its host had"
        ));
    }
    Ok(())
}

fn restore(agent: &str, stored: &Stored) -> Result<State, String> {
    let now = Time::from_secs(1_714_000_000);
    let session = if stored.host {
        Session::restore_host(options(agent), rules(), stored, now)
    } else {
        Session::restore_member(options(agent), stored, now)
    };
    let session = session.map_err(|error| format!("{agent} cannot be restored: {error}"))?;
    Ok(session.state().clone())
}

fn options(agent: &str) -> Options {
    let agent = AgentId::new(agent.to_string()).expect("an agent");
    Options::new(SESSION, agent, Arc::new(Registry::standard())).counting(Arc::new(Quarters))
}

/// The secret of the log is fixed, so that a seed fixes all steps.
fn rules() -> Rules {
    Rules {
        key: Some(LogKey::new([7; 32])),
        scope: accp_runtime::session::Scope::Sender,
        ..Rules::default()
    }
}

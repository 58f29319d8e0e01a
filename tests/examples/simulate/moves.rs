//! The moves of a run, each with the state of the side that makes it. A thousand runs must make each move in each of
//! its states.

use accp_registry::{Field, Schema, Type};
use accp_runtime::session::{Input, LogKey, MemberId};

use super::World;
use super::node::{Result, said};

/// States of a host: fresh until its first restart, restarted, or stopped. A stopped host was put back to an older
/// copy and may write nothing.
const RUNS: &[&str] = &["fresh", "restarted"];
const HOST: &[&str] = &["fresh", "restarted", "stopped"];
const STOPPED: &[&str] = &["stopped"];
/// States of a member: it has not joined, its link is cut, it is behind the log, it has restarted, or it is fresh.
const LINKED: &[&str] = &["behind", "fresh", "restarted"];
const JOINED: &[&str] = &["cut", "behind", "fresh", "restarted"];
const MEMBER: &[&str] = &["joining", "cut", "behind", "fresh", "restarted"];

/// The moves: the public inputs of a session, and other actions. For each move, who makes it and in which states.
const TABLE: [(&str, &str, &[&str]); 35] = [
    ("bye", "member", LINKED),
    ("connect", "member", LINKED),
    ("discard", "host", RUNS),
    ("discard", "member", JOINED),
    ("disconnect", "host", RUNS),
    ("expire", "host", RUNS),
    ("fetch many", "member", JOINED),
    ("fetch together", "member", JOINED),
    ("forbidden", "host", STOPPED),
    ("forbidden", "member", MEMBER),
    ("fork", "host", STOPPED),
    ("grant", "host", RUNS),
    ("handle", "host", RUNS),
    ("handle", "member", JOINED),
    ("join", "host", RUNS),
    ("leave", "host", RUNS),
    ("look beyond", "member", JOINED),
    ("phase", "host", RUNS),
    ("ping", "host", RUNS),
    ("put back", "host", RUNS),
    ("put back", "member", LINKED),
    ("recover", "host", STOPPED),
    ("refer to a grant", "host", RUNS),
    ("refer to a grant", "member", JOINED),
    ("register", "host", RUNS),
    ("restart", "host", HOST),
    ("restart", "member", MEMBER),
    ("search", "host", RUNS),
    ("send", "host", HOST),
    ("send", "member", MEMBER),
    ("supply a summary", "host", RUNS),
    ("takes", "host", RUNS),
    ("takes", "member", MEMBER),
    ("timeout", "host", HOST),
    ("timeout", "member", MEMBER),
];

/// Returns a name for each move in the table, with each of its states.
pub(super) fn cells() -> impl Iterator<Item = String> {
    let cells = TABLE.into_iter();
    cells.flat_map(|(name, by, states)| states.iter().map(move |state| cell(name, by, state)))
}

fn cell(name: &str, by: &str, state: &str) -> String {
    format!("move {name}, {by}, {state}")
}

impl World {
    /// Counts a move of a side. Moves of members that speak the draft alone are not counted here.
    pub(super) fn moves(&mut self, name: &str, who: usize) {
        let Some(state) = self.state_of(who) else {
            return;
        };
        let by = if who == 0 { "host" } else { "member" };
        self.counts.kinds.count(cell(name, by, state));
    }

    fn state_of(&self, who: usize) -> Option<&'static str> {
        let node = self.nodes.get(who).filter(|node| !node.plain)?;
        let session = self.room.sides().nth(who)?.session();
        let host = self.room.host.session();
        Some(if session.rolled_back().is_some() {
            "stopped"
        } else if !session.has_joined() {
            "joining"
        } else if node.cut_off.is_some() {
            "cut"
        } else if session.position() + 1 < host.replicated().max(session.known()) {
            "behind"
        } else if node.starts > 0 {
            "restarted"
        } else {
            "fresh"
        })
    }

    /// Lets a side try what it may not do. A member tries what only hosts do; a host that was put back tries to
    /// change its log.
    pub(super) fn overreach(&mut self, who: usize) -> Result {
        let (which, key) = (self.rng.below(8), "k101_1");
        let Some((session, now)) = self.session(who)? else {
            return Ok(());
        };
        let mut schema = Schema::new("forbidden", "FB");
        schema.fields.push(Field::new("topic", Type::String));
        let keys = [key];
        let (name, input) = match which {
            0 => ("lets a member leave", Input::Leave(MemberId::HOST)),
            1 => ("registers a schema", Input::Register(Box::new(schema))),
            2 => ("ends a phase", Input::Phase),
            3 => ("lets a value expire", Input::Expire(&keys)),
            4 if who == 0 => ("takes requests", Input::Takes(&[])),
            4 => ("recovers the log", Input::Recover),
            5 if who > 0 => ("forks the log", Input::Fork(LogKey::new([7; 32]))),
            6 if who > 0 => ("pings a member", Input::Ping(MemberId::HOST)),
            _ => (
                "grants a key",
                Input::Grant {
                    session: "other_9",
                    key,
                },
            ),
        };
        if session.handle(input, now).is_ok() {
            return Err(format!("{who} {name}, and may not"));
        }
        self.moves("forbidden", who);
        Ok(())
    }

    /// Lets the host ping a member, or a member say that it leaves.
    pub(super) fn ping_or_say_bye(&mut self) -> Result {
        let who = 1 + self.rng.below(self.plan.members as u64) as usize;
        let is_here = who <= self.room.members.len() && !self.nodes[who].plain;
        if !is_here || self.nodes[who].is_unmet {
            return Ok(());
        }
        if self.plan.leaves == 0 || self.rng.per_mille(600) {
            self.moves("ping", 0);
            let (id, now) = (self.nodes[who].id, self.host_clock());
            let host = self.room.host.driver.session_mut().map_err(said)?;
            host.handle(Input::Ping(id), now).map_err(said)?;
            return Ok(());
        }
        self.moves("bye", who);
        self.note(|| format!("{who} says bye"));
        let Some((session, now)) = self.session(who)? else {
            return Ok(());
        };
        session.handle(Input::Bye, now).map_err(said)?;
        self.set_alarm(who)
    }
}

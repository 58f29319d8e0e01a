//! A small session of its own, whose agents have no link: guests live in the process of the host, and another agent
//! posts its frames. A model says what the host must answer, and what its store must have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_runtime::session::{
    Input, LogKey, MemberId, Mid, Options, Outbound, Rules, Scope, SendError, Session, Time,
};
use accp_runtime::{AgentId, DynamicFrame, ErrorCode, Value};
use accp_session::{Entry, EntryKind};
use accp_store::{MemoryStore, Store};
use accp_testkit::{Rng, Room, Shared};

use super::kinds::Kinds;
use super::node::{REGISTRY, Result, said};
use super::text::maker;

pub(super) const GUESTS: [&str; 2] = ["g1", "g2"];
const STEPS: usize = 70;
/// The most members: the guests, and the agent that posts.
const MEMBERS: usize = GUESTS.len() + 1;

/// What must be true of a session. A copy of the model stands for what is durable.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    /// The agents in the order in which they joined, which gives them their numbers.
    names: Vec<&'static str>,
    present: BTreeSet<&'static str>,
    /// The last `seq` of each agent.
    numbers: BTreeMap<&'static str, u64>,
    inboxes: BTreeMap<MemberId, String>,
    /// The frames that were handled, by guest.
    handled: BTreeSet<(&'static str, u64)>,
    /// The requests that have no answer.
    pub(super) asked: Vec<Asked>,
    cancelled: Vec<Mid>,
    /// The last post that was accepted, with its number.
    pub(super) posted: Option<(String, u64)>,
    pub(super) puts: u64,
    pub(super) values: BTreeMap<String, Fate>,
    /// The entries since the last commit: those that took a number, and the refusals.
    said: Vec<(MemberId, Mid, u64)>,
    pub(super) refused: Vec<(MemberId, Mid, ErrorCode)>,
}

#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) mid: Mid,
    pub(super) by: &'static str,
    pub(super) to: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Missing,
    Here,
    Expired,
}

/// What a host must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Taken,
    NotJoined,
    Cancelled,
    Code(ErrorCode),
}

/// What a guest says.
struct Speech {
    operation: (&'static str, &'static str),
    text: String,
    see: Option<&'static str>,
    to: Option<&'static str>,
    chain: Option<Mid>,
    want: Want,
}

/// The session, its model, and what is durable of the two.
pub(super) struct House {
    room: Room<Shared>,
    pub(super) rng: Rng,
    pub(super) model: Model,
    durable: Model,
    open: BTreeSet<&'static str>,
    /// Whether the host has started, and has not carried anything out since.
    pub(super) is_fresh: bool,
    log: Vec<Entry>,
    pub(super) posts: u64,
}

/// Plays a session with guests.
pub(super) fn play(seed: u64, kinds: &mut Kinds) -> Result {
    let hub = AgentId::new("hub").map_err(said)?;
    let options = Options::new("house", hub, Arc::clone(&REGISTRY));
    let rules = Rules {
        scope: Scope::Sender,
        key: Some(LogKey::new([3; 32])),
        members: MEMBERS,
        ..Rules::default()
    };
    let (store, now) = (Shared::default(), Time::from_secs(1_714_000_000));
    let mut house = House {
        room: Room::open(store, options, rules, now).map_err(said)?,
        rng: Rng::new(seed),
        model: Model::default(),
        durable: Model::default(),
        open: BTreeSet::new(),
        is_fresh: false,
        log: Vec::new(),
        posts: 0,
    };
    house.commit()?;
    for _ in 0..STEPS {
        let step = house.step(kinds);
        step.map_err(|what| format!("guests: {what}"))?;
    }
    let last = house.commit();
    last.map_err(|what| format!("guests: {what}"))
}

impl Model {
    pub(super) fn id(&self, name: &str) -> Option<MemberId> {
        let at = self.names.iter().position(|one| *one == name)?;
        MemberId::new(101 + at as u16)
    }

    pub(super) fn is_full(&self) -> bool {
        self.names.len() == MEMBERS
    }

    pub(super) fn joins(&mut self, name: &'static str) -> Option<MemberId> {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
        self.present.insert(name);
        self.id(name)
    }

    pub(super) fn next(&self, name: &str) -> u64 {
        1 + self.numbers.get(name).copied().unwrap_or_default()
    }

    pub(super) fn takes(&mut self, name: &'static str, mid: Mid) {
        let number = self.next(name);
        self.numbers.insert(name, number);
        let id = self.id(name).unwrap_or(MemberId::HOST);
        self.said.push((id, mid, number));
    }
}

impl House {
    fn step(&mut self, kinds: &mut Kinds) -> Result {
        self.room.now = self.room.now + Duration::from_millis(100);
        let guest = GUESTS[self.rng.below(2) as usize];
        match self.rng.below(15) {
            0 | 1 => self.join(guest),
            2..6 => self.speak(guest, kinds),
            6 | 7 => self.handle(guest, kinds),
            8..11 => self.post(kinds),
            11 => self.supply(kinds),
            12 => self.commit(),
            13 => self.turns_away(),
            _ => self.change(guest),
        }
    }

    pub(super) fn session(&mut self) -> Result<(&mut Session, Time)> {
        let now = self.room.now;
        Ok((self.room.host.driver.session_mut().map_err(said)?, now))
    }

    fn store(&self) -> Arc<Mutex<MemoryStore>> {
        Arc::clone(&self.room.host.store)
    }

    fn join(&mut self, name: &'static str) -> Result {
        let agent = AgentId::new(name).map_err(said)?;
        let (session, now) = self.session()?;
        let joined = session.join_guest(&agent, now).map_err(said)?;
        self.open.insert(name);
        let wanted = self.model.joins(name);
        if wanted == Some(joined) {
            return Ok(());
        }
        Err(format!("@{name} joins as {joined} and not as {wanted:?}"))
    }

    /// Lets a guest end, lets it leave the session, or kills the host.
    fn change(&mut self, name: &'static str) -> Result {
        match self.rng.below(4) {
            0 => {
                if let Some(id) = self.model.id(name) {
                    self.session()?.0.end_guest(id);
                    self.open.remove(name);
                }
                Ok(())
            }
            1 => {
                let id = self.model.id(name);
                let Some(id) = id.filter(|_| self.model.present.remove(name)) else {
                    return Ok(());
                };
                let (session, now) = self.session()?;
                session.handle(Input::Leave(id), now).map_err(said)?;
                Ok(())
            }
            2 => self.commit(),
            _ => {
                self.room.restart(MemberId::HOST).map_err(said)?;
                self.model = self.durable.clone();
                self.open.clear();
                self.is_fresh = true;
                self.judge_inboxes()
            }
        }
    }

    fn speak(&mut self, name: &'static str, kinds: &mut Kinds) -> Result {
        let Some(id) = self.model.id(name) else {
            return Ok(());
        };
        let speech = self.speech(name);
        let (kind, operation) = speech.operation;
        let message = DynamicFrame::new(name, kind, operation).map_err(said)?;
        let mut message = message.with("text", speech.text);
        if let Some(key) = speech.see {
            message = message.with("see", Value::Ref(key.into()));
        }
        let mut outbound = Outbound::message(&message);
        if let Some(chain) = &speech.chain {
            outbound = outbound.in_chain(chain.to_string());
        }
        if let Some(to) = speech.to {
            outbound = outbound.to(to);
        }
        let (session, now) = self.session()?;
        let sent = session.send_as(id, &outbound, now);
        let mid = match (sent, speech.want) {
            (Err(SendError::Busy), _)
            | (Err(SendError::NotJoined), Want::NotJoined)
            | (Err(SendError::Cancelled), Want::Cancelled) => return Ok(()),
            (Err(SendError::Denied(error)), Want::Code(code)) if error.code == code => {
                kinds.count(format!("guest Denied {code}"));
                return Ok(());
            }
            (Ok(mid), Want::Taken) => mid,
            (sent, want) => return Err(format!("@{name} gets {sent:?} and not {want:?}")),
        };
        if maker(&mid) != Some(id) {
            return Err(format!("@{name} is {id}, and makes the id {mid}"));
        }
        kinds.count("guest sends".into());
        self.model.takes(name, mid.clone());
        let (by, to) = (name, speech.to);
        match speech.chain {
            Some(chain) => {
                self.model.asked.retain(|asked| asked.mid != chain);
                self.model
                    .cancelled
                    .extend(Some(chain).filter(|_| kind == "cancel"));
            }
            None => self.model.asked.push(Asked { mid, by, to }),
        }
        Ok(())
    }

    /// Chooses what a guest says. Some of it the host must refuse.
    fn speech(&mut self, name: &'static str) -> Speech {
        let other = GUESTS[usize::from(name == GUESTS[0])];
        let at = self.rng.below(self.model.asked.len() as u64) as usize;
        let asked = self.model.asked.get(at).cloned();
        let mut speech = Speech {
            operation: ("req", "plan"),
            text: "short".into(),
            see: None,
            to: None,
            chain: None,
            want: Want::Taken,
        };
        let missing = Want::Code(ErrorCode::REF_NOT_FOUND);
        let denied = Want::Code(ErrorCode::POLICY_DENIED);
        match (self.rng.below(9), asked) {
            (0, _) => speech.text = "long ".repeat(30),
            (1, _) => {
                speech.to = Some(other);
                if self.model.id(other).is_none() {
                    speech.want = missing;
                }
            }
            (2, _) => (speech.see, speech.want) = (Some("cold.k100_99999"), missing),
            (3, _) => {
                speech.see = Some("ext.nowhere.k1_1");
                speech.want = Want::Code(ErrorCode::UNAUTHORIZED_REF);
            }
            (4 | 5, Some(asked)) if asked.to.is_some() => {
                (speech.operation, speech.chain) = (("done", "plan"), Some(asked.mid));
                if asked.to != Some(name) {
                    speech.want = denied;
                }
            }
            (6, Some(asked)) => {
                (speech.operation, speech.chain) = (("cancel", "task"), Some(asked.mid));
                if asked.by != name {
                    speech.want = denied;
                }
            }
            (7, _) if !self.model.cancelled.is_empty() => {
                speech.chain = self.model.cancelled.first().cloned();
                speech.want = Want::Cancelled;
            }
            _ => {}
        }
        // Nothing can be said in a cancelled chain, whoever says it.
        if !self.model.present.contains(name) && speech.want != Want::Cancelled {
            speech.want = denied;
        }
        if !self.open.contains(name) {
            speech.want = Want::NotJoined;
        }
        speech
    }

    /// Lets a guest handle its next frame. The reply and the mark must be kept together.
    fn handle(&mut self, name: &'static str, kinds: &mut Kinds) -> Result {
        let is_here = self.open.contains(name) && self.model.present.contains(name);
        let Some(id) = self.model.id(name).filter(|_| is_here) else {
            return Ok(());
        };
        let handled = &self.model.handled;
        let is_next =
            |entry: &&Entry| is_for(entry, id) && !handled.contains(&(name, entry.position));
        let next = self.log.iter().find(is_next).cloned();
        let any = self
            .log
            .get(self.rng.below(self.log.len() as u64) as usize)
            .cloned();
        let clears = self.rng.per_mille(100);
        for entry in [any, next.clone()].into_iter().flatten() {
            let (session, _) = self.session()?;
            let inbound = session.inbound_for(id, &entry, false);
            let is_right = match &inbound {
                Some(inbound) => {
                    let facts = (inbound.position(), inbound.sender(), inbound.text());
                    is_for(&entry, id) && facts == (entry.position, entry.sender, &*entry.text)
                }
                None => !is_for(&entry, id),
            };
            if !is_right {
                return Err(format!("@{name} gets {entry:?} as {inbound:?}"));
            }
        }
        let Some(entry) = next else { return Ok(()) };
        let mut asked = self.model.asked.iter();
        let is_asked = asked.any(|asked| asked.mid == entry.mid && asked.to == Some(name));
        let inbox = if clears {
            String::new()
        } else {
            entry.position.to_string()
        };
        let done = DynamicFrame::new(name, "done", "plan").map_err(said)?;
        let (session, now) = self.session()?;
        let Some(inbound) = session.inbound_for(id, &entry, false) else {
            return Err(format!("@{name} does not get {}", entry.position));
        };
        let reply = Outbound::message(&done).answering(&inbound).map_err(said)?;
        let reply = Some(&reply).filter(|_| is_asked);
        let mid = match session.handled_as(id, &inbox, reply, now) {
            Err(SendError::Busy) => return Ok(()),
            Ok(mid) if mid.is_some() == is_asked => mid,
            other => return Err(format!("@{name} handles {entry:?}: {other:?}")),
        };
        if session.inbox_of(id).unwrap_or_default() != inbox {
            return Err(format!("the inbox of @{name} is not {inbox}"));
        }
        if let Some(mid) = mid {
            kinds.count("guest answers".into());
            self.model.takes(name, mid);
            self.model.asked.retain(|asked| asked.mid != entry.mid);
        }
        self.model.handled.insert((name, entry.position));
        if clears {
            self.model.inboxes.remove(&id);
        } else {
            self.model.inboxes.insert(id, inbox);
        }
        Ok(())
    }

    /// Lets the host commit, and compares its store with the model.
    fn commit(&mut self) -> Result {
        let now = self.room.now;
        self.room.host.carry_out(now).map_err(said)?;
        self.is_fresh = false;
        let guests: Vec<_> = self
            .open
            .iter()
            .filter_map(|name| self.model.id(name))
            .collect();
        for send in self.room.host.left() {
            if guests.contains(&send.to) {
                return Err(format!("a guest gets {}", send.text));
            }
        }
        let side = self.room.host.driver.side().clone();
        let store = self.store();
        let mut store = store.lock().map_err(said)?;
        let from = self.log.last().map_or(1, |entry| entry.position + 1);
        let new = store.entries(&side, from, usize::MAX).map_err(said)?;
        let took = new
            .iter()
            .filter(|entry| entry.sequence > 0 && entry.sender != MemberId::HOST);
        let took = took.map(|entry| (entry.sender, entry.mid.clone(), entry.sequence));
        let took: Vec<_> = took.collect();
        let refused = new.iter().filter_map(|entry| match entry.kind {
            EntryKind::Refused(code) => Some((entry.sender, entry.mid.clone(), code)),
            _ => None,
        });
        let refused: Vec<_> = refused.collect();
        if took != self.model.said || refused != self.model.refused {
            let wanted = (&self.model.said, &self.model.refused);
            return Err(format!(
                "{took:?} and {refused:?} are kept, and not {wanted:?}"
            ));
        }
        self.log.extend(new);
        for (key, fate) in &self.model.values {
            let kept = store.cold(&side, key).map_err(said)?;
            let kept = kept.map(|kept| (kept.value.bytes.is_some(), kept.expired));
            let wanted = (*fate == Fate::Here, *fate == Fate::Expired);
            if kept != Some(wanted) {
                return Err(format!("{key} is kept as {kept:?}: {fate:?}"));
            }
        }
        drop(store);
        self.model.said.clear();
        self.model.refused.clear();
        self.durable = self.model.clone();
        self.judge_inboxes()
    }

    /// Checks that the store and the session have the inboxes of the guests.
    fn judge_inboxes(&self) -> Result {
        let side = self.room.host.driver.side().clone();
        let stored = self
            .store()
            .lock()
            .map_err(said)?
            .load(&side)
            .map_err(said)?;
        let kept = stored.map(|stored| stored.inboxes).unwrap_or_default();
        let kept: BTreeMap<_, _> = kept.into_iter().collect();
        let session = self.room.host.session();
        let names = self.model.names.iter();
        let mut ids = names.filter_map(|name| self.model.id(name));
        let is_told =
            |id: MemberId| session.inbox_of(id) == self.model.inboxes.get(&id).map(String::as_str);
        if kept == self.model.inboxes && ids.all(is_told) {
            return Ok(());
        }
        Err(format!(
            "{kept:?} are the inboxes, and not {:?}",
            self.model.inboxes
        ))
    }
}

/// Returns whether an entry is for the handlers of a member.
fn is_for(entry: &Entry, id: MemberId) -> bool {
    match (entry.kind, entry.to) {
        (EntryKind::Frame | EntryKind::Repeat, Some(to)) => to == id,
        (EntryKind::Frame, None) => entry.sender != id,
        _ => false,
    }
}

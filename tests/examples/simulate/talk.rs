//! The messages that the agents of a run send, and the answers of their handlers.

use accp_registry::{Field, Schema, Type};
use accp_runtime::session::{
    Answer, Inbound, Input, Mid, Outbound, SendError, Session, StateUpdate, Time,
};
use accp_runtime::{DynamicFrame, Map, Value};
use accp_session::Codec;

use super::World;
use super::addresses::kind_of;
use super::chains::chain_of;
use super::content::{RECORD, STATE};
use super::effects::{judge_expired, judge_granted};
use super::node::{Result, said};
use super::paying::settles;
use super::plan::USUAL;
use super::reading::FOREIGN;
use super::text::{Goal, goal, head, intent, is_a, mid_in, number_in};

/// The most frames that an agent works on after their handlers have returned.
const WORKING: usize = 3;
/// The keys of another session that the host grants: all of them in one of three cases.
const GRANTED: [&str; 6] = ["*", "k101_1", "k101_10", "k101_2", "*", "k101_1"];

impl World {
    /// Lets a random agent send a message. Returns whether the agent could send it.
    pub(super) fn say(&mut self) -> Result<bool> {
        let who = self.rng.below(self.nodes.len() as u64) as usize;
        if self.plan.addresses && self.rng.per_mille(80) {
            return self.say_takes(who);
        }
        let n = self.nodes[who].next;
        self.nodes[who].next += 1;
        let streams = self.plan.streams && self.rng.per_mille(150);
        if streams && self.room.side(self.nodes[who].id).is_some() {
            return self.stream(who, n);
        }
        let pays = self.plan.pays && self.rng.per_mille(150);
        if pays && self.room.side(self.nodes[who].id).is_some() {
            return self.pay(who);
        }
        let Some(mut message) = self.message(who, n)? else {
            return Ok(false);
        };
        let Some(at) = self.sends(who, &message, n.is_multiple_of(4))? else {
            return Ok(false);
        };
        message.envelope.timestamp = Some(at);
        self.said.insert((who, n), message);
        Ok(true)
    }

    /// Lets an agent say which requests it takes. Returns whether the agent could do so.
    fn say_takes(&mut self, who: usize) -> Result<bool> {
        let heads: &[&str] = match self.rng.below(5) {
            0 => &[],
            1 => &["*"],
            2 => &["req:plan", "*"],
            3 => &["qry:lookup", "req:plan"],
            _ => &["req:chat:CH"],
        };
        let agent = self.nodes[who].agent;
        let Some((side, now)) = self.session(who)? else {
            return Ok(false);
        };
        let all: Vec<String> = heads.iter().map(|&head| head.into()).collect();
        match side.handle(Input::Takes(&all), now) {
            Ok(_) => {}
            Err(_) if side.rolled_back().is_some() => {
                self.moves("takes", who);
                return Ok(false);
            }
            Err(error) => return Err(format!("@{agent} cannot take {heads:?}: {error}")),
        }
        self.moves("takes", who);
        self.note(|| format!("@{agent} takes {heads:?}"));
        Ok(true)
    }

    /// Lets an agent send a message. Returns the time on its clock, or `None` if the agent cannot send now.
    pub(super) fn sends(
        &mut self,
        who: usize,
        message: &DynamicFrame<'_>,
        foretells: bool,
    ) -> Result<Option<i64>> {
        let agent = self.nodes[who].agent;
        let Some((side, now)) = self.session(who)? else {
            return Ok(None);
        };
        let sent = send(side, message, foretells, now)?;
        self.moves("send", who);
        self.note(|| {
            let (intent, operation) = (&message.intent, &message.operation);
            format!("@{agent} says {intent}:{operation}: {}", outcome(&sent))
        });
        let mid = match sent {
            Ok(mid) => mid,
            Err(error) => {
                self.judge_refusal(who, message, &error)?;
                return Ok(None);
            }
        };
        if message.intent.as_str() == "cancel" {
            self.counts.cancels += 1;
        } else {
            let chain = message.envelope.correlation_id.as_deref().map(Mid::parse);
            let chain = chain.unwrap_or_else(|| mid.clone());
            self.nodes[who].known.push((mid, chain));
        }
        Ok(Some(now.as_secs()))
    }

    fn message(&mut self, who: usize, n: u64) -> Result<Option<DynamicFrame<'static>>> {
        let node = &self.nodes[who];
        let agent = node.agent;
        let Some(side) = self.room.side(node.id) else {
            return Ok(None);
        };
        let side = side.session();
        let kind = self.rng.below(100);
        let (intent, operation) = match kind {
            0..8 if self.plan.plain => ("wait", "task"),
            0..5 => ("esc", "plan"),
            5..8 => ("comp", "state"),
            8..12 => ("qry", "lookup"),
            12..18 => ("cancel", "task"),
            _ => ("req", "plan"),
        };
        if kind >= 92 {
            let shared = side.state().shared();
            let mut target: Map<'static> = shared.entries().clone();
            let key = format!("k{}", self.rng.below(6));
            if self.rng.per_mille(150) {
                target.remove(&key);
            } else {
                target.insert(key, Value::from(format!("{agent}_{n}")));
            }
            let update = if self.rng.per_mille(200) {
                let version = shared.version() + 1 + self.rng.below(3);
                // A whole state leaves out long values. The hostile member may have set them, and
                // the session would send them by reference.
                let short = target
                    .iter()
                    .filter(|(_, value)| value.to_string().len() < 50);
                let short = short.map(|(key, value)| (key.to_owned(), value.clone()));
                let state = short.collect();
                StateUpdate::Full { version, state }
            } else {
                shared.delta_to(&target)
            };
            let update = update.to_message(agent).map_err(said)?;
            return Ok(Some(update.into_owned().with("n", n as i64)));
        }
        let is_chat = intent == "req" && n % 7 == 3;
        let operation = if is_chat { "chat" } else { operation };
        let mut message = DynamicFrame::new(agent, intent, operation)
            .map_err(said)?
            .with("n", n as i64);
        if is_chat {
            // `role` and `lang` have their defaults. The writer leaves them out, and the reader
            // puts them back.
            let content = format!("c{n}");
            message = message.with("role", "assistant").with("content", content);
            message = message.with("lang", "en").under("CH");
        }
        let mut one_of = |known: &[(Mid, Mid)]| {
            let at = self.rng.below(known.len() as u64) as usize;
            known.get(at).cloned().unzip()
        };
        let (_, chain): (_, Option<Mid>) = one_of(&node.known);
        let (cause, _): (Option<Mid>, _) = one_of(&node.known);
        let [chain, cause] = [chain, cause].map(|id| id.map(|id| id.to_string()));
        if intent == "cancel" {
            let Some(chain) = chain else { return Ok(None) };
            message.envelope.correlation_id = Some(chain.into());
            return Ok(Some(message));
        }
        let text = match self.rng.below(10) {
            0 => "x".repeat(60 + self.rng.below(400) as usize),
            1 => format!("v{}", self.rng.below(4)).repeat(30),
            _ => "short".into(),
        };
        message = message.with("text", text);
        if n % 5 < 2 {
            // This message has a new state of its record, so the earlier state of the record is out of date.
            let record = format!("item_{}", (n / 5 + who as u64) % 6);
            message = message
                .with(RECORD, record)
                .with(STATE, format!("s{who}_{n}"));
        }
        if self.rng.per_mille(90) {
            if self.rng.per_mille(400) {
                message.envelope.ttl = Some(1 + self.rng.below(3) as i64);
            }
            for at in 0..24 {
                let wide = format!("w{n}_").repeat(4 + self.rng.below(9) as usize);
                message = message.with(format!("field_{at}"), wide);
            }
        }
        if self.plan.bulky && self.rng.per_mille(800) {
            for at in 0..140 + self.rng.below(80) {
                let wide = format!("b{n}_").repeat(7 + self.rng.below(3) as usize);
                message = message.with(format!("bulk_{at}"), wide);
            }
        }
        if self.rng.per_mille(60) {
            let length = self.rng.below(400);
            let items = (0..length).map(|at| Value::from(format!("item_{at}")));
            message = message.with("list", Value::Array(items.collect()));
        }
        if !node.plain && self.rng.per_mille(120) {
            // Some references lead just beyond the end of the log. The host refuses them, unless
            // the log has grown by then.
            let last = side.state().position();
            let position = if self.rng.per_mille(300) {
                last + 1 + self.rng.below(4)
            } else {
                1 + self.rng.below(last + 1)
            };
            let key = match self.rng.below(9) {
                0..2 => format!("cold.p{position}"),
                2..4 => format!("hot.p{position}"),
                4 => format!("warm.ckpt_{}", position % 4),
                5 => {
                    let member = self.rng.below(self.nodes.len() as u64 + 1) as usize;
                    self.observer.value_near_the_last(member, &mut self.rng)
                }
                // A value of another session, which the host may have granted to this session.
                _ => format!(
                    "ext.other_{}.{}",
                    4 + position % 5,
                    FOREIGN[n as usize % FOREIGN.len()]
                ),
            };
            let move_of = match goal(&key) {
                Some(Goal::Foreign(..)) => "refer to a grant",
                _ => "look beyond",
            };
            message = message.with("see", Value::Ref(key.into()));
            self.moves(move_of, who);
        }
        if self.rng.per_mille(150) {
            message.envelope.correlation_id = chain.map(Into::into);
        }
        if self.rng.per_mille(150) {
            message.envelope.causation_id = cause.map(Into::into);
        }
        if self.rng.per_mille(100) {
            message.envelope.ttl = Some(1 + self.rng.below(40) as i64);
        }
        if self.plan.addresses && matches!(intent, "req" | "qry") && self.rng.per_mille(400) {
            let at = self.rng.below(self.nodes.len() as u64 + 1) as usize;
            // A host that only relays answers no request, so it refuses one for itself as one for nobody.
            let node = self.nodes.get(at);
            let node = node.filter(|_| at > 0 || !self.plan.relays_only);
            let name = node.map_or("nobody", |node| node.agent);
            let name = if self.rng.per_mille(500) { "?" } else { name };
            message.envelope.extra.insert("to", Value::from(name));
            self.counts.addressed += 1;
        }
        Ok(Some(message))
    }

    /// Lets the host do its own work, such as registering a schema.
    pub(super) fn administer(&mut self) -> Result {
        let now = self.host_clock();
        if self.room.host.session().rolled_back().is_some() {
            return self.overreach(0);
        }
        self.sum_up()?;
        let what = self.rng.below(1000);
        let learns = self.plan.learns;
        let count = self.counts.schemas;
        let host = self.room.host.driver.session_mut().map_err(said)?;
        match what {
            0..4 => {
                let keys = self.observer.keys();
                let at = self.rng.below(keys.len() as u64) as usize;
                if let Some(key) = keys.get(at) {
                    self.observer.authority.wishes.expiries.insert(key.clone());
                    host.handle(Input::Expire(&[key]), now).map_err(said)?;
                    judge_expired(host, key)?;
                    self.note(|| format!("the host lets {key} expire"));
                    self.moves("expire", 0);
                }
            }
            4..8 => {
                let (session, key) = (&*format!("other_{what}"), self.rng.below(6) as usize);
                let key = GRANTED[key];
                let grant = (session.to_owned(), key.to_owned());
                self.observer.authority.wishes.grants.insert(grant);
                let granted = host.handle(Input::Grant { session, key }, now);
                granted.map_err(said)?;
                judge_granted(host, session, key)?;
                self.moves("grant", 0);
            }
            8..12 => {
                let before = host.state().warm().last();
                let answer = host.handle(Input::Phase, now).map_err(said)?;
                let after = host.state().warm().last();
                let told = match answer {
                    Answer::Checkpoint(checkpoint) => checkpoint.map(|taken| taken.id()),
                    other => return Err(format!("a phase ends with {other:?}")),
                };
                self.moves("phase", 0);
                if told != (after > before).then_some(after) {
                    return Err(format!(
                        "checkpoint {told:?} is told, and {after} is the last"
                    ));
                }
            }
            29..37 => return self.ping_or_say_bye(),
            41..44 => return self.search(),
            37..41 => {
                let who = 1 + self.rng.below(self.plan.members as u64) as usize;
                return self.overreach(who);
            }
            18..26 => return self.want_together(),
            26..29 => return self.want_everything(),
            12..18 if learns => {
                let mut schema = Schema::new(&format!("extra_{count}"), &format!("X{count}"));
                schema.fields.push(Field::new("topic", Type::String));
                let schema = Box::new(schema);
                host.handle(Input::Register(schema), now).map_err(said)?;
                self.counts.schemas += 1;
                self.moves("register", 0);
                self.note(|| format!("the host registers X{count}"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Lets a handler take its oldest frame. The handler may answer.
    pub(super) fn handle(&mut self, who: usize) -> Result {
        let inbox = self.room.side(self.nodes[who].id).map(|side| &side.inbox);
        let Some(first) = inbox.and_then(|inbox| inbox.first().cloned()) else {
            return Ok(());
        };
        if self.lapses(who, &first)? {
            return Ok(());
        }
        let sender = self.sender_of(who, &first);
        let node = &mut self.nodes[who];
        let (agent, now) = (node.agent, self.room.now);
        let Some(side) = self.room.side(node.id) else {
            return Ok(());
        };
        let (inbound, now) = (side.inbox.remove(0), side.clock(now));
        let session = side.driver.session_mut().map_err(said)?;
        let position = inbound.position();
        if !session.waits(position) && kind_of(inbound.text()).is_some() {
            // Another agent has the request by now.
            return Ok(());
        }
        if who == 0 && position.is_multiple_of(16) {
            let shared = session.state().shared();
            let changes = ["p", "q"].map(|value| {
                let target = [("k0".to_owned(), Value::from(value))]
                    .into_iter()
                    .collect();
                shared.delta_to(&target).to_message(agent)
            });
            let changes: Vec<_> = changes
                .into_iter()
                .collect::<std::result::Result<_, _>>()
                .map_err(said)?;
            let replies: Vec<_> = changes.iter().map(Outbound::message).collect();
            if session.handled(position, &replies, now).is_ok() {
                return Err(format!(
                    "@{agent} changes the shared state twice in one reply"
                ));
            }
        }
        if let Err(error) = inbound.message(&session.options().registry) {
            return Err(format!("@{agent} cannot read {position}: {error}"));
        }
        // The handlers do not answer a flood.
        let is_flood = self.plan.flood > USUAL && Some(sender) == self.observer.enemy;
        let answers = if is_flood {
            Vec::new()
        } else {
            answers(agent, who, self.plan.plain, &inbound)?
        };
        let mut replies = Vec::new();
        for answer in &answers {
            let reply = Outbound::message(answer);
            replies.push(match answer.intent.as_str() {
                "req" => reply,
                _ => reply.answering(&inbound).map_err(said)?,
            });
        }
        let chain = chain_of(inbound.text());
        let is_cancelled = chain
            .as_ref()
            .is_some_and(|id| session.state().is_cancelled(id));
        let done = session.handled(position, &replies, now);
        match &done {
            Ok(()) => {
                let (mut least, mut most) = (0, 0);
                for answer in &answers {
                    let (is_due, is_fine) = match &answer.envelope.causation_id {
                        Some(aid) => (!is_cancelled && !self.observer.may_leave_out(aid), true),
                        None => (!is_cancelled, !is_cancelled),
                    };
                    least += usize::from(is_due);
                    most += usize::from(is_fine);
                }
                self.observer.answered(who, position, least..=most);
                node.known.extend(mid_in(inbound.text(), "mid").zip(chain));
                if position.is_multiple_of(5) {
                    let done = node.working.len().saturating_sub(WORKING - 1);
                    node.working.drain(..done);
                    node.working.push(inbound.clone());
                }
                self.hear(who, &inbound)?;
            }
            // The side cannot send now, so the handler gets the frame again later.
            Err(SendError::Full(_) | SendError::NotJoined | SendError::Stopped(_)) => {
                side.inbox.insert(0, inbound);
            }
            Err(error) => return Err(format!("@{agent} cannot answer {position}: {error}")),
        }
        if done.is_ok() {
            self.moves("handle", who);
        }
        self.note(|| format!("@{agent} handles {position}: {}", outcome(&done)));
        Ok(())
    }
}

/// Sends a message. With `foretells`, checks that the codec numbers the frames as the side does: the next frame must
/// get the number after the frames that were just sent.
fn send(
    side: &mut Session,
    message: &DynamicFrame<'_>,
    foretells: bool,
    now: Time,
) -> Result<std::result::Result<Mid, SendError>> {
    let outbound = Outbound::message(message);
    let encoded = foretells.then(|| Codec::new(side).encode(&outbound, now));
    let sent = side.send(&outbound, now);
    let (Some(encoded), Ok(_)) = (encoded, &sent) else {
        return Ok(sent);
    };
    let encoded = encoded.map_err(|error| format!("what is sent was not encoded: {error}"))?;
    let probe = DynamicFrame::new("probe", "req", "plan").map_err(said)?;
    let next = Codec::new(side).encode(&Outbound::message(&probe), now);
    let next = next.map_err(said)?;
    let number = |frames: &[String]| number_in::<u64>(frames.first()?, "seq");
    let after = number(&encoded.frames).map(|first| first + encoded.frames.len() as u64);
    if after == number(&next.frames) {
        return Ok(sent);
    }
    Err(format!(
        "{:?} is told to come right after {:?}",
        next.frames, encoded.frames
    ))
}

fn outcome<T: std::fmt::Debug>(result: &std::result::Result<T, SendError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.to_string(),
    }
}

/// Returns a handler's answers to a frame. The same handler gives the same answers to a repeated
/// delivery.
fn answers(
    agent: &'static str,
    who: usize,
    plain: bool,
    inbound: &Inbound,
) -> Result<Vec<DynamicFrame<'static>>> {
    let mut answers = Vec::new();
    let position = inbound.position();
    // An agent that was asked for another agent asks nobody else, so that no chain grows for ever.
    let is_asked = intent(inbound.text()) == "req" && !head(inbound.text()).contains("{re:");
    let answer = |intent: &'static str, operation: &'static str| -> Result<DynamicFrame<'static>> {
        let answer = DynamicFrame::new(agent, intent, operation).map_err(said)?;
        Ok(answer.with("re", position as i64))
    };
    let kind = position + who as u64;
    if is_asked && kind % 10 == 1 {
        let mut asks = answer("req", "help")?;
        asks.envelope.causation_id =
            mid_in(inbound.text(), "mid").map(|mid| mid.to_string().into());
        answers.push(asks);
    }
    if is_a(inbound.text(), ">req:transaction{") && kind.is_multiple_of(2) {
        let settled = settles(agent, position, inbound.text())?;
        answers.push(settled.with("re", position as i64));
    } else if is_asked && kind.is_multiple_of(5) {
        answers.push(answer(if plain { "wait" } else { "done" }, "plan")?);
    }
    Ok(answers)
}

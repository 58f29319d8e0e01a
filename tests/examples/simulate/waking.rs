//! Lets time pass and wakes the sides. Checks when a side asks to be woken, what it sends, and why it does not send.

use std::collections::BTreeMap;
use std::time::Duration;

use accp_runtime::session::{Input, MemberId, Scope, SendError, Time, Transmit};
use accp_runtime::{DynamicFrame, ErrorCode, Value};
use accp_session::Batch;

use super::World;
use super::addresses::kind_of;
use super::node::{Node, Result, said};
use super::text::{Goal, goal, meta};

/// The most frames that a message becomes: its parts, and the announcement of its values.
const FRAMES: usize = 26;

impl World {
    /// Lets some time pass, in which all handlers do their work.
    pub(super) fn rest(&mut self, step: Duration) -> Result {
        self.advance(step)?;
        for who in 0..self.nodes.len() {
            for _ in 0..20 {
                self.handle(who)?;
            }
            self.flush(who, false)?;
        }
        Ok(())
    }

    /// Returns how many turns of half a second the sides may need to come to rest, once the link is whole. The log
    /// grows by `new` entries meanwhile. At the beginning a side lacks `behind` entries.
    pub(super) fn turns_to_rest(&self, new: usize, behind: usize) -> usize {
        // `waits` covers two waits of 32 seconds between tries, and the time by which clocks may
        // differ. With old copies, the sides first find out which log is valid, and the host begins
        // again when a member sends a hello.
        let waits = match (self.plan.copies > 0, self.plan.host_copies) {
            (true, true) => 800,
            (true, false) => 480,
            _ => 240,
        };
        let for_each = match self.plan.scope {
            Scope::Sender => 1,
            Scope::Shared => 3,
        };
        let at_a_time = if self.plan.narrow { 2 } else { 16 };
        // A host that takes few frames at a time serves one member while others wait, unless the
        // members take turns.
        let in_turn = match self.plan.scope {
            Scope::Sender if self.plan.narrow => 16 * self.plan.members,
            _ => 0,
        };
        // A member that speaks only the draft gives up its unanswered frames one after the other.
        let drafts = self.observer.sides.iter();
        let drafts = drafts.filter(|side| side.plain.is_some());
        let in_turn = in_turn + drafts.map(|side| 12 * side.outbox.len()).sum::<usize>();
        // An older copy of the host's store may lack all values. A side asks for eight of them at a time, and makes
        // eight tries with up to 32 seconds between them.
        let lost = if self.plan.copies > 0 && self.plan.host_copies {
            let own = self
                .observer
                .log
                .iter()
                .filter(|entry| entry.sender == MemberId::HOST);
            64 * own
                .map(|entry| entry.text.matches("[k100_").count())
                .sum::<usize>()
        } else {
            0
        };
        waits + in_turn + lost + for_each * new + behind / at_a_time
    }

    /// Wakes the drivers whose time has come or whose link is back. They wake up for nothing else.
    pub(super) fn wake(&mut self) -> Result {
        let now = self.room.now;
        for who in 0..self.nodes.len() {
            let node = &mut self.nodes[who];
            let is_back = node.cut_off.is_some_and(|until| until <= now);
            node.cut_off.take_if(|_| is_back);
            let is_due = node.wakes.is_some_and(|at| at <= now);
            let Some((session, at)) = self.session(who)? else {
                continue;
            };
            if is_back {
                let connected = Input::Connected(MemberId::HOST);
                session.handle(connected, at).map_err(said)?;
            }
            if is_due {
                session.handle(Input::Timeout, at).map_err(said)?;
                self.moves("timeout", who);
            }
            if is_back {
                self.moves("connect", who);
            }
            if is_due || is_back {
                self.nodes[who].wakes = None;
                self.set_alarm(who)?;
            }
        }
        Ok(())
    }

    /// After the driver of a side has done all that was due, checks the time at which the side asks to be woken.
    /// This time must not be now, and must not be too late.
    pub(super) fn judge_alarm(&mut self, who: usize) -> Result {
        if let Some((session, at)) = self.session(who)?
            && let Some(due) = session.next_timeout().filter(|due| *due <= at)
        {
            return Err(format!("{who} asks at {at} to be woken at {due}"));
        }
        if let Some((session, at)) = self.session(who)?
            && let Some(due) = session.next_timeout()
            && due > at + session.options().retry * 32
        {
            return Err(format!("{who} asks at {at} to be woken only at {due}"));
        }
        self.set_alarm(who)
    }

    /// Sets the time at which the driver has to wake up next. A driver sleeps for a duration and not until a time
    /// of day. So it does not matter if the clock of the side is set meanwhile.
    pub(super) fn set_alarm(&mut self, who: usize) -> Result {
        let now = self.room.now;
        let Some((session, at)) = self.session(who)? else {
            return Ok(());
        };
        let due = session.next_timeout();
        let wakes = due.map(|due| {
            Time::from_millis(now.as_millis() + (due.as_millis() - at.as_millis()).max(0))
        });
        let node = &mut self.nodes[who];
        node.wakes = [node.wakes, wakes].into_iter().flatten().min();
        Ok(())
    }

    /// Returns whether this is an entry of the log for a member that hears no entries now.
    pub(super) fn is_unheard(&mut self, to: MemberId, text: &str) -> bool {
        let now = self.room.now;
        let node = self.nodes.iter().find(|node| node.id == to);
        let is_deaf = node
            .and_then(|node| node.deaf)
            .is_some_and(|until| now < until);
        let is_plain = node.is_some_and(|node| node.plain);
        let is_entry = is_plain && !meta(text, "mid").is_some_and(|mid| mid.starts_with('9'));
        let is_unheard = is_deaf && (is_entry || meta(text, "by").is_some());
        self.counts.unheard += u64::from(is_unheard);
        is_unheard
    }

    /// Checks that quiet sides have no timer.
    pub(super) fn judge_timers(&self) -> Result {
        let mut sides = self.room.sides();
        match sides.find(|side| side.session().next_timeout().is_some()) {
            // A member may still ask for values.
            Some(side) if !self.plan.hostile && self.nodes.iter().all(Node::has_values) => {
                let due = side.session().next_timeout();
                Err(format!("{} is quiet and waits for {due:?}", side.id))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a side has a reason not to send a message.
    pub(super) fn judge_refusal(
        &self,
        who: usize,
        message: &DynamicFrame<'_>,
        error: &SendError,
    ) -> Result {
        let node = &self.nodes[who];
        let outbox = node.options(&self.plan)?.outbox;
        let [cid, aid] = [
            &message.envelope.correlation_id,
            &message.envelope.causation_id,
        ];
        let id = |key: &str, id: &Option<_>| match id {
            Some(id) => format!(",{key}:{id}"),
            None => String::new(),
        };
        let to = message.envelope.extra.get("to").and_then(Value::as_str);
        let to = to.map_or_else(String::new, |to| format!(",to:{to}"));
        let schema = message.schema.as_deref();
        let schema = schema.map_or_else(String::new, |code| format!("n:0|schema:{code}"));
        let kind = format!("{}:{}{{{schema}}}", message.intent, message.operation);
        let text = format!("@a>{kind}[mid:0{}{}{to}]", id("cid", cid), id("aid", aid));
        // The session may be ahead of its store. A side with an older copy may also follow a log
        // that is lost.
        let side = self.room.sides().nth(who);
        let position = side.map_or(0, |side| side.session().position());
        let timeline = &self.observer.timeline;
        let is_ahead = position > self.observer.sides[who].last
            || timeline.was_put_back(node.id)
            || timeline.has_lost();
        let is_end = message.intent.as_str() == "end";
        let rule = self.observer.rule_against(node.id, message);
        let is_true = match error {
            SendError::Full(kept) => kept + FRAMES > outbox,
            SendError::NotJoined => {
                let has_joined = node.plain || self.observer.has_joined(who);
                who > 0 && (!self.observer.sides[who].is_met || !has_joined)
            }
            SendError::Cancelled => is_ahead || self.observer.chains.may_be_cancelled(&text),
            SendError::Stopped(_) => who == 0 && self.observer.timeline.has_lost(),
            SendError::Refused { code, .. }
                if *code == ErrorCode::REF_NOT_FOUND
                    && self.observer.is_for_nobody(node.id, &text) =>
            {
                who == 0
            }
            SendError::Refused { code, .. }
                if *code == ErrorCode::BUDGET_EXCEEDED
                    && self.observer.has_too_many_requests(&text) =>
            {
                who == 0
            }
            // An agent has just said which requests it takes, and the observer does not know that yet.
            SendError::Refused { code, .. }
                if *code == ErrorCode::REF_NOT_FOUND && kind_of(&text).is_some() && is_ahead =>
            {
                who == 0
            }
            error => match message.payload.get("see") {
                Some(Value::Ref(key)) => self.lacks_here(who, key, error.code()),
                // Only the host checks a message against the rules when it sends it.
                _ if who == 0 && is_ahead => message.schema.is_some() || is_end,
                _ => who == 0 && rule == Some(error.code()),
            },
        };
        if is_true {
            return Ok(());
        }
        let see = message.payload.get("see");
        Err(format!(
            "@{} does not send, and should: {error}, {see:?}",
            node.agent
        ))
    }

    /// Returns whether a side may refuse a reference with this code. A side that is behind the log may lack the
    /// target.
    fn lacks_here(&self, who: usize, key: &str, code: ErrorCode) -> bool {
        let Some(goal) = goal(key) else {
            return false;
        };
        let last = self.observer.sides[who].last;
        let is_behind = last < self.observer.log.len() as u64;
        let here = match goal {
            Goal::Frame(at) => at > last,
            Goal::Checkpoint(_) => is_behind,
            Goal::Foreign(..) => is_behind && code == ErrorCode::UNAUTHORIZED_REF,
            Goal::Value(..) => is_behind,
            Goal::Nothing => false,
        };
        here || self.observer.fault(&goal) == Some(code)
    }
}

/// Fails if a side asks a peer for more values at a time than it may, or sends the peer more of the log at a time
/// than it may (docs/limits.md).
pub(super) fn asks_and_sends_little(who: usize, batch: &Batch) -> Result {
    let mut peers: BTreeMap<MemberId, (usize, usize)> = BTreeMap::new();
    for send in &batch.sends {
        let (asked, relayed) = peers.entry(send.to).or_default();
        let wanted = send.text.split(">qry:bytes{").nth(1).unwrap_or_default();
        *asked += usize::from(wanted.contains("key:k"));
        if meta(&send.text, "by").is_some() {
            *relayed += send.text.len();
        }
    }
    // The host counts 128 KiB of entries. The relays are longer by their metadata, and the last
    // entry may begin just below the bound. So twice as many bytes are allowed.
    let most = 2 * 128 * 1024;
    let too_much = |(asked, relayed): &(usize, usize)| *asked > 8 || *relayed > most;
    match peers.iter().find(|(_, sums)| too_much(sums)) {
        Some((to, (asked, relayed))) => Err(format!(
            "{who} asks {to} for {asked} values at a time, and sends {relayed} bytes of the log"
        )),
        None => Ok(()),
    }
}

/// Fails if a side sends a frame that is in none of the batches that it has kept.
pub(super) fn sends_no_more(who: usize, mut left: impl Iterator<Item = Transmit>) -> Result {
    match left.next() {
        Some(send) => Err(format!("{who} sends what it has not kept: {}", send.text)),
        None => Ok(()),
    }
}

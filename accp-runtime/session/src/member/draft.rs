//! A member whose host knows the draft alone.
//!
//! Such a host says neither who the member is nor what stands at which position. So this side keeps
//! a log of its own: the frames that it takes, in the order of their numbers, and its own frames
//! when the host has taken them. A number that is missing is asked for (E3003). What the host cannot
//! give again is told as missed.

mod silence;
mod state;

use std::borrow::Cow;

use super::Member;
use crate::gate::seen::{ConsumedId, SeenSet};
use crate::interface::event::Event;
use crate::interface::output::Stored;
use crate::log::entry::EntryKind;
use crate::log::mid::{MemberId, Mid};
use crate::options::Scope;
use crate::state::effect::Effect;
use crate::state::shared::StateUpdate;
use crate::wire::control::Control;
use crate::wire::inline;
use crate::wire::link::{Hello, Link, PeerError};
use crate::wire::refusal::Refusal;
use crate::wire::relay::Relay;
use crate::wire::scan::Scanned;
use crate::wire::stamp::{About, Stamp};
use accp_context::Time;
use accp_frame::{AgentId, ErrorCode, Intent, Map};

/// Hellos in a row with a number that this side has passed, before it believes that its host has gone
/// back. A hello may be late.
const BACK: u32 = 3;

/// The first number that a host cannot have reached: there has to be one after it.
const NUMBERS: u64 = 1 << 47;

/// What a member knows of a session whose host knows the draft alone.
#[derive(Debug)]
pub(crate) struct DraftHost {
    /// The last number that this side has taken.
    pub number: u64,
    /// The frames that it has taken (draft section 3.7, item 1).
    seen: SeenSet,
    /// The number that this side has asked for again.
    asked: Option<u64>,
    /// The hellos of this side that the host has not answered.
    hellos: u32,
    /// True once the host has acknowledged a frame. Then no answer stands for an acknowledgement.
    acknowledges: bool,
    /// The version of the shared state that the host has told as a whole. What makes an older one is
    /// in it.
    whole: u64,
    /// The host has said a lower number since it told its state, so it may have gone back to another
    /// state.
    may_be_back: bool,
    /// A whole state that came under the next number, which may be the number of another frame, and
    /// when it first came.
    offered: Option<(Mid, Time)>,
    /// The last number that the host could not give any more, of those that this side has missed.
    missed: u64,
    /// Hellos of the host in a row that have gone back to a lower number, and the number of the last. A
    /// host that has gone back counts on; hellos that are late come in any order.
    back: (u32, u64),
    /// How often the host has answered a ping and said nothing of the first frame of the outbox, which
    /// has gone out this often.
    silent: u32,
    /// How often a change has not fitted to the shared state of this side, before the host told it.
    doubts: u32,
}

impl DraftHost {
    /// Returns what a side knows that has this in its store.
    pub(crate) fn of(stored: &Stored) -> Self {
        Self {
            number: stored.outbox_sequence.saturating_sub(1),
            seen: SeenSet::from_stored(&stored.seen),
            asked: None,
            hellos: 0,
            acknowledges: false,
            whole: 0,
            may_be_back: false,
            offered: None,
            missed: stored.outbox_sequence.saturating_sub(1),
            back: (0, 0),
            silent: 0,
            doubts: 0,
        }
    }

    /// Notes that the host has said something of the first frame.
    fn reset_silence(&mut self) {
        self.silent = 0;
    }

    /// Notes that a frame has left the outbox. Returns the next number.
    pub(crate) fn forgets(&mut self) -> u64 {
        self.reset_silence();
        self.number + 1
    }

    /// Returns whether a frame answers one of this side. The copy of an answer goes under a number
    /// that this side has passed.
    fn is_answer(&self, frame: &Scanned<'_>, me: MemberId) -> bool {
        let asked = frame.cid().and_then(|cid| self.seen.get(cid));
        asked.is_some_and(|asked| asked.sender == me)
    }
}

/// Returns the ids of this run, which no other side and no other run makes.
pub(crate) fn ids_of(agent: &AgentId<'_>, session: &str, epoch: u32, now: Time) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(agent.as_str().as_bytes()).update(&[0]);
    hasher.update(session.as_bytes()).update(&[0]);
    hasher.update(&epoch.to_le_bytes());
    hasher.update(&now.as_millis().to_le_bytes());
    *hasher.finalize().as_bytes()
}

impl Member {
    /// Follows the draft alone from now on.
    pub(crate) fn follow_draft_host(&mut self, draft: DraftHost, now: Time) {
        let options = &self.side.options;
        let ids = ids_of(
            &options.agent,
            &options.session,
            self.side.mids.epoch(),
            now,
        );
        self.side.mids.set_ids(ids);
        self.outbox.set_scope(Scope::Shared);
        self.parts = false;
        self.draft = Some(Box::new(draft));
    }

    /// Returns the head of a link frame.
    pub(crate) fn stamp(&mut self, now: Time) -> Stamp<'_> {
        let number = self.draft.as_ref().map(|draft| draft.number);
        self.side.stamp(now).for_draft(number)
    }

    /// Returns the hello of a side that knows the draft alone, and notes that it goes out.
    pub(crate) fn draft_hello(&mut self) -> Option<Hello> {
        let draft = self.draft.as_mut()?;
        draft.hellos = draft.hellos.saturating_add(1);
        Some(Hello {
            draft: true,
            ..self.side.hello()
        })
    }

    /// Takes a frame of a host that knows the draft alone.
    pub(crate) fn receive_draft(&mut self, frame: &Scanned<'_>, now: Time) {
        if frame.envelope.sequence >= Some(NUMBERS) {
            return;
        }
        if Link::is(frame) {
            if let Ok(link) = Link::read(frame) {
                self.draft_link(link, frame, now);
            }
            return;
        }
        if let Some(error) = self.refusal(frame) {
            return self.draft_refusal(error, now);
        }
        // The host says its state under the last number of its session, which may be 0.
        let state = StateUpdate::decode(frame.text).ok();
        let number = frame.envelope.sequence;
        let number = number.filter(|number| *number > 0 || state.is_some());
        let (Some(mid), Some(number)) = (frame.mid(), number) else {
            let expected = "a mid, and a seq from 1";
            return self.complain(frame, ErrorCode::PARSE_ERROR, expected, now);
        };
        let Some(draft) = &self.draft else { return };
        // An answer to the first frame of the outbox says that the host has taken it, under the number
        // with which it went out.
        let of = [frame.cid().cloned(), frame.aid()];
        if !draft.acknowledges
            && number == draft.number + 2
            && self.outbox.sequence() + 1 == number
            && let Some(asked) = of.into_iter().flatten().find(|of| self.outbox.is_first(of))
        {
            self.consumed(&asked, Some(number - 1), now);
        }
        let Some(draft) = &self.draft else { return };
        let next = draft.number + 1;
        if number > next {
            return self.lacks(next, now);
        }
        // What this side was told that it has missed comes too late. The host may tell its state, and
        // copies of answers, under the last number of it.
        let is_told = match &state {
            Some(StateUpdate::Full { .. }) => true,
            Some(_) => number == draft.missed && draft.whole > 0,
            None => number == draft.missed && draft.is_answer(frame, self.side.me()),
        };
        if number < next && number <= draft.missed && !is_told {
            return;
        }
        let is_offered = draft.offered.as_ref().is_some_and(|(of, _)| of == mid);
        if let Some(state) = state.filter(|_| is_offered || draft.seen.get(mid).is_none()) {
            return self.take_state(frame, mid, number, &state, now);
        }
        let is_new = draft.seen.get(mid).is_none();
        if is_new && !self.take(frame, number, now) {
            // The host gives it again after the next hello.
            self.hello.arm(self.side.clock.timers());
        } else if number == next {
            self.passed(number);
        }
    }

    fn draft_link(&mut self, link: Link, frame: &Scanned<'_>, now: Time) {
        let next = self.draft.as_ref().map_or(1, |draft| draft.number + 1);
        match link {
            // The host has started again, and does not know what this side understands. It speaks of
            // positions.
            Link::Ack { up: Some(_), .. } => self.to_send.hello = true,
            Link::Ack { of, held, .. } => {
                if let Some(draft) = &mut self.draft {
                    draft.acknowledges = true;
                }
                // A host that does not know this pair may count its own acknowledgements, too.
                let named = of.filter(|mid| self.outbox.is_first(mid));
                let counts = frame.envelope.extra.get("of").is_none();
                match named {
                    Some(mid) if counts => {
                        self.consumed(&mid, Some(next), now);
                        // The acknowledgement itself has the number after that of the frame.
                        if held > next + 1 {
                            self.lacks(next + 1, now);
                        } else {
                            self.passed(held);
                        }
                    }
                    Some(mid) if held <= next => self.consumed(&mid, Some(held), now),
                    _ if held == next => self.passed(held),
                    _ if held > next => self.lacks(next, now),
                    _ => {}
                }
            }
            Link::Ping { held } => {
                if held >= next {
                    self.lacks(next, now);
                }
                let pong = self.stamp(now).beat(Intent::PONG);
                self.side.send(MemberId::HOST, pong);
            }
            Link::Pong { held } => {
                if held >= next {
                    self.lacks(next, now);
                } else {
                    self.conclude_silence(now);
                }
            }
            Link::Hello(hello) => self.greeted(&hello, now),
            Link::Error { error, .. } => self.draft_refusal(error, now),
            Link::Want { .. } | Link::Bytes(_) => {}
        }
    }

    /// Returns the refusal of a frame of this side, if this is one. A host of the draft alone names
    /// the frame by `cid`, as an agent names what it answers. But the number of an agent's answer
    /// comes after that of what it answers.
    fn refusal(&self, frame: &Scanned<'_>) -> Option<PeerError> {
        if frame.intent != Intent::FAIL || frame.header.operation != "error" {
            return None;
        }
        let next = self.draft.as_ref()?.number + 1;
        let asked = frame.cid().filter(|cid| self.outbox.is_first(cid));
        if let Some(mid) = asked.filter(|_| frame.envelope.sequence.is_none_or(|seq| seq <= next)) {
            return PeerError::read(frame.text, Some(mid.clone())).ok();
        }
        let of = self.outbox.frames().next().map(|first| first.mid.clone());
        let error = PeerError::read(frame.text, of).ok()?;
        error.is_about_turn().then_some(error)
    }

    fn draft_refusal(&mut self, error: PeerError, now: Time) {
        let next = self.draft.as_ref().map_or(1, |draft| draft.number + 1);
        let is_first = |of: &Mid| self.outbox.is_first(of);
        if let Some(draft) = &mut self.draft
            && error.of.as_ref().is_some_and(is_first)
        {
            draft.reset_silence();
        }
        match error.of.clone().filter(is_first) {
            // The host has it, and says so again.
            Some(mid) if error.code == ErrorCode::DUPLICATE => match error.sequence {
                Some(number) if number > next => self.lacks(next, now),
                number => self.consumed(&mid, number, now),
            },
            _ => self.refused(error),
        }
    }

    /// Puts a frame into the log of this side, unless its handlers lag behind. Returns whether the
    /// frame is dealt with.
    fn take(&mut self, frame: &Scanned<'_>, number: u64, now: Time) -> bool {
        if self.is_busy() {
            return false;
        }
        let code = ErrorCode::POLICY_DENIED;
        if Control::is(frame) {
            let expected = "an operation that the session does not keep for itself";
            self.complain(frame, code, expected, now);
            return true;
        }
        let position = self.side.position + 1;
        let kind = EntryKind::Frame;
        if let Err(error) = self.side.effect(position, kind, frame) {
            let expected = error.expected().to_owned();
            self.complain(frame, error.code(), expected, now);
            return true;
        }
        self.log(frame.text, frame.mid(), (MemberId::HOST, number), now)
    }

    /// Notes that the host has taken the first frame of the outbox, under this number if the host
    /// has said which.
    fn consumed(&mut self, mid: &Mid, said: Option<u64>, now: Time) {
        let number = said.unwrap_or_else(|| self.outbox.sequence());
        let first = self.outbox.frames().next();
        let Some(text) = first.map(|first| first.text(number)) else {
            return;
        };
        // The whole state that the host has told since may hold a change of this side.
        let shared = &self.side.state.shared;
        let effect = Scanned::of_entry(&text).map(|frame| Effect::of(&frame, shared));
        if let Ok(Err(_)) = effect {
            if let Some(frame) = self.outbox.refused(mid) {
                self.forget(frame, Event::Acknowledged);
            }
            self.passed(said.unwrap_or(0));
        } else if self.log(&text, Some(mid), (self.side.me(), number), now) {
            self.passed(said.unwrap_or(0));
        } else {
            self.hello.arm(self.side.clock.timers());
        }
    }

    /// Appends an entry to the log of this side. Returns false if it has no room now.
    fn log(&mut self, text: &str, mid: Option<&Mid>, place: (MemberId, u64), now: Time) -> bool {
        let (sender, sequence) = place;
        let position = self.side.position + 1;
        let relay = Relay {
            frame: text.strip_suffix(']').unwrap_or(text),
            position,
            sender,
            prev: self.side.position,
            tokens: 0,
            cut: false,
            repeat: false,
            vouched: None,
        };
        self.relayed(&relay, now);
        if let (Some(mid), Some(draft)) = (mid, &mut self.draft) {
            let place = ConsumedId {
                sender,
                sequence,
                dropped: false,
            };
            if self.side.position == position && draft.seen.get(mid).is_none() {
                draft.seen.insert(mid, place);
            }
        }
        self.side.position == position
    }

    /// Notes that this number is used up.
    fn passed(&mut self, number: u64) {
        let Some(draft) = &mut self.draft else { return };
        if number > draft.number {
            draft.number = number;
            draft.asked = None;
            self.outbox.passed(number);
            self.keep_number();
        }
        // What was missing is here.
        if !self.to_send.hello && self.met {
            self.hello.rest();
        }
    }

    fn keep_number(&mut self) {
        let number = self.draft.as_ref().map_or(0, |draft| draft.number);
        self.side.batch.get().outbox_sequence = Some(number + 1);
    }

    /// Asks for the frames from this number on: once, and at the next retry by a hello.
    fn lacks(&mut self, number: u64, now: Time) {
        self.hello.arm(self.side.clock.timers());
        let Some(draft) = &mut self.draft else { return };
        if draft.asked.replace(number) == Some(number) {
            return;
        }
        let gap = Refusal::out_of_turn(number).about(None);
        let text = self.stamp(now).frame(gap.frame(), About::Nothing);
        self.side.send_link(MemberId::HOST, text);
    }

    /// Tells the host why this side does not take a frame.
    fn complain(
        &mut self,
        frame: &Scanned<'_>,
        code: ErrorCode,
        expected: impl Into<Cow<'static, str>>,
        now: Time,
    ) {
        let refusal = Refusal::new(code, expected);
        let mut error = refusal.about(frame.mid().cloned());
        if code == ErrorCode::REF_NOT_FOUND {
            error.version = Some(self.side.state.shared.version());
        }
        let of = About::Frame(frame.mid());
        let text = self.stamp(now).frame(error.frame(), of);
        self.side.send_link(MemberId::HOST, text);
    }

    /// Takes the hello of a host that knows the draft alone. Its `seq` is the number after which it
    /// goes on.
    pub(crate) fn greeted_by_draft(&mut self, hello: &Hello, now: Time) {
        // A host with a log of positions has let this side in before.
        if self.side.state.members().next().is_some() {
            return;
        }
        if self.draft.is_none() {
            self.follow_draft_host(DraftHost::of(&Stored::default()), now);
        }
        if let Some(schemas) = &hello.schemas {
            self.learn_inline(schemas);
        }
        let Some(draft) = &mut self.draft else { return };
        // Otherwise the host is back, and wants to know which registry this side has. An answer to an
        // answer would have no end.
        let is_answer = draft.hellos > 0 || hello.schemas.is_some();
        draft.hellos = draft.hellos.saturating_sub(1);
        self.to_send.hello |= !is_answer && self.hello.at().is_none();
        let number = hello.number.filter(|number| *number < NUMBERS);
        let number = number.unwrap_or(draft.number);
        let is_lower = number < draft.number;
        draft.may_be_back |= is_lower;
        draft.back = match draft.back {
            _ if !is_lower => (0, 0),
            (hellos, before) if number >= before => (hellos + 1, number),
            _ => (1, number),
        };
        if self.met && (1..BACK).contains(&draft.back.0) {
            return self.hello.soon(self.side.clock.timers());
        }
        draft.back = (0, 0);
        let missed = draft.number + 1..=number;
        draft.number = number;
        draft.asked = None;
        if self.joined && !missed.is_empty() {
            (draft.missed, draft.whole) = (number, 0);
            self.side.emit(Event::Missed(missed));
        }
        self.hello.rest();
        self.met = true;
        self.outbox.begin_at(number + 1);
        self.keep_number();
        if !self.joined {
            self.now_joined();
            self.side.emit(Event::AtLeastOnce(MemberId::HOST));
        }
    }

    /// Takes over the schemas that this side lacks.
    fn learn_inline(&mut self, schemas: &Map<'_>) {
        let own = &self.side.options.registry;
        let theirs = inline::registry_of(schemas, own);
        let learnt = theirs.and_then(|theirs| inline::merged(own, theirs));
        match learnt {
            Ok(all) if all.hash() == self.side.schemas => {}
            Ok(all) => {
                let (hash, json) = (all.hash(), all.to_json().to_string());
                self.side.batch.get().registries.push((hash, json));
                self.side.set_registry(all);
                self.side.emit(Event::Schemas(hash));
            }
            Err(why) => self.side.emit(Event::SchemasUnavailable(why)),
        }
    }

    /// Returns whether this side takes no frames now, because its handlers lag behind. If they wait for
    /// room in the outbox, what makes room has a place among the frames of others.
    pub(super) fn is_busy(&self) -> bool {
        let is_full = self.outbox.waiting() >= self.side.options.outbox;
        self.side.is_busy() && !(self.draft.is_some() && is_full)
    }
}

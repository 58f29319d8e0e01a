//! A member whose host knows only the draft.
//!
//! Such a host gives neither the number of the member nor positions. So this side keeps a log of its own: the
//! frames that it takes, in the order of their numbers, and its own frames once the host has taken them. If a
//! number is missing, this side asks for it (E3003). If the host cannot send the number again, this side reports it
//! as missed.

mod silence;
mod state;

use std::borrow::Cow;

use super::Member;
use crate::interface::event::Event;
use crate::interface::output::Stored;
use crate::log::entry::EntryKind;
use crate::log::mid::{MemberId, Mid};
use crate::options::Scope;
use crate::state::effect::Effect;
use crate::state::seen::{ConsumedId, SeenSet};
use crate::state::shared::StateUpdate;
use crate::wire::control::Control;
use crate::wire::inline;
use crate::wire::link::{Hello, Link, PeerError};
use crate::wire::refusal::Refusal;
use crate::wire::relay::Relay;
use crate::wire::scan::Scanned;
use crate::wire::stamp::About;
use accp_context::Time;
use accp_frame::{AgentId, ErrorCode, Intent, Map};

/// The number of hellos in a row with a lower number than that of this side, after which this side concludes that
/// its host was restored from an older copy. One hello alone may be late.
const BACK: u32 = 3;

/// Numbers from here on are invalid, because no session ever reaches them.
const NUMBERS: u64 = 1 << 47;

/// The knowledge of a member about its session, if the host knows only the draft.
#[derive(Debug)]
pub(crate) struct DraftHost {
    /// The last number that this side has taken.
    pub number: u64,
    /// The frames that this side has taken (draft section 3.7, item 1).
    seen: SeenSet,
    /// The number that this side has asked for again.
    asked: Option<u64>,
    /// The number of hellos of this side that the host has not answered.
    pub(super) hellos: u32,
    /// True once the host has acknowledged a frame. From then on an answer to a frame does not count as
    /// its acknowledgement.
    acknowledges: bool,
    /// The version of the last whole shared state that the host has sent. It contains all earlier
    /// changes.
    whole: u64,
    /// True if the host has sent a lower number since its last whole state, so its state may be an
    /// older one.
    may_be_back: bool,
    /// A whole state that came under the next number, and when it first came. The number may belong to
    /// another frame.
    offered: Option<(Mid, Time)>,
    /// The last of the numbers that this side has missed and the host could not send again.
    missed: u64,
    /// The number of hellos in a row with a lower number than that of this side, and the number in the
    /// last of them. The numbers of a host that was restored from an older copy ascend; late hellos
    /// come in any order.
    back: (u32, u64),
    /// The number of times that the first frame of the outbox went out and the host then answered a ping, but did not
    /// acknowledge the frame.
    silent: u32,
    /// The number of changes since the last whole state that did not fit the shared state of this side.
    doubts: u32,
}

impl DraftHost {
    /// Restores what this side knows about such a host from the store of the side.
    pub(crate) fn of(stored: &Stored) -> Self {
        let mut seen = SeenSet::default();
        seen.add_stored(&stored.seen);
        Self {
            number: stored.outbox_sequence.saturating_sub(1),
            seen,
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

    /// Notes that the host has answered the first frame.
    pub(super) fn reset_silence(&mut self) {
        self.silent = 0;
    }

    /// Returns whether a frame answers a frame of this side. So this side can tell a copy of an answer from a late
    /// frame: both have a number that this side has already taken.
    fn is_answer(&self, frame: &Scanned<'_>, me: MemberId) -> bool {
        let asked = frame.cid().and_then(|cid| self.seen.get(cid));
        asked.is_some_and(|asked| asked.sender == me)
    }
}

/// Returns a seed for message ids that no other side and no other run makes.
pub(crate) fn ids_of(agent: &AgentId<'_>, session: &str, epoch: u32, now: Time) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(agent.as_str().as_bytes()).update(&[0]);
    hasher.update(session.as_bytes()).update(&[0]);
    hasher.update(&epoch.to_le_bytes());
    hasher.update(&now.as_millis().to_le_bytes());
    *hasher.finalize().as_bytes()
}

impl Member {
    /// Follows only the draft from now on.
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

    /// Takes a frame of a host that knows only the draft.
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
        // The host sends its state under the last number of its session, which may be 0. Any other
        // frame has a number from 1.
        let state = StateUpdate::decode(frame.text).ok();
        let number = frame.envelope.sequence;
        let number = number.filter(|number| *number > 0 || state.is_some());
        let (Some(mid), Some(number)) = (frame.mid(), number) else {
            let expected = "a mid, and a seq from 1";
            return self.complain(frame, ErrorCode::PARSE_ERROR, expected, now);
        };
        let Some(draft) = &self.draft else { return };
        // An answer to the first frame of the outbox shows that the host has taken that frame, under the
        // number with which it went out.
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
        // Frames that this side has reported as missed come too late, so this side drops them. But the host may send
        // its state, and copies of answers, under the last of these numbers.
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
            // The host sends the frame again after the next hello.
            self.hello.arm(self.side.clock.timers());
        } else if number == next {
            self.passed(number);
        }
    }

    fn draft_link(&mut self, link: Link, frame: &Scanned<'_>, now: Time) {
        let next = self.draft.as_ref().map_or(1, |draft| draft.number + 1);
        match link {
            // The host sends positions: it has started again, and does not know that this side
            // reads only the draft.
            Link::Ack { up: Some(_), .. } => self.to_send.hello = true,
            Link::Ack { of, held, .. } => {
                if let Some(draft) = &mut self.draft {
                    draft.acknowledges = true;
                }
                // Some hosts do not write the pair `of` in an acknowledgement. Such a host may also
                // give its acknowledgements numbers.
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
            Link::Want { .. } | Link::Bytes(_) | Link::Serves(_) | Link::Bye => {}
        }
    }

    /// Returns the error in this frame if the frame refuses a frame of this side. A host that knows only the draft
    /// names the refused frame by `cid`, and an agent names the frame that it answers in the same way. But an
    /// agent's answer has a later number than the frame that it answers.
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
            // `DUPLICATE` means that the host has taken this frame already.
            Some(mid) if error.code == ErrorCode::DUPLICATE => match error.sequence {
                Some(number) if number > next => self.lacks(next, now),
                number => self.consumed(&mid, number, now),
            },
            _ => self.refused(error),
        }
    }

    /// Puts a frame into the log of this side, unless its handlers lag behind. Returns false if the host
    /// has to send the frame again.
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

    /// Notes that the host has taken the first frame of the outbox. `given` is the number of the frame, if the host
    /// has named it.
    fn consumed(&mut self, mid: &Mid, given: Option<u64>, now: Time) {
        let number = given.unwrap_or_else(|| self.outbox.sequence());
        let first = self.outbox.frames().next();
        let Some(text) = first.map(|first| first.text(number)) else {
            return;
        };
        // If the change does not apply any more, the last whole state of the host already
        // contains it.
        let shared = &self.side.state.shared;
        let effect = Scanned::of_entry(&text).map(|frame| Effect::of(&frame, shared));
        if let Ok(Err(_)) = effect {
            if let Some(frame) = self.outbox.refused(mid) {
                self.forget(frame, Event::Acknowledged);
            }
            self.passed(given.unwrap_or(0));
        } else if self.log(&text, Some(mid), (self.side.me(), number), now) {
            self.passed(given.unwrap_or(0));
        } else {
            self.hello.arm(self.side.clock.timers());
        }
    }

    /// Appends an entry to the log of this side. Returns false if this side takes no entries now.
    fn log(&mut self, text: &str, mid: Option<&Mid>, place: (MemberId, u64), now: Time) -> bool {
        let (sender, sequence) = place;
        let position = self.side.position + 1;
        let relay = Relay {
            frame: text.strip_suffix(']').unwrap_or(text),
            position,
            sender,
            to: None,
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

    /// Notes that this number is taken.
    fn passed(&mut self, number: u64) {
        let Some(draft) = &mut self.draft else { return };
        if number > draft.number {
            draft.number = number;
            draft.asked = None;
            self.outbox.passed(number);
            self.keep_number();
        }
        // The missing frames have arrived, so this side stops repeating its hello.
        if !self.to_send.hello && self.host_answered {
            self.hello.rest();
        }
    }

    fn keep_number(&mut self) {
        let number = self.draft.as_ref().map_or(0, |draft| draft.number);
        self.side.batch.get().outbox_sequence = Some(number + 1);
    }

    /// Asks once for the frames from this number on. At the next retry, the hello asks for them again.
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

    /// Takes the hello of a host that knows only the draft. Its `seq` is the number after which the host
    /// goes on.
    pub(crate) fn greeted_by_draft(&mut self, hello: &Hello, now: Time) {
        // A host with a log has admitted this side before. So this side ignores a hello in the
        // form of the draft.
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
        // A hello that is not an answer means that the host has started again and asks for the
        // registry of this side. If both sides answered answers, they would never stop.
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
        if self.host_answered && (1..BACK).contains(&draft.back.0) {
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
        self.host_answered = true;
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
            Ok(all) => self.adopt_schemas(all),
            Err(why) => self.side.emit(Event::SchemasUnavailable(why)),
        }
    }
}

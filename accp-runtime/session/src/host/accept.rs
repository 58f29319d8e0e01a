//! How the host judges the frames that members send, and takes them into the log.

use std::sync::Arc;

use accp_registry::ErrorCode;

use super::Host;
use crate::delivery::groups::Progress;
use crate::delivery::parts::Part;
use crate::gate::Ruling;
use crate::gate::content::{Checked, check};
use crate::gate::numbers::REFUSED;
use crate::interface::event::Event;
use crate::interface::input::Posted;
use crate::log::entry::{Entry, EntryKind};
use crate::log::mid::{MemberId, Mid};
use crate::options::Scope;
use crate::send::encode::{Composed, tail_of};
use crate::state::effect::Effect;
use crate::wire::control::Control;
use crate::wire::link::Link;
use crate::wire::refusal::Refusal;
use crate::wire::relayed::Relayed;
use crate::wire::scan::{Scanned, scan};
use crate::wire::stamp::About;
use accp_context::Time;
use accp_context::Trigger;
use accp_frame::{DecodeError, Envelope, Map};

/// The outcome for a frame.
enum FrameOutcome {
    /// The frame is in the log, under this id and this `seq`.
    Accepted(Mid, u64),
    /// The host dropped the frame, now or before. The frame has a place in the log, but gets no answer (draft
    /// section 3.7).
    Dropped,
    Refused,
    /// The frame was a link frame.
    Link,
    /// The host does not take the frame now, and nothing has changed.
    Not,
}

impl Host {
    /// Takes a frame from a member. The caller has made sure that this member sent it.
    pub(crate) fn receive(&mut self, from: MemberId, frame: &[u8], now: Time) {
        if self.side.state.is_in(from) {
            self.relays.note_alive(from, self.side.clock.timers());
        }
        if let FrameOutcome::Accepted(mid, sequence) = self.take(from, frame, true, now) {
            self.relays.cursor(from).ack = Some((mid, sequence));
        }
    }

    /// Takes a frame that a member has sent outside of its link. Frames for this member are returned as
    /// the answer and do not go out.
    pub(crate) fn post(&mut self, from: MemberId, frame: &[u8], now: Time) -> Posted {
        let before = self.side.batch.get().sends.len();
        let taken = self.take(from, frame, false, now);
        let sends = &mut self.side.batch.get().sends;
        let sent = sends.split_off(before.min(sends.len()));
        let (mine, others): (Vec<_>, _) = sent.into_iter().partition(|send| send.to == from);
        sends.extend(others);
        let mut answers = mine.into_iter().map(|send| send.text);
        match taken {
            FrameOutcome::Accepted(mid, at) => {
                let up = self.relays.last();
                let answer = self.stamp_for(from, now).ack(Some((&mid, at, up)));
                Posted::Accepted { mid, answer }
            }
            FrameOutcome::Refused => answers.next().map_or(Posted::Silent, Posted::Refused),
            // The host may answer a link frame with several frames: a registry may need more than
            // one.
            FrameOutcome::Link => match answers.collect::<Vec<_>>().join("\n") {
                none if none.is_empty() => Posted::Silent,
                answers => Posted::Link(answers),
            },
            FrameOutcome::Dropped => Posted::Silent,
            FrameOutcome::Not => Posted::Later,
        }
    }

    /// Judges a frame, and answers it unless it was accepted.
    fn take(&mut self, from: MemberId, frame: &[u8], is_linked: bool, now: Time) -> FrameOutcome {
        let state = &self.side.state;
        let (is_known, is_present) = (state.members.get(from).is_some(), state.is_in(from));
        let limits = self.side.options.limits;
        let scanned = match scan(frame, limits) {
            Ok(scanned) => scanned,
            Err(error) => {
                self.unreadable(from, frame, &error, now);
                return FrameOutcome::Refused;
            }
        };
        if self.is_link_frame(from, &scanned) {
            // The host never answers a link frame with an error, not even if the host cannot read
            // that frame.
            match Link::read(&scanned) {
                Ok(link) if is_present => self.link(from, link, is_linked, now),
                // The member has missed the first answer.
                Ok(Link::Bye) if is_known => self.say_bye(from, now),
                _ => {}
            }
            return FrameOutcome::Link;
        }
        if !is_known {
            let refusal = Refusal::new(ErrorCode::POLICY_DENIED, "a member of the session");
            self.send_refusal(from, scanned.mid(), refusal, now);
            return FrameOutcome::Refused;
        }
        let cursor = self.relays.cursor(from);
        if is_linked && is_present && cursor.vouched.is_none() && !cursor.greeting {
            let expected = "sync:registry before any other frame (draft section 6.4)";
            // The refusal is not final: the host takes the frame after a hello.
            let refusal = Refusal::new(ErrorCode::TIMEOUT, expected);
            self.send_refusal(from, scanned.mid(), refusal, now);
            return FrameOutcome::Refused;
        }
        // A member that may hold another log has to send a hello first.
        let is_unknown = is_linked && self.key.is_some() && cursor.greeting;
        if self.side.is_busy() || self.lost.is_some() || is_unknown {
            return FrameOutcome::Not;
        }
        let first = self
            .gate
            .first_checks(&self.side, &self.rules, from, &scanned, now);
        let shares = self.side.state.scope == Scope::Shared;
        if let (true, true, Ok((mid, _))) = (shares, is_linked, &first)
            && self.is_turn_of_another(from)
        {
            self.wait(from, mid);
            return FrameOutcome::Not;
        }
        let verdict = first.and_then(|(mid, sequence)| {
            self.accept(from, &scanned, mid.clone(), sequence, now)
                .map_err(Ruling::Refuse)?;
            Ok((mid, sequence))
        });
        let taken = match verdict {
            Ok((mid, sequence)) => {
                self.queue.took(from);
                FrameOutcome::Accepted(mid, sequence)
            }
            Err(Ruling::Drop) => {
                self.queue.took(from);
                self.drop_silently(from, &scanned, now);
                FrameOutcome::Dropped
            }
            Err(Ruling::Refuse(refusal)) => {
                if let (true, true, Some(mid)) = (
                    is_linked,
                    refusal.code == ErrorCode::SEQUENCE_GAP,
                    scanned.mid(),
                ) {
                    self.wait(from, mid);
                }
                self.refuse(from, &scanned, refusal, now);
                FrameOutcome::Refused
            }
            Err(Ruling::Ignore) => FrameOutcome::Not,
            // The host dropped this frame before. Over HTTP the first answer may have been lost, so
            // the host gives the same answer again.
            Err(Ruling::Again) => FrameOutcome::Dropped,
        };
        if shares {
            self.call_next(now);
        }
        self.take_due_checkpoint(now);
        taken
    }

    /// Returns whether a member has to wait with its next number, because it is the turn of another member.
    fn is_turn_of_another(&self, member: MemberId) -> bool {
        let now = self.side.clock.timers();
        self.queue.is_anothers(member, now) && self.has_to_wait(member, now)
    }

    /// Lets a member wait for its turn to take a number.
    pub(super) fn wait(&mut self, member: MemberId, mid: &Mid) {
        let (now, patience) = (self.side.clock.timers(), self.side.options.retry);
        self.queue.wait(member, mid, now, patience);
    }

    /// Tells the member whose turn it is which number is next. A guest asks again by itself.
    pub(super) fn call_next(&mut self, now: Time) {
        let (timers, patience) = (self.side.clock.timers(), self.side.options.retry);
        let next = self.queue.next(timers, patience);
        if let Some((member, mid)) = next.filter(|(next, _)| !self.guests.is_open(*next)) {
            let next = self.gate.numbers.next(self.side.state.scope, member);
            self.send_refusal(member, Some(&mid), Refusal::out_of_turn(next), now);
        }
    }

    /// Gives a frame whose turn it is a place in the log, unless its content is refused.
    pub(crate) fn accept(
        &mut self,
        sender: MemberId,
        frame: &Scanned<'_>,
        mid: Mid,
        sequence: u64,
        now: Time,
    ) -> Result<(), Refusal> {
        if let Some(part) = Part::of(frame)? {
            return self.accept_part(sender, frame, &part, mid, sequence, now);
        }
        let checked = check(&self.side, &self.gate, sender, frame, None)?;
        self.enter(sender, frame, checked, mid, sequence, now);
        Ok(())
    }

    /// Appends a frame to the log, with its effect.
    pub(crate) fn enter(
        &mut self,
        sender: MemberId,
        frame: &Scanned<'_>,
        checked: Checked,
        mid: Mid,
        sequence: u64,
        now: Time,
    ) {
        let mut checked = checked;
        if checked.to == Some(MemberId::NOBODY) {
            checked.to = Some(self.taker_of(sender, frame));
        }
        let parent = self.side.state.chains.parent(frame);
        let kind = checked.effect.kind();
        if let Effect::Control(Control::Put { values }) = &checked.effect
            && sender != MemberId::HOST
        {
            self.fetch_puts(sender, values);
        }
        if kind == EntryKind::Frame {
            self.announce_level(now);
        }
        self.append(sender, frame, checked, mid, sequence, now);
        if kind == EntryKind::Frame {
            let turn = &mut self.causes;
            turn.current = Some(self.side.position);
            turn.parent = parent;
            turn.triggers.extend(Trigger::of(frame.intent));
        }
    }

    /// Checks that a part belongs to a frame that this sender may send in parts.
    pub(super) fn check_part(
        &self,
        sender: MemberId,
        part: &Part,
        mid: &Mid,
    ) -> Result<(), Refusal> {
        // A whole frame has the id of its first part. If the host has a whole frame under that
        // id, this part is a duplicate.
        let begins = part.index == 1 && part.of == *mid;
        if let Some(whole) =
            self.gate.seen.get(&part.of).filter(|whole| {
                whole.sender == sender && self.gate.numbers.wholes.contains(&part.of)
            })
        {
            return Err(Refusal::duplicate(whole.sender, whole.sequence));
        }
        if !begins && !self.gate.numbers.groups.contains(sender, &part.of) {
            // If the host does not know the id `of`, the first part may still be on its way: this
            // later part may have come first, under an old number.
            return Err(if self.gate.knows(sender, &part.of) {
                let expected = "of as the id of the first part, which this sender sent before";
                Refusal::new(ErrorCode::INVALID_TYPE, expected)
            } else {
                Refusal::first_part_before()
            });
        }
        Ok(())
    }

    /// Appends a part. With the last part it also appends the whole frame, under the id of the
    /// first part and without a `seq`.
    pub(crate) fn accept_part(
        &mut self,
        sender: MemberId,
        frame: &Scanned<'_>,
        part: &Part,
        mid: Mid,
        sequence: u64,
        now: Time,
    ) -> Result<(), Refusal> {
        let limits = self.rules.groups;
        self.check_part(sender, part, &mid)?;
        let groups = &mut self.gate.numbers.groups;
        let whole = match groups.accept(sender, part, frame.text, now, &limits)? {
            Progress::Waiting => None,
            Progress::Whole(head) => Some(whole_text(head, frame, part, sequence)),
        };
        let whole = whole.transpose()?;
        let whole = whole.as_deref().map(Scanned::of_entry).transpose()?;
        let whole = whole.map(|whole| {
            let checked = check(&self.side, &self.gate, sender, &whole, None)?;
            Ok::<_, Refusal>((whole, checked))
        });
        let whole = whole.transpose()?;
        let part_of = part.of.clone();
        let effect = Effect::Void(EntryKind::Part);
        self.append(sender, frame, effect.into(), mid, sequence, now);
        if let Some((whole, checked)) = whole {
            self.enter(sender, &whole, checked, part_of, 0, now);
        }
        Ok(())
    }

    pub(crate) fn append(
        &mut self,
        sender: MemberId,
        frame: &Scanned<'_>,
        checked: Checked,
        mid: Mid,
        sequence: u64,
        now: Time,
    ) {
        let Checked { effect, to } = checked;
        let (position, kind) = (self.side.position + 1, effect.kind());
        let shown = match (kind, &self.side.options.counter, &self.side.state.tokenizer) {
            (EntryKind::Frame, Some(counter), Some(_)) => {
                let (hot, limits) = (&self.side.state.hot, &self.side.options.context);
                Some(hot.shown(position, frame.head(), &**counter, limits))
            }
            _ => None,
        };
        let (tokens, cut) = shown.map_or((0, false), |shown| (shown.tokens, shown.cut));
        let text = match kind {
            EntryKind::Refused(_) => refused_text(frame),
            _ => Arc::from(frame.text),
        };
        let mut entry = Entry {
            hash: None,
            position,
            at: now,
            kind,
            sender,
            to,
            mid,
            sequence,
            tokens,
            cut,
            due: self.side.due(kind, sender, to, frame),
            text,
        };
        let before = self.side.hash.filter(|_| kind.is_relayed());
        entry.hash = before.map(|before| Relayed::of(&entry).hash_after(&before));
        self.gate.see(&entry);
        let registry = &self.side.options.registry;
        self.gate.fold(registry, &entry, frame);
        if kind.is_relayed() {
            self.relays.push(&entry);
        }
        self.side.append(entry, frame, effect);
    }

    pub(crate) fn drop_silently(&mut self, from: MemberId, frame: &Scanned<'_>, now: Time) {
        if let (Some(mid), Some(sequence)) = (frame.mid().cloned(), frame.envelope.sequence) {
            self.side.emit(Event::Dropped(mid.clone()));
            let effect = Effect::Void(EntryKind::Dropped);
            self.append(from, frame, effect.into(), mid, sequence, now);
        }
    }

    pub(crate) fn refuse(
        &mut self,
        from: MemberId,
        frame: &Scanned<'_>,
        refusal: Refusal,
        now: Time,
    ) {
        let mid = frame.mid().cloned();
        // A member that has left cannot fill the log with refusals.
        let has_room = self.side.state.is_in(from) || self.gate.numbers.refusals(from) < REFUSED;
        let is_news = |mid: &Mid| !mid.is_too_long() && !self.gate.knows(from, mid);
        if let Some(mid) = mid
            .clone()
            .filter(|mid| refusal.is_for_good() && has_room && is_news(mid))
        {
            let effect = Effect::Void(EntryKind::Refused(refusal.code));
            self.append(from, frame, effect.into(), mid, 0, now);
        }
        self.send_refusal(from, mid.as_ref(), refusal, now);
    }

    pub(crate) fn send_refusal(
        &mut self,
        to: MemberId,
        mid: Option<&Mid>,
        refusal: Refusal,
        now: Time,
    ) {
        let mid = mid.filter(|mid| !mid.is_too_long());
        let error = refusal.about(mid.cloned());
        if !matches!(error.code, ErrorCode::DUPLICATE | ErrorCode::SEQUENCE_GAP) {
            let event = Event::Rejected(to, mid.cloned(), error.code);
            self.side.emit(event);
        }
        let text = self
            .stamp_for(to, now)
            .frame(error.frame(), About::Frame(mid));
        self.side.send_link(to, text);
        if error.version.is_some() {
            self.resend_state(to, now);
        }
    }

    pub(crate) fn unreadable(
        &mut self,
        from: MemberId,
        frame: &[u8],
        error: &DecodeError,
        now: Time,
    ) {
        // The text may be an error or an acknowledgement, so the host does not answer it with an error.
        let about_the_link = [
            &b">fail:"[..],
            b">ack:",
            b">ping:",
            b">pong:",
            b">sync:registry{",
            b">sync:bytes{",
            b">qry:bytes{",
        ];
        let is_answer = about_the_link
            .iter()
            .any(|intent| frame.windows(intent.len()).any(|window| window == *intent));
        if !is_answer {
            // The frame may have been damaged on the way, and may come again undamaged. So the log
            // gets no entry about it.
            let mid = std::str::from_utf8(frame).ok().and_then(Scanned::mid_of);
            let refusal = Refusal::from(error.clone());
            self.send_refusal(from, mid.as_ref(), refusal, now);
        }
    }
}

/// The longest refused frame that the log keeps, in bytes. Of a longer frame it keeps only the sender
/// and the id.
const REFUSED_BYTES: usize = 1024;

/// Returns the text that the log keeps of a refused frame.
fn refused_text(frame: &Scanned<'_>) -> Arc<str> {
    if frame.text.len() <= REFUSED_BYTES {
        return Arc::from(frame.text);
    }
    let part = Part::of(frame).ok().flatten();
    let part = part.filter(|part| !part.of.is_too_long());
    let mut extra = Map::new();
    for key in ["pt", "of"] {
        if let Some(value) = frame.envelope.extra.get(key).filter(|_| part.is_some()) {
            extra.insert(key, value.clone());
        }
    }
    let envelope = Envelope {
        msg_id: frame.envelope.msg_id.clone(),
        sequence: frame.envelope.sequence,
        extra,
        ..Envelope::default()
    };
    let (agent, intent) = (frame.header.agent, frame.intent);
    let mut text = format!("@{agent}>{intent}:refused{{}}");
    let mut metadata = String::new();
    // If the metadata cannot be written, the log keeps the frame without it.
    if envelope.write(&mut metadata).is_ok() {
        text.push_str(&metadata);
    }
    text.into()
}

/// Returns the frame that the parts make, with the envelope of the last part.
fn whole_text(
    head: String,
    last: &Scanned<'_>,
    part: &Part,
    sequence: u64,
) -> Result<String, Refusal> {
    let of_part = |key: &str| matches!(key, "pt" | "of");
    let extra = last.envelope.extra.iter();
    let extra = extra.filter(|(key, _)| !of_part(key));
    let tail = tail_of(&Envelope {
        extra: extra.map(|(key, value)| (key, value.clone())).collect(),
        ..last.envelope.clone()
    });
    let tail = tail.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    Ok(Composed::whole(head, tail).text(&part.of, sequence, None))
}

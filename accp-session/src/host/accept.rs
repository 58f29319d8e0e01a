//! What a host makes of the frames of its members.

use std::sync::Arc;

use accp_registry::ErrorCode;

use super::Host;
use crate::gate::judge::{Refusal, Ruling, last_checks};
use crate::gate::scan::Scanned;
use crate::gate::scan::scan;
use crate::send::encode::{Composed, tail_of};
use crate::wire::control::kind_of;
use crate::wire::link::{Link, Of, PeerError};
use crate::{Entry, EntryKind, Event, MemberId, Mid, Part, Progress, Time, Trigger};
use accp_frame::{DecodeError, Envelope, Intent, Map};

impl Host {
    /// Takes what a member sent, whoever that is having been made sure of.
    pub(crate) fn receive(&mut self, from: MemberId, frame: &[u8], now: Time) {
        let party = self.side.state.members.get(from);
        let (is_known, is_present) = (party.is_some(), party.is_some_and(|party| party.present));
        if is_present {
            self.relays.heard(from, now);
        }
        let limits = self.side.options.limits;
        let scanned = match scan(frame, limits) {
            Ok(scanned) => scanned,
            Err(error) => return self.unreadable(from, frame, &error, now),
        };
        if Link::is(&scanned) {
            // No error answers a link frame, not even one that cannot be read.
            if is_present && let Ok(link) = Link::read(&scanned) {
                self.link(from, link, now);
            }
            return;
        }
        if !is_known {
            let refusal = Refusal::new(ErrorCode::POLICY_DENIED, "a member of the session");
            return self.tell(from, scanned.mid(), refusal, now);
        }
        if self.side.is_busy() {
            return;
        }
        let first = self
            .judge
            .first_checks(&self.side, &self.rules, from, &scanned, now);
        let verdict = first.and_then(|(mid, sequence)| {
            self.accept(from, &scanned, mid.clone(), sequence, now)
                .map_err(Ruling::Refuse)?;
            Ok((mid, sequence))
        });
        match verdict {
            Ok(ids) => self.relays.cursor(from).ack = Some(ids),
            Err(Ruling::Drop) => self.drop_silently(from, &scanned, now),
            Err(Ruling::Refuse(refusal)) => self.refuse(from, &scanned, refusal, now),
            Err(Ruling::Ignore) => {}
        }
        self.end_turn(now);
    }

    /// Gives a frame that is in its turn its place in the log, unless what it says is
    /// refused.
    pub(crate) fn accept(
        &mut self,
        sender: MemberId,
        frame: &Scanned<'_>,
        mid: Mid,
        sequence: u64,
        now: Time,
    ) -> Result<(), Refusal> {
        if let Some(part) = Part::read(&frame.envelope, frame.end)? {
            return self.accept_part(sender, frame, &part, mid, sequence, now);
        }
        last_checks(&self.side, sender, frame, None)?;
        self.enter(sender, frame, mid, sequence, now);
        Ok(())
    }

    /// A frame takes its place, and its effect.
    pub(crate) fn enter(
        &mut self,
        sender: MemberId,
        frame: &Scanned<'_>,
        mid: Mid,
        sequence: u64,
        now: Time,
    ) {
        let kind = kind_of(frame);
        let request = self.side.state.chains.request(frame);
        self.append(kind, sender, frame, mid, sequence, now);
        match kind {
            EntryKind::Control if sender != MemberId::HOST => self.fetch_puts(sender, frame),
            EntryKind::Frame => {
                let turn = &mut self.turn;
                turn.current = Some(self.side.position);
                turn.request = request;
                turn.triggers.extend(Trigger::of(frame.intent));
            }
            _ => {}
        }
    }

    /// A part takes its place; with the last one the frame takes its, under the id of the
    /// first and without a number.
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
        let groups = &mut self.judge.numbers.groups;
        let mut tried = groups.clone();
        let whole = match tried.accept(sender, part, frame.text, now, &limits)? {
            Progress::Waiting => None,
            Progress::Whole(head) => {
                let tail = tail_of(&Envelope {
                    extra: Map::new(),
                    ..frame.envelope.clone()
                });
                let tail = tail.unwrap_or_default();
                let composed = Composed::whole(head, tail);
                Some(composed.text(&part.of, sequence, None))
            }
        };
        if let Some(text) = &whole {
            let checked = Scanned::of_entry(text)
                .map_err(Refusal::from)
                .and_then(|whole| last_checks(&self.side, sender, &whole, None));
            if let Err(refusal) = checked {
                // The group is of no more use.
                self.judge.numbers.groups = tried;
                return Err(refusal);
            }
        }
        self.judge.numbers.groups = tried;
        self.append(EntryKind::Part, sender, frame, mid, sequence, now);
        if let Some(text) = &whole {
            let whole = Scanned::of_entry(text)?;
            self.enter(sender, &whole, part.of.clone(), 0, now);
        }
        Ok(())
    }

    pub(crate) fn append(
        &mut self,
        kind: EntryKind,
        sender: MemberId,
        frame: &Scanned<'_>,
        mid: Mid,
        sequence: u64,
        now: Time,
    ) {
        let position = self.side.position + 1;
        let shown = match (kind, &self.side.options.counter, &self.side.state.tokenizer) {
            (EntryKind::Frame, Some(counter), Some(_)) => {
                let (hot, limits) = (&self.side.state.hot, &self.side.options.context);
                hot.shown(position, frame.text, &**counter, limits).ok()
            }
            _ => None,
        };
        let entry = Entry {
            position,
            at: now,
            kind,
            sender,
            mid,
            sequence,
            tokens: shown.map_or(0, |shown| shown.tokens),
            cut: shown.is_some_and(|shown| shown.cut),
            due: self.side.is_due(kind, sender),
            text: Arc::from(frame.text),
        };
        self.judge.fold(&entry);
        if kind.is_relayed() {
            self.relays.push(&entry);
        }
        // What was checked can be folded.
        let _ = self.side.append(entry, frame);
    }

    pub(crate) fn drop_silently(&mut self, from: MemberId, frame: &Scanned<'_>, now: Time) {
        if let (Some(mid), Some(sequence)) = (frame.mid().cloned(), frame.envelope.sequence) {
            if let Ok(Some(part)) = Part::read(&frame.envelope, frame.end) {
                self.judge.numbers.groups.forget(from, &part.of);
            }
            self.side.tell(Event::Dropped(mid.clone()));
            self.append(EntryKind::Dropped, from, frame, mid, sequence, now);
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
        let is_news = |mid: &Mid| !self.judge.knows(from, mid);
        if let Some(mid) = mid
            .clone()
            .filter(|mid| refusal.is_for_good() && is_news(mid))
        {
            let kind = EntryKind::Refused(refusal.code);
            self.append(kind, from, frame, mid, 0, now);
        }
        self.tell(from, mid.as_ref(), refusal, now);
    }

    pub(crate) fn tell(&mut self, to: MemberId, mid: Option<&Mid>, refusal: Refusal, now: Time) {
        let error = PeerError {
            of: mid.cloned(),
            code: refusal.code,
            message: refusal.expected.into_owned(),
            retry: refusal.code.is_retryable().unwrap_or(false),
            expected_sequence: refusal.expected_sequence,
            version: refusal.version,
            holder: refusal.held.map(|place| place.sender),
            sequence: refusal.held.map(|place| place.sequence),
            at: refusal.at,
        };
        if !matches!(error.code, ErrorCode::DUPLICATE | ErrorCode::SEQUENCE_GAP) {
            let event = Event::Rejected(to, mid.cloned(), error.code);
            self.side.tell(event);
        }
        let stamp = self.side.stamp(now);
        let of = Of::Frame(mid);
        let text = stamp.frame(Intent::FAIL, "error", Some("ER"), error.payload(), of);
        if let Ok(text) = text {
            self.side.send(to, text);
        }
    }

    pub(crate) fn unreadable(
        &mut self,
        from: MemberId,
        frame: &[u8],
        error: &DecodeError,
        now: Time,
    ) {
        // What may have been an error or an acknowledgement is not answered by an error.
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
            // What breaks the grammar may have been broken on the way, and come again whole.
            let mid = std::str::from_utf8(frame).ok().and_then(Scanned::mid_of);
            let refusal = Refusal::from(error.clone());
            self.tell(from, mid.as_ref(), refusal, now);
        }
    }
}
